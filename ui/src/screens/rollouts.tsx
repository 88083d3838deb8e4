// Rollouts: every window that is open or to come, as a curve over time; and what would change it, as a diff.

import type { JSX } from "preact";
import { at, change, here, link, param } from "../address";
import { useAnswer } from "../api/answer";
import { url } from "../api/client";
import type { ScreenProps } from "../app";
import { session } from "../session";
import { Answered, Code, Diff, Empty, Mark, Section, Shape, Time } from "../components/basics";
import { Findings } from "../components/reasons";
import type { Finding } from "../api/types";
import { Dialog } from "../components/dialog";
import { Choice, Field, Question } from "../components/fields";
import { Table, type Column } from "../components/table";
import { Curve, type CurvePoint } from "../components/curve";
import { exact, percent } from "../clock";
import { HaltAtOnce, scopeName, StandingHalts, type HaltScope, type ServedHalt } from "./halts";

interface Rollout {
  channel: string;
  to: string;
  /** Whose window it is where its rule has rings, and the ring's name. */
  whose: "everybody" | "ring" | "everybodyElse";
  ring: string | null;
  architectures: string[];
  state: "running" | "toCome" | "held";
  start: string;
  end: string;
  ramp: string;
  /** How long after the start each share begins; null for other ramps. */
  stages: { after: string; share: number }[] | null;
  share: number;
  /** Null while the window is held. */
  reaches: Record<string, string | null>;
  from: string[];
  blocked: { origin: string; everybody: boolean; platforms: string[]; from: string[]; halt?: { by: string; at: string } | null }[];
  curve?: CurvePoint[];
  place?: string | null;
  name?: string | null;
  /** Null: this service has no fleet, or no cluster has reported. */
  outcomes?: Outcomes | null;
}

interface OutcomeCount {
  offered: number;
  started: number;
  underWay: number;
  done: number;
  failed: number;
  degraded: number;
}

interface Outcomes extends OutcomeCount {
  classes: (OutcomeCount & { fromMinor: string; platform: string | null; arch: string })[];
  /** How many classes are left out. */
  moreClasses: number;
}

interface Watched {
  release: string;
  answer: "halt" | "go-on" | "inconclusive";
  /** The answer and its evidence in words. */
  sentence: string;
  mode: string;
  toleratedPerMillion: number;
  scopes: {
    scope: HaltScope;
    answer: Watched["answer"];
    attempts: number;
    known: number;
    failed: number;
    degraded: number;
    basePerMillion: number;
    visiblePerMillion: number | null;
  }[];
}

interface WatchAnswer {
  at: string | null;
  releases: Watched[];
}

interface RolloutsAnswer {
  at: string;
  rollouts: Rollout[];
  changedWindows: ChangedWindows[];
  halts: ServedHalt[];
}

/** What a new copy of graph data does to windows under clusters. */
interface ChangedWindows {
  source: string;
  at: string;
  result: "taken" | "refused";
  sentences: string[];
  leftOut: number;
}

interface Change {
  at: string;
  action: string;
  to: string;
  summary: string;
  /** A file without a text goes. */
  files: { path: string; diff: string; text: string | null }[];
  before: Rollout[];
  after: Rollout[];
  warnings: string[];
  /** Until then what is said here holds. */
  servedBy: string;
  /** Whether presubmit lets the change through. */
  letThrough: boolean;
  findings: Finding[];
}

const ACTIONS = [
  { action: "halt", text: "Halt" },
  { action: "resume", text: "Resume" },
  { action: "slow", text: "Slow down" },
  { action: "speed-up", text: "Speed up" },
] as const;

/** What may be said about a change; what is not said is as the API has it. */
const CHOICES: Record<string, { name: string; label: string; placeholder: string; wide?: boolean }[]> = {
  halt: [
    { name: "message", label: "message for clusters", placeholder: "what is wrong", wide: true },
    { name: "url", label: "link", placeholder: "https://…", wide: true },
  ],
  slow: [
    { name: "factor", label: "times slower", placeholder: "2" },
    { name: "within", label: "served within", placeholder: "1h" },
  ],
  "speed-up": [
    { name: "factor", label: "times faster", placeholder: "2" },
    { name: "within", label: "served within", placeholder: "1h" },
  ],
};

const NO_CHOICES = { factor: null, within: null, message: null, url: null };

const keyOf = (rollout: Rollout): string => [rollout.channel, rollout.to, rollout.whose, rollout.ring, rollout.architectures.join("+"), rollout.start, rollout.end, rollout.from[0]].join(" ");

