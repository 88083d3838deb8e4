//! What becomes of upgrades: plans are judged again until they start, and running upgrades are
//! followed to their end.
//!
//! A running upgrade is never cancelled. One that takes longer than expected is reported, and
//! keeps its mutexes. One that the cluster never began is given up, so that others get their turn. If
//! it completes later all the same, it is finished and no failure.

use jiff::{SignedDuration, Timestamp};

use super::dispatch::Decision;
use crate::fleet::roster::{ClusterEntry, StartQuestion};
use crate::fleet::rules::{RuleSet, closed};
use crate::fleet::schedule::HORIZON;
use crate::fleet::{Name, Owner, Product, Roster, Upgrade, UpgradeId, UpgradeState};
use crate::verdict::{Code, Verdict};

/// A cluster that has not begun by then, and has reported since, will not.
pub const GRACE: SignedDuration = SignedDuration::from_hours(2);
/// A plan begins at its time, or at most this much later. After that it begins only while its schedule is open; otherwise it
/// is planned again.
pub const PUNCTUALITY: SignedDuration = SignedDuration::from_mins(30);
/// A node pool that is not there by then will not be: nobody tells whether it began.
const POOL_LIMIT: SignedDuration = SignedDuration::from_hours(24);
/// What usually suffices for an upgrade.
pub const EXPECTED: SignedDuration = SignedDuration::from_hours(6);

static NOT_MANAGED: Code = Code::new(
    "NotManaged",
    "the cluster is no longer managed",
    "name it in its organisation's file, if it should be",
);

static NOT_AVAILABLE: Code = Code::new(
    "NotAvailable",
    "it is no longer available to the cluster",
    "nothing; another version is planned as soon as one is free",
);

/// Nobody was there when the plan was to begin.
static TIME_HAS_PASSED: Code = Code::new(
    "TimeHasPassed",
    "its time has passed, and its schedule is no longer open",
    "make passes at most 30 minutes apart (`serve`, or `fleet run` without `--once`, does); the upgrade is planned again",
);

static BEYOND_HORIZON: Code = Code::new(
    "BeyondHorizon",
    "its start lies further ahead than any plan's: it was made by a clock that was ahead",
    "see that the schedulers' clocks are right; the upgrade is planned again",
);

/// Why plans are cancelled, besides the rules.
pub(crate) const PLAN_CODES: [&Code; 4] = [
    &NOT_MANAGED,
    &NOT_AVAILABLE,
    &TIME_HAS_PASSED,
    &BEYOND_HORIZON,
];

/// A plan that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancellation {
    pub upgrade: UpgradeId,
    pub verdict: Verdict,
}

/// An upgrade that has come to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeEnd {
    pub upgrade: UpgradeId,
    pub state: UpgradeState,
    /// What there is to say about it.
    pub note: Option<Name>,
}

impl UpgradeEnd {
    fn finished(upgrade: &Upgrade) -> Self {
        Self {
            upgrade: upgrade.id,
            state: UpgradeState::Finished,
            note: None,
        }
    }

    fn failed(upgrade: &Upgrade, why: &str) -> Self {
        Self {
            state: UpgradeState::Failed,
            note: Some(why.into()),
            ..Self::finished(upgrade)
        }
    }
}

/// An upgrade that takes longer than expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverdueUpgrade {
    pub upgrade: UpgradeId,
    /// Since when it has been under way.
    pub since: Timestamp,
}

/// Looks at every upgrade of ours that is planned or under way.
pub(super) fn follow(roster: &Roster, now: Timestamp, decision: &mut Decision) {
    for upgrade in roster
        .upgrades()
        .iter()
        .filter(|upgrade| upgrade.owner == Owner::Towpath)
    {
        match upgrade.state {
            UpgradeState::Planned => follow_plan(roster, upgrade, now, decision),
            UpgradeState::Started => follow_run(roster, upgrade, now, decision),
            UpgradeState::Failed => follow_failure(roster, upgrade, decision),
            UpgradeState::Finished | UpgradeState::Cancelled | UpgradeState::Refused => {}
        }
    }
    // Upgrades are known in the order in which they were heard of; a decision is in that of their numbers.
    decision.cancels.sort_by_key(|cancel| cancel.upgrade);
    decision.begins.sort();
    decision.ended.sort_by_key(|ended| ended.upgrade);
    decision.overdue.sort_by_key(|overdue| overdue.upgrade);
}

fn follow_plan(roster: &Roster, upgrade: &Upgrade, now: Timestamp, decision: &mut Decision) {
    let member = roster.find(upgrade.cluster.as_str());
    let verdict = match member {
        None => Verdict::wait(NOT_MANAGED.alone()),
        Some(member) if is_there(roster.member(member), upgrade) => {
            decision.ended.push(UpgradeEnd::finished(upgrade));
            return;
        }
        Some(member) => judge_plan(&StartQuestion::new(roster, member, now), upgrade),
    };
    match (verdict.is_offered(), upgrade.start_at <= now) {
        (false, _) => decision.cancels.push(Cancellation {
            upgrade: upgrade.id,
            verdict,
        }),
        (true, true) => decision.begins.push(upgrade.id),
        (true, false) => {}
    }
}

