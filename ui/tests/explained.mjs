// In random cases the page shows the answer that the API's `explain` gives for an update: its word and every reason.

const CASES = 200;
const PLATFORMS = ["", "AWS", "GCP", "VSphere", "None"];

export default async function ({ site, open, visit, close, ask, hold, random }) {
  const { next, pick } = random(4_20_4);
  const { channels } = await ask(`${site.example}/api/v1/channels`);
  const { releases } = await ask(`${site.example}/api/v1/graph?channel=*`);
  const versions = releases.map((release) => release.version);
  const page = await open();
  await visit(page, `${site.example}/graph`);
  let answered = 0;
  for (let made = 0; made < CASES; made += 1) {
    const now = new Date(Date.now() + Math.floor((next() - 0.5) * 40 * 86_400) * 1000).toISOString().replace(/\.\d+Z/, "Z");
    const id = next() < 0.3 ? "" : `33333333-0000-4000-8000-${String(Math.floor(next() * 1e12)).padStart(12, "0")}`;
    const asked = { channel: pick(channels).name, from: pick(versions), to: pick(versions), id, platform: pick(PLATFORMS) };
    const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value));
    const explained = await ask(`${site.example}/api/v1/explain?${query}&now=${now}`);
    // Within one page, as a person who types.
    await page.evaluate((address) => {
      history.pushState(null, "", address);
      dispatchEvent(new PopStateEvent("popstate"));
    }, `/graph?${query}&at=${now}&panel=why`);
    const wanted = expected(explained, asked.to);
    answered += wanted.length > 0 ? 1 : 0;
    const shown = page.getByRole("complementary", { name: "Why" });
    await page.waitForFunction(
      ({ wanted, at }) => {
        const text = document.querySelector("aside.panel")?.textContent ?? "";
        return text.includes(at) && !document.querySelector("aside.panel [aria-busy=true]") && wanted.every((part) => text.includes(part));
      },
      { wanted, at: `as of ${minute(explained.at)}` },
    ).catch(async () => hold(false, `${JSON.stringify({ ...asked, now })}: the page shows\n${await shown.innerText()}\nand not ${JSON.stringify(wanted)}`));
  }
  hold(answered > CASES / 2, `only ${answered} of ${CASES} cases have an answer`);
  await close(page);
}

/** The word of the answer and the sentences of its reasons, as they have to be on the page. */
function expected({ candidates }, to) {
  const candidate = candidates.find((one) => one.to === to);
  return candidate ? [candidate.answer, ...candidate.reasons.map((reason) => reason.text)] : [];
}

const minute = (instant) => new Date(instant).toISOString().replace("T", " ").slice(0, 16);
