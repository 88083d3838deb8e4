// The time: the browser's clock, and the time that the page shows; and how times and durations are written.

import { computed, signal } from "@preact/signals";
import { at } from "./address";

/** The browser's clock, each ten seconds, while the page is looked at. */
const clock = signal(Date.now());
setInterval(() => {
  if (!document.hidden) clock.value = Date.now();
}, 10_000);
document.addEventListener("visibilitychange", () => (clock.value = Date.now()));

/** The instant that the page shows: what the address says, else the clock. */
export const shownNow = computed(() => {
  const chosen = Date.parse(at.value);
  return Number.isNaN(chosen) ? clock.value : chosen;
});

/** Whether the page shows another time than now. */
export const isOtherTime = computed(() => at.value !== "");

export const realNow = clock;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "2 d 4 h", "35 min", "12 s": two units, the second only if it says something. */
export function duration(seconds: number): string {
  const rounded = Math.max(0, Math.round(seconds));
  if (rounded < MINUTE) return `${rounded} s`;
  const minutes = Math.round(rounded / MINUTE);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  if (days < 100 && hours % 24) return `${days} d ${hours % 24} h`;
  return `${days} d`;
}

/** "in 2 d 4 h", "5 min ago", "now". */
export function relative(instant: number, now: number): string {
  const seconds = Math.round((instant - now) / 1000);
  if (Math.abs(seconds) < 10) return "now";
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

/** "2026-11-18 12:00Z": to the minute, in UTC; with seconds where they are not zero and wanted. */
export function exact(instant: number, seconds = false): string {
  if (Number.isNaN(instant)) return "";
  const text = new Date(instant).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, seconds ? 19 : 16)}Z`;
}

/** "Tue 14:07Z" within a week, else the date as well. */
export function short(instant: number, now: number): string {
  const text = new Date(instant).toISOString();
  if (Math.abs(instant - now) < 6.5 * DAY * 1000) {
    const weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][new Date(instant).getUTCDay()];
    return `${weekday} ${text.slice(11, 16)}Z`;
  }
  return text.slice(0, 10);
}

/** RFC 3339 to the second, as the API takes it. */
export function rfc3339(instant: number): string {
  return new Date(instant).toISOString().replace(/\.\d+Z$/, "Z");
}

/** "37 %", "0.4 %": a share of clusters. */
export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "under 0.1 %";
  if (value < 100 && value > 99.9) return "over 99.9 %";
  return `${Number(value.toFixed(1))} %`;
}

const grouped = new Intl.NumberFormat("en", { useGrouping: true });

export const count = (number: number): string => grouped.format(number);
