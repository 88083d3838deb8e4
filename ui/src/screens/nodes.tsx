// Nodes: the plan of a rolling reboot, as `towpath nodes plan --output json` wrote it: which nodes go in which wave, what moves where,
// and what stands in the way.
//
// A service knows no cluster's nodes, so the file comes from the person. It is read in this browser and sent nowhere. Nothing is
// planned here: waves, moves, times and reasons are those of the file.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import type { ScreenProps } from "../app";
import type { AnswerWord, Reason } from "../api/types";
import { count, duration, percent } from "../clock";
import { Code, Empty, Mark, Section, Shape, Time } from "../components/basics";
import { AnswerWordMark, Reasons } from "../components/reasons";
import { Table, type Column } from "../components/table";
import { useWidth } from "./fleet/timeline";

interface Spread {
  low: number;
  likely: number;
  high: number;
}

interface Move {
  pod: string;
  from: string;
  to: string | null;
}

interface Wave {
  zone: string | null;
  nodes: string[];
  moves: Move[];
  /** Moves to nodes that go later. */
  softened: number;
  waiting: string[];
  lost: string[];
}

interface Load {
  least: number;
  mean: number;
  most: number;
}

interface Pool {
  name: string;
  state: "goes" | "paused" | "noSlot";
  mostAway: number;
  waves: Wave[];
  held: { node: string; pods: string[] }[];
  added: string[];
  removed: string[];
  rebalanced: Move[];
  pods: number;
  /** How many pods have to move more than once, whatever the order. */
  bound: number;
  takes: Spread;
  loadBefore: Load;
  loadAfter: Load;
}

interface Outcome {
  moved: number;
  movedMoreThanOnce: number;
  moves: number;
  waited: number;
  stuck: number;
}

interface NodesPlan {
  at: string;
  id: string | null;
  answer: AnswerWord;
  reasons: Reason[];
  pools: Pool[];
  pods: Outcome;
  /** What the operator's own order would do. */
  unplanned: Outcome;
  nodeTakes: Spread;
  example?: boolean;
}

/** The biggest plan, of 5,000 nodes and 200,000 pods, is about half as large. */
const LARGEST_FILE = 100 * 1024 * 1024;

const opened = signal<{ name: string; plan?: NodesPlan; problem?: string } | null>(null);

const NO_PLAN = "It is not a plan of nodes. `towpath nodes plan --output json` writes one.";

function read(name: string, text: string): void {
  let plan: NodesPlan;
  try {
    plan = JSON.parse(text) as NodesPlan;
  } catch {
    opened.value = { name, problem: `It is not JSON. ${NO_PLAN}` };
    return;
  }
  const isPool = (pool: Pool) => typeof pool?.name === "string" && [pool.waves, pool.held, pool.rebalanced].every(Array.isArray) && pool.waves.every((wave) => Array.isArray(wave?.nodes) && Array.isArray(wave.moves) && Array.isArray(wave.waiting) && Array.isArray(wave.lost));
  const isPlan = Array.isArray(plan?.pools) && plan.pools.every(isPool) && Array.isArray(plan.reasons) && plan.pods && plan.unplanned && plan.nodeTakes;
  opened.value = isPlan ? { name, plan } : { name, problem: NO_PLAN };
}

async function take(file: File | undefined): Promise<void> {
  if (!file) return;
  if (file.size > LARGEST_FILE) opened.value = { name: file.name, problem: `It is larger than ${LARGEST_FILE / 1024 / 1024} MiB. ${NO_PLAN}` };
  else read(file.name, await file.text());
}

export function NodesScreen(_: ScreenProps): JSX.Element {
  const now = opened.value;
  return (
    <>
      <header class="screen-head">
        <h1>Nodes</h1>
        <p class="muted">In which order the nodes of a cluster reboot, and what moves where.</p>
      </header>
      <Choose again={now !== null} />
      {now?.problem && <p class="note note-failing" role="alert"><Shape tone="failing" /> {now.name} cannot be shown: {now.problem}</p>}
      {now?.plan ? <Shown name={now.name} plan={now.plan} /> : <NoPlan />}
    </>
  );
}

/** A file, or a text that is pasted. */
function Choose({ again }: { again: boolean }): JSX.Element {
  const pasted = useRef<HTMLTextAreaElement>(null);
  return (
    <div class="stack">
      <label class="field wide">
        <span>{again ? "Another plan" : "The plan's file"}</span>
        <input type="file" name="plan" accept=".json,application/json" onChange={(event) => void take(event.currentTarget.files?.[0])} />
      </label>
      <details>
        <summary>Paste it instead</summary>
        <form class="stack" onSubmit={(event) => (event.preventDefault(), read("What was pasted", pasted.current!.value))}>
          <label class="field wide"><span>The plan, as JSON</span><textarea ref={pasted} name="pasted" rows={6} spellcheck={false} autoComplete="off" /></label>
          <div class="buttons"><button type="submit">Show it</button></div>
        </form>
      </details>
    </div>
  );
}

