// A cluster's page: what it may do next and why not, its policy, what it has run, what it reported, what people decided about it.

import type { ComponentChildren, JSX } from "preact";
import type { ScreenProps } from "../app";
import { link } from "../address";
import { useAnswer } from "../api/answer";
import type { AgentUpdate, Candidate, ClusterPage, Preflight, Upgrade } from "../api/fleet";
import { duration } from "../clock";
import { Answered, Code, Mark, Section, Time } from "../components/basics";
import { AnswerWordMark, ReasonItem, Reasons, VerdictView } from "../components/reasons";
import { Table, type Column } from "../components/table";
import { ActButtons } from "./fleet/act";
import { ActTable } from "./fleet/acts";
import { FleetGate } from "./fleet/gate";
import { sectorName, view } from "./fleet/part";

export function ClusterScreen({ rest }: ScreenProps): JSX.Element {
  return (
    <>
      <p><a href={link("/fleet", { view: "clusters" })}>Fleet › Clusters</a></p>
      <FleetGate fallback={<h1>Cluster</h1>}><ClusterView of={rest} /></FleetGate>
    </>
  );
}

function ClusterView({ of }: { of: string }): JSX.Element {
  const answer = useAnswer<ClusterPage>(`/api/v1/clusters/${encodeURIComponent(of)}`, { topic: "fleet" });
  return (
    <>
      {!answer.data && <h1>{of}</h1>}
      <Answered answer={answer} what="the cluster">{(data) => <Shown data={data} />}</Answered>
    </>
  );
}

function Shown({ data }: { data: ClusterPage }): JSX.Element {
  return (
    <div class="stack-wide">
      <header class="screen-head">
        <h1>{data.name}</h1>
        <ActButtons acts={["approve", "acknowledge", "cancel", "preflight"]} preset={{ cluster: data.name, organisation: data.organisation, version: data.start?.to ?? data.candidates[0]?.to }} />
      </header>
      <p class="cluster-line">
        runs <span class="version">{data.version}</span> with {data.workloads.join(", ")} · <a href={view("sectors", { org: data.organisation })}>{data.organisation}</a>, sector {sectorName(data.sector)}
        {data.seenAt && <> · seen <Time at={data.seenAt} real /></>}
        {data.healthy === false && <> <Mark kind="failing">not healthy</Mark></>}
        {data.channel && <> · <a href={link("/graph", { channel: data.channel, from: data.version, id: data.cluster, platform: data.platform ?? "" })}>its updates in the graph</a></>}
      </p>
      <Section title="Now">
        {data.start ? (
          <p class="answer"><Mark kind="offered">starts</Mark> to <span class="version">{data.start.to}</span> at <Time at={data.start.at} exactly /></p>
        ) : (
          <VerdictView verdict={data.verdict} />
        )}
        {data.nothing && <ul class="reasons"><ReasonItem reason={data.nothing} /></ul>}
      </Section>
      <Section title="Where it could go">
        <Table caption={`Versions that ${data.name} could go to`} columns={CANDIDATES} rows={data.candidates} rowKey={(row, index) => `${row.to} ${index}`} empty={<p>No release above {data.version} is offered to it.</p>} />
      </Section>
      <div class="columns">
        <Section title="Facts"><Facts of={facts(data)} /></Section>
        <Section title="Policy">
          {data.policy ? <Facts of={data.policy} /> : <p class="muted">No policy names it: the fleet leaves it alone.</p>}
        </Section>
      </div>
      <Section title="What it has run">
        <Table caption="Versions and times" columns={HISTORY} rows={data.history} rowKey={(row) => `${row.version} ${row.from}`} empty={<p>No time has been observed yet.</p>} />
      </Section>
      <Section title="Upgrades">
        <Table caption="Upgrades that the fleet planned" columns={UPGRADES} rows={data.upgrades} rowKey={(row) => row.id} empty={<p>The fleet has planned none yet.</p>} />
        {data.updates && data.updates.length > 0 && <Table caption="Updates, as the agent told them" showCaption columns={UPDATES} rows={data.updates} rowKey={(_, index) => index} />}
        {data.preflights.length > 0 && <Table caption="Preflights" showCaption columns={PREFLIGHTS} rows={data.preflights} rowKey={(_, index) => index} />}
      </Section>
      <Section title="What people decided about it"><ActTable caption={`Acts about ${data.name}`} acts={data.acts} /></Section>
      <Section title="Its last report">
        {data.report ? <Code text={JSON.stringify(data.report, null, 2)} label="The last report, as it came" /> : <p class="muted">It has not reported. What is known of it comes from a list of clusters, or from an API.</p>}
      </Section>
    </div>
  );
}