const STATES: Record<Rollout["state"], { kind: string; text: string }> = {
  running: { kind: "phasing", text: "open" },
  toCome: { kind: "quiet", text: "to come" },
  held: { kind: "blocked", text: "held" },
};

/** Whom a window is for, if not for everybody. */
function whom({ whose, ring }: Rollout): string | null {
  if (whose === "ring") return `ring ${ring}`;
  return whose === "everybodyElse" ? "everybody else" : null;
}

export function RolloutsScreen(_: ScreenProps): JSX.Element {
  const answer = useAnswer<RolloutsAnswer>(url("/api/v1/rollouts", { now: at.value }));
  const watch = useAnswer<WatchAnswer>(session.value?.hasFleet && !at.value ? url("/api/v1/fleet/watch") : null, { topic: "fleet" });
  return (
    <>
      <div class="screen-head">
        <h1>Rollouts</h1>
        <p class="muted">Each cluster is reached at its own instant between start and end.</p>
      </div>
      <StandingHalts served={answer.data?.halts ?? []} />
      {answer.data?.changedWindows.map((changed) => <Changed key={`${changed.source} ${changed.at}`} changed={changed} />)}
      <Answered answer={answer} what="rollouts">
        {(data) => (data.rollouts.length === 0 ? <None /> : <All data={data} watch={watch.data?.releases ?? []} />)}
      </Answered>
      {param("change") && <ChangeDialog />}
    </>
  );
}

function Changed({ changed }: { changed: ChangedWindows }): JSX.Element {
  const refused = changed.result === "refused";
  return (
    <div class="note note-conditional">
      <p><Shape tone="conditional" /> {refused ? "A copy of" : "A new copy of"} {changed.source} {refused ? "was refused, because it changes windows under clusters" : "changed windows under clusters"}, <Time at={changed.at} exactly real />.</p>
      <ul>
        {changed.sentences.map((sentence) => <li key={sentence} class="small-text">{sentence}</li>)}
        {changed.leftOut > 0 && <li class="small-text">and {changed.leftOut} more</li>}
      </ul>
    </div>
  );
}

function None(): JSX.Element {
  return (
    <Empty title="No rollout is open or to come">
      <p>Every update that is offered is offered to everybody at once. A phased rollout is a rule in a channel's file:</p>
      <Code label="A phased rollout" text={"phasedRollouts:\n- fromVersion: patch\n  duration: P4D"} />
      <p>It begins when a release enters the channel, and ends after the duration.</p>
    </Empty>
  );
}

function All({ data, watch }: { data: RolloutsAnswer; watch: readonly Watched[] }): JSX.Element {
  const channel = param("channel");
  const to = param("to");
  const state = param("state");
  const wanted = (rollout: Rollout) => (!channel || rollout.channel === channel) && (!to || rollout.to === to) && (!state || rollout.state === state);
  const shown = data.rollouts.filter(wanted);
  const names = [...new Set(data.rollouts.map((rollout) => rollout.channel))];
  // What is over in an instant has no curve to look at.
  const curves = shown.filter((rollout) => rollout.start !== rollout.end || rollout.state === "held");
  const inState = (wanted: Rollout["state"]) => data.rollouts.filter((rollout) => rollout.state === wanted).length;
  return (
    <>
      <Question label="Which rollouts">
        <Field name="channel" label="channel" placeholder="all" suggestions={names} width="wide" />
        <Field name="to" label="to release" placeholder="all" />
        <Choice name="state" label="state" options={[{ value: "", text: "open and to come" }, { value: "running", text: "open" }, { value: "toCome", text: "to come" }, { value: "held", text: "held" }]} />
      </Question>
      <p class="muted">{inState("running")} open, {inState("toCome")} to come{inState("held") > 0 && `, ${inState("held")} held`}, as of {exact(Date.parse(data.at))}. {shown.length < data.rollouts.length && `${shown.length} are shown.`}</p>
      <div class="rollouts">
        {curves.slice(0, 40).map((rollout) => <RolloutCard key={keyOf(rollout)} rollout={rollout} now={Date.parse(data.at)} watched={watch.find((one) => one.release === rollout.to)} />)}
      </div>
      {curves.length > 40 && <p class="muted">Forty are drawn; the table has all {shown.length}.</p>}
      <Section title="All windows">
        <RolloutTable rollouts={shown} />
      </Section>
    </>
  );
}

