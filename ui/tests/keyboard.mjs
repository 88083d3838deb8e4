// Four questions of people on call, answered by keyboard alone, from the beginning of the page each time.

import { goTo, tabTo, type } from "./keys.mjs";

export default async function (t) {
  await whyNotOffered(t);
  await howToGetThere(t);
  await whatWaits(t);
  await pauseAnOrganisation(t);
}

/** Why is 4.20.3 not offered to my cluster on AWS? */
async function whyNotOffered({ site, open, visit, settled, close, ask, hold }) {
  const page = await open();
  await visit(page, `${site.example}/`);
  await type(page, "from", "4.20.1");
  await type(page, "to", "4.20.3");
  await type(page, "platform", "AWS");
  await settled(page);
  const { candidates } = await ask(`${site.example}/api/v1/explain?channel=stable-4.20&from=4.20.1&to=4.20.3&platform=AWS`);
  const panel = page.getByRole("complementary", { name: "Why" });
  for (const reason of candidates[0].reasons) await panel.getByText(reason.text).first().waitFor();
  hold(candidates[0].answer === "no" && (await panel.locator(".answer-word").first().textContent()) === "no", "the page does not say no");
  await close(page);
}

/** How do I get from 4.19.16 to 4.20? */
async function howToGetThere({ site, open, visit, settled, close, ask, hold }) {
  const page = await open();
  await visit(page, `${site.example}/`);
  await type(page, "from", "4.19.16");
  await type(page, "to", "4.20");
  await settled(page);
  const { paths } = await ask(`${site.example}/api/v1/path?from=4.19.16&to=4.20`);
  hold(paths.length > 0, "the example has a path from 4.19.16 to 4.20");
  const panel = page.getByRole("complementary", { name: "Why" });
  for (const hop of paths[0].hops) {
    await panel.getByText(`${hop.from} → ${hop.to}`).first().waitFor();
    for (const command of hop.commands ?? []) await panel.getByText(command).first().waitFor();
  }
  await close(page);
}

/** What waits in sector production, and until when? */
async function whatWaits({ site, open, visit, settled, close, ask, hold }) {
  const page = await open();
  await visit(page, `${site.fleet}/`);
  await goTo(page, "f", "/fleet");
  await settled(page);
  await tabTo(page, (on) => on.text === "production");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sector=production/);
  await settled(page);
  const { clusters } = await ask(`${site.fleet}/api/v1/fleet/clusters?sector=production`);
  hold(clusters.length === 3, `there are ${clusters.length} clusters in production`);
  for (const { name, heldBy, expected } of clusters) {
    const row = await page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) }).innerText();
    for (const rule of heldBy) hold(row.includes(rule), `${name} is held by ${rule}; its row is ${row}`);
    if (expected) hold(row.includes(expected.slice(0, 16).replace("T", " ")), `${name} is expected at ${expected}; its row is ${row}`);
  }
  await close(page);
}

/** Pause this organisation, and let it go on again. */
async function pauseAnOrganisation({ site, open, visit, settled, close, ask, hold }) {
  const page = await open({ token: site.administrator });
  const paused = async () => (await ask(`${site.fleet}/api/v1/fleet/acts`)).acts.filter((act) => act.kind === "pause" && act.organisation === "acme" && !act.sector);
  await visit(page, `${site.fleet}/`);
  await goTo(page, "f", "/fleet");
  await settled(page);
  await act(page, "Pause…", { organisation: "acme", why: "INC-2" });
  const [pause] = await paused();
  hold(pause?.by === "ann" && pause.why === "INC-2" && !pause.ended, `the service recorded ${JSON.stringify(pause)}`);
  await act(page, "Resume…", { organisation: "acme", why: "INC-2 is over" });
  const [ended] = await paused();
  hold(ended.ended?.by === "ann" && ended.ended.why === "INC-2 is over", `the service recorded ${JSON.stringify(ended)}`);
  await close(page);
}

/** Opens an act, fills it in, does it, and closes it. */
async function act(page, button, { organisation, why }) {
  await tabTo(page, (on) => on.text === button);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await type(page, "act-organisation", organisation);
  await type(page, "why", why);
  await page.getByText("The service has recorded it.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
