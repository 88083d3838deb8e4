// Sources: where the graph is read from, how old it is, what is wrong with it; lint and audit of what is served; signatures.

import type { JSX } from "preact";
import { at, change, link, param } from "../address";
import { useAnswer } from "../api/answer";
import { url } from "../api/client";
import type { Finding, Ready, Source, SourceProblem } from "../api/types";
import type { ScreenProps } from "../app";
import { Answered, Empty, Mark, Outward, Section, Shape, Time } from "../components/basics";
import { Choice, Field, Question, Tabs } from "../components/fields";
import { Findings } from "../components/reasons";
import { Table, type Column } from "../components/table";
import { count, duration } from "../clock";

interface Lint {
  at: string;
  digest: string;
  counts: { error: number; warning: number };
  findings: Finding[];
  leftOut?: number;
}

interface Reachability {
  goal: string;
  grade: string;
  way?: string[];
  risks?: string[];
  cause?: string;
  blocks?: string[];
  wayWithoutThem?: string[];
}

interface Audit {
  at: string;
  sections: {
    channel: string;
    arch: string;
    clients: string[];
    tally: { plain: number; conditional: number; stranded: number };
    releases: { version: string; minor: Reachability; head: Reachability }[];
  }[];
  stranded: {
    cause: string;
    blocks: string[] | null;
    since: string | null;
    spots: { channel: string; arch: string; clients: string[]; goal: string; releases: string[] }[];
  }[];
}

export function SourcesScreen(_: ScreenProps): JSX.Element {
  const view = param("view") || "sources";
  const tabs = [
    ["sources", "Sources"],
    ["lint", "Lint"],
    ["audit", "Audit"],
  ].map(([name, text]) => ({ href: link("/sources", name === "sources" ? {} : { view: name }), text: text!, current: view === name }));
  return (
    <>
      <h1>Sources</h1>
      <Tabs label="What is served" tabs={tabs} />
      {view === "lint" ? <LintView /> : view === "audit" ? <AuditView /> : <SourcesView />}
    </>
  );
}

const ALSO_UNREADY = [503];

function SourcesView(): JSX.Element {
  const answer = useAnswer<Ready>("/readyz", { topic: "health", also: ALSO_UNREADY });
  return <Answered answer={answer} what="what is served">{(ready) => <ReadyView ready={ready} />}</Answered>;
}

