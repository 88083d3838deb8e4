//! The decision log: decisions as it keeps them, and the result of a replay.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::fleet::{Decision, Filter, FleetPlanner, RuleId, Start};
use towpath_core::hex;

use super::json::decision;

/// The format of decisions in the log. The first had no number, and of a reason its code and its sentence.
const FORMAT: u64 = 2;

/// A decision as the log keeps it: with the digest of every verdict.
pub fn logged(decided: &Decision, desk: &FleetPlanner) -> Value {
    let digest = desk.digest(decided.at);
    let mut value = decision(decided);
    value["format"] = json!(FORMAT);
    value["clusters"] = json!(desk.roster().len());
    value["verdicts"] = json!(hex::encode(&digest));
    value
}

/// A decision of the log in a few words, so that one can pick it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its number.
    pub seq: i64,
    pub at: Timestamp,
    /// What it started: the cluster and where it goes.
    pub starts: Vec<String>,
    /// How many clusters each rule held back.
    pub held: BTreeMap<RuleId, u64>,
    pub replay: Replay,
}

impl DecisionRow {
    pub fn new(seq: i64, desk: &FleetPlanner, decided: &Decision, replay: Replay) -> Self {
        let start = |start: &Start| format!("{} to {}", start.name, start.to);
        Self {
            seq,
            at: decided.at,
            starts: decided.starts.iter().map(start).collect(),
            held: Filter::default().holds(desk, decided.at),
            replay,
        }
    }
}

/// A decision that was made again, beside the one in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// Bit for bit the same.
    Same,
    /// The same, except that the first format has other words against cancelled plans. Those are not compared.
    SameButWords,
    Different,
}

/// Compares a decision that was made again with the one in the log, unless we do not speak that one's format.
pub fn replay(logged: &[u8], again: &Value) -> Result<Replay, String> {
    let or_different = |is_so: bool, replay| if is_so { replay } else { Replay::Different };
    let stored: Value = serde_json::from_slice(logged).map_err(|error| error.to_string())?;
    match &stored["format"] {
        Value::Null => {
            let is_so = without_words(stored) == without_words(again.clone());
            Ok(or_different(is_so, Replay::SameButWords))
        }
        format if *format == json!(FORMAT) => Ok(or_different(
            again.to_string().as_bytes() == logged,
            Replay::Same,
        )),
        other => Err(format!(
            "it has the format {other}, and this towpath speaks 1 and {FORMAT}"
        )),
    }
}

fn without_words(mut decision: Value) -> Value {
    if let Some(fields) = decision.as_object_mut() {
        fields.remove("format");
    }
    for cancel in decision["cancels"].as_array_mut().into_iter().flatten() {
        cancel["verdict"] = Value::Null;
    }
    decision
}
