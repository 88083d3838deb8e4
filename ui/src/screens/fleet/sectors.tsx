// Sectors as a pipeline: what each runs, what soaks and until when, what holds, what is next. And the same as a table.

import type { JSX } from "preact";
import { useAnswer } from "../../api/answer";
import type { Organisation, Sector, Sectors, Soaking } from "../../api/fleet";
import { count, duration } from "../../clock";
import { Answered, Bar, Empty, Section, Time } from "../../components/basics";
import { Table, type Column } from "../../components/table";
import { aboutPart, ClusterLink, HeldBy, Pages, sectorName, view } from "./part";
import { param } from "../../address";

export function SectorsView(): JSX.Element {
  const answer = useAnswer<Sectors>(aboutPart("/api/v1/fleet/sectors", { after: param("after") }), { topic: "fleet" });
  return (
    <Answered answer={answer} what="the sectors">
      {(data) => (
        <>
          {data.organisations.length === 0 && <Empty title="No cluster is here." ><p>No cluster of the fleet fits these filters.</p></Empty>}
          {data.organisations.map((one) => <Pipeline key={one.organisation} of={one} />)}
          <Pages next={data.next} />
        </>
      )}
    </Answered>
  );
}

function Pipeline({ of }: { of: Organisation }): JSX.Element {
  return (
    <Section title={of.organisation}>
      <ol class="pipeline" aria-label={`Sectors of ${of.organisation}, in their order`}>
        {of.sectors.map((sector) => (
          <li key={sector.sector ?? ""} class="stage-slot"><Stage organisation={of.organisation} sector={sector} /></li>
        ))}
      </ol>
      <SectorTable of={of} />
    </Section>
  );
}

function Stage({ organisation, sector }: { organisation: string; sector: Sector }): JSX.Element {
  const part = { org: organisation, sector: sector.sector ?? "" };
  return (
    <article class="stage card" aria-label={`Sector ${sectorName(sector.sector)}`}>
      <header class="stage-head">
        <h3><a href={view("clusters", part)}>{sectorName(sector.sector)}</a></h3>
        <span class="muted">{count(sector.clusters)} {sector.clusters === 1 ? "cluster" : "clusters"}</span>
      </header>
      {sector.dependsOn.length > 0 && <p class="small-text muted">after {sector.dependsOn.join(", ")}</p>}
      <VersionBar versions={sector.versions} clusters={sector.clusters} />
      {sector.soaking.length > 0 && (
        <div class="soaks">
          {sector.soaking.slice(0, 4).map((soak) => <SoakBar key={`${soak.version} ${soak.workload}`} soak={soak} />)}
          {sector.soaking.length + sector.soakingLeftOut > 4 && <p class="small-text muted">and {sector.soaking.length + sector.soakingLeftOut - 4} more in the table</p>}
        </div>
      )}
      <dl class="facts">
        <dt>held by</dt>
        <dd><HeldBy rules={sector.heldBy} part={part} /></dd>
        {(sector.planned > 0 || sector.underWay > 0) && (<><dt>now</dt><dd>{sector.underWay} under way, {sector.planned} planned</dd></>)}
        <dt>next</dt>
        <dd><NextStart of={sector} /></dd>
      </dl>
    </article>
  );
}

function NextStart({ of }: { of: Sector }): JSX.Element {
  if (!of.next) return <span class="muted">nothing is foreseen</span>;
  const { cluster, name, to, at, starts } = of.next;
  return (
    <><ClusterLink id={cluster} name={name} /> {starts ? "starts" : "may go"} to <span class="version">{to}</span> <Time at={at} exactly /></>
  );
}

/** How far a version has soaked for a workload, and when it is expected to be enough. */
function SoakBar({ soak }: { soak: Soaking }): JSX.Element {
  return (
    <div class="soak">
      <p class="soak-words">
        <span><span class="version">{soak.version}</span> <span class="muted">{soak.workload}</span></span>
        <span class="small-text">{soak.expected ? <>enough <Time at={soak.expected} /></> : soak.adding === 0 ? <span class="muted">nobody adds to it</span> : <span class="muted">no time is known</span>}</span>
      </p>
      <Bar share={share(soak)} label={`${soak.version} for ${soak.workload}`} kind="phasing">{haveOfNeed(soak)}</Bar>
    </div>
  );
}

const share = (soak: Soaking): number => (soak.needSeconds > 0 ? soak.haveSeconds / soak.needSeconds : 1);
const haveOfNeed = (soak: Soaking): string => `${duration(soak.haveSeconds)} of ${duration(soak.needSeconds)}`;

/** How many clusters run which version: a strip, and the same in words. */
function VersionBar({ versions, clusters }: { versions: Record<string, number>; clusters: number }): JSX.Element {
  const entries = Object.entries(versions);
  let x = 0;
  return (
    <div class="versions">
      <svg class="version-strip" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
        {entries.map(([version, n], index) => {
          const width = clusters > 0 ? (n / clusters) * 100 : 0;
          const drawn = <rect key={version} class={`part-${index % 4}`} x={x} width={Math.max(0, width - 0.8)} height="10" />;
          x += width;
          return drawn;
        })}
      </svg>
      <ul class="version-words">
        {entries.map(([version, n], index) => (
          <li key={version}><span class={`key part-${index % 4}`} aria-hidden="true" /> <span class="version">{version}</span> <b>{count(n)}</b></li>
        ))}
      </ul>
    </div>
  );
}

interface Row {
  sector: Sector;
  soak: Soaking | null;
}

function SectorTable({ of }: { of: Organisation }): JSX.Element {
  const rows = of.sectors.flatMap((sector): Row[] => (sector.soaking.length > 0 ? sector.soaking.map((soak) => ({ sector, soak })) : [{ sector, soak: null }]));
  const columns: Column<Row>[] = [
    { key: "sector", title: "Sector", head: true, cell: (row) => <a href={view("clusters", { org: of.organisation, sector: row.sector.sector ?? "" })}>{sectorName(row.sector.sector)}</a> },
    { key: "clusters", title: "Clusters", numeric: true, cell: (row) => count(row.sector.clusters), sort: (row) => row.sector.clusters },
    { key: "after", title: "After", cell: (row) => row.sector.dependsOn.join(", ") || <span class="muted">–</span> },
    { key: "soaks", title: "Soaks", cell: (row) => (row.soak ? <><span class="version">{row.soak.version}</span> for {row.soak.workload}</> : <span class="muted">nothing</span>) },
    { key: "have", title: "Has of needs", numeric: true, cell: (row) => (row.soak ? haveOfNeed(row.soak) : ""), sort: (row) => (row.soak ? share(row.soak) : -1) },
    { key: "adding", title: "Adding", numeric: true, cell: (row) => (row.soak ? count(row.soak.adding) : "") },
    { key: "waiting", title: "Waiting for it", numeric: true, cell: (row) => (row.soak ? count(row.soak.waiting) : "") },
    { key: "enough", title: "Enough", cell: (row) => (row.soak ? <Time at={row.soak.expected} exactly /> : "") },
    { key: "held", title: "Held by", cell: (row) => Object.entries(row.sector.heldBy).map(([rule, n]) => `${rule} ${n}`).join(", ") || <span class="muted">–</span> },
    { key: "next", title: "Next", cell: (row) => <NextStart of={row.sector} /> },
  ];
  return (
    <details class="as-table">
      <summary>The same as a table</summary>
      <Table caption={`Sectors of ${of.organisation}`} columns={columns} rows={rows} rowKey={(row) => `${row.sector.sector} ${row.soak?.version} ${row.soak?.workload}`} />
    </details>
  );
}
