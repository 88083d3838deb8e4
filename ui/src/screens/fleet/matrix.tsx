// Versions × parts of the fleet: how many clusters run what, or, cluster by cluster, what each may take. The table is the picture.

import type { JSX } from "preact";
import { param } from "../../address";
import { useAnswer } from "../../api/answer";
import type { Matrix, MatrixRow } from "../../api/fleet";
import { count } from "../../clock";
import { Answered, Empty, Mark } from "../../components/basics";
import { Choice } from "../../components/fields";
import { AnswerWordMark } from "../../components/reasons";
import { Table, type Column } from "../../components/table";
import type { AnswerWord } from "../../api/types";
import { aboutPart, ClusterLink, Pages, sectorName, view } from "./part";

const BY = [
  { value: "", text: "sector" },
  { value: "cluster", text: "cluster" },
  { value: "workload", text: "workload" },
  { value: "organisation", text: "organisation" },
];

export function MatrixView(): JSX.Element {
  const by = param("by") || "sector";
  const answer = useAnswer<Matrix>(aboutPart("/api/v1/fleet/matrix", { by, after: param("after"), limit: 200 }), { topic: "fleet" });
  return (
    <>
      <div class="question"><Choice name="by" label="A row for each" options={BY} /></div>
      <Answered answer={answer} what="the matrix">
        {(data) => (
          <>
            <Table
              caption={by === "cluster" ? "What each cluster runs, and what it may take" : `How many clusters run which version, by ${by}`}
              columns={columns(data, by)}
              rows={data.rows}
              rowKey={(row) => `${row.organisation}/${row.sector}/${row.workload}/${row.cluster}`}
              empty={<Empty title="No cluster is here."><p>No cluster of the fleet fits these filters.</p></Empty>}
            />
            {data.versionsLeftOut > 0 && <p class="muted">{count(data.versionsLeftOut)} lower versions are counted under “others”.</p>}
            <Pages next={data.next} />
          </>
        )}
      </Answered>
    </>
  );
}

function columns(data: Matrix, by: string): Column<MatrixRow>[] {
  const names: Column<MatrixRow>[] = [{ key: "row", title: by === "cluster" ? "Cluster" : "Part", head: true, cell: (row) => <RowName row={row} /> }];
  if (by === "cluster") names.push({ key: "sector", title: "Sector", cell: (row) => sectorName(row.sector) });
  else names.push({ key: "clusters", title: "Clusters", numeric: true, cell: (row) => count(row.clusters ?? 0), sort: (row) => row.clusters ?? 0 });
  const cells = data.versions.map((version, index): Column<MatrixRow> => ({
    key: version,
    title: version,
    numeric: by !== "cluster",
    cell: (row) => (row.cells ? <ClusterCell word={row.cells[index] ?? null} /> : <CountCell n={row.counts?.[index] ?? 0} of={row.clusters ?? 0} />),
  }));
  const others: Column<MatrixRow>[] = data.versionsLeftOut > 0 && by !== "cluster" ? [{ key: "others", title: "others", numeric: true, cell: (row) => count(row.others ?? 0) }] : [];
  return [...names, ...cells, ...others];
}

function RowName({ row }: { row: MatrixRow }): JSX.Element {
  if (row.cluster) return <ClusterLink id={row.cluster} name={row.name} />;
  const part = { org: row.organisation, sector: row.sector ?? "", workload: row.workload ?? "" };
  const name = [row.organisation, row.sector !== undefined ? sectorName(row.sector) : null, row.workload].filter(Boolean).join(" › ");
  return <a href={view("clusters", part)}>{name}</a>;
}

/** The more of them, the darker: five steps. The number is always there. */
function CountCell({ n, of }: { n: number; of: number }): JSX.Element {
  if (n === 0) return <span class="muted">·</span>;
  const step = Math.max(1, Math.ceil((n / Math.max(of, 1)) * 5));
  return <span class={`heat heat-${step}`}>{count(n)}</span>;
}

const ANSWERS: readonly string[] = ["yes", "unless", "wait", "no"];

function ClusterCell({ word }: { word: string | null }): JSX.Element {
  if (word === null) return <span class="muted">·</span>;
  if (ANSWERS.includes(word)) return <AnswerWordMark answer={word as AnswerWord} />;
  return <Mark kind={word}>{word}</Mark>;
}
