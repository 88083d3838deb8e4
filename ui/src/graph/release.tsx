// A release and its updates: the panel when only it is selected, and the tables beside the picture.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { here } from "../address";
import { Outward, Time } from "../components/basics";
import { Table, type Column } from "../components/table";
import { percent } from "../clock";
import { KindMark } from "./kinds";
import type { Edge, GraphModel } from "./model";

/** The panel of a release: where it is, and how many updates lead from and to it. */
export function ReleasePanel({ model, release: index }: { model: GraphModel; release: number }): JSX.Element {
  const release = model.release(index);
  const out = model.out(index);
  const into = model.into(index);
  return (
    <div class="stack-fill">
      <dl class="facts">
        <dt>channels</dt>
        <dd>{release.channels.join(", ")}</dd>
        {release.entersAt && (<><dt>enters</dt><dd><Time at={release.entersAt} exactly /></dd></>)}
        {release.url && (<><dt>errata</dt><dd><Outward href={release.url} /></dd></>)}
      </dl>
      <h3>Updates from it, by kind</h3>
      <KindCounts edges={out} model={model} none="No update leads on from here in what is shown." />
      {out.length > 0 && (
        <>
          <h3>The newest</h3>
          <ul class="edge-list">
            {[...out].reverse().slice(0, 8).map((edge) => (
              <li key={edge.to}>
                <a href={here({ to: model.release(edge.to).version, panel: null, hop: null })}>{model.release(edge.to).version}</a>
                <KindMark kind={edge.answer.kind} />
                <Share edge={edge} />
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>Updates to it, by kind</h3>
      <KindCounts edges={into} model={model} none="No update leads here in what is shown." />
      <p class="muted small-text">Choose an update in the picture or in the table below, or type both ends, also of one that is missing.</p>
    </div>
  );
}

function KindCounts({ edges, model, none }: { edges: readonly Edge[]; model: GraphModel; none: string }): JSX.Element {
  if (edges.length === 0) return <p class="muted">{none}</p>;
  const counts = new Map<string, number>();
  for (const edge of edges) counts.set(edge.answer.kind, (counts.get(edge.answer.kind) ?? 0) + 1);
  return (
    <ul class="kind-counts">
      {model.data.kinds.filter(({ kind }) => counts.has(kind)).map(({ kind }) => (
        <li key={kind}><KindMark kind={kind} /> <span class="number">{counts.get(kind)}</span></li>
      ))}
    </ul>
  );
}

function Share({ edge }: { edge: Edge }): JSX.Element | null {
  const { share, offeredFrom, kind } = edge.answer;
  return (
    <>
      {share !== null && share < 1 && <span class="number muted">{percent(share)}</span>}
      {offeredFrom && kind !== "offered" && kind !== "conditional" && <span class="muted">opens <Time at={offeredFrom} /></span>}
    </>
  );
}

interface Row {
  key: string;
  edge: Edge;
  isOut: boolean;
}

/** The updates of the selected release, as the picture draws them. */
export function EdgeTable({ model, selected, target }: { model: GraphModel; selected: number; target: number }): JSX.Element {
  const { version } = model.release(selected);
  const columns: Column<Row>[] = useMemo(() => {
    const name = (index: number) => model.release(index).version;
    return [
      {
        key: "other",
        title: "Update",
        head: true,
        sort: (row) => name(row.isOut ? row.edge.to : row.edge.from),
        cell: (row) => (
          <a href={here({ from: name(row.edge.from), to: name(row.edge.to), panel: null, hop: null })}>
            {row.isOut ? `to ${name(row.edge.to)}` : `from ${name(row.edge.from)}`}
          </a>
        ),
      },
      { key: "kind", title: "Is", sort: (row) => row.edge.answer.kind, cell: (row) => <KindMark kind={row.edge.answer.kind} /> },
      { key: "answer", title: "Answer", sort: (row) => row.edge.answer.answer, cell: (row) => row.edge.answer.answer },
      { key: "share", title: "Share", numeric: true, sort: (row) => row.edge.answer.share ?? -1, cell: (row) => (row.edge.answer.share === null ? <span class="muted">–</span> : percent(row.edge.answer.share)) },
      { key: "opens", title: "Offered from", sort: (row) => row.edge.answer.offeredFrom ?? "~", cell: (row) => <Time at={row.edge.answer.offeredFrom} /> },
      { key: "why", title: "Because", cell: (row) => <span class="muted">{[...row.edge.answer.risks, ...row.edge.answer.codes].join(", ")}</span> },
      { key: "channel", title: "Channel", sort: (row) => row.edge.answer.channel, cell: (row) => <code>{row.edge.answer.channel}</code> },
    ];
  }, [model]);
  const rows = useMemo<Row[]>(
    () => [
      ...model.out(selected).reverse().map((edge) => ({ key: `to ${edge.to}`, edge, isOut: true })),
      ...model.into(selected).reverse().map((edge) => ({ key: `from ${edge.from}`, edge, isOut: false })),
    ],
    [model, selected],
  );
  return (
    <Table
      caption={`Updates from and to ${version}`}
      columns={columns}
      rows={rows}
      rowKey={(row) => row.key}
      selected={(row) => row.isOut && row.edge.to === target}
      atFirst={60}
      empty={<p>No update leads from or to {version} in what is shown.</p>}
    />
  );
}

/** All releases, as the picture draws them. */
export function ReleaseTable({ model, found }: { model: GraphModel; found: ReadonlySet<number> }): JSX.Element {
  const rows = useMemo(() => {
    const all = model.data.releases.map((_, index) => index).reverse();
    return found.size > 0 ? all.filter((index) => found.has(index)) : all;
  }, [model, found]);
  const columns: Column<number>[] = useMemo(
    () => [
      { key: "version", title: "Release", head: true, sort: (index) => model.data.releases.length - index, cell: (index) => <a href={here({ from: model.release(index).version, to: null, panel: null, hop: null })}>{model.release(index).version}</a> },
      { key: "lane", title: "Minor", sort: (index) => model.data.lanes[model.release(index).lane]?.minor ?? "", cell: (index) => model.data.lanes[model.release(index).lane]?.minor },
      { key: "enters", title: "Entered", sort: (index) => model.release(index).entersAt ?? "", cell: (index) => <Time at={model.release(index).entersAt} /> },
      { key: "out", title: "Updates from it", numeric: true, sort: (index) => model.counts(index).out, cell: (index) => model.counts(index).out },
      { key: "in", title: "Updates to it", numeric: true, sort: (index) => model.counts(index).into, cell: (index) => model.counts(index).into },
      { key: "channels", title: "Channels", cell: (index) => <span class="muted">{shortList(model.release(index).channels)}</span> },
    ],
    [model],
  );
  return <Table caption="Releases" columns={columns} rows={rows} rowKey={(index) => index} atFirst={40} empty={<p>No release.</p>} />;
}

function shortList(names: readonly string[]): string {
  return names.length <= 4 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and ${names.length - 4} more`;
}
