// What people have decided: pauses, approvals, acknowledgements, each with who, why and when.

import type { JSX } from "preact";
import { param } from "../../address";
import { useAnswer } from "../../api/answer";
import { url } from "../../api/client";
import type { Act, Acts } from "../../api/fleet";
import { Answered, Empty, Mark, Time } from "../../components/basics";
import { Table, type Column } from "../../components/table";
import { ClusterLink, Pages } from "./part";

export function ActsView(): JSX.Element {
  const answer = useAnswer<Acts>(url("/api/v1/fleet/acts", { org: param("org"), after: param("after"), limit: 100 }), { topic: "act" });
  return (
    <Answered answer={answer} what="what people have decided">
      {(data) => (
        <>
          <ActTable caption="Pauses, approvals and acknowledgements" acts={data.acts} />
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
      rowKey={(act, index) => `${act.kind} ${act.at} ${index}`}
      empty={<Empty title="Nobody has paused, approved or acknowledged anything."><p>The buttons above do it, and so do <code>towpath fleet pause</code>, <code>approve</code> and <code>acknowledge</code>.</p></Empty>}
    />
  );
}

const COLUMNS: Column<Act>[] = [
  { key: "at", title: "When", cell: (act) => <Time at={act.at} exactly />, sort: (act) => act.at },
  { key: "kind", title: "What", head: true, cell: (act) => <Mark kind={act.kind === "pause" ? "blocked" : "offered"}>{act.kind}</Mark> },
  { key: "of", title: "Of", cell: (act) => <Subject act={act} /> },
  { key: "by", title: "By", cell: (act) => act.by ?? <span class="muted">not recorded</span>, sort: (act) => act.by ?? "" },
  { key: "why", title: "Why", cell: (act) => act.why ?? <span class="muted">–</span> },
];

function Subject({ act }: { act: Act }): JSX.Element {
  const where = [act.organisation && `organisation ${act.organisation}`, act.sector && `sector ${act.sector}`].filter(Boolean).join(", ");
  return (
    <>
      {act.version && <><span class="version">{act.version}</span> </>}
      {act.gate && <>gate {act.gate} </>}
      {act.cluster ? <ClusterLink id={act.cluster} name={act.name} /> : where || "everything"}
    </>
  );
}
