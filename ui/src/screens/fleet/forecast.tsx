// The forecast: what starts in the next days if nothing fails, as a Gantt chart and a table; and who does not start, and why.

import type { JSX } from "preact";
import { at, param } from "../../address";
import { useAnswer } from "../../api/answer";
import type { Forecast, ForecastStart, Idle } from "../../api/fleet";
import { count, shownNow } from "../../clock";
import { Answered, Empty, Section, Time } from "../../components/basics";
import { Choice } from "../../components/fields";
import { AnswerWordMark, Reasons } from "../../components/reasons";
import { Table, type Column } from "../../components/table";
import { aboutPart, ClusterLink, Pages, sectorName } from "./part";
import { Legend, Timeline, type Lane } from "./timeline";

const HOUR = 3_600_000;
const DAYS = [
  { value: "", text: "14 days" },
  { value: "3", text: "3 days" },
  { value: "7", text: "7 days" },
  { value: "28", text: "28 days" },
  { value: "90", text: "90 days" },
];

export function ForecastView(): JSX.Element {
  const days = param("days") || "14";
  const answer = useAnswer<Forecast>(aboutPart("/api/v1/fleet/forecast", { days, now: at.value, after: param("after"), limit: 200 }), { topic: "fleet" });
  return (
    <>
      <div class="question"><Choice name="days" label="Look ahead" options={DAYS} width="short" /></div>
      <Answered answer={answer} what="the forecast">{(data) => <Shown data={data} days={Number(days)} />}</Answered>
    </>
  );
}

function Shown({ data, days }: { data: Forecast; days: number }): JSX.Element {
  const from = data.at ? Date.parse(data.at) : shownNow.value;
  return (
    <>
      <p class="muted">If nothing fails, each upgrade takes an hour and no new release comes out.</p>
      {data.starts.length === 0 ? (
        <Empty title={`Nothing starts within ${days} days.`}><p>Below is who does not start, and why.</p></Empty>
      ) : (
        <>
          <Timeline label={`${count(data.starts.length)} starts in ${days} days`} from={from} until={from + days * 24 * HOUR} lanes={lanes(data.starts)} />
          <Legend kinds={[["start", "an upgrade"]]} />
          <Table caption="What starts" columns={STARTS} rows={data.starts} rowKey={(row, index) => `${row.cluster} ${index}`} />
        </>
      )}
      {data.idle.length + data.idleLeftOut > 0 && (
        <Section title="Who does not start" aside={<span class="muted">{count(data.idle.length + data.idleLeftOut)}</span>}>
          <Table caption="Clusters that do not start in this time" columns={IDLE} rows={data.idle} rowKey={(row) => row.cluster} />
          {data.idleLeftOut > 0 && <p class="muted">and {count(data.idleLeftOut)} more; choose a part of the fleet to see them</p>}
        </Section>
      )}
      <Pages next={data.next} />
    </>
  );
}

/** A lane for each cluster, in the order of its first start. */
function lanes(starts: readonly ForecastStart[]): Lane[] {
  const found = new Map<string, { key: string; label: string; marks: Lane["marks"][number][] }>();
  for (const start of starts) {
    const lane = found.get(start.cluster) ?? { key: start.cluster, label: start.name, marks: [] };
    const begins = Date.parse(start.at);
    lane.marks.push({ from: begins, until: begins + HOUR, kind: "start", text: start.nodePool ? `${start.nodePool} ${start.to}` : start.to });
    found.set(start.cluster, lane);
  }
  for (const lane of found.values()) lane.marks.sort((a, b) => a.from - b.from);
  return [...found.values()].sort((a, b) => a.marks[0]!.from - b.marks[0]!.from);
}

const STARTS: Column<ForecastStart>[] = [
  { key: "at", title: "When", cell: (row) => <Time at={row.at} exactly />, sort: (row) => row.at },
  { key: "cluster", title: "Cluster", head: true, cell: (row) => <ClusterLink id={row.cluster} name={row.name} />, sort: (row) => row.name },
  { key: "what", title: "What", cell: (row) => (row.nodePool ? `node pool ${row.nodePool}` : "cluster") },
  { key: "from", title: "From", cell: (row) => <span class="version">{row.from}</span> },
  { key: "to", title: "To", cell: (row) => <span class="version">{row.to}</span>, sort: (row) => row.to },
  { key: "organisation", title: "Organisation", cell: (row) => row.organisation, sort: (row) => row.organisation },
  { key: "sector", title: "Sector", cell: (row) => sectorName(row.sector), sort: (row) => row.sector ?? "" },
  { key: "channel", title: "Switched to", cell: (row) => row.channel ?? "" },
];

const IDLE: Column<Idle>[] = [
  { key: "cluster", title: "Cluster", head: true, cell: (row) => <ClusterLink id={row.cluster} name={row.name} /> },
  { key: "sector", title: "Sector", cell: (row) => sectorName(row.sector) },
  { key: "from", title: "Runs", cell: (row) => <span class="version">{row.from}</span> },
  { key: "to", title: "Could go to", cell: (row) => (row.to ? <span class="version">{row.to}</span> : <span class="muted">nothing above it</span>) },
  { key: "answer", title: "Answer", cell: (row) => <AnswerWordMark answer={row.verdict.answer} /> },
  { key: "why", title: "Why", cell: (row) => <Reasons reasons={row.verdict.reasons} /> },
];
