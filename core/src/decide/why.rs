//! Why does a cluster go, or not go, where it could, and when will it?
//!
//! The same rules as `dispatch`, with names for numbers.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::domain::fleet::roster::{Candidate, GateEntry, Post};
use crate::domain::fleet::{
    FleetReason, GateConcern, Health, Hold, HoldCode, LeftAlone, Name, NameClash, Product, Roster,
};
use crate::domain::{Answer, Reason, Verdict, Version};
use crate::rules::fleet::{candidate_holds, cluster_holds};

/// Of many holders of a mutex, so many are named.
const NAMED_HOLDERS: usize = 6;

/// What there is to say about a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// About the cluster, whatever the version.
    pub cluster: Verdict,
    /// About each version that it could go to, highest first: the cluster's verdict and the version's own.
    pub candidates: Vec<CandidateWhy>,
}

/// What there is to say about a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateWhy {
    pub to: Version,
    pub verdict: Verdict,
    /// What is held against this version alone.
    pub own: Verdict,
}

/// Explains everything about one cluster. One that was just started had its mutexes before those who came after it.
pub(super) fn why(roster: &Roster, member: u32, now: Timestamp, started: bool) -> Why {
    let post = Post::new(roster, member, now);
    let is_lock = |hold: &Hold| matches!(hold.code(), HoldCode::Mutex | HoldCode::ParallelLimit);
    let holds = cluster_holds(&post).filter(|hold| !(started && is_lock(hold)));
    let cluster: Verdict = holds.map(|hold| verdict(&post, None, hold)).collect();
    let explain = |candidate: &Candidate| {
        let holds = candidate_holds(&post, candidate);
        let own: Verdict = holds
            .map(|hold| verdict(&post, Some(candidate), hold))
            .collect();
        let to = roster.version(candidate.version).clone();
        CandidateWhy {
            to,
            verdict: cluster.clone().and(own.clone()),
            own,
        }
    };
    let candidates = post.member.candidates.iter().map(explain).collect();
    Why {
        cluster,
        candidates,
    }
}

/// What holds a cluster that could go somewhere: the rules against its least held candidate, and those against itself.
pub(super) fn held_by(roster: &Roster, member: u32, now: Timestamp) -> BTreeSet<HoldCode> {
    let post = Post::new(roster, member, now);
    let least = post
        .member
        .candidates
        .iter()
        .min_by_key(|candidate| candidate.holds.count_ones());
    let Some(least) = least else {
        return BTreeSet::new();
    };
    let bits = HoldCode::ALL
        .into_iter()
        .filter(|code| least.holds & (1 << *code as u32) != 0);
    bits.chain(cluster_holds(&post).map(|hold| hold.code()))
        .collect()
}

/// The candidates that the soak rule holds, with what the workload has and what the cluster needs.
pub(super) fn soak_of(roster: &Roster, member: u32, workload: &str) -> Vec<(Version, i64, i64)> {
    let (of, class) = (roster.member(member), roster.class_of(member));
    let cell = class
        .cells
        .iter()
        .find(|cell| *roster.cells[**cell as usize].workload == *workload);
    let (Some(cell), Some(need)) = (cell, class.soak_seconds) else {
        return Vec::new();
    };
    let held = of.candidates.iter().filter_map(|candidate| {
        let have = roster.cells[*cell as usize].seconds[candidate.version as usize];
        (have < need).then(|| (roster.version(candidate.version).clone(), have, need))
    });
    held.collect()
}

/// A digest of all verdicts, in the order of the clusters.
pub(super) fn digest(roster: &Roster, now: Timestamp) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut field = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    for member in roster.in_order() {
        let post = Post::new(roster, *member, now);
        field(post.member.state.id.as_str().as_bytes());
        let own = cluster_holds(&post).fold(0_u32, |set, hold| set | 1 << hold.code() as u32);
        field(&own.to_be_bytes());
        for candidate in &post.member.candidates {
            field(roster.version(candidate.version).to_string().as_bytes());
            field(&candidate.holds.to_be_bytes());
        }
    }
    digest.finalize().into()
}

/// A hold as a verdict: with names, and until when.
pub(super) fn verdict(post: &Post<'_>, candidate: Option<&Candidate>, hold: Hold) -> Verdict {
    reasons(post, candidate, hold)
        .into_iter()
        .map(|(reason, until)| of_reason(reason, until))
        .collect()
}

/// Nobody manages the cluster any more.
pub(super) fn no_longer_managed() -> Verdict {
    of_reason(
        graph_reason("NotManaged", "the cluster is no longer managed"),
        None,
    )
}

