// A plan of nodes on the page: what `towpath nodes plan` wrote is shown whole, pasted by keyboard too, and nothing of it is sent away.

import { openPlan } from "./all-screens.mjs";
import { goTo, tabTo } from "./keys.mjs";

export default async function (t) {
  await aFileIsOpened(t);
  await aPlanIsPasted(t);
  await whatIsNoPlan(t);
}

async function aFileIsOpened({ site, open, visit, close, hold }) {
  const page = await open();
  const sent = [];
  page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
  await visit(page, `${site.example}/nodes`);
  await openPlan(page, site.plan);
  await page.getByRole("heading", { name: /^Pool / }).first().waitFor();
  await holds(page, JSON.parse(site.plan), hold);
  hold(sent.length === 0, `the plan was sent to ${sent}`);
  await close(page);
}

/** By keyboard alone. */
async function aPlanIsPasted({ site, open, visit, settled, close, hold }) {
  const page = await open();
  await visit(page, `${site.example}/`);
  await goTo(page, "n", "/nodes");
  await settled(page);
  await tabTo(page, (on) => on.text === "Paste it instead");
  await page.keyboard.press("Enter");
  await tabTo(page, (on) => on.field === "pasted");
  await page.keyboard.insertText(site.plan);
  await tabTo(page, (on) => on.text === "Show it");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^Pool / }).first().waitFor();
  await holds(page, JSON.parse(site.plan), hold);
  await close(page);
}

/** It is said, and the plan that was open before is not shown any more. */
async function whatIsNoPlan({ site, open, visit, close, hold }) {
  const page = await open();
  await visit(page, `${site.example}/nodes`);
  await openPlan(page, site.plan);
  const pools = page.getByRole("heading", { name: /^Pool / });
  await pools.first().waitFor();
  for (const text of ["no JSON", "null", "[]", "{}", '{"pools": [{}]}', '{"pools": [], "reasons": []}', '"plan"', JSON.stringify({ ...JSON.parse(site.plan), reasons: null })]) {
    await openPlan(page, text, "other.json");
    await page.getByRole("alert").getByText("other.json cannot be shown").waitFor();
    hold((await pools.count()) === 0, `the plan before is still shown, after ${text}`);
    await openPlan(page, site.plan);
    await pools.first().waitFor();
  }
  await close(page);
}

/** The page shows the plan's answer, its reasons, and each wave with its nodes. */
async function holds(page, plan, hold) {
  const text = (await page.locator("main").innerText()).replace(/\s+/g, " ");
  for (const reason of plan.reasons) hold(text.includes(reason.text.replace(/\s+/g, " ")), `the page lacks the reason ${reason.text}`);
  hold(plan.pods.moved > 0 && new RegExp(`move ${plan.pods.moved} more than once ${plan.pods.movedMoreThanOnce}`, "i").test(text), `the page lacks how many pods move: ${text}`);
  for (const pool of plan.pools) {
    const table = page.getByRole("table", { name: `Waves of pool ${pool.name}` });
    hold(pool.waves.length === 0 || (await table.count()) === 1, `pool ${pool.name} has no table of waves`);
    if (pool.waves.length === 0) continue;
    const rows = await table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.textContent));
    hold(rows.length === pool.waves.length, `pool ${pool.name} has ${pool.waves.length} waves, and ${rows.length} rows`);
    pool.waves.forEach((wave, index) => {
      for (const part of [...wave.nodes, ...wave.moves.flatMap((move) => [move.pod, move.to]), ...wave.waiting, ...wave.lost]) {
        hold(rows[index].includes(part ?? "nowhere"), `wave ${index + 1} of pool ${pool.name} lacks ${part}: ${rows[index]}`);
      }
    });
  }
}