function NoPlan(): JSX.Element {
  return (
    <Empty title="No plan is open.">
      <p>A service knows no cluster's nodes. The plan is made where they can be read, and shown here. It stays in this browser, and is gone when the page is loaded again.</p>
      <Code text="towpath nodes plan --kubeconfig ~/.kube/config --output json > plan.json" label="The command that makes a plan" />
    </Empty>
  );
}

const plural = (n: number, what: string): string => `${count(n)} ${n === 1 ? what : `${what}s`}`;

const spread = ({ low, likely, high }: Spread): string => (low === high ? duration(likely) : `${duration(likely)} (${duration(low)} to ${duration(high)})`);

function Shown({ name, plan }: { name: string; plan: NodesPlan }): JSX.Element {
  const { pods, unplanned } = plan;
  const bound = plan.pools.reduce((sum, pool) => sum + pool.bound, 0);
  return (
    <div class="stack-wide">
      {plan.example && <p class="note"><Shape tone="quiet" /> This is the plan of the built-in example.</p>}
      <p class="muted">{name}{plan.id && <>, of cluster <code>{plan.id}</code></>}, made <Time at={plan.at} exactly real />.</p>
      <Section title="What stands in the way" aside={<AnswerWordMark answer={plan.answer} />}>
        <Reasons reasons={plan.reasons} none="Nothing stands in the way." />
      </Section>
      <Section title="Pods">
        <dl class="numbers">
          <div><dt>move</dt><dd>{count(pods.moved)}</dd></div>
          <div><dt>more than once</dt><dd>{count(pods.movedMoreThanOnce)}</dd></div>
          <div><dt>have to, in any order</dt><dd>{count(bound)}</dd></div>
          <div><dt>without a plan</dt><dd>{count(unplanned.movedMoreThanOnce)}</dd></div>
          <div><dt>wait</dt><dd>{count(pods.waited)}</dd></div>
          <div><dt>go nowhere</dt><dd>{count(pods.stuck)}</dd></div>
        </dl>
        <p class="muted">A node takes {spread(plan.nodeTakes)}: drain, reboot, ready.</p>
      </Section>
      {plan.pools.map((pool) => <PoolView key={pool.name} pool={pool} />)}
    </div>
  );
}

const STATES: Record<Pool["state"], string> = { goes: "", paused: "It is paused, and stays.", noSlot: "No node of it can go: as many as may be away are away already." };

function PoolView({ pool }: { pool: Pool }): JSX.Element {
  const rows = pool.waves.map((wave, index) => ({ number: index + 1, wave }));
  return (
    <Section title={<>Pool {pool.name}</>} aside={<span class="muted">{pool.waves.length > 0 && `${plural(pool.waves.length, "wave")}, ${spread(pool.takes)}, `}at most {count(pool.mostAway)} away</span>}>
      {STATES[pool.state] && <p class="note">{STATES[pool.state]}</p>}
      {pool.added.length > 0 && <p>First {plural(pool.added.length, "node")} more: {pool.added.join(", ")}. They are removed at the end.</p>}
      {pool.waves.length > 0 && (
        <>
          <Waves pool={pool} />
          <Table caption={`Waves of pool ${pool.name}`} columns={WAVES} rows={rows} rowKey={(row) => row.number} atFirst={100} />
        </>
      )}
      {pool.held.length > 0 && (
        <Table
          caption={`Nodes of pool ${pool.name} that are held`}
          showCaption
          rows={pool.held}
          rowKey={(row) => row.node}
          columns={[
            { key: "node", title: "Held", head: true, cell: (row) => row.node },
            { key: "pods", title: "By these pods", cell: (row) => <Few names={row.pods} /> },
          ]}
        />
      )}
      {pool.rebalanced.length > 0 && (
        <Moves summary={`At the end ${plural(pool.rebalanced.length, "pod")} ${pool.rebalanced.length === 1 ? "moves" : "move"}, so that nodes are even: ${load(pool.loadBefore)} before, ${load(pool.loadAfter)} after`} moves={pool.rebalanced} />
      )}
    </Section>
  );
}

const load = ({ least, mean, most }: Load): string => `${percent(least / 1000)} to ${percent(most / 1000)} full, mean ${percent(mean / 1000)}`;

