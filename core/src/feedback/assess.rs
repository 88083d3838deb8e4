//! The watch: attempts and history in, an assessment out.
//!
//! Two ways lead to a halt, each with half of the false-alarm promise: the first process, if the second does not object, and the
//! second alone. docs/feedback.md says why the promise holds.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::version::Version;

use super::against_history::{AgainstHistory, against_history};
use super::against_others::{Compared, against_others};
use super::trials::{Trial, Trials};
use super::visible::{attempts_needed, needed, rate_seen};
use super::{
    Assessment, Attempt, Bits, FailureRate, Halt, HaltWay, HeldBack, History, Outcome,
    ScopeEvidence, Signal, WatchAnswer, WatchSettings, goes_on, narrowest,
};

/// Assesses a release at an instant. `attempts` are all there are at this time, at other releases too, and those under way too.
/// Attempts that are later than the instant do not count.
pub fn assess(
    release: &Version,
    attempts: &[Attempt],
    history: &History,
    settings: &WatchSettings,
    now: Timestamp,
) -> Assessment {
    let trials = Trials::of(release, attempts, history, settings, now);
    let needed = needed(settings);
    let past = against_history(&trials, needed, settings.organisations);
    let compared = against_others(&trials, settings.organisations, None);
    let (mut halts, held_back) = by_history(&trials, &past, &compared, needed);
    halts.extend(by_others(&trials, &compared, settings, needed));
    let halts = in_order(halts);
    let ruled_out = goes_on::ruled_out(&trials, settings.tolerated_rate, needed);
    let scopes = (0..trials.scopes.len()).map(|scope| {
        let evidence = evidence(&trials, scope, settings);
        let halted = |halt: &Halt| halt.scope.is_all() || halt.scope == evidence.scope;
        ScopeEvidence {
            answer: match (halts.iter().any(halted), ruled_out[scope]) {
                (true, _) => WatchAnswer::Halt,
                (false, true) => WatchAnswer::GoOn,
                (false, false) => WatchAnswer::Inconclusive,
            },
            against_history: past.strongest[scope],
            against_others: compared[scope].largest.0,
            needed: needed - trials.scopes[scope].1,
            ..evidence
        }
    });
    let scopes: Vec<ScopeEvidence> = scopes.collect();
    Assessment {
        release: release.clone(),
        at: now,
        answer: match halts.is_empty() {
            true => scopes[0].answer,
            false => WatchAnswer::Halt,
        },
        held_back: held_back.filter(|_| halts.is_empty()),
        halts,
        tolerated_rate: settings.tolerated_rate,
        scopes,
    }
}

/// The first way: evidence against history, where others do not fail as much.
fn by_history(
    trials: &Trials,
    past: &AgainstHistory,
    compared: &[Compared],
    needed: Bits,
) -> (Vec<Halt>, Option<HeldBack>) {
    let mut halts = Vec::new();
    for enough in &past.enough {
        let is_ours = |(scope, _): &&(usize, Bits)| compared[*scope].now >= Bits::ZERO;
        let ours: Vec<(usize, Bits)> = enough.scopes.iter().filter(is_ours).copied().collect();
        halts.extend(narrowest::best(&ours).map(|(scope, evidence)| Halt {
            scope: trials.scopes[scope].0.clone(),
            way: HaltWay::AgainstHistory,
            since: enough.since,
            evidence,
            needed: needed - trials.scopes[scope].1,
        }));
    }
    let only_with = past
        .only_with
        .map(|number| trials.organisations[number].clone());
    let held_back = match past.enough.is_empty() {
        false => Some(HeldBack::OthersFailToo),
        true => only_with.map(HeldBack::OnlyWith),
    };
    (halts, held_back)
}

/// The second way: evidence against what others do at the same time, without any one organisation.
fn by_others(
    trials: &Trials,
    compared: &[Compared],
    settings: &WatchSettings,
    needed: Bits,
) -> Option<Halt> {
    let is_enough = |compared: &[Compared], scope: usize| {
        compared[scope].largest.0 + trials.scopes[scope].1 >= needed
    };
    let mut passing: Vec<usize> = (0..trials.scopes.len())
        .filter(|scope| is_enough(compared, *scope))
        .collect();
    if passing.is_empty() {
        return None;
    }
    let mut since: Vec<Timestamp> = compared.iter().map(|c| c.largest.1).collect();
    if settings.organisations > 1 {
        for organisation in trials.hit_organisations() {
            let rest = against_others(trials, settings.organisations, Some(organisation));
            passing.retain(|scope| is_enough(&rest, *scope));
            for (since, rest) in since.iter_mut().zip(&rest) {
                *since = (*since).max(rest.largest.1);
            }
        }
    }
    let with_evidence: Vec<(usize, Bits)> = passing
        .iter()
        .map(|scope| (*scope, compared[*scope].largest.0))
        .collect();
    let (scope, evidence) = narrowest::best(&with_evidence)?;
    Some(Halt {
        scope: trials.scopes[scope].0.clone(),
        way: HaltWay::AgainstOthers,
        since: since[scope],
        evidence,
        needed: needed - trials.scopes[scope].1,
    })
}

/// The first halt of each scope, unless an earlier one covers it.
fn in_order(mut halts: Vec<Halt>) -> Vec<Halt> {
    halts.sort_by(|a, b| (a.since, a.way, &a.scope).cmp(&(b.since, b.way, &b.scope)));
    let mut kept: Vec<Halt> = Vec::new();
    for halt in halts {
        if !kept
            .iter()
            .any(|k| k.scope.is_all() || k.scope == halt.scope)
        {
            kept.push(halt);
        }
    }
    kept
}

fn evidence(trials: &Trials, scope: usize, settings: &WatchSettings) -> ScopeEvidence {
    let own: Vec<&Trial> = trials.own_in(scope).collect();
    let count = |is: &dyn Fn(&Trial) -> bool| own.iter().filter(|trial| is(trial)).count() as u64;
    let hit = own.iter().filter(|trial| trial.went_wrong_at().is_some());
    let hit: BTreeSet<usize> = hit.map(|trial| trial.organisation).collect();
    let base_rate = mean_base_rate(trials, &own, settings);
    let known = count(&|trial| trial.ending.is_some());
    ScopeEvidence {
        scope: trials.scopes[scope].0.clone(),
        answer: WatchAnswer::Inconclusive,
        attempts: own.len() as u64,
        known,
        failed: count(&|trial| trial.is_bad(Signal::Failed)),
        degraded: count(&|trial| trial.ending.is_some_and(|e| e.outcome == Outcome::Degraded)),
        base_rate,
        organisations_hit: hit.len() as u64,
        against_history: Bits::ZERO,
        against_others: Bits::ZERO,
        needed: Bits::ZERO,
        visible_by_now: rate_seen(known, base_rate, settings),
        tolerated_seen_after: attempts_needed(settings.tolerated_rate, base_rate, settings),
    }
}

fn mean_base_rate(trials: &Trials, own: &[&Trial], settings: &WatchSettings) -> FailureRate {
    let sum: u64 = own
        .iter()
        .map(|trial| u64::from(trials.group(trial).base_rates[0].parts()))
        .sum();
    let mean = sum.checked_div(own.len() as u64);
    mean.and_then(|mean| u32::try_from(mean).ok())
        .map_or(settings.base_rate, FailureRate::per_million)
}
