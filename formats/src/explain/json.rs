//! The answer for machines. Field names are stable.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::decide::{Candidate, Standing};
use towpath_core::domain::{Answer, Fact, Reason, Risk};
use towpath_core::finding::Place;

use super::Told;
use crate::cincinnati;

/// Everything there is to say.
pub fn json(told: &Told<'_>) -> Value {
    let (at, explanation) = (told.at, told.explanation);
    let (standing, channels) = match &explanation.standing {
        Standing::InChannel => ("inChannel", None),
        Standing::Enters(_) => ("enters", None),
        Standing::NotInChannel(others) => ("notInChannel", Some(others)),
        Standing::Unknown => ("unknown", None),
        Standing::NoChannel => ("noChannel", None),
    };
    let enters = match &explanation.standing {
        Standing::Enters(start) => Some(start.to_string()),
        _ => None,
    };
    let risks: BTreeMap<&str, &Risk> = explanation
        .candidates
        .iter()
        .flat_map(|one| one.risks(at))
        .map(|risk| (risk.name.as_str(), risk))
        .collect();
    json!({
        "at": at.now.to_string(),
        "channel": at.cluster.channel.as_str(),
        "arch": at.cluster.arch.as_str(),
        "id": known(&at.cluster.id).map(|id| id.as_str()),
        "platform": known(&at.cluster.platform).map(|platform| platform.as_str()),
        "from": told.from.to_string(),
        "standing": standing,
        "entersAt": enters,
        "otherChannels": channels.map(|names| names.iter().map(|name| name.as_str()).collect::<Vec<_>>()),
        "candidates": explanation.candidates.iter().map(|one| candidate(told, one)).collect::<Vec<_>>(),
        "risks": risks.values().map(|risk| cincinnati::risk(risk)).collect::<Vec<_>>(),
        "edgesToOtherChannels": explanation.elsewhere,
    })
}

fn candidate(told: &Told<'_>, candidate: &Candidate) -> Value {
    let release = candidate.release.map(|id| told.at.graph.release(id));
    json!({
        "to": candidate.to.to_string(),
        "payload": release.map(|release| &*release.payload),
        "url": release.and_then(|release| release.metadata.get("url")).map(|url| &**url),
        "answer": match &candidate.verdict.answer {
            Answer::Recommend => "recommend",
            Answer::RecommendUnless(_) => "recommendUnless",
            Answer::Wait { .. } => "wait",
            Answer::Refuse => "refuse",
        },
        "offered": candidate.verdict.is_offered(),
        "offeredFrom": candidate.offered_from(told.at.now).map(|from| from.to_string()),
        "risks": candidate.risks(told.at).iter().map(|risk| risk.name.as_str()).collect::<Vec<_>>(),
        "reasons": candidate.verdict.reasons.iter().map(|one| reason(one, told.at.now)).collect::<Vec<_>>(),
    })
}

/// A reason, as it is told everywhere.
pub(crate) fn reason(reason: &Reason, now: Timestamp) -> Value {
    let mut value = json!({
        "code": reason.code(),
        "text": reason.to_string(),
        "origin": reason.origin().map(place),
    });
    if let Reason::RolloutNotReached { window, rule, .. }
    | Reason::RolloutWithoutId { window, rule, .. } = reason
    {
        value["window"] = json!({
            "start": window.start.to_string(),
            "end": window.end.to_string(),
            "share": window.share(now).as_fraction(),
            "rule": place(rule),
        });
    }
    value
}

fn place(place: &Place) -> Value {
    json!({"file": &*place.file, "line": place.line, "column": place.column})
}

/// What is known, or nothing.
pub(crate) fn known<T>(fact: &Fact<T>) -> Option<&T> {
    match fact {
        Fact::Known(value) => Some(value),
        Fact::Unknown => None,
    }
}
