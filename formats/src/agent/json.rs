//! The agent's answer as JSON.

use serde_json::{Value, json};
use towpath_core::agent::OptIn;

use super::PassReport;
use crate::verdict;

/// Everything there is to say.
pub fn json(told: &PassReport<'_>) -> Value {
    let judged = told.choice.judged.iter().map(|(offer, verdict)| {
        let mut value = verdict::verdict(verdict);
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
        "channel": told.channel.map(|one| {
            let mut value = verdict::verdict(&one.verdict);
            value["channel"] = one.channel.as_str().into();
            value["update"] = one.update.to_string().into();
            value
        }),
        "preflight": told.preflight.map(|(version, judged)| {
            let mut value = verdict::verdict(judged);
            value["version"] = version.to_string().into();
            value
        }),
        "failures": told.memory.failures,
        "nextMinor": told.gate.map(|gate| {
            let mut value = verdict::verdict(&gate.next);
            value["later"] = verdict::reasons(&gate.later);
            value
        }),
    })
}
