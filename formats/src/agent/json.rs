//! What an agent tells programs.

use serde_json::{Value, json};
use towpath_core::domain::automatic::OptIn;
use towpath_core::domain::{Answer, Reason, Verdict};

use super::Told;

/// Everything there is to say.
pub fn json(told: &Told<'_>) -> Value {
    let judged = told.choice.judged.iter().map(|(offer, verdict)| {
        let mut value = verdict_value(verdict);
        value["version"] = offer.version.to_string().into();
        value["image"] = offer.image.as_ref().into();
        value
    });
    json!({
        "now": told.now.to_string(),
        "current": told.standing.current().map(ToString::to_string),
        "optedIn": told.standing.opt_in == OptIn::Wanted,
        "takes": told.choice.takes().map(|offer| json!({"version": offer.version.to_string(), "image": &*offer.image})),
        "offers": judged.collect::<Vec<_>>(),
        "failures": told.memory.failures,
        "nextMinor": told.gate.map(|gate| {
            let mut value = verdict_value(&gate.next);
            value["later"] = gate.later.iter().map(reason_value).collect();
            value
        }),
    })
}

fn verdict_value(verdict: &Verdict) -> Value {
    let (answer, until) = match &verdict.answer {
        Answer::Recommend => ("recommend", None),
        Answer::RecommendUnless(_) => ("recommendUnless", None),
        Answer::Wait { until } => ("wait", until.as_ref()),
        Answer::Refuse => ("refuse", None),
    };
    json!({
        "answer": answer,
        "until": until.map(ToString::to_string),
        "reasons": verdict.reasons.iter().map(reason_value).collect::<Vec<_>>(),
    })
}

fn reason_value(reason: &Reason) -> Value {
    json!({"code": reason.code(), "text": reason.to_string(), "note": reason.is_note()})
}
