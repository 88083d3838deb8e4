//! Why does a cluster go, or not go, to each version that it could, and when will it?
//!
//! The rules are those of `dispatch`, with names instead of numbers.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::absence;
use crate::fleet::roster::{Candidate, StartQuestion};
use crate::fleet::rules::RuleSet;
use crate::fleet::{ClusterIdx, Roster};
use crate::graph::ChannelName;
use crate::verdict::{Reason, Verdict};
use crate::version::Version;

/// What there is to say about a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// About the cluster, whatever the version.
    pub cluster: Verdict,
    /// About each version that it could go to, highest first: the cluster's verdict and the version's own.
    pub candidates: Vec<CandidateWhy>,
    /// Why there is no version that it could go to, if there is none.
    pub nothing: Option<Reason>,
}

/// What there is to say about a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateWhy {
    pub to: Version,
    /// The channel that the cluster would be switched to for it.
    pub channel: Option<ChannelName>,
    pub verdict: Verdict,
    /// What is held against this version alone.
    pub own: Verdict,
}

/// Explains everything about one cluster. One that was just started had its mutexes before those who came after it.
pub(super) fn why(roster: &Roster, member: ClusterIdx, now: Timestamp, started: bool) -> Why {
    let question = StartQuestion::new(roster, member, now);
    let rules = match started {
        true => RuleSet::CLUSTER.without(RuleSet::LOCKS),
        false => RuleSet::CLUSTER,
    };
    let cluster = rules.judge(&question);
    let explain = |candidate: &Candidate| {
        let own = RuleSet::VERSION.judge(&question.about(candidate));
        CandidateWhy {
            to: roster.version(candidate.version).clone(),
            channel: question.member.state.offers[candidate.offer.at()]
                .channel
                .clone(),
            verdict: cluster.clone().and(own.clone()),
            own,
        }
    };
    let candidates: Vec<CandidateWhy> = question.member.candidates.iter().map(explain).collect();
    let is_empty = candidates.is_empty();
    Why {
        cluster,
        candidates,
        nothing: is_empty.then(|| absence::nothing(&question.member.state)),
    }
}

/// The same, about one version. If it is no candidate, the answer is no, and says why.
pub(super) fn about(roster: &Roster, member: ClusterIdx, mut why: Why, to: &Version) -> Why {
    let absent = || {
        let there = why.candidates.iter().map(|candidate| &candidate.to);
        let own = Verdict::refuse(absence::of_version(roster.cluster(member), to, there));
        CandidateWhy {
            to: to.clone(),
            channel: None,
            verdict: why.cluster.clone().and(own.clone()),
            own,
        }
    };
    let mut candidates = why.candidates.iter();
    let found = candidates.find(|candidate| candidate.to == *to).cloned();
    why.candidates = vec![found.unwrap_or_else(absent)];
    why.nothing = None;
    why
}

/// What holds a cluster that could go somewhere: the rules against its least held candidate, and of `about_it` those against itself.
pub(super) fn holding(question: &StartQuestion<'_>, about_it: RuleSet) -> RuleSet {
    let candidates = question.member.candidates.iter();
    let Some(least) = candidates.min_by_key(|candidate| candidate.holds.count_ones()) else {
        return RuleSet::NONE;
    };
    RuleSet(least.holds).and(about_it.holding(question))
}

/// The candidates that the soak rule holds, with what the workload has and what the cluster needs. Nobody waits for a blocked
/// version to soak.
pub(super) fn soak_of(
    roster: &Roster,
    member: ClusterIdx,
    workload: &str,
) -> Vec<(Version, i64, i64)> {
    let (of, class) = (roster.member(member), roster.class_of(member));
    let cell = class
        .cells
        .iter()
        .find(|cell| *roster.cells[**cell].workload == *workload);
    let (Some(cell), Some(need)) = (cell, class.soak_seconds) else {
        return Vec::new();
    };
    let is_blocked = |candidate: &&Candidate| RuleSet(candidate.holds).has_blocked();
    let open = of.candidates.iter().filter(|one| !is_blocked(one));
    let held = open.filter_map(|candidate| {
        let have = roster.cells[*cell].seconds[candidate.version];
        (have < need).then(|| (roster.version(candidate.version).clone(), have, need))
    });
    held.collect()
}

/// A version that a cluster could go to, and how long it still has to soak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateSoak {
    pub version: Version,
    pub is_blocked: bool,
    /// Of the workload that lacks most.
    pub remaining_seconds: i64,
}

/// Every candidate of a cluster with what it lacks in soak, highest first.
pub(super) fn remaining_soak(roster: &Roster, member: ClusterIdx) -> Vec<CandidateSoak> {
    let (of, class) = (roster.member(member), roster.class_of(member));
    let need = class.soak_seconds.unwrap_or(0);
    let soak = |candidate: &Candidate| {
        let have = class.cells.iter();
        let have = have.map(|cell| roster.cells[*cell].seconds[candidate.version]);
        CandidateSoak {
            version: roster.version(candidate.version).clone(),
            is_blocked: RuleSet(candidate.holds).has_blocked(),
            remaining_seconds: have.min().map_or(0, |have| (need - have).max(0)),
        }
    };
    of.candidates.iter().map(soak).collect()
}

/// A digest of all verdicts, in the order of the clusters.
pub(super) fn digest(roster: &Roster, now: Timestamp) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut field = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    for member in roster.in_order() {
        let question = StartQuestion::new(roster, *member, now);
        field(question.member.state.id.as_str().as_bytes());
        field(&RuleSet::CLUSTER.holding(&question).0.to_be_bytes());
        for candidate in &question.member.candidates {
            field(roster.version(candidate.version).to_string().as_bytes());
            field(&candidate.holds.to_be_bytes());
        }
    }
    digest.finalize().into()
}