/// What is held against a plan now.
fn judge_plan(question: &StartQuestion<'_>, upgrade: &Upgrade) -> Verdict {
    let cluster = RuleSet::PLANS
        .judge(question)
        .and(judge_distance(upgrade, question.now));
    if upgrade.pool.is_some() {
        return cluster;
    }
    let cluster = cluster.and(judge_time(question, upgrade));
    let version = question.roster.version_number(&upgrade.to);
    let mut candidates = question.member.candidates.iter();
    match candidates.find(|candidate| Some(candidate.version) == version) {
        None => cluster.and(Verdict::wait(NOT_AVAILABLE.alone())),
        Some(candidate) => cluster.and(RuleSet::VERSION.judge(&question.about(candidate))),
    }
}

/// A plan for a time that no plan is made for was made by a clock that was ahead. It would hold its mutexes until then.
fn judge_distance(upgrade: &Upgrade, now: Timestamp) -> Verdict {
    match lies_too_far_ahead(upgrade, now) {
        true => Verdict::wait(BEYOND_HORIZON.alone()),
        false => Verdict::recommend(),
    }
}

/// Clocks may go back a little, and nobody need do anything about that.
fn lies_too_far_ahead(upgrade: &Upgrade, now: Timestamp) -> bool {
    now.duration_until(upgrade.start_at) > HORIZON + PUNCTUALITY
}

/// Windows and exclusions may have changed since the plan was made, and nobody may have been there at its time.
fn judge_time(question: &StartQuestion<'_>, upgrade: &Upgrade) -> Verdict {
    let schedules = question.roster.calendars[question.class.calendar].schedules();
    let is_late = upgrade.start_at.duration_until(question.now) > PUNCTUALITY;
    let missed = is_late && !schedules.is_open(question.now, PUNCTUALITY);
    match (schedules.allows(upgrade.start_at), missed) {
        (true, false) => Verdict::recommend(),
        (false, _) => closed(question, Some(upgrade.start_at)),
        (true, true) => Verdict::wait(TIME_HAS_PASSED.alone()),
    }
}

fn follow_run(roster: &Roster, upgrade: &Upgrade, now: Timestamp, decision: &mut Decision) {
    let Some(member) = roster
        .find(upgrade.cluster.as_str())
        .map(|number| roster.member(number))
    else {
        // It left the fleet while it ran; nobody will tell how it ended.
        decision.ended.push(UpgradeEnd::failed(
            upgrade,
            "the cluster is no longer managed",
        ));
        return;
    };
    let began = member.state.going_to.as_ref() == Some(&upgrade.to);
    let began_at = upgrade.began_at();
    let heard_since = began_at.duration_until(member.state.last_seen) > GRACE;
    let under_way = began_at.duration_until(now);
    let is_ahead = lies_too_far_ahead(upgrade, now);
    if is_there(member, upgrade) {
        decision.ended.push(UpgradeEnd::finished(upgrade));
    } else if is_ahead && !began {
        // Else it would fail only when that time has come. One that runs goes on, and is overdue.
        decision.ended.push(UpgradeEnd::failed(
            upgrade,
            "it was started by a clock that was ahead, and the cluster is not on its way",
        ));
    } else if !began && heard_since && upgrade.pool.is_none() {
        decision.ended.push(UpgradeEnd::failed(
            upgrade,
            "the cluster did not begin in time",
        ));
    } else if upgrade.pool.is_some() && under_way > POOL_LIMIT {
        decision.ended.push(UpgradeEnd::failed(
            upgrade,
            "the node pool was not there in time",
        ));
    } else if under_way > EXPECTED || is_ahead {
        decision.overdue.push(OverdueUpgrade {
            upgrade: upgrade.id,
            since: began_at,
        });
    }
}

/// An upgrade that was given up may arrive all the same. Then it is no failure.
fn follow_failure(roster: &Roster, upgrade: &Upgrade, decision: &mut Decision) {
    let member = roster.find(upgrade.cluster.as_str());
    let Some(member) = member.map(|number| roster.member(number)) else {
        return;
    };
    // A cluster beyond that version went another way.
    let arrived = match &upgrade.pool {
        None => member.state.version == upgrade.to,
        Some(id) => matches!(&member.state.product, Product::HostedControlPlane { pools }
            if pools.iter().any(|pool| pool.id == *id && pool.version == upgrade.to)),
    };
    if arrived {
        decision.ended.push(UpgradeEnd {
            note: Some("it had failed, and completed later all the same".into()),
            ..UpgradeEnd::finished(upgrade)
        });
    }
}

/// Whether the cluster, or the node pool, is where the upgrade goes.
fn is_there(member: &ClusterEntry, upgrade: &Upgrade) -> bool {
    match (&upgrade.pool, &member.state.product) {
        (None, _) => member.state.version >= upgrade.to,
        (Some(id), Product::HostedControlPlane { pools }) => pools
            .iter()
            .find(|pool| pool.id == *id)
            .is_none_or(|pool| pool.version >= upgrade.to),
        (Some(_), Product::Standalone) => true,
    }
}
