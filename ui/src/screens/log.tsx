// Log: every decision of the fleet, newest first, beside what people did. A decision's page makes it again, and asks why for a cluster.

import type { JSX } from "preact";
import type { ScreenProps } from "../app";
import { link, param } from "../address";
import { useAnswer } from "../api/answer";
import { url } from "../api/client";
import type { Acts, Decision, DecisionEntry, Decisions, Start } from "../api/fleet";
import { count } from "../clock";
import { Answered, Empty, Mark, Section, Time } from "../components/basics";
import { Field, Question } from "../components/fields";
import { AnswerWordMark, Reasons, VerdictView } from "../components/reasons";
import { Table, type Column } from "../components/table";
import { ActTable } from "./fleet/acts";
import { may, session } from "../session";
import { FleetGate } from "./fleet/gate";
import { HaltLog } from "./halts";
import { ClusterLink, Pages, sectorName } from "./fleet/part";

export function LogScreen({ rest }: ScreenProps): JSX.Element {
  if (rest) return <FleetGate fallback={<h1>Decision {rest}</h1>}><DecisionView id={rest} /></FleetGate>;
  return (
    <>
      <h1>Log</h1>
      <FleetGate>
        <DecisionList />
        <People />
      </FleetGate>
    </>
  );
}

function DecisionList(): JSX.Element {
  const answer = useAnswer<Decisions>(url("/api/v1/fleet/decisions", { before: param("before"), limit: 50 }), { topic: "fleet" });
  return (
    <Section title="Decisions">
      <p class="muted">Each pass that does something is written down with all its inputs, so that it can be made again.</p>
      <Answered answer={answer} what="the decisions">
        {(data) => (
          <>
            <Table
              caption="Decisions of the fleet, newest first"
              columns={DECISIONS}
              rows={data.decisions}
              rowKey={(row) => row.id}
              empty={<Empty title="No decision yet."><p>The first pass that starts, cancels or ends something writes the first entry.</p></Empty>}
            />
            {data.pruned && <p class="muted">Decisions up to {count(data.pruned.id)} (<Time at={data.pruned.at} exactly />) are no longer kept.</p>}
            <Pages next={data.next} name="before" />
          </>
        )}
      </Answered>
    </Section>
  );
}

function People(): JSX.Element {
  const answer = useAnswer<Acts>(url("/api/v1/fleet/acts", { limit: 50 }), { topic: "act" });
  return (
    <Section title="What people did">
      <Answered answer={answer} what="what people did">{(data) => <ActTable caption="Acts of people, newest first" acts={data.acts} />}</Answered>
      <h3>Halts</h3>
      <HaltLog />
      {session.value !== null && may("manageTokens") && <Revoked />}
    </Section>
  );
}

interface Revocation {
  kind: "serial" | "person" | "cluster";
  name: string;
  madeBefore: string | null;
  by: string;
  at: string;
  why: string;
}

/** Tokens that people ended. Only who may end some may see which. */
function Revoked(): JSX.Element {
  const answer = useAnswer<{ revoked: Revocation[] }>("/api/v1/access/revocations");
  return (
    <>
      <h3>Tokens that were revoked</h3>
      <Answered answer={answer} what="revoked tokens">
        {({ revoked }) => <Table caption="Tokens that were revoked, by whom and why" columns={REVOKED} rows={revoked} rowKey={(row) => `${row.kind} ${row.name} ${row.at}`} empty={<p>No token was revoked.</p>} />}
      </Answered>
    </>
  );
}

const REVOKED: Column<Revocation>[] = [
  { key: "at", title: "When", cell: (row) => <Time at={row.at} exactly real />, sort: (row) => row.at },
  { key: "of", title: "Of", head: true, cell: (row) => <>{row.kind === "serial" ? "token" : row.kind} <code>{row.name}</code></> },
  { key: "before", title: "Made before", cell: (row) => <Time at={row.madeBefore} exactly real /> },
  { key: "by", title: "By", cell: (row) => row.by },
  { key: "why", title: "Why", cell: (row) => row.why },
];

const NUMBERS: readonly { key: "starts" | "begins" | "ended" | "cancels" | "overdue"; title: string }[] = [
  { key: "starts", title: "Planned" },
  { key: "begins", title: "Begun" },
  { key: "ended", title: "Ended" },
  { key: "cancels", title: "Cancelled" },
  { key: "overdue", title: "Overdue" },
];

const DECISIONS: Column<DecisionEntry>[] = [
  { key: "id", title: "Decision", head: true, cell: (row) => <a href={link(`/log/${row.id}`)}>{row.id}</a> },
  { key: "at", title: "When", cell: (row) => <Time at={row.at} exactly real /> },
  { key: "why", title: "What", cell: (row) => row.why },
  { key: "clusters", title: "Clusters", numeric: true, cell: (row) => count(row.clusters) },
  ...NUMBERS.map(({ key, title }): Column<DecisionEntry> => ({ key, title, numeric: true, cell: (row) => (row[key] ? count(row[key]) : <span class="muted">·</span>) })),
];

