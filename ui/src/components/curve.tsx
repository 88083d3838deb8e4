// A share of clusters over time, with now marked.

import type { JSX } from "preact";
import { exact, percent, short } from "../clock";

export type CurvePoint = [string, number];

const WIDTH = 400;
const HEIGHT = 96;
const TOP = 8;
const BOTTOM = 6;

interface Props {
  points: readonly CurvePoint[];
  now: number;
  start: string;
  end: string;
  share: number;
  label: string;
}

export function Curve({ points, now, start, end, share, label }: Props): JSX.Element {
  const from = Date.parse(start);
  const until = Date.parse(end);
  const span = Math.max(1, until - from);
  const x = (instant: number) => ((instant - from) / span) * WIDTH;
  const y = (part: number) => TOP + (1 - part) * (HEIGHT - TOP - BOTTOM);
  const places = points.map(([instant, part]) => [x(Date.parse(instant)), y(part)] as const);
  const line = places.map(([px, py], index) => `${index === 0 ? "M" : "L"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const atX = Math.max(0, Math.min(WIDTH, x(now)));
  const reached = places.filter(([px]) => px < atX);
  const area = `M0 ${y(0)}${reached.map(([px, py]) => `L${px.toFixed(1)} ${py.toFixed(1)}`).join("")}L${atX.toFixed(1)} ${y(share).toFixed(1)}L${atX.toFixed(1)} ${y(0)}Z`;
  const isInside = now >= from && now <= until;
  return (
    <figure class="curve">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${label}: ${percent(share)} at ${exact(now)}; from ${exact(from)} to ${exact(until)}`}>
        {[0, 0.5, 1].map((part) => <line key={part} class="curve-grid" x1="0" x2={WIDTH} y1={y(part)} y2={y(part)} />)}
        {isInside && <path class="curve-area" d={area} />}
        <path class="curve-line" d={line} />
        {isInside && <line class="curve-now" x1={atX} x2={atX} y1="0" y2={HEIGHT} />}
      </svg>
      <figcaption>
        <span>{short(from, now)}</span>
        {isInside && <span class="curve-now-label" style={{ left: `${(atX / WIDTH) * 100}%` }}>now</span>}
        <span>{short(until, now)}</span>
      </figcaption>
    </figure>
  );
}
