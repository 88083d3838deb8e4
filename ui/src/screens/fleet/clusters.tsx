// Clusters in a table. The service searches, filters, sorts and pages; nothing is left out here.

import type { JSX } from "preact";
import { here, param } from "../../address";
import { useAnswer } from "../../api/answer";
import type { ClusterEntry, Clusters } from "../../api/fleet";
import { count } from "../../clock";
import { Answered, Empty, Mark, Time } from "../../components/basics";
import { Choice, Field } from "../../components/fields";
import { AnswerWordMark } from "../../components/reasons";
import { Table, type Column } from "../../components/table";
import { aboutPart, ClusterLink, Pages, sectorName, view } from "./part";

const SORTS = [
  { value: "", text: "organisation" },
  { value: "name", text: "name" },
  { value: "version", text: "version, lowest first" },
  { value: "seen", text: "silent longest first" },
];

const PAGE = 100;

export function ClustersView(): JSX.Element {
  const more = { search: param("search"), version: param("version"), "silent-since": param("silent-since"), sort: param("sort"), after: param("after"), limit: PAGE };
  const answer = useAnswer<Clusters>(aboutPart("/api/v1/fleet/clusters", more), { topic: "fleet" });
  return (
    <>
      <div class="question">
        <Field name="version" label="Runs version" resets={["after"]} width="short" />
        <Field name="silent-since" label="Silent since" placeholder="2026-11-18T02:00Z" resets={["after"]} />
        <Choice name="sort" label="Sorted by" options={SORTS} />
      </div>
      <Answered answer={answer} what="the clusters">
        {(data) => (
          <>
            <p role="status" class="muted">{counted(data)}</p>
            <Table caption="Clusters of the fleet" columns={COLUMNS} rows={data.clusters} rowKey={(row) => row.cluster} empty={<NoMatch total={data.total} />} />
            <Pages next={data.next} />
          </>
        )}
      </Answered>
    </>
  );
}

function counted(data: Clusters): string {
  const all = `${count(data.total)} ${data.total === 1 ? "cluster" : "clusters"}`;
  return data.matching === data.total ? all : `${count(data.matching)} of ${all}`;
}

function NoMatch({ total }: { total: number }): JSX.Element {
  if (total === 0) return <Empty title="The fleet has no cluster yet."><p>A cluster appears once it reports, or stands in the list of <code>--clusters</code>.</p></Empty>;
  return (
    <Empty title="No cluster fits.">
      <p><a href={here({ search: "", org: "", sector: "", workload: "", "held-by": "", version: "", "silent-since": "", after: "" })}>Show all {count(total)}</a></p>
    </Empty>
  );
}

const COLUMNS: Column<ClusterEntry>[] = [
  { key: "name", title: "Cluster", head: true, cell: (row) => <ClusterLink id={row.cluster} name={row.name} /> },
  { key: "organisation", title: "Organisation", cell: (row) => row.organisation },
  { key: "sector", title: "Sector", cell: (row) => (row.sector ? <a href={here({ sector: row.sector, after: "" })}>{row.sector}</a> : <span class="muted">{sectorName(row.sector)}</span>) },
  { key: "version", title: "Runs", cell: (row) => <span class="version">{row.version}</span> },
  { key: "next", title: "Next", cell: (row) => <NextOf row={row} /> },
  { key: "held", title: "Held by", cell: (row) => <Held rules={row.heldBy} /> },
  { key: "expected", title: "Expected", cell: (row) => (row.expected ? <Time at={row.expected} exactly /> : <span class="muted">{row.to ? "nobody can say" : "–"}</span>) },
  { key: "workloads", title: "Workloads", cell: (row) => row.workloads.join(", ") },
  { key: "seen", title: "Seen", cell: (row) => <><Time at={row.seenAt} real />{row.healthy === false && <> <Mark kind="failing">not healthy</Mark></>}</> },
];

function NextOf({ row }: { row: ClusterEntry }): JSX.Element {
  if (row.underWay) return <><span class="version">{row.underWay.to}</span> <Mark kind="phasing">{row.underWay.state}</Mark></>;
  if (!row.to) return <span class="muted">nothing above it</span>;
  return <span class="nowrap"><span class="version">{row.to}</span> {row.answer && <AnswerWordMark answer={row.answer} />}</span>;
}

function Held({ rules }: { rules: readonly string[] }): JSX.Element {
  if (rules.length === 0) return <span class="muted">–</span>;
  return (
    <span class="chips">
      {rules.map((rule) => <a key={rule} class="chip" href={view("clusters", { "held-by": rule })}>{rule}</a>)}
    </span>
  );
}
