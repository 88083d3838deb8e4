//! Preflight: where the policy wants it, the checks of a release must have passed on the cluster
//! itself.
//!
//! Risks that the checks find may be accepted like others. An outcome counts for the version that
//! the cluster ran then, and for a week.

use jiff::Timestamp;

use super::StartRule;
use crate::fleet::preflight::COUNTS_FOR;
use crate::fleet::roster::{Candidate, StartQuestion};
use crate::fleet::{Preflight, PreflightDemand, PreflightState};
use crate::verdict::{Code, Reason, Value, Verdict};
use crate::version::Version;

static PREFLIGHT_NOT_RUN: Code = Code::new(
    "PreflightNotRun",
    "its policy wants a passed preflight, and none from {from} counts[; the last was at {last}]",
    "ask for it with `towpath fleet preflight`",
)
.with(&[("from", "4.20.1"), ("last", "2026-11-16 12:00Z")]);

static PREFLIGHT_UNDER_WAY: Code = Code::new(
    "PreflightUnderWay",
    "its preflight was asked for at {at}, and has no outcome yet",
    "wait; the cluster runs it inside its windows, if its agent reports here",
)
.with(&[("at", "2026-11-16 12:00Z")]);

static PREFLIGHT_FAILED: Code = Code::new(
    "PreflightFailed",
    "its preflight at {at} has failed[; it found {risks}][: {why}]",
    "settle what it found and ask for it again, or accept the risks in the policy",
)
.with(&[
    ("at", "2026-11-16 12:00Z"),
    ("risks", "StorageDriverTooOld"),
    ("why", "the driver is older than the release wants"),
]);

static PREFLIGHT_INCOMPLETE: Code = Code::new(
    "PreflightIncomplete",
    "its preflight at {at} came to no result[: {why}]",
    "find out why, and ask for it again with `towpath fleet preflight`",
)
.with(&[
    ("at", "2026-11-16 12:00Z"),
    ("why", "it was not over after an hour"),
]);

static PREFLIGHT_UNSUPPORTED: Code = Code::new(
    "PreflightUnsupported",
    "its policy wants a passed preflight, and the cluster does not have preflights[: {why}]",
    "write `preflight: where-supported` in the policy's conditions, if such clusters may go without",
)
.with(&[("why", "its API has no field for it")]);

pub(super) static RULE: StartRule = StartRule::new(
    &[
        &PREFLIGHT_NOT_RUN,
        &PREFLIGHT_UNDER_WAY,
        &PREFLIGHT_FAILED,
        &PREFLIGHT_INCOMPLETE,
        &PREFLIGHT_UNSUPPORTED,
    ],
    judge,
)
.holding(|q| missing(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    missing(q).map(Verdict::wait).into_iter().collect()
}

/// What is missing, if anything is.
fn missing(q: &StartQuestion<'_>) -> Option<Reason> {
    let (candidate, demand) = (q.candidate?, q.class.policy.preflight);
    if demand == PreflightDemand::None {
        return None;
    }
    let preflight = of(q, candidate);
    let fresh = preflight.filter(|one| one.from == q.member.state.version && q.now < end(one));
    let Some(fresh) = fresh else {
        let last = preflight.map(|one| Value::from(one.at));
        let from = &q.member.state.version;
        return Some(PREFLIGHT_NOT_RUN.because([("from", from.into()), ("last", last.into())]));
    };
    let why = Value::from(Some(&fresh.why).filter(|why| !why.is_empty()));
    let at = ("at", fresh.at.into());
    match fresh.state {
        PreflightState::Passed => None,
        PreflightState::Asked | PreflightState::Running => Some(PREFLIGHT_UNDER_WAY.because([at])),
        PreflightState::Failed => {
            let accepted = q.accepted_risks(&fresh.version);
            let is_accepted = !fresh.risks.is_empty() && fresh.risks.is_subset(&accepted);
            let risks = fresh.risks.difference(&accepted);
            let facts = [at, ("risks", Value::list(risks)), ("why", why)];
            (!is_accepted).then(|| PREFLIGHT_FAILED.because(facts))
        }
        PreflightState::Incomplete | PreflightState::Refused => {
            Some(PREFLIGHT_INCOMPLETE.because([at, ("why", why)]))
        }
        PreflightState::Unsupported if demand == PreflightDemand::WhereSupported => None,
        PreflightState::Unsupported => Some(PREFLIGHT_UNSUPPORTED.because([("why", why)])),
    }
}

fn of<'a>(q: &StartQuestion<'a>, candidate: &Candidate) -> Option<&'a Preflight> {
    to(q, q.roster.version(candidate.version))
}

fn to<'a>(q: &StartQuestion<'a>, version: &Version) -> Option<&'a Preflight> {
    q.roster.preflights.get(&q.member.state.id)?.get(version)
}

/// Until when it counts.
fn end(preflight: &Preflight) -> Timestamp {
    preflight
        .at
        .checked_add(COUNTS_FOR)
        .unwrap_or(Timestamp::MAX)
}

/// When the outcomes of a member cease to count.
pub(crate) fn ends<'a>(q: &'a StartQuestion<'a>) -> impl Iterator<Item = Timestamp> + 'a {
    let wanted = q.class.policy.preflight != PreflightDemand::None;
    let offers = q.member.state.offers.iter().filter(move |_| wanted);
    offers.filter_map(|offer| Some(end(to(q, &offer.version)?)))
}
