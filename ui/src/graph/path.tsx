// The path from one release to another, as the planner answers it: hops, pools, risks, durations, commands; what to mirror.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { change, here, param } from "../address";
import type { Answer } from "../api/answer";
import { ApiError, credentials } from "../api/client";
import type { Reason, Risk, Verdict } from "../api/types";
import { Answered, Code, Outward, Time } from "../components/basics";
import { Field, Choice } from "../components/fields";
import { Reasons, VerdictView } from "../components/reasons";
import { duration, exact } from "../clock";
import { Channels, RiskView, sinceNow, Why } from "./why";
import { mirrorUrl } from "./question";
import { save } from "./save";
import { KindMark } from "./kinds";

interface Spread {
  low: number;
  likely: number;
  high: number;
}

export interface Hop {
  from: string;
  to: string;
  channel: string;
  url: string | null;
  risks: string[];
  opens: string;
  taken: string;
  arrives: string;
  settled: string;
  skips?: string[] | null;
  pausedPools: { on: string | null; catchUp: "later" | "afterThisHop"; catchUpSeconds?: Spread } | null;
  commands?: string[];
  /** What is worth a look before, and changes nothing. */
  look?: string[];
  /** What the release that the hop begins with asks people to acknowledge. */
  acknowledgements?: Acknowledgement[];
  kind?: string;
  share?: number | null;
  reasons?: Reason[];
}

interface Acknowledgement {
  gate: string;
  description: string;
  /** Which clusters are asked; null is all. */
  only: string | null;
  since: string | null;
  verified: boolean;
  command: string;
}

export interface Path {
  hops: Hop[];
  arrives: string;
  settled: string;
  controlPlaneSeconds: Spread;
  totalSeconds: Spread;
  workerRollouts: number;
  unverifiedMinors?: string[];
  commandsAfter?: string[];
}

interface Barrier {
  from: string;
  to: string;
  channel?: string;
  reasons?: Reason[];
  heldTogetherBy?: string[];
}

export interface Paths {
  at: string;
  from: string;
  asked: string;
  to: string | null;
  via: string[];
  prefer: string;
  found: boolean;
  certainty: "best" | "searchLimit";
  shape: "given" | "assumed";
  warnings: string[];
  paths: Path[];
  noPath: null | {
    code: string;
    channel?: string;
    otherChannels?: string[];
    nearest?: string | null;
    pathToNearest?: Path | null;
    newestOfGoalsMinor?: string | null;
    barriers?: Barrier[];
    moreBarriers?: number;
    pathWithRisks?: Path | null;
  };
  fleet: Verdict | null;
  risks: Risk[];
}

const PREFER = [
  { value: "", text: "fewest hops" },
  { value: "safest", text: "fewest risks" },
  { value: "soonest", text: "soonest" },
  { value: "fewest-reboots", text: "fewest reboots" },
];

const VIA = [
  { value: "", text: "stable" },
  { value: "fast", text: "fast" },
  { value: "candidate", text: "candidate" },
  { value: "eus", text: "eus" },
  { value: "stable,eus", text: "stable and eus" },
  { value: "channel", text: "only this channel" },
];

const RISKS = [
  { value: "", text: "never taken" },
  { value: "unknown", text: "may turn out not to apply" },
];

const ON = [
  { value: "", text: "cloud" },
  { value: "metal", text: "metal" },
];

export function PathPanel({ from, to, answer }: { from: string; to: string; answer: Answer<Paths> }): JSX.Element {
  return (
    <div class="stack-fill">
      <details class="path-choices" open={["via", "prefer", "risks", "nodes", "max-unavailable", "on"].some((name) => param(name) !== "")}>
        <summary>How to look for it</summary>
        <div class="question">
          <Choice name="via" label="through channels" options={VIA} />
          <Choice name="prefer" label="prefer" options={PREFER} />
          <Choice name="risks" label="updates with risks" options={RISKS} />
          <Field name="nodes" label="worker nodes" placeholder="not said" width="short" />
          <Field name="max-unavailable" label="away at once" placeholder="1" width="short" />
          <Choice name="on" label="they run on" options={ON} width="short" />
        </div>
      </details>
      <Answered answer={answer} what={`the path from ${from} to ${to}`}>
        {(paths) => <PathsView paths={paths} from={from} to={to} />}
      </Answered>
    </div>
  );
}

function PathsView({ paths, from, to }: { paths: Paths; from: string; to: string }): JSX.Element {
  return (
    <div class="stack-fill">
      {paths.warnings.map((warning) => <p key={warning} class="note note-conditional">{warning}</p>)}
      {paths.fleet && (
        <div class="fleet-says">
          <h3>What the fleet says about the first hop</h3>
          <VerdictView verdict={paths.fleet} />
        </div>
      )}
      {paths.paths.map((path, index) => <PathView key={index} path={path} risks={paths.risks} shape={paths.shape} />)}
      {paths.certainty === "searchLimit" && <p class="note note-conditional">The search stopped at its limit: a safer path may exist.</p>}
      {paths.noPath && <NoPathView paths={paths} />}
      {paths.found && <Mirror from={from} to={to} />}
    </div>
  );
}

