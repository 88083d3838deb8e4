// The kinds of updates: a mark for each, and the legend, in the words of the API.

import { createContext, type JSX } from "preact";
import { useContext } from "preact/hooks";
import { lineStyle } from "./style";
import type { GraphAnswer } from "./model";

/** The kinds with their words, as the graph on this screen names them. */
export const Kinds = createContext<GraphAnswer["kinds"]>([]);

/** A stroke as the picture draws it. */
export function Stroke({ kind }: { kind: string }): JSX.Element {
  const style = lineStyle(kind);
  return (
    <svg class={`stroke tone-${style.tone}`} viewBox="0 0 34 12" width="34" height="12" aria-hidden="true" fill="none" stroke="currentColor">
      <path d="M1 6h22" stroke-width={style.width + 0.2} stroke-dasharray={style.dash.join(" ")} />
      {style.end === "arrow" && <path d="M32 6l-8-4v8z" fill="currentColor" stroke="none" />}
      {style.end === "cross" && <path d="M25 3l6 6M31 3l-6 6" stroke-width="1.8" />}
      {style.end === "ring" && <circle cx="28" cy="6" r="3" stroke-width="1.6" />}
    </svg>
  );
}

/** A kind's stroke and word. */
export function KindMark({ kind }: { kind: string }): JSX.Element {
  const known = useContext(Kinds).find((one) => one.kind === kind);
  return (
    <span class={`mark tone-${lineStyle(kind).tone}`} title={known?.text}>
      <Stroke kind={kind} />
      {wordOf(kind)}
    </span>
  );
}

/** "notForPlatform" as words: "not for platform". */
export const wordOf = (kind: string): string => kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export function Legend({ kinds, counts }: { kinds: GraphAnswer["kinds"]; counts: Map<string, number> }): JSX.Element {
  const present = kinds.filter(({ kind }) => (counts.get(kind) ?? 0) > 0);
  return (
    <dl class="legend" aria-label="Legend">
      {present.map(({ kind, text }) => (
        <div key={kind} title={text}>
          <dt><Stroke kind={kind} /> {wordOf(kind)} <span class="number muted">{counts.get(kind)}</span></dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
