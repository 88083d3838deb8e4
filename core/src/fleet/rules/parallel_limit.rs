//! Parallel limit: how many clusters of a sector that share a mutex may upgrade at once.
//!
//! Only the sector's own clusters count. A cluster without declared mutexes is not limited.

use super::{StartRule, sector_of};
use crate::fleet::roster::{ClusterIdx, MutexIdx, StartQuestion};
use crate::verdict::{Code, Value, Verdict};

static PARALLEL_LIMIT: Code = Code::new(
    "ParallelLimit",
    "at most {limit} of sector {sector} may hold mutex {mutex} at once: {holders}",
    "wait, or raise the limit",
)
.with(&[
    ("sector", "stage"),
    ("mutex", "wan"),
    ("limit", "1"),
    ("holders", "s1"),
]);

/// The most holders of a mutex that are named.
const NAMED_HOLDERS: usize = 6;

pub(super) static RULE: StartRule =
    StartRule::new(&[&PARALLEL_LIMIT], judge).holding(|q| reached(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |(mutex, limit): (MutexIdx, u32)| {
        let is_ours = |holder: &&ClusterIdx| q.roster.class_of(**holder).sector == q.class.sector;
        let entry = &q.roster.mutexes[mutex];
        let holders = entry.holders.iter().filter(is_ours).take(NAMED_HOLDERS);
        let names = holders.map(|holder| &q.roster.member(*holder).state.name);
        Verdict::wait(PARALLEL_LIMIT.because([
            ("sector", sector_of(q).into()),
            ("mutex", (&entry.name).into()),
            ("limit", limit.into()),
            ("holders", Value::list(names)),
        ]))
    };
    reached(q).map(wait).into_iter().collect()
}

/// A mutex whose limit is reached, and the limit.
fn reached(q: &StartQuestion<'_>) -> Option<(MutexIdx, u32)> {
    let sector = q.class.sector?;
    q.class.mutexes.iter().find_map(|mutex| {
        let limit = q.roster.limit(sector, *mutex)?;
        let entry = &q.roster.mutexes[*mutex];
        let itself = u32::from(entry.holders.contains(&q.number));
        let held = entry
            .in_sector
            .get(&sector)
            .map_or(0, |count| count - itself);
        (held >= limit).then_some((*mutex, limit))
    })
}