const WAVES: Column<{ number: number; wave: Wave }>[] = [
  { key: "number", title: "Wave", head: true, cell: (row) => row.number },
  { key: "nodes", title: "Nodes", cell: (row) => <Few names={row.wave.nodes} /> },
  { key: "zone", title: "Zone", cell: (row) => row.wave.zone ?? <span class="muted">none</span> },
  { key: "moves", title: "What moves", cell: (row) => (row.wave.moves.length === 0 ? <span class="muted">nothing</span> : <Moves summary={plural(row.wave.moves.length, "pod")} moves={row.wave.moves} />) },
  { key: "later", title: "To nodes that go later", numeric: true, cell: (row) => (row.wave.softened > 0 ? count(row.wave.softened) : <span class="muted">·</span>) },
  { key: "waiting", title: "Wait for the node", cell: (row) => <Few names={row.wave.waiting} /> },
  { key: "lost", title: "Nothing makes again", cell: (row) => (row.wave.lost.length > 0 ? <><Mark kind="warning">{count(row.wave.lost.length)}</Mark> <Few names={row.wave.lost} /></> : <span class="muted">–</span>) },
];

/** Names in a row; the rest are behind a summary. */
function Few({ names }: { names: readonly string[] }): JSX.Element {
  if (names.length === 0) return <span class="muted">–</span>;
  if (names.length <= 4) return <>{names.join(", ")}</>;
  return <details><summary>{plural(names.length, "name").replace(/names?$/, "of them")}</summary>{names.join(", ")}</details>;
}

const MOST_MOVES = 500;

function Moves({ summary, moves }: { summary: ComponentChildren; moves: readonly Move[] }): JSX.Element {
  return (
    <details>
      <summary>{summary}</summary>
      <ul class="small-text">
        {moves.slice(0, MOST_MOVES).map((move, index) => <li key={index}>{move.pod}: {move.from} → {move.to ?? <Mark kind="warning">nowhere</Mark>}</li>)}
        {moves.length > MOST_MOVES && <li class="muted">and {count(moves.length - MOST_MOVES)} more in the file</li>}
      </ul>
    </details>
  );
}

const ROW = 24;
const HEAD = 22;
const MOST_ROWS = 200;
const CHARACTER = 7.2;

/** A row for each wave: who goes, and when, counted from the pool's beginning. The zone is a colour, and stands beside it. */
function Waves({ pool }: { pool: Pool }): JSX.Element {
  const [frame, width] = useWidth();
  const names = Math.min(230, Math.max(96, width * 0.3));
  const zones = [...new Set(pool.waves.map((wave) => wave.zone))];
  const shown = pool.waves.slice(0, MOST_ROWS);
  const height = HEAD + shown.length * ROW + 6;
  const room = width - names - 8;
  const long = room / pool.waves.length;
  const one = pool.takes.likely / pool.waves.length;
  return (
    <div class="timeline card" ref={frame}>
      <svg role="img" aria-label={`The waves of pool ${pool.name}, one after the other. The same stands in the table below.`} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <text class="timeline-date" x={names} y={HEAD - 8}>begins</text>
        <text class="timeline-date" x={width - 8} y={HEAD - 8} text-anchor="end">{duration(pool.takes.likely)} later</text>
        {shown.map((wave, index) => {
          const left = names + index * long;
          const bar = Math.max(3, long - 2);
          const says = [wave.zone, plural(wave.moves.length, "move")].filter(Boolean).join(", ");
          const before = says.length * CHARACTER > width - left - bar - 8;
          return (
            <g key={index} transform={`translate(0 ${HEAD + index * ROW})`}>
              <title>{`Wave ${index + 1}, after ${duration(index * one)}: ${wave.nodes.join(", ")}; ${says}`}</title>
              <line class="timeline-row" x1="0" x2={width} y1={ROW} y2={ROW} />
              <text class="timeline-name" x="0" y={ROW - 7}>{fitted(wave.nodes.join(", "), names - 10)}</text>
              <rect class={`wave-zone-${zones.indexOf(wave.zone) % 4}`} x={left} y="5" width={bar} height={ROW - 10} rx="2" />
              <text class="timeline-text" x={before ? left - 5 : left + bar + 5} y={ROW - 7} text-anchor={before ? "end" : "start"}>{fitted(says, before ? left - names : width)}</text>
            </g>
          );
        })}
      </svg>
      {pool.waves.length > MOST_ROWS && <p class="muted small-text">{count(MOST_ROWS)} waves are drawn; the table has all {count(pool.waves.length)}.</p>}
    </div>
  );
}

function fitted(text: string, width: number): string {
  const most = Math.floor(width / CHARACTER);
  if (text.length <= most) return text;
  return most < 2 ? "" : `${text.slice(0, most - 1)}…`;
}
