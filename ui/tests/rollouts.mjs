// Each window on the page as the API tells it: rings by themselves, stages, what is held, and halts of graph data with their file.

export default async function (t) {
  await everyWindow(t);
  await theHaltOfAFile(t);
}

const WORDS = { running: "open", toCome: "to come", held: "held" };

const whom = ({ whose, ring }) => ({ ring: `ring ${ring}`, everybodyElse: "everybody else" })[whose] ?? null;

async function everyWindow({ site, open, visit, agreed, close, ask, hold }) {
  const page = await open();
  await visit(page, `${site.ringed}/rollouts`);
  await agreed(async () => {
    const { rollouts } = await ask(`${site.ringed}/api/v1/rollouts`);
    const has = (wanted) => hold(rollouts.some(wanted), `the service has no such window: ${wanted}`);
    [(row) => row.whose === "ring", (row) => row.whose === "everybodyElse", (row) => row.state === "held", (row) => row.stages?.length > 0].forEach(has);
    const rows = await page.getByRole("table", { name: /Windows that are open/ }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent).join(" | ")));
    if (rows.length !== rollouts.length) return `the table has ${rows.length} rows, and there are ${rollouts.length} windows`;
    for (const [index, row] of rollouts.entries()) {
      const lacking = [row.to, row.channel, WORDS[row.state], whom(row) ?? "everybody", row.ramp].find((part) => !rows[index].includes(part));
      if (lacking) return `the row of ${JSON.stringify(row)} lacks ${lacking}: ${rows[index]}`;
    }
    const drawn = rollouts.filter((row) => row.start !== row.end || row.state === "held");
    const cards = await page.getByRole("article").evaluateAll((cards) => cards.map((card) => ({ name: card.getAttribute("aria-label"), text: card.textContent, curves: card.querySelectorAll("figure").length })));
    if (cards.length !== drawn.length) return `${cards.length} cards are drawn, and there are ${drawn.length} windows`;
    for (const [index, row] of drawn.entries()) {
      const { name, text, curves } = cards[index];
      const wanted = [`${row.to} in ${row.channel}`, whom(row)].filter(Boolean).join(", ");
      if (name !== wanted) return `the card of ${wanted} is named ${name}`;
      if (!text.includes(WORDS[row.state])) return `the card of ${wanted} does not say that it is ${WORDS[row.state]}: ${text}`;
      if (curves !== (row.state === "held" ? 0 : 1)) return `the card of ${wanted} has ${curves} curves`;
      const shares = row.stages?.map(({ share }) => `${Number((share * 100).toFixed(1))} %`).join(", ");
      if (shares && !text.includes(shares)) return `the card of ${wanted} lacks its stages ${shares}: ${text}`;
    }
  });
  await close(page);
}

/** Nobody has to log in to see it, and no button undoes it: its file does. */
async function theHaltOfAFile({ site, open, visit, close, ask, hold }) {
  const { halts } = await ask(`${site.ringed}/api/v1/rollouts`);
  hold(halts.length === 1, `the service tells ${halts.length} halts`);
  const page = await open();
  await visit(page, `${site.ringed}/rollouts`);
  const shown = await page.getByRole("list", { name: "Releases that are halted" }).innerText();
  for (const part of [halts[0].release, halts[0].halt.by, halts[0].halt.text, halts[0].origin]) hold(shown.includes(part), `the page lacks ${part}: ${shown}`);
  hold((await page.getByRole("button", { name: /^Undo/ }).count()) === 0, "a halt of graph data has a button that undoes it");
  await close(page);
}
