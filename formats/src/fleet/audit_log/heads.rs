//! Judges a log by its signed heads: what they vouch for, and what they contradict.
//!
//! A signed head vouches for its entry and for all before it, because each names the hash of the one before. The caller has
//! followed the chain; here its entries are compared with what was signed.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use towpath_core::fleet::{LogHead, SignedHead};
use towpath_core::hex;

use super::keys::LogKey;
use crate::words::second;

/// The most problems that are told.
const MAX_PROBLEMS: usize = 100;

/// A log whose chain was followed.
#[derive(Debug, Clone, Default)]
pub struct FollowedLog {
    /// The last entry that was pruned, its hash, and when it was.
    pub pruned: Option<(i64, [u8; 32], Timestamp)>,
    /// The entries that are there, by number.
    pub entries: BTreeMap<i64, ([u8; 32], Timestamp)>,
}

/// What the signed heads of a log say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadsVerdict {
    /// How many signatures are right, and agree with the log.
    pub verified: usize,
    /// The newest of them.
    pub newest: Option<LogHead>,
    /// How many entries came after it.
    pub unsigned: usize,
    /// Empty is good.
    pub problems: Vec<String>,
}

/// Compares a log with its signed heads. Entries may be without a signature for that long.
pub fn judge(
    log: &FollowedLog,
    heads: &[SignedHead],
    keys: &[LogKey],
    unsigned_for: SignedDuration,
) -> HeadsVerdict {
    let mut problems = Vec::new();
    let mut newest: Option<LogHead> = None;
    let mut verified = 0;
    for signed in heads {
        let judged = vouched(signed, keys).and_then(|()| agrees(log, &signed.head));
        match judged {
            Ok(()) => {
                verified += 1;
                let is_newer = |known: &LogHead| {
                    (known.sequence, known.at) < (signed.head.sequence, signed.head.at)
                };
                if newest.as_ref().is_none_or(is_newer) {
                    newest = Some(signed.head);
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    let after = newest.map_or(i64::MIN, |head| head.sequence.saturating_add(1));
    let unsigned = log.entries.range(after..).count();
    match (newest, log.entries.last_key_value()) {
        (None, _) if heads.is_empty() => problems.push(
            "no head of this log is signed: the service had no --log-key, or somebody removed the signatures".to_owned(),
        ),
        (None, _) => {}
        (Some(head), last) => {
            problems.extend(last.and_then(|(sequence, (_, at))| {
                let without = head.at.duration_until(*at);
                (*sequence > head.sequence && without > unsigned_for).then(|| {
                    format!(
                        "the log goes on to entry {sequence} at {}, and the newest signature is of entry {} at {}: {unsigned} entries have none",
                        second(*at), head.sequence, second(head.at)
                    )
                })
            }));
            problems.extend(pruned_since(log, &head, unsigned_for));
        }
    }
    problems.truncate(MAX_PROBLEMS);
    HeadsVerdict {
        verified,
        newest,
        unsigned,
        problems,
    }
}

/// Whether one of the keys signed it, before its end.
fn vouched(signed: &SignedHead, keys: &[LogKey]) -> Result<(), String> {
    let (sequence, at) = (signed.head.sequence, second(signed.head.at));
    let mut named = keys.iter().filter(|key| key.name == signed.key).peekable();
    if named.peek().is_none() {
        return Err(format!(
            "the head at entry {sequence} of {at} is signed by the key {}, which is none of the public keys: somebody else signed it, or its public key is missing",
            signed.key
        ));
    }
    let Some(key) = named.find(|key| key.verifies(signed)) else {
        return Err(format!(
            "the signature of the head at entry {sequence} of {at} is wrong: it was changed, or forged"
        ));
    };
    match key.until {
        Some(until) if signed.head.at >= until => Err(format!(
            "the head at entry {sequence} was signed at {at} by the key {}, which ended at {}",
            signed.key,
            second(until)
        )),
        _ => Ok(()),
    }
}

/// Whether the log has what was signed.
fn agrees(log: &FollowedLog, head: &LogHead) -> Result<(), String> {
    let (sequence, at) = (head.sequence, second(head.at));
    if sequence == 0 {
        return Ok(());
    }
    let there = match (&log.pruned, log.entries.get(&sequence)) {
        (_, Some((hash, _))) => hash,
        (Some((pruned, hash, _)), None) if *pruned == sequence => hash,
        // The chain goes on from the checkpoint; what was before it can no longer be compared.
        (Some((pruned, ..)), None) if sequence < *pruned => return Ok(()),
        (pruned, None) => {
            let last = log.entries.last_key_value().map(|(last, _)| *last);
            let last = last
                .or(pruned.as_ref().map(|(pruned, ..)| *pruned))
                .unwrap_or(0);
            return Err(match sequence > last {
                true => format!(
                    "the log ends at entry {last}, and its head was entry {sequence} at {at}: what came after entry {last} was cut off"
                ),
                false => format!("entry {sequence} was signed at {at}, and is missing"),
            });
        }
    };
    match *there == head.hash {
        true => Ok(()),
        false => Err(format!(
            "entry {sequence} is another one than the one that was signed at {at}: that part of the log was replaced"
        )),
    }
}

/// What was pruned although a later signature says that it was there.
fn pruned_since(log: &FollowedLog, head: &LogHead, unsigned_for: SignedDuration) -> Option<String> {
    let (pruned, _, at) = log.pruned?;
    let signed_after = at <= head.at;
    let signed_long_before = head.at.duration_until(at) > unsigned_for;
    (pruned > head.pruned && (signed_after || signed_long_before)).then(|| {
        format!(
            "entries {} to {pruned} are gone, and the head that was signed at {} says that they were there: somebody else than the service removed them",
            head.pruned + 1,
            second(head.at)
        )
    })
}

/// A signed head, as a line of JSON that can be kept elsewhere.
pub fn json(signed: &SignedHead) -> Value {
    let LogHead {
        sequence,
        hash,
        pruned,
        at,
    } = &signed.head;
    json!({
        "sequence": sequence,
        "hash": hex::encode(hash),
        "pruned": pruned,
        "at": at.to_string(),
        "key": signed.key,
        "signature": STANDARD.encode(&signed.signature),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    sequence: i64,
    hash: String,
    pruned: i64,
    at: String,
    key: String,
    signature: String,
}

/// An instant as exact as it was written.
pub(super) fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a time in UTC"))
}

/// Reads what [`json`] wrote.
pub fn read(value: Value) -> Result<SignedHead, String> {
    let line: Line = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let hash = hex::decode(&line.hash).ok_or("hash is not 64 hexadecimal digits")?;
    let signature = STANDARD.decode(line.signature.as_bytes());
    Ok(SignedHead {
        head: LogHead {
            sequence: line.sequence,
            hash,
            pruned: line.pruned,
            at: instant(&line.at)?,
        },
        key: line.key,
        signature: signature.map_err(|_| "signature is not base64")?,
    })
}
