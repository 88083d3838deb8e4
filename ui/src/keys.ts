// Keys that work on every screen. Screens listen for their own on the element that has the focus.

import { signal } from "@preact/signals";
import { go, link } from "./address";

export const helpOpen = signal(false);
export const timeOpen = signal(false);

/** Keys of all screens, as the help shows them. */
export const KEYS: readonly [string, string][] = [
  ["/", "search on this screen"],
  ["g then g, r, f, n, l, s", "go to graph, rollouts, fleet, nodes, log, sources"],
  ["t", "choose the time"],
  ["n", "back to now"],
  ["?", "this help"],
  ["Esc", "close what is open"],
];

const SCREENS: Record<string, string> = { g: "/graph", r: "/rollouts", f: "/fleet", n: "/nodes", l: "/log", s: "/sources" };

let afterG = 0;

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.("input, select, textarea, dialog[open], [contenteditable]");
}

export function followKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const wentFirst = Date.now() - afterG < 1500;
    afterG = 0;
    if (wentFirst && SCREENS[event.key]) {
      event.preventDefault();
      go(link(SCREENS[event.key]!));
      return;
    }
    if (event.key === "g") afterG = Date.now();
    else if (event.key === "?") helpOpen.value = true;
    else if (event.key === "t") timeOpen.value = true;
    else if (event.key === "n") go(toNow());
    else if (event.key === "/") {
      const field = document.querySelector<HTMLElement>("[data-search]");
      if (!field) return;
      field.focus();
      (field as HTMLInputElement).select?.();
    } else return;
    event.preventDefault();
  });
}

function toNow(): string {
  const query = new URLSearchParams(location.search);
  query.delete("at");
  const text = query.toString();
  return text ? `${location.pathname}?${text}` : location.pathname;
}
