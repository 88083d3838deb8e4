//! The audit log: what people and programs did, as the chained log has it, and who vouches for the log.
//!
//! An entry of the log is told as one line of JSON. [`keys`] reads keys, signs and verifies; [`heads`] judges a log by its signed
//! heads; [`export`] is a whole log as a file.

pub mod export;
pub mod heads;
pub mod keys;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use towpath_core::fleet::SignedHead;
use towpath_core::hex;

/// What somebody did.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActBody {
    pub format: u32,
    pub act: String,
    pub by: String,
    pub known_by: String,
    pub from: String,
    pub why: String,
    pub about: Value,
    pub before: Value,
    pub after: Value,
}

/// The same with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedAct {
    pub sequence: i64,
    pub at: Timestamp,
    pub hash: [u8; 32],
    pub body: ActBody,
}

impl LoggedAct {
    pub fn read(sequence: i64, at: Timestamp, hash: [u8; 32], body: &[u8]) -> Result<Self, String> {
        let body = serde_json::from_slice(body)
            .map_err(|error| format!("entry {sequence} of the log cannot be read: {error}"))?;
        Ok(Self {
            sequence,
            at,
            hash,
            body,
        })
    }

    pub fn json(&self) -> Value {
        let ActBody {
            format: _,
            act,
            by,
            known_by,
            from,
            why,
            about,
            before,
            after,
        } = &self.body;
        json!({
            "sequence": self.sequence,
            "at": self.at.to_string(),
            "act": act,
            "by": by,
            "knownBy": known_by,
            "from": from,
            "why": why,
            "about": about,
            "before": before,
            "after": after,
            "hash": hex::encode(&self.hash),
        })
    }
}

/// A page of the audit log, for machines.
pub fn page(acts: &[LoggedAct], next: Option<i64>, head: Option<&SignedHead>) -> Value {
    json!({
        "acts": acts.iter().map(LoggedAct::json).collect::<Vec<_>>(),
        "next": next,
        "head": head.map(heads::json),
    })
}

/// The same as lines of JSON.
pub fn lines(acts: &[LoggedAct]) -> String {
    acts.iter().map(|act| format!("{}\n", act.json())).collect()
}

#[cfg(test)]
mod tests;