function ReadyView({ ready }: { ready: Ready }): JSX.Element {
  const { graph, lastReload } = ready;
  return (
    <div class="stack-fill sources">
      <Section title="What is served" aside={<span class="muted">{ready.status}</span>}>
        {graph ? (
          <dl class="numbers">
            <div><dt>releases</dt><dd>{count(graph.releases)}</dd></div>
            <div><dt>updates</dt><dd>{count(graph.edges)}</dd></div>
            <div><dt>channels</dt><dd>{count(graph.channels)}</dd></div>
            <div><dt>blocks</dt><dd>{count(graph.blocks)}</dd></div>
            <div><dt>loaded</dt><dd><Time at={graph.loadedAt} real /></dd></div>
            <div><dt>digest</dt><dd><code title={graph.digest}>{graph.digest.slice(0, 16)}</code></dd></div>
          </dl>
        ) : (
          <Empty title="There is no graph yet"><p>{ready.status}</p></Empty>
        )}
      </Section>
      <Section title="The last reload" aside={<Mark kind={lastReload.result === "failed" ? "failed" : "quiet"}>{lastReload.result}</Mark>}>
        <p class="muted">
          <Time at={lastReload.at} exactly real />
          {lastReload.result === "failed" && " The last good graph stays until it is corrected."}
        </p>
        {lastReload.findings.length > 0 && <Findings findings={lastReload.findings} leftOut={lastReload.findingsLeftOut} />}
      </Section>
      <Section title="How it is reached" aside={<span class="muted">{ready.tls ? "TLS" : "plain HTTP"}</span>}>
        {ready.tls && (
          <p class="muted">
            The certificate ends <Time at={ready.tls.certificateEnds} exactly real />.
            {ready.tls.clientCertificates && " Clusters need certificates too."}
          </p>
        )}
        {ready.tls?.problems.map(({ part, problem }) => <p key={part + problem}><Mark kind="conditional">{part.replace("_", " ")}</Mark> {problem}</p>)}
        {!ready.tls && <p class="muted">Without TLS: that is for this machine alone, or for a proxy in front.</p>}
        {ready.setup.length > 0 && <Findings findings={ready.setup} leftOut={0} />}
      </Section>
      <Section title="Where it is read from">
        <Table caption="Sources" columns={SOURCES} rows={ready.sources} rowKey={(source) => `${source.kind} ${source.name}`} empty={<p>No source is configured.</p>} />
        {ready.sources.filter((source) => source.problem || source.stricterParts.length > 0).map((source) => <SourceTrouble key={source.name} source={source} />)}
      </Section>
      {ready.login && (
        <Section title="Who logs in" aside={<Mark kind={ready.login.takesTokens ? "offered" : "failing"}>{ready.login.takesTokens ? "people can" : "nobody can"}</Mark>}>
          <dl class="facts">
            <dt>issuer</dt><dd><Outward href={ready.login.issuer} /></dd>
            <dt>keys</dt><dd>{ready.login.keys}{ready.login.keysAgeSeconds !== null && `, read ${duration(ready.login.keysAgeSeconds)} ago`}</dd>
          </dl>
          {ready.login.problem && <p class="note note-failing"><Shape tone="failing" /> {ready.login.problem}</p>}
        </Section>
      )}
      <Section title="Signatures">
        {ready.signatures ? <Signatures signatures={ready.signatures} /> : (
          <Empty title="No signatures are asked for">
            <p>With <code>--keyring</code> the service marks which releases were signed by your keys.</p>
          </Empty>
        )}
      </Section>
      <Section title="Fleet">
        {ready.fleet.configured ? <FleetHealth fleet={ready.fleet} /> : (
          <Empty title="This service has no fleet">
            <p>With <code>--fleet DIR</code> it decides which cluster is upgraded when. <a href={link("/fleet")}>What that gives</a></p>
          </Empty>
        )}
      </Section>
    </div>
  );
}

const STATE_KIND: Record<string, string> = { fresh: "offered", stale: "conditional", closed: "failing", failing: "failing" };

const SOURCES: Column<Source>[] = [
  { key: "name", title: "Source", head: true, sort: (source) => source.name, cell: (source) => source.name },
  { key: "kind", title: "Kind", sort: (source) => source.kind, cell: (source) => source.kind },
  { key: "state", title: "State", sort: (source) => source.state, cell: (source) => <Mark kind={source.problem ? (STATE_KIND[source.state] === "offered" ? "conditional" : STATE_KIND[source.state] ?? "conditional") : STATE_KIND[source.state] ?? "quiet"}>{source.state}</Mark> },
  { key: "age", title: "Age", numeric: true, sort: (source) => source.ageSeconds ?? -1, cell: (source) => (source.ageSeconds === null ? <span class="muted">never read</span> : duration(source.ageSeconds)) },
  { key: "success", title: "Last good copy", sort: (source) => source.lastSuccess ?? "", cell: (source) => <Time at={source.lastSuccess} real /> },
  { key: "problem", title: "Problem", cell: (source) => (source.problem ? source.problem.sentence ?? source.problem.kind : <span class="muted">none</span>) },
  { key: "location", title: "Location", cell: (source) => <code>{source.location}</code> },
];

function Problem({ problem }: { problem: SourceProblem }): JSX.Element {
  return (
    <>
      <p>
        <Shape tone="failing" /> {problem.sentence ?? problem.kind} <span class="muted">since <Time at={problem.since} exactly real /></span>{" "}
        {problem.kind && problem.sentence && <span class="code-name">{problem.kind}</span>}
      </p>
      {problem.more.map((line, index) => <p key={index} class="muted">{line}</p>)}
    </>
  );
}