function RolloutCard({ rollout, now, watched }: { rollout: Rollout; now: number; watched: Watched | undefined }): JSX.Element {
  const state = STATES[rollout.state];
  const ring = whom(rollout);
  return (
    <article class="card rollout" aria-label={`${rollout.to} in ${rollout.channel}${ring ? `, ${ring}` : ""}`}>
      <header class="rollout-head">
        <h2><a href={link("/graph", { channel: rollout.channel, to: rollout.to, from: rollout.from[rollout.from.length - 1] })}>{rollout.to}</a> <span class="muted">in {rollout.channel}{ring && <>, <strong>{ring}</strong></>}</span></h2>
        <span class="row">
          {rollout.blocked.some((block) => block.everybody) && <Mark kind="blocked">{rollout.blocked.some((block) => block.everybody && block.halt) ? "halted" : "blocked"}</Mark>}
          <Mark kind={state.kind}>{state.text}</Mark>
        </span>
      </header>
      <p class="rollout-share"><strong class="number">{percent(rollout.share)}</strong> <span class="muted">of {ring ?? "clusters"} reached</span></p>
      {rollout.state === "held" ? (
        <p class="muted">It is held in graph data: nobody is reached until somebody takes that out.</p>
      ) : (
        <Curve points={rollout.curve ?? straight(rollout)} now={now} start={rollout.start} end={rollout.end} share={rollout.share} label={`Share of clusters reached by ${rollout.to} in ${rollout.channel}${ring ? `, ${ring}` : ""}`} />
      )}
      <dl class="facts">
        <dt>start</dt><dd><Time at={rollout.start} exactly /></dd>
        {rollout.state !== "held" && (
          <>
            <dt>half</dt><dd><Time at={rollout.reaches["50"]} exactly /></dd>
            <dt>end</dt><dd><Time at={rollout.end} exactly /></dd>
          </>
        )}
        <dt>ramp</dt><dd>{rollout.ramp}{rollout.stages && rollout.stages.length > 0 && `: ${rollout.stages.map((stage) => percent(stage.share)).join(", ")}`}{rollout.name && <>, rule <code>{rollout.name}</code></>}</dd>
        {rollout.place && (<><dt>written at</dt><dd><code>{rollout.place}</code></dd></>)}
        <dt>from</dt><dd>{named(rollout.from)}</dd>
        <dt>for</dt><dd>{rollout.architectures.join(", ")}</dd>
      </dl>
      {rollout.blocked.map((block) => (
        <p key={block.origin} class="note note-blocked small-text">
          <Shape tone="blocked" /> {block.halt ? <>Halted by {block.halt.by} <Time at={block.halt.at} />,</> : "Blocked"} {block.everybody ? "for everybody" : `on ${block.platforms.join(", ")}`}, from {named(block.from)}: <code>{block.origin}</code>
        </p>
      ))}
      <OutcomesOf rollout={rollout} />
      {watched && <WatchOf watched={watched} />}
      <div class="buttons">
        {ACTIONS.map(({ action, text }) => (
          <button key={action} type="button" class="small" onClick={() => change({ change: action, in: rollout.channel, release: rollout.to, ...NO_CHOICES })}>{text}</button>
        ))}
      </div>
    </article>
  );
}

const COUNTS: { key: keyof OutcomeCount; title: string }[] = [
  { key: "offered", title: "offered" },
  { key: "started", title: "started" },
  { key: "underWay", title: "under way" },
  { key: "done", title: "done" },
  { key: "failed", title: "failed" },
  { key: "degraded", title: "degraded" },
];

/** What became of a release on clusters of ours, each counted once. */
function OutcomesOf({ rollout }: { rollout: Rollout }): JSX.Element {
  const outcomes = rollout.outcomes;
  if (!outcomes) return <p class="muted small-text outcomes">No outcomes: no cluster of a fleet reports to this service.</p>;
  return (
    <div class="outcomes">
      <dl>
        {COUNTS.map(({ key, title }) => (
          <div key={key}>
            <dt>{title}</dt>
            <dd class="number">{outcomes[key]}</dd>
          </div>
        ))}
      </dl>
      {outcomes.classes.length > 0 && (
        <details>
          <summary>By minor version, platform and architecture</summary>
          <Table
            caption={`What became of ${rollout.to}, by class`}
            rows={outcomes.classes}
            rowKey={(one) => `${one.fromMinor} ${one.platform} ${one.arch}`}
            columns={[
              { key: "from", title: "From", head: true, cell: (one) => one.fromMinor },
              { key: "platform", title: "Platform", cell: (one) => one.platform ?? <span class="muted">unknown</span> },
              { key: "arch", title: "Architecture", cell: (one) => one.arch },
              ...COUNTS.map(({ key, title }) => ({ key, title, numeric: true, cell: (one: OutcomeCount) => one[key] })),
            ]}
          />
          {outcomes.moreClasses > 0 && <p class="muted small-text">{outcomes.moreClasses} classes with fewer updates are left out.</p>}
        </details>
      )}
    </div>
  );
}