/** "about 2 h 56 min (1 h 50 min to 4 h)". */
function spread({ low, likely, high }: Spread): string {
  return low === high ? duration(likely) : `${duration(likely)} (${duration(low)} to ${duration(high)})`;
}

function PathView({ path, risks, shape }: { path: Path; risks: readonly Risk[]; shape: string }): JSX.Element {
  const commands = [...path.hops.flatMap((hop) => hop.commands ?? []), ...(path.commandsAfter ?? [])];
  const named = risks.filter((risk) => path.hops.some((hop) => hop.risks.includes(risk.name)));
  const hops = path.hops.length;
  return (
    <div class="stack-fill">
      <p class="path-sum">
        <strong>{hops === 0 ? "Nothing to do" : `${hops} ${hops === 1 ? "hop" : "hops"}`}</strong>
        {hops > 0 && <span class="number">control planes {spread(path.controlPlaneSeconds)}</span>}
        {hops > 0 && shape === "given" && <span class="number">with worker pools {spread(path.totalSeconds)}</span>}
        {hops > 0 && <span>arrives <Time at={path.arrives} exactly /></span>}
        {hops > 0 && <span>nodes of worker pools reboot {path.workerRollouts === 1 ? "once" : `${path.workerRollouts} times`}</span>}
      </p>
      {path.unverifiedMinors && path.unverifiedMinors.length > 0 && (
        <p class="note note-conditional">Nobody has verified what is known of {path.unverifiedMinors.join(", ")}.</p>
      )}
      <ol class="hops">
        {path.hops.map((hop, index) => <HopView key={index} hop={hop} number={index + 1} />)}
      </ol>
      {named.map((risk) => <RiskView key={risk.name} risk={risk} />)}
      {commands.length > 0 && (
        <details>
          <summary>All commands in order ({commands.length})</summary>
          <Code text={commands.join("\n")} label="All commands of the path" copy="Copy all" />
        </details>
      )}
    </div>
  );
}

function HopView({ hop, number }: { hop: Hop; number: number }): JSX.Element {
  const open = param("hop") === String(number);
  return (
    <li class="hop">
      <p class="hop-head">
        <strong>{hop.from} → {hop.to}</strong> {hop.kind && <KindMark kind={hop.kind} />} <span class="muted">in <code>{hop.channel}</code></span>
      </p>
      <dl class="facts">
        <dt>opens</dt>
        <dd>{sinceNow(hop.opens) ? <Time at={hop.opens} exactly /> : "is open"}</dd>
        <dt>control plane</dt>
        <dd>{exact(Date.parse(hop.taken))} to {exact(Date.parse(hop.arrives))}</dd>
        {hop.pausedPools && (
          <>
            <dt>pools</dt>
            <dd>
              may stay paused{hop.pausedPools.on && <> on {hop.pausedPools.on}</>}
              {hop.pausedPools.catchUp === "afterThisHop" && <>, and catch up after this hop{hop.pausedPools.catchUpSeconds && <> ({spread(hop.pausedPools.catchUpSeconds)})</>}</>}
            </dd>
          </>
        )}
        {hop.skips && hop.skips.length > 0 && (<><dt>leaves out</dt><dd>{hop.skips.join(", ")}</dd></>)}
        {hop.risks.length > 0 && (<><dt>risks</dt><dd>{hop.risks.join(", ")}</dd></>)}
        {hop.url && (<><dt>errata</dt><dd><Outward href={hop.url} /></dd></>)}
      </dl>
      {hop.acknowledgements?.map((ack) => <AcknowledgementView key={ack.gate} ack={ack} />)}
      {hop.look && hop.look.length > 0 && (
        <>
          <p class="small-text">Look first; this changes nothing:</p>
          <Code text={hop.look.join("\n")} label={`What to look at before ${hop.from} to ${hop.to}`} />
        </>
      )}
      {hop.commands && hop.commands.length > 0 && <Code text={hop.commands.join("\n")} label={`Commands of ${hop.from} to ${hop.to}`} />}
      <details open={open} onToggle={(event) => event.currentTarget.open !== open && change({ hop: event.currentTarget.open ? number : null }, { replace: true })}>
        <summary>Why it is offered</summary>
        {open && (hop.reasons ? <Reasons reasons={hop.reasons} /> : <Why channel={hop.channel} from={hop.from} to={hop.to} />)}
      </details>
    </li>
  );
}

