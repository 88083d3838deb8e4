// Halt this rollout, by keyboard alone: what became of its updates, what the watch says, the halt, and its undoing by two people.

import { goTo, leaveDialog, tabTo, type } from "./keys.mjs";

export default async function (t) {
  const { site, open, visit, settled, agreed, close, ask, hold } = t;
  const release = site.rollout.to;
  const halts = async () => (await ask(`${site.watched}/api/v1/rollouts/halts`)).halts.filter((halt) => halt.release === release);
  await aSignerMayNotHalt(t, halts);

  const page = await open({ token: site.ada });
  await visit(page, `${site.watched}/`);
  await goTo(page, "r", "/rollouts");
  await settled(page);
  await type(page, "to", release);
  await settled(page);
  await evidence(t, page);
  await halt(page, release, "INC-7: nodes stay NotReady");
  await page.getByRole("status").getByText("is halted").waitFor();
  await leaveDialog(page);
  await standing(page, release).getByText("INC-7: nodes stay NotReady").waitFor();
  await agreed(async () => !(await isHalted(t, release)) && `${release} is still offered`);
  await page.getByRole("article", { name: `${release} in ${site.rollout.channel}` }).first().getByText("Halted by ada").first().waitFor();
  const [made] = await halts();
  hold(made?.standing && made.by === "ada", `the service recorded ${JSON.stringify(made)}`);

  // The same person twice is one person.
  for (let times = 0; times < 2; times += 1) {
    await undo(page, release);
    await page.getByRole("status").getByText("stays halted").waitFor();
    await leaveDialog(page);
  }
  await standing(page, release).getByText("ada wants it undone").waitFor();
  hold((await halts())[0].standing, "one person has undone it");
  await close(page);

  const other = await open({ token: site.bob });
  await visit(other, `${site.watched}/rollouts`);
  await undo(other, release);
  await other.getByRole("status").getByText("is halted no more").waitFor();
  await leaveDialog(other);
  await standing(other, release).waitFor({ state: "detached" });
  hold(!(await halts())[0].standing, "two people have not undone it");
  await agreed(async () => (await isHalted(t, release)) && `${release} is not offered again`);
  await close(other);
}

/** A second signer may undo a halt and not make one, and the page says who may. */
async function aSignerMayNotHalt({ site, open, visit, settled, close, hold }, halts) {
  const page = await open({ token: site.signer });
  await visit(page, `${site.watched}/rollouts?to=${site.rollout.to}`);
  await settled(page);
  await tabTo(page, (on) => on.text === "Halt");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Only a release administrator may do this.").waitFor();
  hold((await halts()).length === 0, "a second signer has halted");
  await close(page);
}

/** The page shows the outcomes and what the watch says, as the API tells them. */
async function evidence({ site, ask, agreed }, page) {
  const card = page.getByRole("article", { name: `${site.rollout.to} in ${site.rollout.channel}` }).first();
  const watched = async () => (await ask(`${site.watched}/api/v1/fleet/watch?version=${site.rollout.to}`)).releases[0];
  await agreed(async () => {
    const { rollouts } = await ask(`${site.watched}/api/v1/rollouts?to=${site.rollout.to}`);
    const outcomes = rollouts.find((row) => row.outcomes)?.outcomes;
    const watch = await watched();
    if (!(outcomes?.failed > 0) || watch?.answer !== "halt") return `the service says ${JSON.stringify([outcomes, watch])}`;
    const shown = await card.innerText();
    if (!new RegExp(`failed\\s+${outcomes.failed}\\b`, "i").test(shown)) return `the card does not say ${outcomes.failed} failed: ${shown}`;
    return !shown.includes(watch.sentence) && `the card does not say "${watch.sentence}": ${shown}`;
  });
  await tabTo(page, (on) => on.text === "The evidence");
  await page.keyboard.press("Enter");
  const table = card.getByRole("table", { name: /What the watch knows/ });
  await table.waitFor();
  await agreed(async () => {
    const all = (await watched()).scopes[0];
    const row = await table.getByRole("row").nth(1).innerText();
    const lacking = ["all", `${all.known} of ${all.attempts}`, String(all.failed)].find((part) => !row.includes(part));
    return lacking && `the evidence lacks ${lacking}: ${row}`;
  });
}

/** Opens the dialog, gives a reason, and halts at once. */
async function halt(page, release, why) {
  await tabTo(page, (on) => on.text === "Halt");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await type(page, "why", why);
  await page.getByRole("dialog").locator("[role=status], [role=alert]").first().waitFor();
}

async function undo(page, release) {
  await tabTo(page, (on) => on.text === `Undo the halt of ${release}…`);
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await tabTo(page, (on) => on.text === "Undo it");
  await page.keyboard.press("Enter");
}

const standing = (page, release) => page.getByRole("listitem").filter({ hasText: `Undo the halt of ${release}…` });

/** Whether a halt is among the reasons why the release is not offered. */
async function isHalted({ site, ask }, release) {
  const { candidates } = await ask(`${site.watched}/api/v1/explain?channel=${site.rollout.channel}&from=${site.rollout.from}&to=${release}`);
  return candidates[0].reasons.some((reason) => reason.code === "Halted");
}
