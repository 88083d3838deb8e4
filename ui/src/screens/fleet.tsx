// Fleet: who runs what, what comes next, what holds it, and what people have decided about it.
//
// Each view is an answer of the API about the same part of the fleet: the question on top chooses the part.

import type { ComponentType, JSX } from "preact";
import type { ScreenProps } from "../app";
import { here, param } from "../address";
import { Field, Question, Tabs } from "../components/fields";
import { isOtherTime } from "../clock";
import { useAnswer } from "../api/answer";
import { ActButtons } from "./fleet/act";
import { ActsView } from "./fleet/acts";
import { CalendarView } from "./fleet/calendar";
import { ClustersView } from "./fleet/clusters";
import { ForecastView } from "./fleet/forecast";
import { FleetGate } from "./fleet/gate";
import { HistoryView } from "./fleet/history";
import { MatrixView } from "./fleet/matrix";
import { SectorsView } from "./fleet/sectors";

const VIEWS: readonly { view: string; title: string; shows: ComponentType }[] = [
  { view: "sectors", title: "Sectors", shows: SectorsView },
  { view: "clusters", title: "Clusters", shows: ClustersView },
  { view: "matrix", title: "Matrix", shows: MatrixView },
  { view: "calendar", title: "Calendar", shows: CalendarView },
  { view: "forecast", title: "Forecast", shows: ForecastView },
  { view: "history", title: "Versions", shows: HistoryView },
  { view: "acts", title: "Acts of people", shows: ActsView },
];

/** The rules that hold somebody now, to choose from. Others may be typed; the service says which there are. */
function HeldBy(): JSX.Element {
  const holds = useAnswer<Record<string, number>>("/api/v1/fleet/holds", { topic: "fleet" });
  return <Field name="held-by" label="Held by" placeholder="a rule" suggestions={Object.keys(holds.data ?? {})} resets={RESETS} />;
}

/** Pages begin again when the part of the fleet changes. */
const RESETS = ["after"] as const;

export function FleetScreen(_: ScreenProps): JSX.Element {
  // Who searches wants to see clusters.
  const chosen = param("view") || (param("search") ? "clusters" : "");
  const view = VIEWS.find((one) => one.view === chosen) ?? VIEWS[0]!;
  const Shown = view.shows;
  return (
    <>
      <header class="screen-head">
        <h1>Fleet</h1>
        <FleetGate quiet><ActButtons /></FleetGate>
      </header>
      <FleetGate>
        <Question label="Which part of the fleet">
          <Field name="search" label="Search clusters" placeholder="name or id  /" search width="wide" resets={RESETS} />
          <Field name="org" label="Organisation" resets={RESETS} />
          <Field name="sector" label="Sector" resets={RESETS} />
          <Field name="workload" label="Workload" resets={RESETS} />
          <HeldBy />
        </Question>
        <Tabs
          label="Views of the fleet"
          tabs={VIEWS.map((one) => ({
            href: here({ view: one.view === "sectors" ? "" : one.view, search: one.view === "clusters" ? param("search") : "", after: "", sort: "" }),
            text: one.title,
            current: one === view,
          }))}
        />
        {isOtherTime.value && view.view !== "forecast" && (
          <p class="note note-conditional">The fleet is known as of its last pass. Only the forecast follows the time that you chose; the log has what was decided before.</p>
        )}
        <Shown key={view.view} />
      </FleetGate>
    </>
  );
}
