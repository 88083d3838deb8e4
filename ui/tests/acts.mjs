// Acts of people on the page: what is shown before, who may, what is asked for, and that the service has recorded it.

import { goTo, leaveDialog, tabTo, type } from "./keys.mjs";

export default async function (t) {
  await whoMayNot(t);
  await aTokenIsEntered(t);
  await anAdministratorPauses(t);
  await whoApprovedThis(t);
}

/** A reader sees what an act would do, and cannot do it. */
async function whoMayNot({ site, open, visit, close, hold }) {
  const page = await open({ token: site.reader });
  await visit(page, `${site.fleet}/fleet?act=pause&org=acme`);
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Only an operator may act.").waitFor();
  await dialog.getByText("No new upgrade starts on 5 clusters.").waitFor();
  await dialog.getByLabel("Reason").fill("INC-1");
  hold(await dialog.getByRole("button", { name: "Pause", exact: true }).isDisabled(), "a reader can press Pause");
  await close(page);
}

/** A fleet that is for readers asks for a token, and shows itself once it has one. */
async function aTokenIsEntered({ site, open, visit, settled, close, hold }) {
  const page = await open();
  await visit(page, `${site.closed}/fleet`);
  hold(!(await page.locator("body").innerText()).includes("acme"), "a name of the fleet is shown without a token");
  await page.getByRole("main").getByRole("button", { name: "Enter a token" }).click();
  await page.getByRole("dialog").getByLabel("Token").fill(site.reader);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "acme" }).waitFor();
  await settled(page);
  await close(page);
}

async function anAdministratorPauses({ site, open, visit, close, ask, hold }) {
  const page = await open({ token: site.administrator });
  await visit(page, `${site.fleet}/fleet?view=acts`);
  await page.getByRole("button", { name: "Pause…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Organisation").fill("acme");
  await dialog.getByLabel("Sector").fill("stage");
  await dialog.getByText("No new upgrade starts on 2 clusters.").waitFor();
  const button = dialog.getByRole("button", { name: "Pause", exact: true });
  hold(await button.isDisabled(), "it can be done without a reason");
  await dialog.getByText("It is recorded with your name, ann").waitFor();
  await dialog.getByLabel("Reason").fill("INC-1: <b>ingress</b>");
  await button.click();
  await dialog.getByText("The service has recorded it.").waitFor();
  await dialog.getByRole("button", { name: "Close", exact: true }).last().click();
  const row = page.getByRole("row").filter({ hasText: "INC-1: <b>ingress</b>" });
  await row.first().waitFor();
  const { acts } = await ask(`${site.fleet}/api/v1/fleet/acts`);
  const pause = acts.find((act) => act.kind === "pause" && act.sector === "stage");
  hold(pause?.by === "ann" && pause.knownBy.startsWith("token ") && pause.why === "INC-1: <b>ingress</b>", `the service recorded ${JSON.stringify(acts)}`);
  await close(page);
}

/** Who approved this for the bank? And take it back, by keyboard alone. */
async function whoApprovedThis({ site, open, visit, settled, close, ask, hold }) {
  const approve = { organisation: "acme", cluster: "bank", version: "4.20.4", why: "tested on <i>stage</i>" };
  const headers = { authorization: `Bearer ${site.administrator}`, "content-type": "application/json" };
  const answer = await fetch(`${site.fleet}/api/v1/fleet/approve`, { method: "POST", headers, body: JSON.stringify(approve) });
  hold(answer.ok, `it cannot be approved: ${answer.status}`);
  const approvals = async () => (await ask(`${site.fleet}/api/v1/fleet/acts`)).acts.filter((act) => act.kind === "approval" && act.name === "bank");

  const page = await open({ token: site.administrator });
  await visit(page, `${site.fleet}/`);
  await goTo(page, "f", "/fleet");
  await settled(page);
  await tabTo(page, (on) => on.text === "Acts of people");
  await page.keyboard.press("Enter");
  const row = page.getByRole("row").filter({ hasText: "tested on <i>stage</i>" });
  await row.getByText("ann").first().waitFor();
  await tabTo(page, (on) => on.text === "Withdraw…");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("4.20.4 no longer counts as approved on the cluster bank").waitFor();
  await type(page, "why", "INC-3");
  await page.getByText("The service has recorded it.").waitFor();
  await leaveDialog(page);
  await row.getByText("INC-3").waitFor();
  const [approval] = await approvals();
  hold(approval.by === "ann" && approval.ended?.by === "ann" && approval.ended.why === "INC-3", `the service recorded ${JSON.stringify(approval)}`);
  await close(page);
}
