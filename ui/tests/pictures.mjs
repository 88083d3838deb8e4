// Pictures of the screens for the docs, and for whoever looks at them. `cargo xtask page screenshots` runs it.

import path from "node:path";
import { screens, sizes, themes } from "./all-screens.mjs";

export default async function ({ site, open, visit, close }) {
  const folder = process.env.PAGE_PICTURES;
  if (!folder) throw new Error("PAGE_PICTURES is not set: run `cargo xtask page screenshots`");
  for (const { name, address, token, picture, prepare } of screens(site)) {
    if (picture === false) continue;
    for (const { size, width, height } of sizes) {
      for (const theme of themes) {
        const page = await open({ width, height, theme, token });
        await visit(page, address);
        await prepare?.(page);
        await page.screenshot({ path: path.join(folder, `${name}-${size}-${theme}.png`), animations: "disabled" });
        await close(page);
      }
    }
  }
}