/// The version is no longer among the offers.
pub(super) fn no_longer_offered() -> Verdict {
    of_reason(
        graph_reason("NotAvailable", "it is no longer available to the cluster"),
        None,
    )
}

/// Nobody was there when the plan was to begin.
pub(super) fn time_has_passed() -> Verdict {
    of_reason(graph_reason("TimeHasPassed", "its time has passed"), None)
}

/// The plan was made by a clock that was ahead.
pub(super) fn beyond_horizon() -> Verdict {
    let sentence =
        "its start lies further ahead than any plan's: it was made by a clock that was ahead";
    of_reason(graph_reason("BeyondHorizon", sentence), None)
}

fn graph_reason(code: &str, sentence: &str) -> FleetReason {
    FleetReason::Graph {
        code: code.into(),
        sentence: sentence.into(),
    }
}

fn of_reason(reason: FleetReason, until: Option<Timestamp>) -> Verdict {
    let answer = match reason.is_final() {
        true => Answer::Refuse,
        false => Answer::Wait {
            until: until.or(reason.until()),
        },
    };
    Verdict {
        answer,
        reasons: [Reason::Fleet(Box::new(reason))].into(),
    }
}

fn reasons(
    post: &Post<'_>,
    candidate: Option<&Candidate>,
    hold: Hold,
) -> Vec<(FleetReason, Option<Timestamp>)> {
    if let (Hold::NotOffered, Some(candidate)) = (hold, candidate) {
        return objections(post, candidate);
    }
    vec![(reason(post, candidate, hold), None)]
}

fn objections(post: &Post<'_>, candidate: &Candidate) -> Vec<(FleetReason, Option<Timestamp>)> {
    let Some(against) = &post.member.state.offers[candidate.offer as usize].hold else {
        return Vec::new();
    };
    let told = against.reasons.iter();
    told.map(|told| (graph_reason(&told.code, &told.sentence), against.until))
        .collect()
}

