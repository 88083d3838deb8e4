// Before any answer about the fleet: is there a fleet, and may this person look at it?

import type { ComponentChildren, JSX } from "preact";
import { token } from "../../api/client";
import { Code, Shape } from "../../components/basics";
import { askForToken } from "../../components/token";
import { may, session } from "../../session";

/** Draws its children if there is a fleet to look at. Otherwise what there could be, or nothing if it is `quiet`; `fallback` comes before that. */
export function FleetGate({ children, quiet, fallback }: { children: ComponentChildren; quiet?: boolean; fallback?: ComponentChildren }): JSX.Element | null {
  const now = session.value;
  if (now && !now.hasFleet) return quiet ? null : <>{fallback}<NoFleet /></>;
  if (now?.needsToken && !may("readFleet")) return quiet ? null : <>{fallback}<NoToken /></>;
  return <>{children}</>;
}

function NoToken(): JSX.Element {
  return (
    <div class="state">
      <p class="state-title">Only readers may look at this fleet.</p>
      <p>{token.value ? "The token that you entered is not accepted here: it may be of another service, or have ended." : "Enter a token with the role viewer, or another one."} Who has the keys of this service makes one:</p>
      <Code text="towpath fleet token --people-keys people-keys --role viewer --name NAME" label="The command that makes a token" />
      <button type="button" class="primary" onClick={askForToken}>Enter a token</button>
    </div>
  );
}

/** What would stand here, drawn as it would be, and how to get it. */
function NoFleet(): JSX.Element {
  return (
    <div class="no-fleet">
      <div class="state">
        <p class="state-title">This service has no fleet.</p>
        <p>It serves graphs. With a fleet it also decides which cluster is upgraded when, says why the others wait, and until when:</p>
        <ul class="gives">
          {GIVES.map(([what, how]) => (
            <li key={what}><Shape tone="offered" /> <span><strong>{what}</strong> {how}</span></li>
          ))}
        </ul>
        <p>Try it with the example's fleet, then write your own policy files:</p>
        <Code
          label="Commands that serve the example's fleet"
          text={[
            "towpath example demo && cd demo",
            "towpath serve --graph-data graph-data --releases releases.json \\",
            "  --fleet fleet --clusters clusters.json --store sqlite:fleet.db",
          ].join("\n")}
        />
        <p class="muted">Nothing is changed on any cluster by that: clusters only obey once they ask this service for their graph, or run its agent.</p>
      </div>
      <Sketch />
    </div>
  );
}

const GIVES: readonly [string, string][] = [
  ["Sectors", "as a pipeline: who goes first, how long a version has soaked, what is next."],
  ["Clusters", "with what each one waits for, found by name, sector, workload or rule."],
  ["Calendar and forecast", "of maintenance windows, exclusions and the next weeks."],
  ["Pauses, approvals, acknowledgements", "by whom, when and why."],
  ["A log", "of every decision, which can be made again from its inputs."],
];

/** A picture of two sectors, for the eye only. */
function Sketch(): JSX.Element {
  return (
    <svg class="sketch" viewBox="0 0 320 150" aria-hidden="true">
      {[0, 1, 2].map((index) => (
        <g key={index} transform={`translate(${index * 110} 20)`}>
          <rect class="sketch-card" width="90" height="110" rx="6" />
          <rect class="sketch-word" x="10" y="12" width={[36, 44, 62][index]} height="7" rx="3" />
          <rect class="sketch-ground" x="10" y="34" width="70" height="8" rx="4" />
          <rect class="sketch-fill" x="10" y="34" width={[70, 56, 20][index]} height="8" rx="4" />
          <rect class="sketch-ground" x="10" y="56" width="70" height="5" rx="2" />
          <rect class="sketch-ground" x="10" y="70" width="52" height="5" rx="2" />
          <rect class="sketch-ground" x="10" y="84" width="60" height="5" rx="2" />
          {index < 2 && <path class="sketch-arrow" d="M94 55h10m-4-4 4 4-4 4" />}
        </g>
      ))}
    </svg>
  );
}