function SourceTrouble({ source }: { source: Source }): JSX.Element {
  return (
    <div class="card stack-fill">
      <h3>{source.name}</h3>
      {source.problem && <Problem problem={source.problem} />}
      {source.stricterParts.length > 0 && (
        <>
          <p>These blocks hold although their copy was refused. A reload that names them discards them.</p>
          <ul class="reasons">
            {source.stricterParts.map((part) => (
              <li key={part.name + part.to} class="reason">
                <p><code>{part.name}</code>: to {part.to}, from <code>{part.from}</code>, since <Time at={part.since} exactly real /></p>
              </li>
            ))}
            {source.stricterPartsLeftOut > 0 && <li class="muted">and {source.stricterPartsLeftOut} more</li>}
          </ul>
        </>
      )}
    </div>
  );
}

function Signatures({ signatures }: { signatures: NonNullable<Ready["signatures"]> }): JSX.Element {
  type Store = (typeof signatures.stores)[number];
  const columns: Column<Store>[] = [
    { key: "name", title: "Store", head: true, cell: (store) => store.name },
    { key: "age", title: "Age", numeric: true, cell: (store) => (store.ageSeconds === null ? <span class="muted">never read</span> : duration(store.ageSeconds)) },
    { key: "success", title: "Last read", cell: (store) => <Time at={store.lastSuccess} real /> },
    { key: "problem", title: "Problem", cell: (store) => (store.problem ? <Problem problem={store.problem} /> : <span class="muted">none</span>) },
    { key: "location", title: "Location", cell: (store) => <code>{store.location}</code> },
  ];
  return (
    <>
      <p>The keyring has {signatures.keyring.keys} {signatures.keyring.keys === 1 ? "key" : "keys"}.</p>
      {signatures.keyring.problem && <Problem problem={signatures.keyring.problem} />}
      <Table caption="Stores of signatures" columns={columns} rows={signatures.stores} rowKey={(store) => store.name} empty={<p>No store of signatures is configured.</p>} />
    </>
  );
}

function FleetHealth({ fleet }: { fleet: Ready["fleet"] }): JSX.Element {
  return (
    <div class="stack-fill">
      <dl class="numbers">
        <div><dt>store</dt><dd>{fleet.store}</dd></div>
        <div><dt>last pass</dt><dd><Time at={fleet.lastPass} real /></dd></div>
        <div><dt>scheduler</dt><dd>{fleet.isScheduler ? "this replica" : "another replica"}</dd></div>
      </dl>
      {fleet.problem && <p class="note note-failing"><Shape tone="failing" /> {fleet.problem}</p>}
      {fleet.findings && fleet.findings.errors + fleet.findings.warnings > 0 && (
        <>
          <p>{fleet.findings.errors} errors and {fleet.findings.warnings} warnings in the policy.</p>
          <Findings findings={fleet.findings.shown} leftOut={fleet.findings.leftOut} />
        </>
      )}
    </div>
  );
}

function LintView(): JSX.Element {
  const answer = useAnswer<Lint>("/api/v1/lint");
  const severity = param("severity");
  const code = param("code");
  return (
    <Answered answer={answer} what="lint of what is served">
      {(lint) => {
        const shown = lint.findings.filter((finding) => (!severity || finding.severity === severity) && (!code || finding.code === code));
        const codes = [...new Set(lint.findings.map((finding) => finding.code))].sort();
        return (
          <div class="stack-fill">
            <p class="row">
              <Mark kind={lint.counts.error > 0 ? "error" : "quiet"}>{lint.counts.error} errors</Mark>
              <Mark kind={lint.counts.warning > 0 ? "warning" : "quiet"}>{lint.counts.warning} warnings</Mark>
              <span class="muted">of the graph that is served, <Time at={lint.at} real /></span>
            </p>
            {lint.findings.length === 0 ? (
              <Empty title="Lint finds nothing"><p>What is served has no errors and no warnings.</p></Empty>
            ) : (
              <>
                <Question label="Which findings">
                  <Choice name="severity" label="severity" options={[{ value: "", text: "all" }, { value: "error", text: "errors" }, { value: "warning", text: "warnings" }]} />
                  <Choice name="code" label="finding" width="wide" options={[{ value: "", text: "all" }, ...codes.map((one) => ({ value: one, text: one }))]} />
                </Question>
                <Table caption="What lint finds" columns={LINT} rows={shown} rowKey={(finding, index) => `${finding.place} ${index}`} atFirst={100} empty={<p>No finding is like that.</p>} />
                {(lint.leftOut ?? 0) > 0 && <p class="muted">{lint.leftOut} more are left out here. <code>towpath graph lint</code> has all.</p>}
              </>
            )}
          </div>
        );
      }}
    </Answered>
  );
}

