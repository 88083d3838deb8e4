//! Source stale: a source has not been read for so long that nothing is recommended from it any
//! more, or the signature of its copy has ceased to count.
//!
//! An old copy may lack a block, and so may one of a key that was revoked. Releases stay visible,
//! but every edge waits, for everybody, until a good copy arrives.

use super::{EdgeQuestion, EdgeRule};
use crate::graph::{StaleCause, StaleSource};
use crate::verdict::{Code, Verdict};

static SOURCE_STALE: Code = Code::new(
    "SourceStale",
    "nothing is offered while {source} cannot be read; the last good copy is of {lastGood}",
    "bring the source back; `/readyz` says what is wrong with it",
)
.with(&[("source", "graph-data"), ("lastGood", "2026-11-16 12:00Z")]);

static SOURCE_NOT_SIGNED: Code = Code::new(
    "SourceNotSigned",
    "nothing is offered because the signature of {source} no longer counts; the last good copy is of {lastGood}",
    "have the graph data signed by a key of the keyring; `/readyz` says what is wrong with its signature",
)
.with(&[("source", "graph-data"), ("lastGood", "2026-11-16 12:00Z")]);

/// Makes everybody wait while a source is too old, or not signed any more.
pub(crate) static RULE: EdgeRule = EdgeRule::new(&[&SOURCE_STALE, &SOURCE_NOT_SIGNED], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let wait = |stale: &StaleSource| {
        let facts = [
            ("source", (&stale.source).into()),
            ("lastGood", stale.last_good.into()),
        ];
        let code = match stale.cause {
            StaleCause::TooOld => &SOURCE_STALE,
            StaleCause::NotSigned => &SOURCE_NOT_SIGNED,
        };
        Verdict::wait(code.because(facts))
    };
    q.graph.stale().iter().map(wait).collect()
}
