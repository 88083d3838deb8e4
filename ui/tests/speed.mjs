// How fast the page is in a real browser: `node tests/speed.mjs ADDRESS CHANNELS…`. `cargo xtask bench page` runs it.
//
// Prints one line of JSON for each question about channels: from the last byte of the graph until the page can be used, and the
// time between two frames while the picture is dragged. The page can be used once it has drawn the picture, and no task that
// began before half a second after that keeps it busy for longer than 50 ms.

import { chromium } from "playwright-core";

const LOADS = 5;
const FRAMES = 240;

const [, , address, ...questions] = process.argv;
const browser = await chromium.launch({
  executablePath: process.env.TOWPATH_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** Until the page can be used, in milliseconds after the last byte of the graph. */
async function untilUsable(page) {
  await page.waitForFunction(() => Number(document.querySelector("main canvas")?.dataset.drawn ?? 0) > 0);
  return page.evaluate(async () => {
    await new Promise((done) => setTimeout(done, 700));
    const data = performance.getEntriesByType("resource").filter((one) => new URL(one.name).pathname === "/api/v1/graph");
    const last = data.at(-1).responseEnd;
    const drawn = window.drawnAt;
    const busy = window.longTasks.filter((task) => task.start < drawn + 500 && task.end > last).map((task) => task.end);
    return Math.max(drawn, ...busy) - last;
  });
}

/** The times between frames while the picture is dragged to and fro. */
async function frames(page) {
  const box = await page.locator("main canvas").first().boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  const before = Number(await page.locator("main canvas").first().getAttribute("data-drawn"));
  const recorded = page.evaluate((count) => new Promise((done) => {
    const times = [];
    const frame = (time) => {
      times.push(time);
      if (times.length > count) done(times.slice(1).map((time, place) => time - times[place]));
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }), FRAMES);
  let finished = false;
  void recorded.then(() => (finished = true));
  for (let step = 0; !finished; step += 1) await page.mouse.move(x + 200 * Math.sin(step / 20), y + 80 * Math.cos(step / 30));
  await page.mouse.up();
  const drawn = Number(await page.locator("main canvas").first().getAttribute("data-drawn")) - before;
  return { times: await recorded, drawn };
}

for (const question of questions) {
  const usable = [];
  let dragged;
  for (let load = 0; load < LOADS; load += 1) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, timezoneId: "UTC", locale: "en-GB" });
    await context.addInitScript(() => {
      window.longTasks = [];
      new PerformanceObserver((list) => list.getEntries().forEach((one) => window.longTasks.push({ start: one.startTime, end: one.startTime + one.duration }))).observe({ entryTypes: ["longtask"] });
      // The instant of the frame in which the picture was first drawn.
      const look = () => {
        if (Number(document.querySelector("main canvas")?.dataset.drawn ?? 0) > 0) window.drawnAt = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(`${address}/graph?channel=${encodeURIComponent(question)}`);
    usable.push(await untilUsable(page));
    if (load === LOADS - 1) dragged = await frames(page);
    await context.close();
  }
  console.log(JSON.stringify({ channels: question, usable, frames: dragged.times, drawn: dragged.drawn }));
}
await browser.close();
