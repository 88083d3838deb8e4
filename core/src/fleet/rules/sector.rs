//! Sectors: the sectors before this one must have the version first.
//!
//! For each workload, every cluster of the earlier sectors must run the version or a higher one. A
//! sector may set a straggler limit in days. That long after the sector's first cluster ran this
//! very version, its laggards stop counting. Clusters that have been silent that long stop
//! counting too.

use jiff::{SignedDuration, Timestamp};

use super::StartRule;
use crate::fleet::roster::{
    Candidate, CellIdx, Class, ClusterIdx, Crowd, CrowdIdx, Roster, SectorIdx, StartQuestion,
    VersionIdx,
};
use crate::table::Idx;
use crate::verdict::{Code, Verdict};

/// A sector that comes first is not there.
static SECTOR_BEHIND: Code = Code::new(
    "SectorBehind",
    "sector {sector} comes first, and {cluster} there is on {version}",
    "upgrade the cluster that is behind, or let the sector give up stragglers",
)
.with(&[
    ("sector", "stage"),
    ("cluster", "s1"),
    ("version", "4.20.1"),
]);

/// A cluster that may belong to a sector that comes first is not there.
static CLUSTER_UNPLACED: Code = Code::new(
    "ClusterUnplaced",
    "{cluster} is on {version}, and may belong to sector {sector}, which comes first: its policy is wrong, so nobody knows its sector",
    "correct the policy of {cluster}; `towpath fleet lint` shows what is wrong",
)
.with(&[
    ("sector", "stage"),
    ("cluster", "s1"),
    ("version", "4.20.1"),
]);

/// Clusters elsewhere, whose version data is inherited, are not there.
static INHERITED_BEHIND: Code = Code::new(
    "InheritedBehind",
    "version data is inherited, and the lowest version there[ with {workload}] is {version}",
    "wait for the other organisation",
)
.with(&[("workload", "web"), ("version", "4.20.1")]);

pub(super) static RULE: StartRule = StartRule::new(
    &[&SECTOR_BEHIND, &INHERITED_BEHIND, &CLUSTER_UNPLACED],
    judge,
)
.holding(|q| laggard(q).is_some() || ceiling(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    if let Some((sector, member)) = laggard(q) {
        let behind = &q.roster.member(member).state;
        let facts = [
            ("sector", (&q.roster.sectors[sector].name).into()),
            ("cluster", (&behind.name).into()),
            ("version", (&behind.version).into()),
        ];
        return match q.roster.class_of(member).sector == Some(sector) {
            true => Verdict::wait(SECTOR_BEHIND.because(facts)),
            false => Verdict::refuse(CLUSTER_UNPLACED.because(facts)),
        };
    }
    let wait = |(cell, version): (Option<CellIdx>, VersionIdx)| {
        let workload = cell.map(|cell| &q.roster.cells[cell].workload);
        Verdict::wait(INHERITED_BEHIND.because([
            ("workload", workload.into()),
            ("version", q.roster.version(version).into()),
        ]))
    };
    ceiling(q).map(wait).into_iter().collect()
}

/// The cluster furthest behind in a sector that comes first, and that sector.
fn laggard(q: &StartQuestion<'_>) -> Option<(SectorIdx, ClusterIdx)> {
    let candidate = q.candidate?;
    let behind = |crowd: &CrowdIdx| {
        let crowd = &q.roster.crowds[*crowd];
        let (version, member) = lowest_behind(q.roster, crowd, candidate, q.now)?;
        Some((version, member, crowd.sector))
    };
    let lowest = q.class.after.iter().filter_map(behind).min();
    lowest.map(|(_, member, sector)| (sector, member))
}

/// Whether time alone can change what the rule says for a class.
pub(crate) fn is_volatile(roster: &Roster, class: &Class) -> bool {
    let limited = |crowd: &CrowdIdx| {
        let sector = roster.crowds[*crowd].sector;
        roster.sectors[sector].straggler_days.is_some()
    };
    class.after.iter().any(limited)
}

/// The cluster furthest behind that still counts, with its version.
fn lowest_behind(
    roster: &Roster,
    crowd: &Crowd,
    candidate: &Candidate,
    now: Timestamp,
) -> Option<(VersionIdx, ClusterIdx)> {
    if crowd.lowest.0 >= candidate.version {
        return None;
    }
    let Some(days) = roster.sectors[crowd.sector].straggler_days else {
        return Some(crowd.lowest);
    };
    let limit = SignedDuration::from_hours(24 * i64::from(days));
    let arrived =
        |(_, member): &(VersionIdx, ClusterIdx)| roster.member(*member).state.version_since;
    // Who is above it never ran it, and says nothing about how long it has been there to be taken.
    let on_it = (candidate.version, Idx::FIRST)..(candidate.version.next(), Idx::FIRST);
    let first = crowd.members.range(on_it).map(arrived).min();
    if first.is_some_and(|first| first.duration_until(now) >= limit) {
        return None;
    }
    let counts = |(_, member): &&(VersionIdx, ClusterIdx)| {
        roster.member(*member).state.last_seen.duration_until(now) < limit
    };
    crowd
        .members
        .range(..(candidate.version, Idx::FIRST))
        .find(counts)
        .copied()
}

/// Inherited data: the lowest version elsewhere that the candidate is above, and the workload it is about.
fn ceiling(q: &StartQuestion<'_>) -> Option<(Option<CellIdx>, VersionIdx)> {
    let candidate = q.candidate?;
    let ceilings = q.class.ceilings.iter();
    let exceeded = ceilings.filter(|(_, version)| candidate.version > *version);
    exceeded.min_by_key(|(_, version)| *version).copied()
}
