//! Sectors: whoever comes first must be there first.
//!
//! Per workload, every cluster of the sectors before this one must be on the version or above it. A sector may name a straggler limit: laggards
//! stop counting that many days after the first of the sector came to run that very version, and so do clusters that have been silent that long.

use jiff::{SignedDuration, Timestamp};

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Class, Crowd, Post, Roster};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let behind = |crowd: &u32| {
        lowest_behind(
            post.roster,
            &post.roster.crowds[*crowd as usize],
            candidate,
            post.now,
        )
    };
    let laggard = post.class.after.iter().filter_map(behind).min();
    laggard
        .map(|(_, member)| Hold::Sector { member })
        .or_else(|| above_ceiling(post.class, candidate))
}

/// Whether time alone can change what the rule says for a class.
pub(crate) fn is_volatile(roster: &Roster, class: &Class) -> bool {
    let limited = |crowd: &u32| {
        let sector = roster.crowds[*crowd as usize].sector;
        roster.sectors[sector as usize].straggler_days.is_some()
    };
    class.after.iter().any(limited)
}

/// The cluster furthest behind that still counts, with its version.
fn lowest_behind(
    roster: &Roster,
    crowd: &Crowd,
    candidate: &Candidate,
    now: Timestamp,
) -> Option<(u32, u32)> {
    if crowd.lowest.0 >= candidate.version {
        return None;
    }
    let Some(days) = roster.sectors[crowd.sector as usize].straggler_days else {
        return Some(crowd.lowest);
    };
    let limit = SignedDuration::from_hours(24 * i64::from(days));
    let arrived = |(_, member): &(u32, u32)| roster.member(*member).state.version_since;
    // Who is above it never ran it, and says nothing about how long it has been there to be taken.
    let on_it = (candidate.version, 0)..(candidate.version + 1, 0);
    let first = crowd.members.range(on_it).map(arrived).min();
    if first.is_some_and(|first| first.duration_until(now) >= limit) {
        return None;
    }
    let counts = |(_, member): &&(u32, u32)| {
        roster.member(*member).state.last_seen.duration_until(now) < limit
    };
    crowd
        .members
        .range(..(candidate.version, 0))
        .find(counts)
        .copied()
}

/// Inherited data: the lowest versions elsewhere, by workload.
fn above_ceiling(class: &Class, candidate: &Candidate) -> Option<Hold> {
    let exceeded = class
        .ceilings
        .iter()
        .filter(|(_, version)| candidate.version > *version);
    let lowest = exceeded.min_by_key(|(_, version)| *version);
    lowest.map(|(workload, version)| Hold::Inherited {
        workload: *workload,
        version: *version,
    })
}
