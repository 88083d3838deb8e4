// The keyboard: what journeys press, and nothing else.

const MAX_TABS = 400;

/** Presses `g` and a letter. The page gives up on `g` alone after a moment, which a slow machine may need between the two: then again. */
export async function goTo(page, letter, path) {
  const isThere = () => page.evaluate((path) => location.pathname === path, path);
  for (let tries = 0; tries < 200 && !(await isThere()); tries += 1) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
  }
  await page.waitForURL((address) => address.pathname === path);
}

/** Types into the field of that name. */
export async function type(page, name, text, { enter = !name.startsWith("act-") } = {}) {
  await tabTo(page, (on) => on.field === name);
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
  if (enter) await page.keyboard.press("Enter");
}

/** Closes the dialog that is open, and waits until it has left the page. */
export async function leaveDialog(page) {
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
}

/** Presses Tab until the focus is where it is wanted. */
export async function tabTo(page, wanted) {
  const passed = [];
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    const on = await page.evaluate(() => {
      const element = document.activeElement;
      return { field: element?.getAttribute("name") ?? null, text: element?.textContent?.trim() ?? "", what: element?.tagName ?? "" };
    });
    if (wanted(on)) return;
    passed.push(`${on.what} ${on.field ?? on.text.slice(0, 30)}`);
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead there; it leads to: ${passed.slice(0, 60).join(", ")}`);
}