fn reason(post: &Post<'_>, candidate: Option<&Candidate>, hold: Hold) -> FleetReason {
    let (roster, state, policy) = (post.roster, &post.member.state, &post.class.policy);
    let mutex_name = |mutex: u32| roster.mutexes[mutex as usize].name.clone();
    let sector_name = || policy.sector.clone().unwrap_or_else(|| "".into());
    match hold {
        Hold::PolicyProblem => {
            let first = post.class.problems.first().expect("the rule saw one");
            FleetReason::PolicyProblem {
                problem: first.problem.clone(),
                origin: first.place.clone(),
            }
        }
        Hold::Disabled => FleetReason::Disabled {
            organisation: roster.organisations[post.class.organisation as usize]
                .name
                .clone(),
        },
        Hold::Blocked(pattern) => {
            let entry = &roster.patterns[pattern as usize];
            FleetReason::BlockedVersion {
                pattern: entry.pattern.text(),
                of_organisation: entry.of_organisation,
            }
        }
        Hold::Pinned => FleetReason::Pinned {
            pin: policy.pin.clone().expect("the rule saw one"),
        },
        Hold::Gate(gate) => {
            let GateEntry { gate, scope, .. } = &roster.gates[gate as usize];
            let unsure = (scope.concerns(state) == GateConcern::Unknown).then_some(*scope);
            FleetReason::GateClosed {
                gate: gate.id.clone(),
                label: gate.label.clone(),
                unsure,
            }
        }
        Hold::NotApproved => FleetReason::NotApproved,
        Hold::NotOffered => graph_reason("NotOffered", "the graph does not offer it"),
        Hold::Soak {
            workload,
            have_seconds,
            need_seconds,
        } => soak(
            post,
            candidate.map(|candidate| candidate.version),
            workload,
            have_seconds,
            need_seconds,
        ),
        Hold::Sector { member } => {
            let behind = &roster.member(member).state;
            let sector = roster
                .policy(member)
                .sector
                .clone()
                .unwrap_or_else(|| "".into());
            FleetReason::SectorBehind {
                sector,
                cluster: behind.name.clone(),
                version: behind.version.clone(),
            }
        }
        Hold::Inherited { workload, version } => FleetReason::InheritedBehind {
            workload: workload.map(|cell| roster.cells[cell as usize].workload.clone()),
            version: roster.version(version).clone(),
        },
        Hold::UnderWay(upgrade) => {
            let upgrade = &roster.upgrades[upgrade as usize];
            let (to, pool) = (upgrade.to.clone(), upgrade.pool.clone());
            FleetReason::UnderWay {
                to,
                pool,
                state: upgrade.state,
                start_at: upgrade.start_at,
            }
        }
        Hold::PoolFirst(pool) => match &state.product {
            Product::HostedControlPlane { pools } => {
                let pool = &pools[pool as usize];
                FleetReason::PoolFirst {
                    pool: pool.id.clone(),
                    version: pool.version.clone(),
                }
            }
            Product::Standalone => unreachable!("only hosted control planes have node pools"),
        },
        Hold::Paused(pause) => {
            let pause = roster.pauses[pause as usize].clone();
            let (organisation, sector) = (pause.organisation, pause.sector);
            FleetReason::Paused {
                organisation,
                sector,
                by: pause.by,
                at: pause.at,
                why: pause.why,
            }
        }
        Hold::Unhealthy => {
            let why = match &state.health {
                Health::Unhealthy { why } => why.clone(),
                Health::Healthy => "".into(),
            };
            FleetReason::Unhealthy { why }
        }
        Hold::NotReporting => FleetReason::NotReporting {
            since: state.last_seen,
        },
        Hold::BackingOff { until } => {
            let failed = &roster.upgrades[post.member.failed.expect("the rule saw one") as usize];
            FleetReason::BackingOff {
                to: failed.to.clone(),
                failures: failed.failures.max(1),
                until,
            }
        }
        Hold::SectorFailures { failures } => {
            let limit = post
                .class
                .sector
                .and_then(|sector| roster.sectors[sector as usize].max_failures);
            FleetReason::SectorFailures {
                sector: sector_name(),
                failures,
                limit: limit.unwrap_or(0).max(1),
            }
        }
        Hold::Mutex { mutex, holder } => FleetReason::Mutex {
            mutex: mutex_name(mutex),
            holder: roster.member(holder).state.name.clone(),
        },
        Hold::ParallelLimit { mutex, limit } => {
            let ours = |holder: &&u32| roster.class_of(**holder).sector == post.class.sector;
            let holders = roster.mutexes[mutex as usize]
                .holders
                .iter()
                .filter(ours)
                .take(NAMED_HOLDERS);
            let holders: Vec<Name> = holders
                .map(|holder| roster.member(*holder).state.name.clone())
                .collect();
            FleetReason::ParallelLimit {
                sector: sector_name(),
                mutex: mutex_name(mutex),
                limit,
                holders,
            }
        }
        Hold::NameClash => match post.member.clash.as_ref().expect("the rule saw one") {
            NameClash::Disputed { other, others } => {
                let (name, other) = (state.name.clone(), other.as_str().into());
                FleetReason::NameDisputed {
                    name,
                    other,
                    others: *others,
                }
            }
            NameClash::Taken { by } => FleetReason::NameTaken {
                name: state.name.clone(),
                by: by.as_str().into(),
            },
        },
        Hold::Schedule => {
            let calendar = &roster.calendars[post.class.calendar as usize];
            let schedule = calendar
                .schedule
                .as_ref()
                .map_or("none", |schedule| schedule.as_str())
                .into();
            FleetReason::Schedule {
                schedule,
                next: calendar.schedules().next(post.now),
            }
        }
        Hold::Refused { upgrade, until } => {
            let refused = &roster.upgrades[upgrade as usize];
            let why = refused
                .note
                .clone()
                .unwrap_or_else(|| "it gave no reason".into());
            FleetReason::Refused {
                why,
                times: refused.failures.max(1),
                until,
            }
        }
        Hold::LeftAlone => {
            let LeftAlone {
                integration,
                origin,
            } = post.class.left_alone.clone().expect("the rule saw one");
            FleetReason::LeftAlone {
                integration,
                origin,
            }
        }
    }
}

/// Who is adding to the soak of a workload, and when it will be enough if they go on.
fn soak(
    post: &Post<'_>,
    version: Option<u32>,
    cell: u32,
    have_seconds: i64,
    need_seconds: i64,
) -> FleetReason {
    let roster = post.roster;
    let entry = &roster.cells[cell as usize];
    let soaking = version.map_or(0, |version| roster.soaking(cell, version));
    let expected = match soaking {
        0 => None,
        soaking => {
            let missing = need_seconds - have_seconds;
            // Rounded up: at that second there is enough.
            let seconds = (missing + i64::from(soaking) - 1) / i64::from(soaking);
            post.now
                .checked_add(SignedDuration::from_secs(seconds))
                .ok()
        }
    };
    let workload = entry.workload.clone();
    FleetReason::Soak {
        workload,
        have_seconds,
        need_seconds,
        soaking,
        expected,
    }
}
