// Why an update is, or is not, offered: the words of `towpath explain`, for the cluster that is typed in.

import type { ComponentChildren, JSX } from "preact";
import { here, link } from "../address";
import { useAnswer } from "../api/answer";
import type { AnswerWord, Reason, Risk } from "../api/types";
import { Answered, Code, Copy, Outward, Time } from "../components/basics";
import { Reasons } from "../components/reasons";
import { exact, percent, rfc3339, shownNow } from "../clock";
import { explainUrl, question } from "./question";
import { KindMark } from "./kinds";

export interface Explanation {
  at: string;
  channel: string;
  arch: string;
  id: string | null;
  platform: string | null;
  warnings: string[];
  from: string;
  standing: "inChannel" | "enters" | "notInChannel" | "unknown" | "noChannel";
  entersAt: string | null;
  otherChannels: string[] | null;
  candidates: ExplainedCandidate[];
  risks: Risk[];
}

export interface ExplainedCandidate {
  to: string;
  payload: string | null;
  url: string | null;
  answer: AnswerWord;
  offered: boolean;
  offeredFrom: string | null;
  risks: string[];
  reasons: Reason[];
  kind?: string;
  share?: number | null;
  /** The commands that take it. */
  commands?: string[];
}

/** Why of one update in a channel. */
export function Why({ channel, from, to }: { channel: string; from: string; to: string }): JSX.Element {
  const answer = useAnswer<Explanation>(explainUrl(channel, from, to));
  return (
    <Answered answer={answer} what={`${from} → ${to}`}>
      {(explanation) => <ExplanationView explanation={explanation} to={to} />}
    </Answered>
  );
}

function ExplanationView({ explanation, to }: { explanation: Explanation; to: string }): JSX.Element {
  const candidate = explanation.candidates.find((one) => one.to === to) ?? explanation.candidates[0];
  return (
    <div class="stack-fill">
      {explanation.warnings.map((warning) => <p key={warning} class="note note-conditional">{warning}</p>)}
      <Standing explanation={explanation} />
      {candidate ? <Candidate candidate={candidate} explanation={explanation} /> : <NoCandidate explanation={explanation} to={to} />}
      <p class="muted small-text">
        In <code>{explanation.channel}</code>, {explanation.arch}, {explanation.id ? <>cluster <code>{explanation.id}</code></> : "no cluster id"},{" "}
        {explanation.platform ? `on ${explanation.platform}` : "platform unknown"}, as of {exact(Date.parse(explanation.at))}.
      </p>
    </div>
  );
}

/** Where the release stands that the cluster runs, if not simply in the channel. */
function Standing({ explanation }: { explanation: Explanation }): JSX.Element | null {
  const { standing, from, channel, entersAt, otherChannels } = explanation;
  const says: Record<string, ComponentChildren> = {
    enters: <>{from} enters {channel} <Time at={entersAt} exactly />.</>,
    notInChannel: <>{from} is not in {channel}.{otherChannels && otherChannels.length > 0 && <> It is in <Channels names={otherChannels} />.</>}</>,
    unknown: <>No source has a release {from}.</>,
    noChannel: <>There is no channel {channel}.</>,
  };
  const said = says[standing];
  return said ? <p class="note">{said}</p> : null;
}

export function Channels({ names }: { names: readonly string[] }): JSX.Element {
  return (
    <>
      {names.slice(0, 12).map((name, index) => (
        <>{index > 0 && ", "}<a key={name} href={here({ channel: name })}>{name}</a></>
      ))}
      {names.length > 12 && ` and ${names.length - 12} more`}
    </>
  );
}

function NoCandidate({ explanation, to }: { explanation: Explanation; to: string }): JSX.Element | null {
  if (explanation.standing !== "inChannel") return null;
  return <p>{explanation.from} has no update to {to} in {explanation.channel}.</p>;
}

function Candidate({ candidate, explanation }: { candidate: ExplainedCandidate; explanation: Explanation }): JSX.Element {
  const { id } = question();
  const opensLater = !candidate.offered && candidate.offeredFrom;
  const risks = explanation.risks.filter((risk) => candidate.risks.includes(risk.name));
  return (
    <>
      <p class="answer">
        <KindMark kind={candidate.kind ?? candidate.answer} />
        <span class="answer-word">{candidate.answer}</span>
        {candidate.share !== null && candidate.share !== undefined && <span class="muted">{percent(candidate.share)} of clusters have it</span>}
      </p>
      {opensLater && (
        <p class="opens">
          <span class="opens-label">Opens {id ? <>for <code>{id}</code></> : "for everybody"}</span>
          <strong><Time at={candidate.offeredFrom} /></strong>
          <span class="number">{exact(Date.parse(candidate.offeredFrom!), true)}</span>
          <a href={here({ at: rfc3339(Date.parse(candidate.offeredFrom!)) })}>Show the graph then</a>
        </p>
      )}
      <Reasons reasons={candidate.reasons} />
      {candidate.commands && candidate.commands.length > 0 && <Code text={candidate.commands.join("\n")} label={`Commands that take ${candidate.to}`} />}
      {risks.map((risk) => <RiskView key={risk.name} risk={risk} />)}
      <dl class="facts">
        {candidate.url && (<><dt>errata</dt><dd><Outward href={candidate.url} /></dd></>)}
        {candidate.payload && (<><dt>payload</dt><dd><code>{candidate.payload}</code> <Copy text={candidate.payload} /></dd></>)}
      </dl>
      {!candidate.offered && (
        <p><a href={here({ panel: "path" })}>Is there another way? The path from {explanation.from} to {candidate.to}</a></p>
      )}
    </>
  );
}

/** A known risk, as clients read it. */
export function RiskView({ risk }: { risk: Risk }): JSX.Element {
  return (
    <div class="risk">
      <h3>Risk {risk.name}</h3>
      {risk.message && <p>{risk.message}</p>}
      {risk.url && <p><Outward href={risk.url} /></p>}
    </div>
  );
}

/** A link to another channel's graph for the same cluster. */
export const channelLink = (channel: string): string => link("/graph", { ...question(), channel });

export const sinceNow = (instant: string): boolean => Date.parse(instant) > shownNow.value;
