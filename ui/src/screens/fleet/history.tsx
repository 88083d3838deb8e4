// Which version has run how long: the soak that the fleet's decisions rest on.

import type { JSX } from "preact";
import { param } from "../../address";
import { useAnswer } from "../../api/answer";
import type { History, HistoryEntry } from "../../api/fleet";
import { duration } from "../../clock";
import { Answered, Bar, Empty } from "../../components/basics";
import { Table, type Column } from "../../components/table";
import { aboutPart, Names, Pages } from "./part";

export function HistoryView(): JSX.Element {
  const answer = useAnswer<History>(aboutPart("/api/v1/fleet/history", { after: param("after") }), { topic: "fleet" });
  return (
    <Answered answer={answer} what="the history of versions">
      {(data) => (
        <>
          <p class="muted">Time adds up over clusters that run the same workload. Time in which a cluster was silent or not healthy does not count.</p>
          <Table
            caption="How long each version has run"
            columns={columns(Math.max(1, ...data.entries.map((row) => row.soakSeconds)))}
            rows={data.entries}
            rowKey={(row) => `${row.organisation} ${row.version} ${row.workload}`}
            empty={<Empty title="No version has run yet."><p>Soak is counted from the first two reports of a cluster, or taken from the list of clusters.</p></Empty>}
          />
          <Pages next={data.next} />
        </>
      )}
    </Answered>
  );
}

const columns = (longest: number): Column<HistoryEntry>[] => [
  { key: "organisation", title: "Organisation", cell: (row) => row.organisation, sort: (row) => row.organisation },
  { key: "version", title: "Version", head: true, cell: (row) => <span class="version">{row.version}</span>, sort: (row) => row.version },
  { key: "workload", title: "Workload", cell: (row) => row.workload, sort: (row) => row.workload },
  {
    key: "soak",
    title: "Has run",
    cell: (row) => <Bar share={row.soakSeconds / longest} label={`${row.version} for ${row.workload}`} kind="offered">{duration(row.soakSeconds)}</Bar>,
    sort: (row) => row.soakSeconds,
  },
  { key: "clusters", title: "On clusters", cell: (row) => (row.clusters.length > 0 ? <Names names={row.clusters} leftOut={row.clustersLeftOut} /> : <span class="muted">none now</span>) },
];
