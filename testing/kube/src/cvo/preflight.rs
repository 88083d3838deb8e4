//! Named risks, and preflights: what the operator tells behind its feature gates.
//!
//! A preflight runs in one step and has its result in the next. Its risks begin with `Preflight=VERSION: `.

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

const RUNNING: &str = "PreflightInProgress";

/// Lists the risks of conditional updates once, each with whether it applies, and names them in the updates.
pub(super) fn name_risks(status: &mut Value, now: Timestamp) {
    let mut named = of_preflights(status);
    let updates = status["conditionalUpdates"].as_array_mut();
    for update in updates.into_iter().flatten() {
        let recommended = update["conditions"][0]["status"].clone();
        let applies = match recommended.as_str() {
            Some("True") => "False",
            Some("False") => "True",
            _ => "Unknown",
        };
        let risks = update["risks"].as_array().cloned().unwrap_or_default();
        let names: Vec<Value> = risks.iter().map(|risk| risk["name"].clone()).collect();
        update["riskNames"] = names.into();
        for mut risk in risks {
            risk["conditions"] = json!([applies_condition(applies, "MatchingRule", now)]);
            named.push(risk);
        }
    }
    status["conditionalUpdateRisks"] = named.into();
}

/// Runs the preflight that is asked for, if one is. `is_new` is whether the specification has changed since the last step.
pub(super) fn step(
    spec: &Value,
    status: &mut Value,
    found: &[String],
    is_new: bool,
    now: Timestamp,
) {
    let Some(version) = spec["desiredUpdate"]["version"]
        .as_str()
        .filter(|_| is_asked(spec))
    else {
        return;
    };
    let prefix = format!("Preflight={version}: ");
    let all = status["conditionalUpdateRisks"].as_array().cloned();
    let (ours, mut others): (Vec<Value>, Vec<Value>) =
        all.unwrap_or_default().into_iter().partition(|risk| {
            risk["message"]
                .as_str()
                .unwrap_or_default()
                .starts_with(&prefix)
        });
    let risk = |name: &str, reason: &str| {
        json!({
            "name": name, "message": format!("{prefix}{name} was found"), "url": "https://preflight.example",
            "matchingRules": [{"type": "Always"}],
            "conditions": [applies_condition("True", reason, now)],
        })
    };
    let is_running = ours.iter().any(|risk| risk["name"] == RUNNING);
    match (is_new, is_running) {
        (true, _) => others.push(risk(RUNNING, "PreflightRunning")),
        (false, true) => others.extend(found.iter().map(|name| risk(name, "PreflightValidation"))),
        (false, false) => others.extend(ours),
    }
    status["conditionalUpdateRisks"] = others.into();
}

/// Whether the request is for a preflight.
pub(super) fn is_asked(spec: &Value) -> bool {
    spec["desiredUpdate"]["mode"] == "Preflight"
}

/// The risks that preflights have left.
fn of_preflights(status: &Value) -> Vec<Value> {
    let all = status["conditionalUpdateRisks"].as_array();
    let is_one = |risk: &&Value| {
        let message = risk["message"].as_str().unwrap_or_default();
        message.starts_with("Preflight=")
    };
    all.into_iter().flatten().filter(is_one).cloned().collect()
}

/// The risks of an update that may apply and that nobody has accepted.
pub(super) fn not_accepted(spec: &Value, status: &Value, image: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let updates = list(&status["conditionalUpdates"]);
    let update = updates
        .iter()
        .find(|update| update["release"]["image"] == *image);
    let names = update.map_or_else(Vec::new, |update| list(&update["riskNames"]));
    let known = list(&status["conditionalUpdateRisks"]);
    let accepted = list(&spec["desiredUpdate"]["acceptRisks"]);
    let is_open = |name: &Value| {
        let applies = known.iter().find(|risk| risk["name"] == *name);
        applies.is_none_or(|risk| risk["conditions"][0]["status"] != "False")
            && accepted.iter().all(|risk| risk["name"] != *name)
    };
    let open = names.iter().filter(|name| is_open(name));
    open.filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

fn applies_condition(status: &str, reason: &str, now: Timestamp) -> Value {
    let now = now.round(Unit::Second).unwrap().to_string();
    json!({"type": "Applies", "status": status, "reason": reason, "message": "", "lastTransitionTime": now})
}