const ANSWERS = {
  halt: { kind: "no", text: "halt" },
  "go-on": { kind: "yes", text: "go on" },
  inconclusive: { kind: "quiet", text: "inconclusive" },
} as const;

/** What the watch says of a release, with its evidence. */
function WatchOf({ watched }: { watched: Watched }): JSX.Element {
  const answer = ANSWERS[watched.answer];
  const rate = (perMillion: number) => `${perMillion / 10_000} %`;
  return (
    <div class="outcomes" role="group" aria-label={`What the watch says of ${watched.release}`}>
      <p class="row"><Mark kind={answer.kind}>{answer.text}</Mark> <span class="muted small-text">the watch, mode {watched.mode}</span></p>
      <p class="small-text">{watched.sentence}</p>
      <details>
        <summary>The evidence</summary>
        <Table
          caption={`What the watch knows of ${watched.release}`}
          rows={watched.scopes.filter((one) => one.attempts > 0)}
          rowKey={(one) => scopeName(one.scope)}
          empty={<p>No attempt is known yet.</p>}
          columns={[
            { key: "scope", title: "Clusters", head: true, cell: (one) => scopeName(one.scope) },
            { key: "answer", title: "Answer", cell: (one) => ANSWERS[one.answer].text },
            { key: "known", title: "Known", numeric: true, cell: (one) => `${one.known} of ${one.attempts}` },
            { key: "failed", title: "Failed", numeric: true, cell: (one) => one.failed },
            { key: "degraded", title: "Degraded", numeric: true, cell: (one) => one.degraded },
            { key: "usual", title: "Usual rate", numeric: true, cell: (one) => rate(one.basePerMillion) },
            { key: "seen", title: "Seen by now", numeric: true, cell: (one) => (one.visiblePerMillion === null ? "nothing" : `${rate(one.visiblePerMillion)} or more`) },
          ]}
        />
      </details>
    </div>
  );
}

/** A straight line, for a service that says only start and end. */
function straight(rollout: Rollout): CurvePoint[] {
  const reached = ["10", "50", "90"].flatMap((mark): CurvePoint[] => (rollout.reaches[mark] ? [[rollout.reaches[mark]!, Number(mark) / 100]] : []));
  return [[rollout.start, 0], ...reached, [rollout.end, 1]];
}

function named(versions: readonly string[]): string {
  if (versions.length <= 3) return versions.join(", ");
  return `${versions.length} releases, ${versions[0]} to ${versions[versions.length - 1]}`;
}

function blockedFor({ blocked }: Rollout): JSX.Element | string {
  if (blocked.length === 0) return <span class="muted">no</span>;
  return blocked.some((block) => block.everybody) ? "for everybody" : "in part";
}

const COLUMNS: Column<Rollout>[] = [
  { key: "to", title: "Release", head: true, sort: (one) => one.to, cell: (one) => <a href={link("/graph", { channel: one.channel, to: one.to, from: one.from[one.from.length - 1] })}>{one.to}</a> },
  { key: "channel", title: "Channel", sort: (one) => one.channel, cell: (one) => <code>{one.channel}</code> },
  { key: "state", title: "State", sort: (one) => one.state, cell: (one) => STATES[one.state].text },
  { key: "whose", title: "Who", sort: (one) => whom(one) ?? "", cell: (one) => whom(one) ?? <span class="muted">everybody</span> },
  { key: "share", title: "Reached", numeric: true, sort: (one) => one.share, cell: (one) => percent(one.share) },
  { key: "start", title: "Start", sort: (one) => one.start, cell: (one) => <Time at={one.start} /> },
  { key: "end", title: "End", sort: (one) => one.end, cell: (one) => <Time at={one.end} /> },
  { key: "ramp", title: "Ramp", sort: (one) => one.ramp, cell: (one) => one.ramp },
  { key: "from", title: "From", cell: (one) => named(one.from) },
  { key: "blocked", title: "Blocked", cell: blockedFor },
  ...["offered", "started", "done", "failed", "degraded"].map((key): Column<Rollout> => {
    const count = (one: Rollout) => one.outcomes?.[key as keyof OutcomeCount];
    return { key, title: key[0]!.toUpperCase() + key.slice(1), numeric: true, sort: (one) => count(one) ?? -1, cell: (one) => count(one) ?? <span class="muted">–</span> };
  }),
  { key: "place", title: "Written at", cell: (one) => (one.place ? <code>{one.place}</code> : <span class="muted">–</span>) },
];

