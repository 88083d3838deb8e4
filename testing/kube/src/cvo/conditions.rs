//! Conditions, each with the time at which its status last changed.

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

/// The conditions of a status while it is worked on.
#[derive(Debug)]
pub(super) struct Conditions {
    all: Vec<Value>,
    now: String,
}

impl Conditions {
    pub(super) fn of(status: &Value, now: Timestamp) -> Self {
        let all = status["conditions"].as_array().cloned().unwrap_or_default();
        Self {
            all,
            now: now.round(Unit::Second).unwrap().to_string(),
        }
    }

    pub(super) fn status(&self, name: &str) -> &str {
        self.all
            .iter()
            .find(|one| one["type"] == name)
            .and_then(|one| one["status"].as_str())
            .unwrap_or_default()
    }

    pub(super) fn set(&mut self, name: &str, status: &str, reason: &str, message: &str) {
        let since = self
            .all
            .iter()
            .find(|one| one["type"] == name && one["status"] == status);
        let since = since.map_or_else(|| json!(self.now), |one| one["lastTransitionTime"].clone());
        self.remove(name);
        self.all.push(json!({
            "type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
        }));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.all.retain(|one| one["type"] != name);
    }

    pub(super) fn write(mut self, status: &mut Value) {
        self.all
            .sort_by(|a, b| a["type"].as_str().cmp(&b["type"].as_str()));
        status["conditions"] = self.all.into();
    }

    /// Conditional updates with the times of those that recommend the same as before.
    pub(super) fn keep_transitions(&self, before: &Value, mut updates: Vec<Value>) -> Value {
        let recommended = |update: &Value| update["conditions"][0].clone();
        for update in &mut updates {
            let same = before.as_array().into_iter().flatten().find(|old| {
                old["release"]["version"] == update["release"]["version"]
                    && recommended(old)["status"] == recommended(update)["status"]
            });
            let since = same.map_or_else(
                || json!(self.now),
                |old| recommended(old)["lastTransitionTime"].clone(),
            );
            update["conditions"][0]["lastTransitionTime"] = since;
        }
        updates.into()
    }
}
