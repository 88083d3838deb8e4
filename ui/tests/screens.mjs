// axe finds nothing on any screen, in light and dark, wide and narrow; nothing is wider than the window; every picture
// has a table or a list on its screen; and each screen has one heading of the first level.

import { screens, sizes, themes } from "./all-screens.mjs";

export default async function ({ site, open, visit, untouched, close, hold }) {
  const found = [];
  const all = screens(site);
  const tokens = [...new Set(all.map((screen) => screen.token))];
  for (const { size, width, height } of sizes) {
    for (const theme of themes) {
      for (const token of tokens) {
        const page = await open({ width, height, theme, token, axe: true });
        for (const { name, address, prepare } of all.filter((screen) => screen.token === token)) {
          await visit(page, address);
          await prepare?.(page);
          for (const problem of await look(page)) found.push(`${name}, ${size}, ${theme}: ${problem}`);
          await untouched(page);
        }
        await close(page);
      }
    }
  }
  hold(found.length === 0, `${found.length} problems:\n${found.join("\n")}`);
}

async function look(page) {
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    const problems = violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id} (${help}): ${node.html.slice(0, 160)} ${node.failureSummary?.split("\n").slice(1).join(" ") ?? ""}`));
    const headings = document.querySelectorAll("h1").length;
    if (headings !== 1) problems.push(`there are ${headings} headings of the first level`);
    const wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    if (wider > 0) problems.push(`it is ${wider} pixels wider than the window`);
    const pictures = document.querySelectorAll("main figure svg, main .timeline svg").length;
    if (pictures > 0 && document.querySelectorAll("main table").length === 0) problems.push("a picture has no table beside it");
    return problems;
  });
}
