// Light, dark, or as the system says. The choice is kept in this browser: it is taste, not state.

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const NAME = "towpath-theme";
const saved = localStorage.getItem(NAME);

export const theme = signal<Theme>(saved === "light" || saved === "dark" ? saved : "system");

/** Rises when colours have changed, so that a canvas is drawn again. */
export const colours = signal(0);

export function followTheme(): void {
  effect(() => {
    if (theme.value === "system") {
      document.documentElement.removeAttribute("data-theme");
      localStorage.removeItem(NAME);
    } else {
      document.documentElement.setAttribute("data-theme", theme.value);
      localStorage.setItem(NAME, theme.value);
    }
    colours.value = colours.peek() + 1;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (colours.value += 1));
}

export function nextTheme(): void {
  theme.value = theme.value === "system" ? "light" : theme.value === "light" ? "dark" : "system";
}