function RolloutTable({ rollouts }: { rollouts: readonly Rollout[] }): JSX.Element {
  return <Table caption="Windows that are open or to come, and what became of the release on clusters of the fleet" showCaption columns={COLUMNS} rows={rollouts} rowKey={keyOf} empty={<p>No window is like that.</p>} />;
}

/** A change of graph data that halts, resumes or bends a rollout: to look at, to copy, to commit. Nothing is changed here. */
function ChangeDialog(): JSX.Element {
  const action = param("change");
  const choices = CHOICES[action] ?? [];
  const text = ACTIONS.find((one) => one.action === action)?.text ?? action;
  const answer = useAnswer<Change>(url("/api/v1/rollouts/change", { channel: param("in"), to: param("release"), action, ...Object.fromEntries(choices.map(({ name }) => [name, param(name)])), now: at.value }));
  const close = () => change({ change: null, in: null, release: null, ...NO_CHOICES });
  return (
    <Dialog title={`${text}: ${param("release")} in ${param("in")}`} onClose={close} wide>
      <div class="row">
        <div class="tabs" role="group" aria-label="What to do">
          {ACTIONS.map((one) => (
            <a key={one.action} href={here({ change: one.action })} aria-current={one.action === action ? "page" : undefined}>{one.text}</a>
          ))}
        </div>
      </div>
      {action === "halt" && <HaltAtOnce key={param("release")} release={param("release")} />}
      {action === "halt" && session.value?.hasFleet && <h3>Or halt it in graph data</h3>}
      <p>This is the change of graph data that does it. Nothing happens until somebody commits it: copy it into your repository.</p>
      {choices.length > 0 && (
        <div class="question">
          {choices.map(({ name, label, placeholder, wide }) => <Field key={name} name={name} label={label} placeholder={placeholder} width={wide ? "wide" : "short"} />)}
        </div>
      )}
      <Answered answer={answer} what="the change">
        {(data) => (
          <div class="stack-fill">
            <p><strong>{data.summary}</strong></p>
            {data.warnings.map((warning) => <p key={warning} class="note note-conditional"><Shape tone="conditional" /> {warning}</p>)}
            {data.findings.length === 0 ? (
              <p class="row"><Mark kind="yes">Presubmit has nothing against it</Mark></p>
            ) : (
              <>
                <p class="row"><Mark kind={data.letThrough ? "warning" : "no"}>{data.letThrough ? "Presubmit lets it through, and says" : "Presubmit refuses it"}</Mark></p>
                <Findings findings={data.findings} />
              </>
            )}
            {data.servedBy !== data.at && <p class="muted">This holds if it is served by <Time at={data.servedBy} exactly />.</p>}
            <Windows before={data.before} after={data.after} />
            {data.files.length === 0 && <p class="muted">There is nothing to change.</p>}
            {data.files.map((file) => (
              <div key={file.path} class="stack-fill">
                <h3><code>{file.path}</code></h3>
                <Diff text={file.diff} label={`Change of ${file.path}`} />
                {file.text === null && <p>The file goes.</p>}
                {file.text && (
                  <details>
                    <summary>The whole file</summary>
                    <Code text={file.text} label={`${file.path} after the change`} copy="Copy file" />
                  </details>
                )}
              </div>
            ))}
          </div>
        )}
      </Answered>
    </Dialog>
  );
}

/** The windows before and after, side by side. */
function Windows({ before, after }: { before: readonly Rollout[]; after: readonly Rollout[] }): JSX.Element | null {
  const rows = [...before.map((rollout) => ({ when: "before", rollout })), ...after.map((rollout) => ({ when: "after", rollout }))];
  if (rows.length === 0) return null;
  return (
    <Table
      caption="The windows before and after the change"
      showCaption
      rows={rows}
      rowKey={(row, index) => `${row.when} ${index}`}
      columns={[
        { key: "when", title: "When", head: true, cell: (row) => row.when },
        { key: "whose", title: "Who", cell: (row) => whom(row.rollout) ?? <span class="muted">everybody</span> },
        { key: "from", title: "From", cell: (row) => named(row.rollout.from ?? []) },
        { key: "share", title: "Reached", numeric: true, cell: (row) => percent(row.rollout.share) },
        { key: "start", title: "Start", cell: (row) => <Time at={row.rollout.start} /> },
        { key: "end", title: "End", cell: (row) => <Time at={row.rollout.end} exactly /> },
        { key: "ramp", title: "Ramp", cell: (row) => row.rollout.ramp },
        { key: "blocked", title: "Blocked", cell: (row) => blockedFor(row.rollout) },
      ]}
    />
  );
}
