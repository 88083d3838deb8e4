// When upgrades may start: schedules and maintenance windows, and the exclusions in which nothing starts.

import type { JSX } from "preact";
import { here, param } from "../../address";
import { useAnswer } from "../../api/answer";
import type { Calendar, CalendarRow, Span } from "../../api/fleet";
import { rfc3339, shownNow } from "../../clock";
import { Answered, Empty, Mark, Time } from "../../components/basics";
import { Field } from "../../components/fields";
import { Table, type Column } from "../../components/table";
import { aboutPart, Names, Pages } from "./part";
import { Legend, Timeline, type Lane } from "./timeline";

const FORTNIGHT = 14 * 86_400_000;

export function CalendarView(): JSX.Element {
  const query = { from: param("from"), until: param("until"), cluster: param("cluster"), after: param("after") };
  const answer = useAnswer<Calendar>(aboutPart("/api/v1/fleet/calendar", query, ["held-by"]), { topic: "fleet" });
  return (
    <>
      <div class="question">
        <Field name="from" label="From" placeholder="now" resets={["after"]} />
        <Field name="until" label="Until" placeholder="two weeks later" resets={["after"]} />
        <Shift />
      </div>
      <Answered answer={answer} what="the calendar">
        {(data) => (data.calendars.length === 0 ? <Empty title="No cluster is here."><p>No cluster of the fleet fits these filters.</p></Empty> : <Shown data={data} />)}
      </Answered>
    </>
  );
}

/** Two weeks earlier or later. */
function Shift(): JSX.Element {
  const parsed = Date.parse(param("from"));
  const from = Number.isNaN(parsed) ? shownNow.value : parsed;
  const to = (by: number) => here({ from: rfc3339(from + by), until: rfc3339(from + by + FORTNIGHT), after: "" });
  return (
    <p class="row pages">
      <a href={to(-FORTNIGHT)}>Two weeks earlier</a>
      {param("from") && <a href={here({ from: "", until: "", after: "" })}>From now</a>}
      <a href={to(FORTNIGHT)}>Two weeks later</a>
    </p>
  );
}

function Shown({ data }: { data: Calendar }): JSX.Element {
  const lanes = data.calendars.map((row, index): Lane => ({ key: String(index), label: named(row), marks: row.spans.map(mark).sort((a, b) => a.from - b.from) }));
  const rows = data.calendars.flatMap((row) => (row.spans.length > 0 ? row.spans.map((span): Row => ({ row, span })) : [{ row, span: null }]));
  return (
    <>
      <Timeline label="When upgrades may start, for each group of clusters" from={Date.parse(data.from)} until={Date.parse(data.until)} lanes={lanes} />
      <Legend kinds={[["open", "may start"], ["closed", "excluded"]]} />
      <Table caption="Schedules, windows and exclusions" columns={COLUMNS} rows={rows} rowKey={(_, index) => index} />
      <Pages next={data.next} />
    </>
  );
}

const named = (row: CalendarRow): string => (row.clusters === 1 ? row.names[0] ?? row.organisation : `${row.names[0]} and ${row.clusters - 1} more`);

function mark(span: Span): Lane["marks"][number] {
  return { from: Date.parse(span.from), until: Date.parse(span.until), kind: span.kind === "exclusion" ? "closed" : "open", text: span.why ?? undefined };
}

interface Row {
  row: CalendarRow;
  span: Span | null;
}

const WORDS: Record<Span["kind"], JSX.Element> = {
  schedule: <Mark kind="offered">schedule</Mark>,
  window: <Mark kind="offered">window</Mark>,
  exclusion: <Mark kind="blocked">exclusion</Mark>,
};

const COLUMNS: Column<Row>[] = [
  { key: "clusters", title: "Clusters", head: true, cell: ({ row }) => <Names names={row.names} leftOut={row.clusters - row.names.length} /> },
  { key: "organisation", title: "Organisation", cell: ({ row }) => row.organisation },
  { key: "kind", title: "What", cell: ({ span }) => (span ? WORDS[span.kind] : <span class="muted">nothing in this time</span>) },
  { key: "from", title: "From", cell: ({ span }) => (span ? <Time at={span.from} exactly /> : ""), sort: ({ span }) => span?.from ?? "" },
  { key: "until", title: "Until", cell: ({ span }) => (span ? <Time at={span.until} exactly /> : ""), sort: ({ span }) => span?.until ?? "" },
  { key: "why", title: "Why", cell: ({ span }) => span?.why ?? "" },
  { key: "schedule", title: "Schedule", cell: ({ row, span }) => <>{row.schedule && <code>{row.schedule}</code>}{span?.timeZone && <span class="muted"> {span.timeZone}</span>}</> },
  { key: "place", title: "Written at", cell: ({ row }) => (row.place ? <code>{row.place}</code> : "") },
];
