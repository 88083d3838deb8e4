// Four questions of people on call, answered by keyboard alone, from the beginning of the page each time.

import { goTo, leaveDialog, tabTo, type } from "./keys.mjs";

export default async function (t) {
  await whyNotOffered(t);
  await howToGetThere(t);
  await whatWaits(t);
  await pauseAnOrganisation(t);
}

/** Why is 4.20.3 not offered to my cluster on AWS? */
async function whyNotOffered({ site, open, visit, settled, agreed, close, ask }) {
  const page = await open();
  await visit(page, `${site.example}/`);
  await type(page, "from", "4.20.1");
  await type(page, "to", "4.20.3");
  await type(page, "platform", "AWS");
  await settled(page);
  const panel = page.getByRole("complementary", { name: "Why" });
  await agreed(async () => {
    const { candidates } = await ask(`${site.example}/api/v1/explain?channel=stable-4.20&from=4.20.1&to=4.20.3&platform=AWS`);
    const shown = await panel.innerText();
    const word = await panel.locator(".answer-word").first().textContent();
    if (candidates[0].answer !== "no" || word !== "no") return `the service says ${candidates[0].answer}, the page ${word}`;
    const lacking = candidates[0].reasons.filter((reason) => !shown.includes(reason.text));
    return lacking.length > 0 && `the panel lacks ${JSON.stringify(lacking)}: ${shown}`;
  });
  await close(page);
}

/** How do I get from 4.19.16 to 4.20? */
async function howToGetThere({ site, open, visit, settled, agreed, close, ask, hold }) {
  const page = await open();
  await visit(page, `${site.example}/`);
  await type(page, "from", "4.19.16");
  await type(page, "to", "4.20");
  await settled(page);
  const panel = page.getByRole("complementary", { name: "Why" });
  await agreed(async () => {
    const { paths } = await ask(`${site.example}/api/v1/path?from=4.19.16&to=4.20`);
    hold(paths.length > 0, "the example has a path from 4.19.16 to 4.20");
    const shown = await panel.innerText();
    hold(paths[0].hops.some((hop) => hop.acknowledgements.length > 0), "a hop of it has to be acknowledged");
    const wanted = paths[0].hops.flatMap((hop) => [`${hop.from} → ${hop.to}`, ...hop.commands, ...hop.acknowledgements.map((ack) => ack.gate)]);
    const lacking = wanted.filter((text) => !shown.includes(text));
    return lacking.length > 0 && `the panel lacks ${lacking.join(", ")}: ${shown}`;
  });
  await close(page);
}

/** What waits in sector production, and until when? */
async function whatWaits({ site, open, visit, settled, agreed, close, ask, hold }) {
  const page = await open();
  await visit(page, `${site.fleet}/`);
  await goTo(page, "f", "/fleet");
  await settled(page);
  await tabTo(page, (on) => on.text === "production");
  await page.keyboard.press("Enter");
  await page.waitForURL(/sector=production/);
  await settled(page);
  await agreed(async () => {
    const { clusters } = await ask(`${site.fleet}/api/v1/fleet/clusters?sector=production`);
    hold(clusters.length === 3, `there are ${clusters.length} clusters in production`);
    for (const { name, heldBy, expected } of clusters) {
      const row = await page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) }).innerText();
      const lacking = heldBy.find((rule) => !row.includes(rule));
      if (lacking) return `${name} is held by ${lacking}; its row is ${row}`;
      if (expected && !row.includes(expected.slice(0, 16).replace("T", " "))) return `${name} is expected at ${expected}; its row is ${row}`;
    }
  });
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
  await leaveDialog(page);
}
