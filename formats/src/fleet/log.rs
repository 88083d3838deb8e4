//! The decision log: decisions as it keeps them, and the result of a replay.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::fleet::{ClusterIdx, Decision, Filter, FleetPlanner, RuleId, Start};
use towpath_core::hex;

use super::json::decision;
use super::text;
use super::text::first_rows;
use crate::feedback::record;
use crate::room::Room;
use crate::words::{first_names, joined, minute, second};

/// The most starts of a decision that are named in its few words.
const STARTS_IN_WORDS: usize = 3;

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
    /// What it started: the cluster and where it goes; or what a watch said.
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

impl DecisionRow {
    /// A watch's decision, as the log has it.
    pub fn of_watch(entry: &LogEntry, replay: Replay) -> Self {
        Self {
            seq: entry.seq,
            at: entry.at,
            starts: vec![entry.words()],
            held: BTreeMap::new(),
            replay,
        }
    }
}

/// A decision that was made again, beside the one in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// Bit for bit the same.
    Same,
    /// The same, except for the words that say why plans are cancelled. An older Towpath said it in other words.
    SameButWords,
    Different,
}

/// A decision that is in the log, as it was written.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// Its number.
    pub seq: i64,
    pub at: Timestamp,
    /// The hash of its entry in the chain.
    pub hash: [u8; 32],
    body: Value,
}

impl LogEntry {
    pub fn read(seq: i64, at: Timestamp, hash: [u8; 32], body: &[u8]) -> Result<Self, String> {
        let body = serde_json::from_slice(body)
            .map_err(|error| format!("decision {seq} of the log cannot be read: {error}"))?;
        Ok(Self {
            seq,
            at,
            hash,
            body,
        })
    }

    fn list(&self, name: &str) -> &[Value] {
        self.body[name].as_array().map_or(&[], Vec::as_slice)
    }

    /// What it did, in a few words.
    fn words(&self) -> String {
        if let Some(words) = record::words(&self.body) {
            return words;
        }
        let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
        let starts = self.list("starts").iter();
        let starts: Vec<String> = starts
            .map(|start| format!("{} to {}", text(&start["name"]), text(&start["to"])))
            .collect();
        let cancels = self.list("cancels");
        let why = cancels.first().and_then(|cancel| {
            let reason = &cancel["verdict"]["reasons"][0];
            Some(format!(": {}", reason["text"].as_str()?))
        });
        let ended = self.list("ended").iter().map(|ended| text(&ended["state"]));
        let mut by_state: BTreeMap<String, usize> = BTreeMap::new();
        ended.for_each(|state| *by_state.entry(state).or_default() += 1);
        let counted = |list: &str, word: &str| match self.list(list).len() {
            0 => None,
            count => Some(format!("{count} {word}")),
        };
        let started = (!starts.is_empty())
            .then(|| format!("starts {}", first_names(&starts, STARTS_IN_WORDS)));
        let cancelled =
            counted("cancels", "cancelled").map(|words| words + &why.unwrap_or_default());
        let ended = by_state
            .into_iter()
            .map(|(state, count)| format!("{count} {state}"));
        let parts: Vec<String> = started
            .into_iter()
            .chain(cancelled)
            .chain(counted("begins", "began"))
            .chain(ended)
            .chain(counted("overdue", "overdue"))
            .collect();
        joined(parts, "nothing")
    }
}

/// The newest decisions of the log, the older of them before `next`. `pruned` is the last one that is gone.
pub fn list(entries: &[LogEntry], next: Option<i64>, pruned: Option<(i64, Timestamp)>) -> Value {
    let row = |entry: &LogEntry| {
        let mut told = json!({
            "id": entry.seq,
            "at": entry.at.to_string(),
            "clusters": entry.body["clusters"],
            "why": entry.words(),
        });
        for list in ["starts", "cancels", "begins", "ended", "overdue"] {
            told[list] = entry.list(list).len().into();
        }
        told
    };
    json!({
        "decisions": entries.iter().map(row).collect::<Vec<_>>(),
        "next": next,
        "pruned": pruned.map(|(seq, at)| json!({"id": seq, "at": at.to_string()})),
    })
}