function DecisionView({ id }: { id: string }): JSX.Element {
  const answer = useAnswer<Decision>(url(`/api/v1/fleet/decisions/${encodeURIComponent(id)}`, { cluster: param("cluster") }), { topic: "act", timeless: true });
  return (
    <>
      <p><a href={link("/log")}>Log</a></p>
      <h1>Decision {id}</h1>
      <Question label="Why, at that time">
        <Field name="cluster" label="Why for cluster, as of then" placeholder="name or id" width="wide" search />
      </Question>
      <Answered answer={answer} what="the decision">{(data) => <Shown data={data} />}</Answered>
    </>
  );
}

function Shown({ data }: { data: Decision }): JSX.Element {
  const { starts, cancels, begins, ended, overdue } = data.decision;
  const other = [
    ...begins.map((upgrade) => ({ upgrade, what: "began", kind: "phasing", note: null as string | null })),
    ...ended.map((one) => ({ upgrade: one.upgrade, what: one.state, kind: one.state === "finished" ? "offered" : "failed", note: one.note })),
    ...overdue.map((one) => ({ upgrade: one.upgrade, what: "overdue", kind: "failing", note: `since ${one.since}` })),
  ];
  return (
    <div class="stack-wide">
      <p class="answer"><Time at={data.at} exactly real /></p>
      <Section title="Made again, just now">
        <p class="answer">
          <Mark kind={data.replay.same === true ? "offered" : data.replay.same === false ? "failing" : "conditional"}>{data.replay.same === true ? "the same" : data.replay.same === false ? "different" : "not made again"}</Mark>
          {data.replay.sentence}
        </p>
        <p class="muted small-text">hash <code>{data.hash}</code></p>
      </Section>
      {data.why && (
        <Section title={`Why, for ${data.why.name}`}>
          <p>It ran <span class="version">{data.why.version}</span>.</p>
          <VerdictView verdict={data.why.verdict} />
          <Table caption="Versions that it could go to then" columns={CANDIDATES} rows={data.why.candidates} rowKey={(_, index) => index} empty={<p>No release above it was offered.</p>} />
        </Section>
      )}
      <Section title="Planned"><Table caption="Upgrades that were planned" columns={STARTS} rows={starts} rowKey={(_, index) => index} empty={<p>No upgrade was planned.</p>} /></Section>
      {cancels.length > 0 && <Section title="Cancelled"><Table caption="Upgrades that were cancelled" columns={CANCELS} rows={cancels} rowKey={(row) => row.upgrade} /></Section>}
      {other.length > 0 && <Section title="Noted"><Table caption="What became of upgrades" columns={OTHER} rows={other} rowKey={(_, index) => index} /></Section>}
      <Section title="Held back then">
        {Object.keys(data.held).length === 0 ? <p class="muted">Nobody was held.</p> : (
          <Table caption="How many clusters each rule held" columns={HELD} rows={Object.entries(data.held)} rowKey={(row) => row[0]} />
        )}
      </Section>
    </div>
  );
}

const HELD: Column<[string, number]>[] = [
  { key: "rule", title: "Rule", head: true, cell: (row) => row[0], sort: (row) => row[0] },
  { key: "clusters", title: "Clusters", numeric: true, cell: (row) => count(row[1]), sort: (row) => row[1] },
];

const STARTS: Column<Start>[] = [
  { key: "at", title: "At", cell: (row) => <Time at={row.at} exactly real /> },
  { key: "cluster", title: "Cluster", head: true, cell: (row) => <ClusterLink id={row.cluster} name={row.name} /> },
  { key: "what", title: "Upgrade", cell: (row) => <><span class="version">{row.from}</span> → <span class="version">{row.to}</span>{row.nodePool && ` (node pool ${row.nodePool})`}</> },
  { key: "sector", title: "Sector", cell: (row) => `${row.organisation}, ${sectorName(row.sector)}` },
  { key: "mutexes", title: "Holds", cell: (row) => row.mutexes.join(", ") },
];

const CANCELS: Column<Decision["decision"]["cancels"][number]>[] = [
  { key: "upgrade", title: "Upgrade", head: true, cell: (row) => row.upgrade },
  { key: "why", title: "Why", cell: (row) => <Reasons reasons={row.verdict.reasons} /> },
];

const OTHER: Column<{ upgrade: number; what: string; kind: string; note: string | null }>[] = [
  { key: "upgrade", title: "Upgrade", head: true, cell: (row) => row.upgrade },
  { key: "what", title: "What", cell: (row) => <Mark kind={row.kind}>{row.what}</Mark> },
  { key: "note", title: "Note", cell: (row) => row.note ?? "" },
];

const CANDIDATES: Column<NonNullable<Decision["why"]>["candidates"][number]>[] = [
  { key: "to", title: "To", head: true, cell: (row) => <span class="version">{row.to}</span> },
  { key: "answer", title: "Answer", cell: (row) => <AnswerWordMark answer={row.verdict.answer} /> },
  { key: "why", title: "Why", cell: (row) => <Reasons reasons={row.verdict.reasons} none="nothing stood in its way" /> },
];