/** A gate that somebody has to acknowledge. Where not every cluster is asked, its command stands apart from the others. */
function AcknowledgementView({ ack }: { ack: Acknowledgement }): JSX.Element {
  return (
    <div class="stack-fill">
      <p class="small-text">
        <strong>Acknowledge</strong> <code>{ack.gate}</code>{ack.only && <>, only {ack.only}</>}: {ack.description}
        {!ack.verified && <span class="muted"> Nobody has verified this gate.</span>}
      </p>
      {(ack.only !== null || !ack.verified) && <Code text={ack.command} label={`The command that acknowledges ${ack.gate}, if the cluster asks for it`} />}
    </div>
  );
}

const NO_PATH: Record<string, string> = {
  NoChannel: "there is no such channel",
  FromUnknown: "no source has the release that the cluster runs",
  FromNotInChannels: "the release that the cluster runs is in none of the channels",
  GoalUnknown: "no source has the goal",
  GoalNotInChannels: "the goal is in none of the channels",
  NothingInChannels: "nothing is in the channels",
  Stranded: "no offered updates lead there",
};

function NoPathView({ paths }: { paths: Paths }): JSX.Element {
  const why = paths.noPath!;
  return (
    <div class="stack-fill">
      <p class="answer"><strong>No path from {paths.from} to {paths.to ?? paths.asked}</strong> <span>{NO_PATH[why.code] ?? why.code}</span> <span class="code-name">{why.code}</span></p>
      {why.channel && <p>The channel is <code>{why.channel}</code>.</p>}
      {why.otherChannels && why.otherChannels.length > 0 && <p>It is in <Channels names={why.otherChannels} />.</p>}
      {why.nearest && (
        <p>The nearest that can be reached is <a href={here({ to: why.nearest })}>{why.nearest}</a>.</p>
      )}
      {why.newestOfGoalsMinor && <p>Of that minor version, <a href={here({ to: why.newestOfGoalsMinor })}>{why.newestOfGoalsMinor}</a> can be reached.</p>}
      {why.barriers && why.barriers.length > 0 && (
        <>
          <h3>What would lead on</h3>
          <ul class="reasons">
            {why.barriers.map((barrier, index) => (
              <li key={index}>
                <p><a href={here({ from: barrier.from, to: barrier.to, panel: "why", channel: barrier.channel ?? param("channel") })}>{barrier.from} → {barrier.to}</a> {barrier.channel && <span class="muted">in {barrier.channel}</span>}</p>
                {barrier.reasons && <Reasons reasons={barrier.reasons} />}
                {barrier.heldTogetherBy && barrier.heldTogetherBy.length > 0 && <p class="muted">No channel of the path holds both. These do: {barrier.heldTogetherBy.join(", ")}</p>}
              </li>
            ))}
            {(why.moreBarriers ?? 0) > 0 && <li class="muted">and {why.moreBarriers} more</li>}
          </ul>
        </>
      )}
      {why.pathWithRisks && (
        <>
          <h3>If its risks are accepted</h3>
          <PathView path={why.pathWithRisks} risks={paths.risks} shape={paths.shape} />
        </>
      )}
      {why.pathToNearest && why.pathToNearest.hops.length > 0 && (
        <details>
          <summary>The path to {why.nearest}</summary>
          <PathView path={why.pathToNearest} risks={paths.risks} shape={paths.shape} />
        </details>
      )}
    </div>
  );
}

const MIRROR_FORMATS = [
  { format: "text", name: "list of images", file: "mirror.txt" },
  { format: "oc-mirror-v2", name: "for oc-mirror v2", file: "imageset-v2.yaml" },
  { format: "oc-mirror-v1", name: "for oc-mirror v1", file: "imageset-v1.yaml" },
  { format: "json", name: "JSON", file: "mirror.json" },
];

/** What to mirror for the path, to download. */
function Mirror({ from, to }: { from: string; to: string }): JSX.Element {
  const [said, say] = useState("");
  const load = async (format: string, file: string) => {
    say("");
    try {
      const response = await fetch(mirrorUrl(from, to, format), { headers: credentials() });
      const text = await response.text();
      if (!response.ok) throw new ApiError(response.status, "refused", (JSON.parse(text) as { value?: string }).value ?? text);
      // The files for oc-mirror come as JSON, each with its name.
      const files = format.startsWith("oc-mirror") ? (JSON.parse(text) as { files: { name: string; text: string }[] }).files : [{ name: file, text }];
      for (const one of files) save(one.name, one.text, "text/plain");
      say(`Saved ${files.map((one) => one.name).join(", ")}`);
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <div class="stack-fill">
      <h3>What to mirror</h3>
      <div class="buttons">
        {MIRROR_FORMATS.map(({ format, name, file }) => (
          <button key={format} type="button" class="small" onClick={() => void load(format, file)}>{name}</button>
        ))}
      </div>
      <p role="status" class="small-text muted">{said}</p>
    </div>
  );
}