/// The same as a table.
pub fn list_text(entries: &[LogEntry], room: Room) -> String {
    let row = |entry: &LogEntry| [entry.seq.to_string(), minute(entry.at), entry.words()];
    match entries.is_empty() {
        true => "No decision is in the log.\n".to_owned(),
        false => first_rows(["DECISION", "AT", "WHAT"], entries.iter().map(row), room),
    }
}

/// A decision that was made again, or why that was not tried.
pub struct Repeated<'a> {
    pub result: Result<Replay, String>,
    /// The fleet as it was then.
    pub made: Option<(&'a FleetPlanner, &'a Decision)>,
    /// The cluster that is asked about.
    pub cluster: Option<ClusterIdx>,
}

impl Repeated<'_> {
    fn is_same(&self) -> Option<bool> {
        self.result
            .as_ref()
            .ok()
            .map(|replay| *replay != Replay::Different)
    }

    fn sentence(&self) -> String {
        match &self.result {
            Ok(Replay::Same) => "made again just now: identical".to_owned(),
            Ok(Replay::SameButWords) => "made again just now: identical, but for the reasons of cancelled plans, which the first format of the log did not keep".to_owned(),
            Ok(Replay::Different) => "made again just now: different. The log was changed, or another version of Towpath decides differently".to_owned(),
            Err(problem) => format!("not made again: {problem}"),
        }
    }
}

/// A whole decision of the log.
pub fn whole(entry: &LogEntry, repeated: &Repeated<'_>) -> Value {
    let held = repeated.made.map(|(desk, decided)| {
        let held = Filter::default().holds(desk, decided.at);
        super::json::holds(&held)
    });
    let why = repeated
        .made
        .zip(repeated.cluster)
        .map(|((desk, decided), member)| {
            super::json::why(desk, decided, member, &desk.why(member, decided.at))
        });
    json!({
        "id": entry.seq,
        "at": entry.at.to_string(),
        "hash": hex::encode(&entry.hash),
        "decision": entry.body,
        "held": held,
        "replay": {"same": repeated.is_same(), "sentence": repeated.sentence()},
        "why": why,
    })
}

/// The same for people.
pub fn whole_text(entry: &LogEntry, repeated: &Repeated<'_>) -> String {
    let mut told = format!(
        "Decision {} at {}: {}.\nIt was {}.\n",
        entry.seq,
        second(entry.at),
        entry.words(),
        repeated.sentence()
    );
    if let Some((desk, decided)) = repeated.made {
        told += &format!(
            "\n{}",
            text::holds(&Filter::default().holds(desk, decided.at))
        );
        if let Some(member) = repeated.cluster {
            let why = desk.why(member, decided.at);
            told += &format!("\n{}", text::why(desk, decided, member, &why, &[]));
        }
    }
    told
}

/// Compares a decision that was made again with the one in the log, unless we do not speak that one's format.
pub fn replay(logged: &[u8], again: &Value) -> Result<Replay, String> {
    let or_different = |is_so: bool, replay| if is_so { replay } else { Replay::Different };
    let stored: Value = serde_json::from_slice(logged).map_err(|error| error.to_string())?;
    match &stored["format"] {
        Value::Null => {
            let is_so = without_verdicts(stored) == without_verdicts(again.clone());
            Ok(or_different(is_so, Replay::SameButWords))
        }
        format if *format == json!(FORMAT) => {
            if again.to_string().as_bytes() == logged {
                return Ok(Replay::Same);
            }
            let is_so = without_words(stored) == without_words(again.clone());
            Ok(or_different(is_so, Replay::SameButWords))
        }
        other => Err(format!(
            "it has the format {other}, and this towpath speaks 1 and {FORMAT}"
        )),
    }
}

/// Of each reason its code, its place and its end. The rest is words, or is told in words.
fn without_words(mut decision: Value) -> Value {
    let cancels = decision["cancels"].as_array_mut().into_iter().flatten();
    let reasons = cancels.filter_map(|cancel| cancel["verdict"]["reasons"].as_array_mut());
    for reason in reasons.flatten() {
        *reason = ["code", "place", "until"]
            .map(|field| (field.to_owned(), reason[field].clone()))
            .into_iter()
            .collect();
    }
    decision
}

fn without_verdicts(mut decision: Value) -> Value {
    if let Some(fields) = decision.as_object_mut() {
        fields.remove("format");
    }
    for cancel in decision["cancels"].as_array_mut().into_iter().flatten() {
        cancel["verdict"] = Value::Null;
    }
    decision
}