/** What stands elsewhere on the page is left out. */
const ELSEWHERE = new Set(["name", "organisation", "sector", "version", "workloads", "answer", "heldBy", "to", "expected", "underWay", "verdict", "start", "nothing", "candidates", "policy", "history", "report", "reports", "upgrades", "updates", "preflights", "acts"]);

const facts = (data: ClusterPage): Record<string, unknown> => Object.fromEntries(Object.entries(data).filter(([name]) => !ELSEWHERE.has(name)));

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** Facts by name, as the API has them. */
function Facts({ of }: { of: Record<string, unknown> }): JSX.Element {
  const entries = Object.entries(of).filter(([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0));
  return (
    <dl class="facts facts-wide">
      {entries.map(([name, value]) => (
        <><dt key={name}>{words(name)}</dt><dd key={`${name}-value`}>{shown(value)}</dd></>
      ))}
    </dl>
  );
}

const words = (name: string): string => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

function shown(value: unknown): ComponentChildren {
  if (typeof value === "string" && TIME.test(value)) return <Time at={value} exactly />;
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((one) => typeof one === "string" || typeof one === "number")) return value.join(", ");
  return <code class="json">{JSON.stringify(value)}</code>;
}

const CANDIDATES: Column<Candidate>[] = [
  { key: "to", title: "To", head: true, cell: (row) => <><span class="version">{row.to}</span>{row.channel && <span class="muted"> in {row.channel}</span>}</> },
  { key: "answer", title: "Answer", cell: (row) => <AnswerWordMark answer={row.verdict.answer} /> },
  { key: "until", title: "Until", cell: (row) => <Time at={row.verdict.until} exactly /> },
  { key: "why", title: "Why", cell: (row) => <Reasons reasons={row.verdict.reasons} none="nothing stands in its way" /> },
];

const HISTORY: Column<ClusterPage["history"][number]>[] = [
  { key: "version", title: "Version", head: true, cell: (row) => <span class="version">{row.version}</span> },
  { key: "from", title: "From", cell: (row) => <Time at={row.from} exactly /> },
  { key: "until", title: "Until", cell: (row) => <Time at={row.until} exactly /> },
  { key: "took", title: "Observed", numeric: true, cell: (row) => duration((Date.parse(row.until) - Date.parse(row.from)) / 1000) },
  { key: "healthy", title: "Healthy", cell: (row) => (row.healthy ? "yes" : <Mark kind="failing">no, not counted</Mark>) },
];

const STATES: Record<string, string> = { failed: "failed", finished: "offered", started: "phasing", planned: "phasing", cancelled: "quiet", refused: "blocked" };

const UPGRADES: Column<Upgrade>[] = [
  { key: "at", title: "Start", cell: (row) => <Time at={row.startAt} exactly /> },
  { key: "to", title: "Upgrade", head: true, cell: (row) => <><span class="version">{row.from}</span> → <span class="version">{row.to}</span>{row.nodePool && ` (node pool ${row.nodePool})`}</> },
  { key: "state", title: "State", cell: (row) => <Mark kind={STATES[row.state] ?? "quiet"}>{row.state}</Mark> },
  { key: "changed", title: "Since", cell: (row) => <Time at={row.changedAt} exactly /> },
  { key: "owner", title: "Planned by", cell: (row) => row.owner },
  { key: "failures", title: "Failures", numeric: true, cell: (row) => row.failures },
  { key: "note", title: "Note", cell: (row) => row.note ?? "" },
];

const UPDATES: Column<AgentUpdate>[] = [
  { key: "at", title: "Started", cell: (row) => <Time at={row.startedAt} exactly /> },
  { key: "to", title: "To", head: true, cell: (row) => <span class="version">{row.to}</span> },
  { key: "outcome", title: "Outcome", cell: (row) => <Mark kind={row.outcome === "completed" ? "offered" : "failed"}>{row.outcome}</Mark> },
  { key: "took", title: "Took", numeric: true, cell: (row) => (row.tookSeconds === null ? "–" : duration(row.tookSeconds)) },
  { key: "automatic", title: "Started by", cell: (row) => (row.automatic ? "the agent" : "a person") },
  { key: "why", title: "Why", cell: (row) => row.why ?? "" },
];

const PREFLIGHTS: Column<Preflight>[] = [
  { key: "at", title: "When", cell: (row) => <Time at={row.at} exactly /> },
  { key: "version", title: "Of", head: true, cell: (row) => <><span class="version">{row.from}</span> → <span class="version">{row.version}</span></> },
  { key: "state", title: "State", cell: (row) => <Mark kind={row.state === "passed" ? "offered" : row.state === "failed" ? "failed" : "phasing"}>{row.state}</Mark> },
  { key: "why", title: "Why", cell: (row) => [row.why, ...row.risks].filter(Boolean).join("; ") },
  { key: "by", title: "Asked by", cell: (row) => row.by },
];
