//! What a watch says, as JSON: the same on the command line, over HTTP, and in the decision log.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::feedback::{Assessment, Bits, Halt, HeldBack, ScopeEvidence, WatchDecision};

use super::text::{held_back_words, sentence};
use crate::graph::data::scope_json;

/// What was said about releases, and when. Without a time nobody has looked yet.
pub fn json(decisions: &[&WatchDecision], at: Option<Timestamp>) -> Value {
    let told = decisions.iter().map(|decision| assessment(decision));
    json!({"at": at.map(|at| at.to_string()), "releases": told.collect::<Vec<_>>()})
}

/// A decision about a release, with its words.
pub fn assessment(decision: &WatchDecision) -> Value {
    let (watched, judgement) = (&decision.watched, &decision.judgement);
    let mut told = of_assessment(&judgement.assessment);
    told["channels"] = watched.channels.iter().map(|name| name.as_str()).collect();
    told["by"] = watched.by.as_str().into();
    told["mode"] = watched.settings.mode.code().into();
    told["alphaPerMillion"] = watched.settings.alpha.parts().into();
    told["sentence"] = sentence(&judgement.assessment).into();
    told
}

/// All numbers of an assessment, without words.
pub(super) fn of_assessment(told: &Assessment) -> Value {
    json!({
        "release": told.release.to_string(),
        "at": told.at.to_string(),
        "answer": told.answer.code(),
        "halts": told.halts.iter().map(halt).collect::<Vec<_>>(),
        "heldBack": told.held_back.as_ref().map(held_back),
        "toleratedPerMillion": told.tolerated_rate.parts(),
        "scopes": told.scopes.iter().map(evidence).collect::<Vec<_>>(),
    })
}

pub(super) fn halt(halt: &Halt) -> Value {
    json!({
        "scope": scope_json(&halt.scope),
        "way": halt.way.code(),
        "since": halt.since.to_string(),
        "evidence": bits(halt.evidence),
        "needed": bits(halt.needed),
    })
}

fn held_back(why: &HeldBack) -> Value {
    let (code, organisation) = match why {
        HeldBack::OnlyWith(name) => ("only-with", Some(&**name)),
        HeldBack::OthersFailToo => ("others-fail-too", None),
    };
    json!({"code": code, "organisation": organisation, "text": held_back_words(why)})
}

fn evidence(told: &ScopeEvidence) -> Value {
    json!({
        "scope": scope_json(&told.scope),
        "answer": told.answer.code(),
        "attempts": told.attempts,
        "known": told.known,
        "failed": told.failed,
        "degraded": told.degraded,
        "organisationsHit": told.organisations_hit,
        "basePerMillion": told.base_rate.parts(),
        "againstHistory": bits(told.against_history),
        "againstOthers": bits(told.against_others),
        "needed": bits(told.needed),
        "visiblePerMillion": told.visible_by_now.map(|rate| rate.parts()),
        "toleratedSeenAfter": told.tolerated_seen_after,
    })
}

/// Evidence as a power of two: in units of 2^-32, exactly.
fn bits(evidence: Bits) -> Value {
    evidence.units().into()
}
