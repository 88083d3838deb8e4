// How each kind of update is drawn: a colour, a stroke and a sign at its end. The words come from the API.

import type { Tone } from "../components/basics";

export interface LineStyle {
  tone: Tone;
  /** Lengths of dashes and gaps; empty: a whole line. */
  dash: readonly number[];
  width: number;
  /** What stands at its end. */
  end: "arrow" | "cross" | "ring";
}

const QUIET: LineStyle = { tone: "quiet", dash: [1, 5], width: 1.4, end: "ring" };

const STYLES: Record<string, LineStyle> = {
  offered: { tone: "offered", dash: [], width: 1.8, end: "arrow" },
  conditional: { tone: "conditional", dash: [8, 4], width: 1.8, end: "arrow" },
  skipped: { tone: "quiet", dash: [8, 3, 2, 3], width: 1.5, end: "ring" },
  phasing: { tone: "phasing", dash: [3, 3], width: 1.8, end: "arrow" },
  entering: { tone: "phasing", dash: [1, 5], width: 1.6, end: "ring" },
  held: { tone: "quiet", dash: [5, 3], width: 1.5, end: "ring" },
  stale: { tone: "failing", dash: [5, 5], width: 1.5, end: "ring" },
  notForPlatform: { tone: "blocked", dash: [9, 3], width: 1.4, end: "cross" },
  blocked: { tone: "blocked", dash: [2, 4], width: 1.4, end: "cross" },
};

export const lineStyle = (kind: string): LineStyle => STYLES[kind] ?? QUIET;
