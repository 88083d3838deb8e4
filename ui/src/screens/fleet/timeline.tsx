// A picture of spans over time: a row for each subject, days along it. The same always stands in a table below.

import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { exact, shownNow } from "../../clock";

export interface Mark {
  from: number;
  until: number;
  kind: "open" | "closed" | "start";
  /** Written beside the mark, if there is room. */
  text?: string;
}

export interface Lane {
  key: string;
  label: string;
  marks: readonly Mark[];
}

const DAY = 86_400_000;
const ROW = 24;
const HEAD = 26;
/** A lane's name has this many pixels for a character. */
const CHARACTER = 7.2;
/** A mark that is shorter is drawn so wide, to be seen. */
const NARROWEST = 4;

export function Timeline({ label, from, until, lanes }: { label: string; from: number; until: number; lanes: readonly Lane[] }): JSX.Element {
  const hatch = useId();
  const [frame, width] = useWidth();
  const names = Math.min(170, Math.max(84, width * 0.2));
  const x = (at: number) => names + ((Math.min(Math.max(at, from), until) - from) / (until - from)) * (width - names - 8);
  const height = HEAD + lanes.length * ROW + 6;
  const now = shownNow.value;
  return (
    <div class="timeline card" ref={frame}>
      <svg role="img" aria-label={`${label}. The same stands in the table below.`} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs>
          <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="hatch-ground" width="6" height="6" />
            <rect class="hatch-line" width="2" height="6" />
          </pattern>
        </defs>
        {days(from, until, width - names).map((day) => (
          <g key={day}>
            <line class="timeline-day" x1={x(day)} x2={x(day)} y1={HEAD - 8} y2={height} />
            <text class="timeline-date" x={x(day) + 4} y={HEAD - 10}>{dayName(day)}</text>
          </g>
        ))}
        {lanes.map((lane, index) => (
          <g key={lane.key} transform={`translate(0 ${HEAD + index * ROW})`}>
            <line class="timeline-row" x1="0" x2={width} y1={ROW} y2={ROW} />
            <text class="timeline-name" x="0" y={ROW - 7}>{fitted(lane.label, names - 10)}<title>{lane.label}</title></text>
            {lane.marks.map((mark, at) => <MarkShape key={at} mark={mark} x={x} hatch={hatch} next={lane.marks[at + 1]} end={width} />)}
          </g>
        ))}
        {now > from && now < until && <line class="timeline-now" x1={x(now)} x2={x(now)} y1={HEAD - 8} y2={height} />}
      </svg>
    </div>
  );
}

function MarkShape({ mark, x, hatch, next, end }: { mark: Mark; x: (at: number) => number; hatch: string; next?: Mark; end: number }): JSX.Element {
  const left = x(mark.from);
  const width = Math.max(NARROWEST, x(mark.until) - left);
  const room = (next ? x(next.from) : end) - left - width - 8;
  return (
    <g>
      <rect class={`timeline-mark mark-${mark.kind}`} x={left} y="5" width={width} height={ROW - 10} rx="2" fill={mark.kind === "closed" ? `url(#${hatch})` : undefined}>
        <title>{`${mark.text ?? ""} ${exact(mark.from)} to ${exact(mark.until)}`}</title>
      </rect>
      {mark.text && room > mark.text.length * CHARACTER && <text class="timeline-text" x={left + width + 5} y={ROW - 7}>{mark.text}</text>}
    </g>
  );
}

/** Midnights (UTC), as many as there is room for. */
function days(from: number, until: number, width: number): number[] {
  const all = (until - from) / DAY;
  const step = [1, 2, 7, 14, 28].find((one) => (all / one) * 58 < width) ?? 56;
  const found: number[] = [];
  for (let day = Math.ceil(from / DAY) * DAY; day < until; day += step * DAY) found.push(day);
  return found;
}

function dayName(day: number): string {
  const weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][new Date(day).getUTCDay()];
  return `${weekday} ${new Date(day).getUTCDate()}`;
}

function fitted(text: string, width: number): string {
  const most = Math.floor(width / CHARACTER);
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}

/** The width of an element, as it changes. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const padding = 32;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.max(240, Math.floor(entry.contentRect.width))));
    setWidth(Math.max(240, Math.floor(element.current!.clientWidth - padding)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

/** What the marks mean: a shape and a word for each. */
export function Legend({ kinds }: { kinds: readonly [Mark["kind"], string][] }): JSX.Element {
  return (
    <ul class="mark-legend" aria-label="What the marks mean">
      {kinds.map(([kind, text]) => (
        <li key={kind}><span class={`legend-mark legend-${kind}`} aria-hidden="true" /> {text}</li>
      ))}
      <li><span class="legend-mark legend-now" aria-hidden="true" /> the time shown</li>
    </ul>
  );
}