const LINT: Column<Finding>[] = [
  { key: "severity", title: "Severity", sort: (finding) => finding.severity, cell: (finding) => <Mark kind={finding.severity} /> },
  { key: "problem", title: "Problem", head: true, cell: (finding) => finding.problem },
  { key: "remedy", title: "What helps", cell: (finding) => finding.remedy },
  { key: "place", title: "Written at", sort: (finding) => finding.place, cell: (finding) => <code>{finding.place}</code> },
  { key: "code", title: "Code", sort: (finding) => finding.code, cell: (finding) => <span class="code-name">{finding.code}</span> },
];

function AuditView(): JSX.Element {
  const channel = param("channel");
  const arch = param("arch");
  const answer = useAnswer<Audit>(url("/api/v1/audit", { channel, arch, now: at.value }));
  return (
    <div class="stack-fill">
      <p class="muted">Whether every release has a way to the newest of its minor version, and to the channel's head, for every kind of client.</p>
      <Question label="Which releases">
        <Field name="channel" label="channels" placeholder="all" width="wide" />
        <Field name="arch" label="architecture" placeholder="all" />
      </Question>
      <Answered answer={answer} what="the audit of what is served">{(audit) => <AuditResult audit={audit} />}</Answered>
    </div>
  );
}

type AuditSection = Audit["sections"][number];

function AuditResult({ audit }: { audit: Audit }): JSX.Element {
  return (
    <div class="stack-fill">
      {audit.stranded.length === 0 ? (
        <p class="note"><Shape tone="offered" /> No release is stranded.</p>
      ) : (
        <Section title="Stranded releases">
          <ul class="reasons">
            {audit.stranded.map((stranding, index) => (
              <li key={index} class="reason">
                <p><Mark kind="no">stranded</Mark> {stranding.blocks ? <>by <code>{stranding.blocks.join(", ")}</code></> : CAUSES[stranding.cause] ?? stranding.cause}{stranding.since && <> since <Time at={stranding.since} exactly /></>}</p>
                {stranding.spots.slice(0, 20).map((spot, place) => (
                  <p key={place} class="muted">
                    {spot.releases.length <= 6 ? spot.releases.join(", ") : `${spot.releases.length} releases, ${spot.releases[0]} to ${spot.releases[spot.releases.length - 1]}`}, on the way to <a href={link("/graph", { channel: spot.channel, from: spot.releases[0], to: spot.goal, arch: spot.arch === "amd64" ? null : spot.arch, panel: "path" })}>{spot.goal}</a> in {spot.channel} ({spot.arch}), for {spot.clients.join(", ")}
                  </p>
                ))}
                {stranding.spots.length > 20 && <p class="muted">and in {stranding.spots.length - 20} more places</p>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Table caption="Each channel, architecture and kind of client" showCaption columns={AUDIT} rows={audit.sections} rowKey={(section, index) => `${section.channel} ${section.arch} ${index}`} empty={<p>Nothing was audited.</p>} />
    </div>
  );
}

const CAUSES: Record<string, string> = { noEdgeLeaves: "because no update leads on", noEdgeReaches: "because no update leads to the goal" };

const AUDIT: Column<AuditSection>[] = [
  { key: "channel", title: "Channel", head: true, sort: (section) => section.channel, cell: (section) => <button type="button" class="text" onClick={() => change({ channel: section.channel })}>{section.channel}</button> },
  { key: "arch", title: "Architecture", sort: (section) => section.arch, cell: (section) => section.arch },
  { key: "clients", title: "Clients", cell: (section) => section.clients.join(", ") },
  { key: "plain", title: "Plain way", numeric: true, sort: (section) => section.tally.plain, cell: (section) => section.tally.plain },
  { key: "conditional", title: "With risks", numeric: true, sort: (section) => section.tally.conditional, cell: (section) => section.tally.conditional },
  { key: "stranded", title: "Stranded", numeric: true, sort: (section) => section.tally.stranded, cell: (section) => (section.tally.stranded > 0 ? <Mark kind="no">{section.tally.stranded}</Mark> : 0) },
];
