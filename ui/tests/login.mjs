// People log in with a real issuer: who they are, what they do, and what happens when a login ends or belongs to nobody.

import { leaveDialog } from "./keys.mjs";

export default async function (t) {
  await aPersonLogsInAndActs(t);
  await aLoginEnds(t);
  await whoHasNoRole(t);
  await answersOfNoLogin(t);
}

/** The issuer's own form. Anybody may log in with any password. */
async function logInAs(page, name) {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
}

function kept(page) {
  return page.evaluate(() => sessionStorage.getItem("towpath-token"));
}

async function aPersonLogsInAndActs({ site, open, visit, settled, close, ask, hold }) {
  const page = await open();
  const looked = `${site.people}/fleet?view=acts`;
  await visit(page, looked);
  hold(!(await page.locator("body").innerText()).includes("acme"), "a name of the fleet is shown to nobody");
  await page.getByRole("banner").getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Log in", exact: true }).click();
  await logInAs(page, "sre-ada@example.com");
  await page.waitForURL(looked);
  await settled(page);
  await page.getByRole("banner").getByRole("button", { name: "sre-ada@example.com" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("You are sre-ada@example.com, until").waitFor();
  hold((await dialog.getByRole("link", { name: "Log out there as well" }).getAttribute("href")).startsWith(site.issuer), "logging out leads elsewhere");
  await leaveDialog(page);
  hold(!(await page.content()).includes("code="), "the code is left on the page");

  await page.getByRole("button", { name: "Pause…" }).click();
  const act = page.getByRole("dialog");
  await act.getByLabel("Organisation").fill("acme");
  await act.getByLabel("Reason").fill("INC-7");
  await act.getByRole("button", { name: "Pause", exact: true }).click();
  await act.getByText("The service has recorded it.").waitFor();
  const { acts } = await ask(`${site.people}/api/v1/fleet/acts`, await kept(page));
  const pause = acts.find((one) => one.why === "INC-7");
  hold(pause?.by === "sre-ada@example.com", `the service recorded ${JSON.stringify(acts)}`);

  await leaveDialog(page);
  await page.getByRole("row").filter({ hasText: "INC-7" }).first().waitFor();
  await page.getByRole("banner").getByRole("button", { name: "sre-ada@example.com" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Log out", exact: true }).click();
  await page.getByRole("banner").getByRole("button", { name: "sre-ada@example.com" }).waitFor({ state: "detached" });
  hold((await kept(page)) === null, "the token is kept after logging out");
  hold(!(await page.locator("main").innerText()).includes("INC-7"), "what a person saw is shown after logging out");
  await close(page);
}

/** The token is a genuine one that has ended; the person is still known at the issuer. */
async function aLoginEnds({ site, open, visit, settled, close, hold }) {
  const page = await open();
  await visit(page, `${site.people}/fleet`);
  await page.getByRole("banner").getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Log in", exact: true }).click();
  await logInAs(page, "sre-ada@example.com");
  await page.waitForURL(`${site.people}/fleet`);
  await page.evaluate((token) => sessionStorage.setItem("towpath-token", token), site.endedLogin);
  const looked = `${site.people}/fleet?view=calendar`;
  await visit(page, looked);
  await page.getByRole("alert").getByText("Your login has ended.").waitFor();
  await page.getByRole("alert").getByRole("button", { name: "Log in again" }).first().click();
  await page.waitForURL(looked);
  await settled(page);
  await page.getByRole("banner").getByRole("button", { name: "sre-ada@example.com" }).waitFor();
  hold((await page.getByText("Your login has ended.").count()) === 0, "it still says that the login has ended");
  await close(page);
}

async function whoHasNoRole({ site, open, visit, settled, close, hold }) {
  const page = await open();
  await visit(page, `${site.people}/fleet`);
  await page.getByRole("banner").getByRole("button", { name: "Log in" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Log in", exact: true }).click();
  await logInAs(page, "eve@example.com");
  await page.waitForURL(`${site.people}/fleet`);
  await settled(page);
  await page.getByRole("banner").getByRole("button", { name: "eve@example.com" }).waitFor();
  await page.getByRole("main").getByText("eve@example.com").first().waitFor();
  hold(!(await page.locator("body").innerText()).includes("acme"), "a name of the fleet is shown to somebody without a role");
  await close(page);
}

/** An answer that no login of this tab asked for changes nothing, and leads nowhere. */
async function answersOfNoLogin({ site, open, visit, close, hold, problems }) {
  const page = await open();
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  for (const pending of [
    null,
    { state: "other", nonce: "n".repeat(43), verifier: "v".repeat(64), back: "/graph" },
    { state: "state", nonce: "n".repeat(43), verifier: "v".repeat(64), back: "//evil.example/x" },
    { state: "state", nonce: "n".repeat(43), verifier: "v".repeat(64), back: "https://evil.example/x" },
  ]) {
    await visit(page, `${site.people}/graph`);
    await page.evaluate((pending) => (pending ? sessionStorage.setItem("towpath-login", JSON.stringify(pending)) : sessionStorage.removeItem("towpath-login")), pending);
    await page.goto(`${site.people}/login?code=stolen&state=state&back=https://evil.example/`);
    await page.getByText("This answer belongs to no login that was begun in this tab.").waitFor();
    hold((await kept(page)) === null, "a token is kept");
    hold(page.url() === `${site.people}/login`, `the page is at ${page.url()}`);
  }
  hold(sent.length === 0, `a foreign code was sent on: ${sent}`);
  await page.evaluate((pending) => sessionStorage.setItem("towpath-login", JSON.stringify(pending)), { state: "state", nonce: "n".repeat(43), verifier: "v".repeat(64), back: "/graph" });
  await page.goto(`${site.people}/login?code=invented&state=state`);
  await page.getByText("You are not logged in: the issuer gives no token for this login").waitFor();
  hold(sent.length === 1, "the code was not asked about once");
  await page.goto(`${site.people}/login?error=access_denied&error_description=no%20%3Cb%3E&state=state`);
  await page.getByRole("heading", { name: "You are not logged in" }).waitFor();
  hold((await kept(page)) === null && problems.length === 0, `a token is kept, or ${problems}`);
  await close(page);
}
