// The time that the page shows: now, or another one. While it is not now the frame has another colour and says so.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { change } from "../address";
import { exact, isOtherTime, realNow, relative, rfc3339, shownNow } from "../clock";
import { timeOpen } from "../keys";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export function TimeButton(): JSX.Element {
  return (
    <button type="button" class={isOtherTime.value ? "time-button" : "quiet time-button"} aria-expanded={timeOpen.value || isOtherTime.value} onClick={() => (timeOpen.value = !timeOpen.value)} title="Show another time">
      {isOtherTime.value ? relative(shownNow.value, realNow.value) : `now ${new Date(realNow.value).toISOString().slice(11, 16)}Z`}
      <span aria-hidden="true"> ▾</span>
    </button>
  );
}

/** Open while another time is shown, or while one is being chosen. */
export function TimeBar(): JSX.Element | null {
  if (!isOtherTime.value && !timeOpen.value) return null;
  return <TimeChooser />;
}

function TimeChooser(): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState("");
  const now = realNow.value;
  // While the slider moves, its time is shown, and asked about once it rests.
  const [sliding, setSliding] = useState<number | null>(null);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const shown = sliding ?? shownNow.value;
  const chosen = exact(shown);
  const [typed, setTyped] = useState(chosen);
  useLayoutEffect(() => setTyped(chosen), [isOtherTime.value || sliding !== null ? chosen : ""]);
  const asked = timeOpen.value;
  useLayoutEffect(() => {
    if (asked) field.current?.focus();
  }, [asked]);
  // A month to each side, more if the time that is shown lies farther away.
  const span = Math.max(31 * DAY, Math.abs(shown - now) + 7 * DAY);
  const choose = (instant: number, how: { replace?: boolean } = {}) => change({ at: Math.abs(instant - realNow.value) < 60_000 ? null : rfc3339(instant) }, how);
  const take = () => {
    const instant = readTime(typed);
    if (Number.isNaN(instant)) setWrong("Write a time such as 2026-11-20 14:00Z, or a day");
    else {
      setWrong("");
      choose(instant);
    }
  };
  const slide = (instant: number) => {
    setSliding(instant);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setSliding(null);
      choose(instant, { replace: isOtherTime.value });
    }, 160);
  };
  const close = () => {
    timeOpen.value = false;
    change({ at: null });
  };
  return (
    <div class="time-bar" role="group" aria-label="The time that is shown">
      <strong class="time-says">{isOtherTime.value ? "Not now: this is as of" : "Show as of"}</strong>
      <input
        ref={field}
        class="time-field"
        aria-label="Time, in UTC"
        aria-invalid={wrong ? "true" : undefined}
        value={typed}
        spellcheck={false}
        autoComplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") take();
          else if (event.key === "Escape") (timeOpen.value = false), setTyped(chosen);
        }}
        onBlur={() => typed !== chosen && take()}
      />
      <input
        class="time-slider"
        type="range"
        aria-label="Time, by the hour"
        aria-valuetext={`${exact(shown)}, ${relative(shown, now)}`}
        min={-Math.ceil(span / HOUR)}
        max={Math.ceil(span / HOUR)}
        step={1}
        value={Math.round((shown - now) / HOUR)}
        onInput={(event) => slide(roundToHour(now + Number(event.currentTarget.value) * HOUR))}
      />
      <span class="time-steps">
        {STEPS.map(([text, step]) => (
          <button key={text} type="button" class="small" onClick={() => choose(shown + step)}>{text}</button>
        ))}
        <button type="button" class="small" onClick={close}>{isOtherTime.value ? "Back to now" : "Close"}</button>
      </span>
      <span class="time-wrong" role="alert">{wrong}</span>
    </div>
  );
}

const STEPS: readonly [string, number][] = [["−1 d", -DAY], ["+1 h", HOUR], ["+1 d", DAY], ["+7 d", 7 * DAY]];

const roundToHour = (instant: number): number => Math.round(instant / HOUR) * HOUR;

/** "2026-11-20", "2026-11-20 14:00", with Z, an offset or neither (then UTC), and RFC 3339. */
function readTime(text: string): number {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)\s*(Z|[+-]\d{2}:\d{2})?)?$/i.exec(text.trim());
  if (!match) return NaN;
  return Date.parse(`${match[1]}T${match[2] ?? "00:00"}${match[3] ?? "Z"}`);
}
