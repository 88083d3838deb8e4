// All state is in the address: what has been chosen by hand is the same after a reload, and back goes back.

export default async function (t) {
  const { site, open, visit, close } = t;
  const page = await open();
  await visit(page, `${site.fleet}/fleet`);
  await step(t, page, () => page.getByRole("link", { name: "Clusters", exact: true }).click());
  await step(t, page, async () => {
    await page.getByLabel("Search clusters").fill("shop");
    await page.keyboard.press("Enter");
  });
  await step(t, page, () => page.getByLabel("Sorted by").selectOption("name"));
  await step(t, page, () => page.getByRole("link", { name: "shop-eu", exact: true }).click());
  await step(t, page, () => page.getByRole("button", { name: "Approve a version…" }).click());
  await close(page);
}

/** Does something, and holds that a reload shows the same, and that back shows what was there before. */
async function step({ settled, agreed }, page, act) {
  const before = await shown(page);
  await act();
  await settled(page);
  await page.waitForFunction((was) => location.href !== was, before.address);
  await settled(page);
  const after = await shown(page);
  const same = (wanted, when) => agreed(async () => different(wanted, await shown(page), when));
  await page.reload();
  await settled(page);
  await same(after, "after a reload");
  await page.goBack();
  await settled(page);
  await same(before, "after going back");
  await page.goForward();
  await settled(page);
  await same(after, "after going forward");
}

/** The address, the headings, the fields and the rows. Times go by, so they are left out. */
async function shown(page) {
  return page.evaluate(() => ({
    address: location.href,
    headings: [...document.querySelectorAll("h1, h2, h3")].map((one) => one.textContent),
    fields: [...document.querySelectorAll("main input, main select")].map((one) => `${one.name}=${one.value}`),
    rows: [...document.querySelectorAll("tbody th")].map((one) => one.textContent),
  }));
}

function different(wanted, found, when) {
  return JSON.stringify(wanted) !== JSON.stringify(found) && `${when} there is\n${JSON.stringify(found)}\nand not\n${JSON.stringify(wanted)}`;
}
