// Names, reasons and queries that are markup, script and style stay text: nothing of them runs, loads, or changes the page.

import { openPlan } from "./all-screens.mjs";

const NAMES = 10_000;
const A_PAGE = 1_000;

export default async function (t) {
  await namesOfTheService(t);
  await namesOfAPlan(t);
  await queries(t);
  await manyNames(t);
}

/** A real fleet whose every name is hostile: each view, a cluster, the log. */
async function namesOfTheService({ site, open, visit, untouched, close, ask, hold }) {
  const page = await open({ token: site.administrator });
  const { clusters } = await ask(`${site.hostile}/api/v1/fleet/clusters?limit=1000`);
  hold(clusters.length > 20, `the hostile fleet has only ${clusters.length} clusters`);
  for (const view of ["", "clusters", "matrix&by=cluster", "matrix&by=workload", "calendar", "forecast", "history", "acts"]) {
    await visit(page, `${site.hostile}/fleet${view && `?view=${view}`}`);
    await untouched(page);
  }
  for (const { cluster, name } of clusters) {
    await visit(page, `${site.hostile}/fleet/clusters/${encodeURIComponent(cluster)}`);
    const heading = await page.locator("h1").textContent();
    hold(heading === name, `the page of ${JSON.stringify(name)} is headed ${JSON.stringify(heading)}`);
    await untouched(page);
  }
  await visit(page, `${site.hostile}/log`);
  await close(page);
}

/** A plan of nodes, every text of which is hostile. */
async function namesOfAPlan({ site, open, visit, untouched, close, ask, hold }) {
  const { clusters } = await ask(`${site.hostile}/api/v1/fleet/clusters?limit=1000`);
  const page = await open();
  await visit(page, `${site.example}/nodes`);
  const numbers = /^-?\d/;
  for (const { name } of clusters) {
    const isWord = (key, value) => key === "state" || key === "answer" || key === "at" || numbers.test(value);
    const plan = JSON.parse(site.plan, (key, value) => (typeof value === "string" && !isWord(key, value) ? name : value));
    await openPlan(page, JSON.stringify(plan), name);
    await page.getByRole("heading", { name: /^Pool / }).first().waitFor();
    const shown = await page.getByRole("heading", { name: /^Pool / }).first().textContent();
    hold(shown === `Pool ${name}`, `the pool ${JSON.stringify(name)} is headed ${JSON.stringify(shown)}`);
    await untouched(page);
  }
  await close(page);
}

/** Hostile text in every place of the address. */
async function queries({ site, open, visit, untouched, close, ask }) {
  const { clusters } = await ask(`${site.hostile}/api/v1/fleet/clusters?limit=1000`);
  const texts = clusters.map(({ name }) => name);
  const page = await open();
  for (const text of texts) {
    const value = encodeURIComponent(text);
    const all = (names) => names.map((name) => `${name}=${value}`).join("&");
    for (const address of [
      `${site.example}/graph?${all(["channel", "from", "to", "id", "platform", "arch", "at"])}`,
      `${site.hostile}/fleet?view=clusters&${all(["org", "sector", "workload", "search", "held-by", "version", "after", "at"])}`,
      `${site.hostile}/fleet?${all(["view", "act", "org"])}`,
      `${site.hostile}/fleet/clusters/${value}`,
      `${site.hostile}/log/${value}?${all(["cluster", "before"])}`,
    ]) {
      await visit(page, address);
      await untouched(page);
    }
  }
  await close(page);
}

/** Ten thousand made-up names in the table of clusters, each shown as what it is. */
async function manyNames({ site, open, visit, untouched, close, hold, random }) {
  const { clusters } = await (await fetch(`${site.hostile}/api/v1/fleet/clusters?limit=1`)).json();
  const { pick } = random(19);
  const page = await open();
  let names = [];
  await page.route("**/api/v1/fleet/clusters?*", (route) => {
    const rows = names.map((name, index) => ({ ...clusters[0], cluster: `c${index}`, name, organisation: name, sector: name, workloads: [name], heldBy: [name], channel: name }));
    return route.fulfill({ json: { at: new Date().toISOString(), total: rows.length, matching: rows.length, next: null, clusters: rows } });
  });
  for (let made = 0; made < NAMES; made += A_PAGE) {
    names = Array.from({ length: A_PAGE }, () => Array.from({ length: 6 }, () => pick(PIECES)).join(""));
    await visit(page, `${site.hostile}/fleet?view=clusters&limit=${made}`);
    for (;;) {
      const more = page.getByRole("button", { name: /^Show more/ });
      if ((await more.count()) === 0) break;
      await more.click();
    }
    const shown = await page.locator("tbody th[scope=row]").allTextContents();
    const wrong = names.findIndex((name, index) => shown[index] !== name);
    hold(shown.length === names.length && wrong < 0, `name ${JSON.stringify(names[wrong])} is shown as ${JSON.stringify(shown[wrong])}`);
    await untouched(page);
  }
  await close(page);
}

const PIECES = [
  "<", ">", "\"", "'", "&", "/", "`", "=", ";", "{", "}", "(", ")", "\\", "%3C", "&lt;", "&#x3c;", "\u0000".length ? "\u2028" : "", "\u202e", "\ufeff", "é", "🚢",
  "<script>", "</script>", "window.pwned=1", "<img src=x onerror=window.pwned=1>", "<svg/onload=window.pwned=1>", "javascript:window.pwned=1", "<style>*{display:none}</style>", "style=", "onclick=", "]]>", "<!--", "-->",
  "constructor", "__proto__", "toString", "${window.pwned=1}", "{{1}}", "<base href=//example.com>", "<meta http-equiv=refresh content=0>", "url(//example.com)", "expression(", "shop", "4.20.3", " ",
];
