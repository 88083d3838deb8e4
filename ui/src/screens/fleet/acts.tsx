// What people did: pauses, approvals, acknowledgements, cancelled upgrades, each with who, why and when, and who ended it.

import type { JSX } from "preact";
import { param } from "../../address";
import { useAnswer } from "../../api/answer";
import { url } from "../../api/client";
import type { Act, Acts, Said } from "../../api/fleet";
import { Answered, Empty, Mark, Time } from "../../components/basics";
import { Table, type Column } from "../../components/table";
import { actLink } from "./act";
import { ClusterLink, Pages } from "./part";

export function ActsView(): JSX.Element {
  const answer = useAnswer<Acts>(url("/api/v1/fleet/acts", { org: param("org"), after: param("after"), limit: 100 }), { topic: "act" });
  return (
    <Answered answer={answer} what="what people have decided">
      {(data) => (
        <>
          <ActTable caption="Pauses, approvals, acknowledgements and cancelled upgrades" acts={data.acts} />
          <Pages next={data.next} />
        </>
      )}
    </Answered>
  );
}

export function ActTable({ caption, acts }: { caption: string; acts: readonly Act[] }): JSX.Element {
  return (
    <Table
      caption={caption}
      columns={COLUMNS}
      rows={acts}
      rowKey={({ kind, at, organisation, sector, cluster, name, version, gate }) => [kind, at, organisation, sector, cluster ?? name, version, gate].join(" ")}
      empty={<Empty title="Nobody has paused, approved, acknowledged or cancelled anything."><p>The buttons above do it, and so do <code>towpath fleet pause</code>, <code>approve</code>, <code>acknowledge</code> and <code>cancel</code>.</p></Empty>}
    />
  );
}

const COLUMNS: Column<Act>[] = [
  { key: "at", title: "When", cell: (act) => <Time at={act.at} exactly />, sort: (act) => act.at },
  { key: "kind", title: "What", head: true, cell: (act) => <Mark kind={act.ended ? "quiet" : HOLDS.has(act.kind) ? "blocked" : "offered"}>{act.kind}</Mark> },
  { key: "of", title: "Of", cell: (act) => <Subject act={act} /> },
  { key: "by", title: "By", cell: (act) => <Who of={act} />, sort: (act) => act.by },
  { key: "why", title: "Why", cell: (act) => act.why ?? <span class="muted">–</span> },
  { key: "ended", title: "Ended", cell: (act) => <Ended act={act} /> },
];

/** What holds clusters while it stands. */
const HOLDS = new Set(["pause", "cancellation"]);

/** A person, and how the service knows. */
function Who({ of }: { of: Said }): JSX.Element {
  return <>{of.by} <span class="muted">({of.knownBy ?? "how they were known is not recorded"})</span></>;
}

/** Who ended it; or the way to do so. */
function Ended({ act }: { act: Act }): JSX.Element {
  if (act.ended) return <><Time at={act.ended.at} exactly /> by <Who of={act.ended} />{act.ended.why && `: ${act.ended.why}`}</>;
  const { organisation, sector, version, gate } = act;
  const cluster = act.cluster ?? act.name;
  switch (act.kind) {
    case "pause":
      return <a href={actLink("resume", { organisation, sector })}>Resume…</a>;
    case "approval":
      return <a href={actLink("withdraw-approval", { organisation, cluster, version })}>Withdraw…</a>;
    case "acknowledgement":
      return <a href={actLink("withdraw-acknowledgement", { cluster, gate })}>Withdraw…</a>;
    case "cancellation":
      return <a href={actLink("lift", { cluster, version })}>Lift…</a>;
    default:
      return <span class="muted">–</span>;
  }
}

function Subject({ act }: { act: Act }): JSX.Element {
  const where = [act.organisation && `organisation ${act.organisation}`, act.sector && `sector ${act.sector}`].filter(Boolean).join(", ");
  return (
    <>
      {act.version && <><span class="version">{act.version}</span> </>}
      {act.gate && <>gate {act.gate} </>}
      {act.nodePool && <>node pool {act.nodePool} </>}
      {act.cluster ? <ClusterLink id={act.cluster} name={act.name} /> : [act.name, where].filter(Boolean).join(" of ") || "everything"}
    </>
  );
}
