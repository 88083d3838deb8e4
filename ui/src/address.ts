// The address is the page's state: a link is the answer. Everything that a person chooses is written there.

import { computed, signal } from "@preact/signals";

export interface Address {
  path: string;
  query: URLSearchParams;
}

const read = (): Address => ({ path: location.pathname, query: new URLSearchParams(location.search) });

export const address = signal<Address>(read());

/** The time that the page shows, as it stands in the address; empty is now. */
export const at = computed(() => address.value.query.get("at") ?? "");

/** What stays in the address from one screen to another. */
const KEPT = ["at"];

export type Changes = Record<string, string | number | boolean | null | undefined>;

export function param(name: string): string {
  return address.value.query.get(name) ?? "";
}

function written(path: string, query: URLSearchParams): string {
  // Colons, commas and the like may stand in a query as they are, and are easier to read so.
  const text = query.toString().replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%2F/g, "/").replace(/%40/g, "@");
  return text ? `${path}?${text}` : path;
}

function changed(query: URLSearchParams, changes: Changes): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "" || value === false) next.delete(name);
    else next.set(name, String(value));
  }
  return next;
}

/** A link to a screen. The time stays as it is. */
export function link(path: string, changes: Changes = {}): string {
  const kept = new URLSearchParams();
  for (const name of KEPT) {
    const value = address.value.query.get(name);
    if (value) kept.set(name, value);
  }
  return written(path, changed(kept, changes));
}

/** A link to this screen, with some of its state changed. */
export function here(changes: Changes): string {
  return written(address.value.path, changed(address.value.query, changes));
}

/** Goes to an address of this page. `replace` leaves no step for the back button. */
export function go(href: string, { replace = false } = {}): void {
  if (href === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  address.value = read();
}

/** Changes some of this screen's state. */
export function change(changes: Changes, how: { replace?: boolean } = {}): void {
  go(here(changes), how);
}

/** Follows the browser's back and forward, and links inside the page. */
export function followAddress(): void {
  addEventListener("popstate", () => (address.value = read()));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = (event.target as Element | null)?.closest?.("a[href]");
    if (!(anchor instanceof HTMLAnchorElement) || anchor.target || anchor.hasAttribute("download")) return;
    if (anchor.origin !== location.origin || anchor.pathname.startsWith("/api/") || anchor.hash) return;
    event.preventDefault();
    go(anchor.pathname + anchor.search);
  });
}
