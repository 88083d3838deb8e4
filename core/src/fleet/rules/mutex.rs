//! Mutexes: without a limit of parallel upgrades, a cluster needs all of its mutexes for itself.
//!
//! Its own id is one of them. A cluster without mutexes is never limited.

use super::StartRule;
use crate::fleet::roster::{ClusterIdx, MutexIdx, StartQuestion};
use crate::verdict::{Code, Verdict};

static MUTEX_HELD: Code = Code::new(
    "MutexHeld",
    "mutex {mutex} is held by {holder}",
    "wait for the other cluster",
)
.with(&[("mutex", "wan"), ("holder", "s1")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&MUTEX_HELD], judge).holding(|q| held(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |(mutex, holder): (MutexIdx, ClusterIdx)| {
        let facts = [
            ("mutex", (&q.roster.mutexes[mutex].name).into()),
            ("holder", (&q.roster.member(holder).state.name).into()),
        ];
        Verdict::wait(MUTEX_HELD.because(facts))
    };
    held(q).map(wait).into_iter().collect()
}

/// A mutex that somebody else holds, and who.
fn held(q: &StartQuestion<'_>) -> Option<(MutexIdx, ClusterIdx)> {
    let sector = q.class.sector.map(|at| &q.roster.sectors[at]);
    if sector.is_some_and(|sector| sector.max_parallel.is_some()) {
        return None;
    }
    q.roster.mutexes_of(q.number).find_map(|mutex| {
        let mut holders = q.roster.mutexes[mutex].holders.iter();
        Some((mutex, *holders.find(|holder| **holder != q.number)?))
    })
}
