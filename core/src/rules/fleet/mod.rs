//! The fleet's rules: each reason a cluster may not go to a version now, one small file each.
//!
//! They have the shape of every rule, *(edge, situation) → verdict*, in numbers: a pass over a large fleet judges millions of
//! candidates, so a rule answers with a [`Hold`] of a few bytes, and `why` makes a verdict with names of it. The
//! first list is about a version, the second about the cluster, whatever the version. The order of either does not matter.

mod approval;
mod backoff;
mod blocked_version;
mod gate;
mod health;
mod left_alone;
mod mutex;
mod name;
mod offer;
mod organisation;
mod parallel_limit;
mod pause;
mod pin;
mod pool_first;
mod refused;
mod schedule;
mod sector;
mod sector_failures;
mod soak;
mod under_way;

pub(crate) use pool_first::pool_behind;
pub(crate) use refused::ends as refusals_end;
pub(crate) use sector::is_volatile;

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Post};

/// What a rule has against a version, for one cluster.
pub(crate) type CandidateRule = fn(&Post<'_>, &Candidate) -> Option<Hold>;
/// What a rule has against starting anything on a cluster.
pub(crate) type ClusterRule = fn(&Post<'_>) -> Option<Hold>;

pub(crate) const CANDIDATE_RULES: [CandidateRule; 9] = [
    blocked_version::judge,
    pin::judge,
    gate::judge,
    approval::judge,
    offer::judge,
    soak::judge,
    sector::judge,
    sector_failures::judge,
    refused::judge,
];

/// Rules about a cluster that also hold for its node pools.
pub(crate) const POOL_RULES: [ClusterRule; 10] = [
    organisation::judge_problems,
    organisation::judge_disabled,
    left_alone::judge,
    under_way::judge,
    pause::judge,
    health::judge,
    backoff::judge,
    mutex::judge,
    parallel_limit::judge,
    name::judge,
];

/// Rules about a cluster that hold for its node pools no more: those follow their control plane whenever it is.
pub(crate) const CONTROL_PLANE_RULES: [ClusterRule; 2] = [pool_first::judge, schedule::judge];

/// Rules that a plan has to stand up to until it starts. (Its mutexes are its own, and its time is set.)
pub(crate) const PLAN_RULES: [ClusterRule; 6] = [
    organisation::judge_problems,
    organisation::judge_disabled,
    left_alone::judge,
    pause::judge,
    health::judge,
    name::judge,
];

/// All that is held against starting something on a cluster.
pub(crate) fn cluster_holds<'a>(post: &'a Post<'a>) -> impl Iterator<Item = Hold> + 'a {
    POOL_RULES
        .iter()
        .chain(&CONTROL_PLANE_RULES)
        .filter_map(|rule| rule(post))
}

/// All that is held against a version.
pub(crate) fn candidate_holds<'a>(
    post: &'a Post<'a>,
    candidate: &'a Candidate,
) -> impl Iterator<Item = Hold> + 'a {
    CANDIDATE_RULES
        .iter()
        .filter_map(|rule| rule(post, candidate))
}
