// What the views share: the part of the fleet in the address, pages, links to clusters, versions, rules that hold.

import type { ComponentChildren, JSX } from "preact";
import { here, link, param } from "../../address";
import { url, type Query } from "../../api/client";
import { count } from "../../clock";

/** The filters that every view has. */
const PART = ["org", "sector", "workload", "held-by"] as const;

/** An address of the API about the part of the fleet that is looked at. `without` are filters that it does not have. */
export function aboutPart(path: string, more: Query = {}, without: readonly string[] = []): string {
  const part = PART.filter((name) => !without.includes(name)).map((name) => [name, param(name)]);
  return url(path, { ...Object.fromEntries(part), ...more });
}

/** A link to another view of the same part, or of a smaller one. */
export function view(name: string, part: Query = {}): string {
  const kept = Object.fromEntries(PART.map((one) => [one, param(one)]));
  return link("/fleet", { ...kept, view: name === "sectors" ? "" : name, ...part });
}

export function ClusterLink({ id, name }: { id: string; name?: string | null }): JSX.Element {
  return <a href={link(`/fleet/clusters/${encodeURIComponent(id)}`)}>{name || id}</a>;
}

/** Rules with how many clusters each holds; each leads to those clusters. */
export function HeldBy({ rules, part = {} }: { rules: Record<string, number>; part?: Query }): JSX.Element {
  const entries = Object.entries(rules).sort((a, b) => b[1] - a[1]);
  if (entries.length === 0) return <span class="muted">nobody is held</span>;
  return (
    <ul class="chips">
      {entries.map(([rule, clusters]) => (
        <li key={rule}><a class="chip" href={view("clusters", { ...part, "held-by": rule })}>{rule} <b>{count(clusters)}</b></a></li>
      ))}
    </ul>
  );
}

/** Names in a row, the rest counted. */
export function Names({ names, leftOut = 0, atMost = 6 }: { names: readonly string[]; leftOut?: number; atMost?: number }): JSX.Element {
  const more = Math.max(0, names.length - atMost) + leftOut;
  return <>{names.slice(0, atMost).join(", ")}{more > 0 && <span class="muted"> and {count(more)} more</span>}</>;
}

/** Leads to the next page and back to the first. */
export function Pages({ next, name = "after", children }: { next: string | number | null | undefined; name?: string; children?: ComponentChildren }): JSX.Element | null {
  const on = param(name);
  if (!next && !on && !children) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {children && <span class="muted">{children}</span>}
      {on && <a href={here({ [name]: "" })}>First page</a>}
      {next && <a href={here({ [name]: next })}>Next page</a>}
    </nav>
  );
}

/** A sector's name; clusters without one stand together. */
export const sectorName = (sector: string | null | undefined): string => sector || "no sector";
