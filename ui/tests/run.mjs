// Runs one journey in the browser that the test started: `node tests/run.mjs NAME`, with the services in TOWPATH_PAGE.
//
// A journey is a module of that name with a default export. Whatever it does, no script of a stranger may run, the
// content policy may not be violated, and the page may not throw: that is looked at when it ends.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [, , name] = process.argv;
const site = JSON.parse(process.env.TOWPATH_PAGE ?? "null");
if (!site) throw new Error("TOWPATH_PAGE is not set: `cargo test -p towpath --test page` sets it");

const axe = readFileSync(fileURLToPath(new URL("../node_modules/axe-core/axe.min.js", import.meta.url)), "utf8");
/** Generous: only a page that hangs runs into it, on the slowest machine too. */
const PATIENCE = Number(process.env.PAGE_PATIENCE ?? 300_000);
/** A journey that hangs where nothing has a limit ends all the same, and says where it was. */
const LONGEST = 45 * 60_000;

const browser = await chromium.connectOverCDP(site.browser);
const problems = [];
const pages = [];

/** A page with a profile of its own. */
async function open({ width = 1440, height = 900, theme = "light", token, axe: withAxe = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce", timezoneId: "UTC", locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE);
  context.setDefaultNavigationTimeout(PATIENCE);
  await context.addInitScript((token) => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
    if (token) sessionStorage.setItem("towpath-token", token);
  }, token ?? "");
  if (withAxe) await context.addInitScript({ content: axe });
  const page = await context.newPage();
  pages.push(page);
  page.on("pageerror", (error) => problems.push(`${page.url()}: the page threw ${error.stack ?? error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`${page.url()}: a dialog of the browser opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/content security policy/i.test(message.text())) problems.push(`${page.url()}: ${message.text()}`);
  });
  return page;
}

/** Goes to an address and waits until nothing is awaited any more. */
async function visit(page, address) {
  await page.goto(address);
  await settled(page);
}

/** The service has said who sits here, and no part of the screen is loading or about to be replaced. */
async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".frame[data-caller=known] main h1") && !document.querySelector(".state-loading, [aria-busy=true]"));
}

/**
 * Looks again and again until nothing is wrong any more. `look` says what is wrong, or nothing. What the page shows follows what the
 * service says, and both may change at any time: the two are compared until they agree.
 */
async function agreed(look) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const wrong = await look();
    if (!wrong) return;
    if (Date.now() > deadline) throw new Error(wrong);
    await new Promise((go) => setTimeout(go, 100));
  }
}

/** What strangers' text may have done. */
async function untouched(page) {
  const found = await page.evaluate(() => ({
    pwned: window.pwned ?? null,
    violations: window.violations ?? [],
    foreign: [...document.querySelectorAll("script:not([src^='/assets/']), iframe, object, embed, base, form[action], link:not([href^='/assets/']), style, img:not([src^='/assets/']):not([src^='data:']), math")].map((element) => element.outerHTML.slice(0, 200)),
    handlers: [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some((one) => /^on/i.test(one.name))).map((element) => element.outerHTML.slice(0, 200)),
    links: [...document.querySelectorAll("a[href]")].map((element) => element.getAttribute("href")).filter((href) => !/^(\/|#|https?:\/\/)/.test(href)),
  }));
  if (found.pwned !== null) problems.push(`${page.url()}: a stranger's script ran`);
  for (const [what, list] of Object.entries(found)) if (Array.isArray(list) && list.length > 0) problems.push(`${page.url()}: ${what}: ${list.join(" | ")}`);
}

async function close(page) {
  await untouched(page);
  await page.context().close();
}

/** An answer of the API, asked beside the page. */
async function ask(address, token) {
  const answer = await fetch(address, { headers: token ? { authorization: `Bearer ${token}` } : {} });
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function hold(condition, sentence) {
  if (!condition) throw new Error(sentence);
}

/** The same numbers from the same seed. */
function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, pick: (list) => list[Math.floor(next() * list.length)] };
}

const journey = (await import(`./${name}.mjs`)).default;
let failed = false;
const hung = setTimeout(() => {
  console.error(`${name} has not ended after ${LONGEST / 60_000} minutes; it is at ${pages.map((page) => page.url()).join(", ")}`);
  process.exit(1);
}, LONGEST);
try {
  await journey({ site, open, visit, settled, agreed, untouched, close, ask, hold, random, problems });
} catch (error) {
  failed = true;
  console.error(error.stack ?? String(error));
}
for (const page of pages.filter((one) => !one.isClosed())) {
  if (failed) {
    console.error(`--- ${page.url()}`);
    console.error(await page.locator("body").innerText({ timeout: 5_000 }).catch(() => "it does not answer"));
  }
  await page.context().close().catch(() => undefined);
}
clearTimeout(hung);
for (const problem of problems) console.error(problem);
// The browser goes on: other journeys use it.
process.exit(failed || problems.length > 0 ? 1 : 0);
