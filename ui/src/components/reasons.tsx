// Reasons and verdicts, in the words of the API: the sentence, what helps, the place, until when.

import type { JSX } from "preact";
import type { AnswerWord, Finding, Reason, Verdict } from "../api/types";
import { Code, Mark, Time } from "./basics";

/** How an answer is said. The same words as in the command line's text. */
export function AnswerWordMark({ answer }: { answer: AnswerWord }): JSX.Element {
  return <Mark kind={answer}>{answer}</Mark>;
}

export function ReasonItem({ reason }: { reason: Reason }): JSX.Element {
  return (
    <li class={reason.note ? "reason reason-note" : "reason"}>
      <p class="reason-text">
        {reason.text} <span class="code-name">{reason.code}</span>
      </p>
      {reason.help && <p class="reason-help"><span aria-hidden="true">→ </span>{reason.help}</p>}
      <dl class="facts">
        {reason.until && (<><dt>until</dt><dd><Time at={reason.until} exactly /></dd></>)}
        {reason.place && (<><dt>written at</dt><dd><code>{reason.place}</code></dd></>)}
        {reason.object && (<><dt>object</dt><dd><code>{reason.object}</code></dd></>)}
      </dl>
      {reason.command && <Code text={reason.command} label="A command that helps" />}
      {reason.check && <Code text={reason.check} label="A command that shows whether it helped" copy="Copy check" />}
    </li>
  );
}

export function Reasons({ reasons, none }: { reasons: readonly Reason[]; none?: string }): JSX.Element {
  if (reasons.length === 0) return <p class="muted">{none ?? "Nothing speaks against it."}</p>;
  return (
    <ul class="reasons">
      {reasons.map((reason, index) => <ReasonItem key={`${reason.code}-${index}`} reason={reason} />)}
    </ul>
  );
}

export function VerdictView({ verdict }: { verdict: Verdict }): JSX.Element {
  return (
    <>
      <p class="answer">
        <AnswerWordMark answer={verdict.answer} /> {verdict.until && <>until <Time at={verdict.until} exactly /></>}
      </p>
      <Reasons reasons={verdict.reasons} />
    </>
  );
}

/** What is wrong with what a person wrote: place, problem, remedy. */
export function Findings({ findings, leftOut = 0 }: { findings: readonly Finding[]; leftOut?: number }): JSX.Element {
  return (
    <ul class="reasons">
      {findings.map((finding, index) => (
        <li key={index} class="reason">
          <p class="reason-text">
            <Mark kind={finding.severity} /> {finding.problem} <span class="code-name">{finding.code}</span>
          </p>
          {finding.remedy && <p class="reason-help"><span aria-hidden="true">→ </span>{finding.remedy}</p>}
          <dl class="facts"><dt>written at</dt><dd><code>{finding.place}</code></dd></dl>
        </li>
      ))}
      {leftOut > 0 && <li class="muted">and {leftOut} more</li>}
    </ul>
  );
}
