//! Source stale: a source has not been read for so long that nothing is recommended from it any
//! more.
//!
//! An old copy may lack a block. Releases stay visible, but every edge waits, for everybody, until
//! a good copy arrives.

use super::{EdgeQuestion, EdgeRule};
use crate::graph::StaleSource;
use crate::verdict::{Code, Verdict};

static SOURCE_STALE: Code = Code::new(
    "SourceStale",
    "nothing is offered while {source} cannot be read; the last good copy is of {lastGood}",
    "bring the source back; `/readyz` says what is wrong with it",
)
.with(&[("source", "graph-data"), ("lastGood", "2026-11-16 12:00Z")]);

/// Makes everybody wait while a source is too old.
pub(crate) static RULE: EdgeRule = EdgeRule::new(&[&SOURCE_STALE], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let wait = |stale: &StaleSource| {
        let facts = [
            ("source", (&stale.source).into()),
            ("lastGood", stale.last_good.into()),
        ];
        Verdict::wait(SOURCE_STALE.because(facts))
    };
    q.graph.stale().iter().map(wait).collect()
}
