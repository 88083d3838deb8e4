//! A whole log as a file: a line of JSON for each entry, in order, then one for each signed head. It can be verified without the
//! store: [`ExportReader`] follows its chain. The inputs of decisions are not in it, so decisions are not made again from it.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use towpath_core::fleet::SignedHead;
use towpath_core::fleet::log_head::{NO_HASH, entry_hash};
use towpath_core::hex;

use super::heads::{self, FollowedLog, instant};

/// The most problems that are told.
const MAX_PROBLEMS: usize = 100;

/// An entry of the log.
#[derive(Debug, Clone, Copy)]
pub struct WholeEntry<'a> {
    pub sequence: i64,
    pub at: Timestamp,
    pub input: &'a [(String, [u8; 32])],
    pub body: &'a [u8],
    pub prev: &'a [u8; 32],
    pub hash: &'a [u8; 32],
}

/// The line of an entry. A body is text; one that is not cannot be told.
pub fn entry(entry: WholeEntry<'_>) -> Result<Value, String> {
    let body = std::str::from_utf8(entry.body)
        .map_err(|_| format!("entry {} is no text", entry.sequence))?;
    let input = entry.input.iter();
    let input: Vec<_> = input
        .map(|(name, digest)| (name, hex::encode(digest)))
        .collect();
    Ok(json!({
        "sequence": entry.sequence,
        "at": entry.at.to_string(),
        "input": input,
        "body": body,
        "prev": hex::encode(entry.prev),
        "hash": hex::encode(entry.hash),
    }))
}

/// The first line, if entries were pruned.
pub fn pruned(sequence: i64, hash: &[u8; 32], at: Timestamp) -> Value {
    json!({"pruned": {"sequence": sequence, "hash": hex::encode(hash), "at": at.to_string()}})
}

/// The line of a signed head.
pub fn head(signed: &SignedHead) -> Value {
    json!({ "head": heads::json(signed) })
}

/// Reads an export line by line, and follows its chain.
#[derive(Debug, Default)]
pub struct ExportReader {
    pub log: FollowedLog,
    pub heads: Vec<SignedHead>,
    pub problems: Vec<String>,
    lines: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Entry(EntryLine),
    Pruned { pruned: PrunedLine },
    Head { head: Value },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryLine {
    sequence: i64,
    at: String,
    input: Vec<(String, String)>,
    body: String,
    prev: String,
    hash: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrunedLine {
    sequence: i64,
    hash: String,
    at: String,
}

impl ExportReader {
    /// Takes the next line. A line that is none of an export ends it.
    pub fn take(&mut self, line: &str) -> Result<(), String> {
        self.lines += 1;
        let number = self.lines;
        let wrong = |problem: String| format!("line {number}: {problem}");
        let line: Line = serde_json::from_str(line).map_err(|_| {
            wrong(
                "it is no line of a whole log; `towpath fleet audit-log --whole` writes them"
                    .to_owned(),
            )
        })?;
        match line {
            Line::Entry(entry) => self.entry(entry).map_err(wrong),
            Line::Head { head } => {
                self.heads.push(heads::read(head).map_err(wrong)?);
                Ok(())
            }
            Line::Pruned { pruned } if self.log.entries.is_empty() => {
                let hash = hash(&pruned.hash).map_err(wrong)?;
                let at = instant(&pruned.at).map_err(wrong)?;
                self.log.pruned = Some((pruned.sequence, hash, at));
                Ok(())
            }
            Line::Pruned { .. } => Err(wrong("what was pruned stands after entries".to_owned())),
        }
    }

    fn entry(&mut self, entry: EntryLine) -> Result<(), String> {
        let (prev, own) = (hash(&entry.prev)?, hash(&entry.hash)?);
        let digest = |(name, text): (String, String)| Ok((name, hash(&text)?));
        let input: Vec<_> = entry
            .input
            .into_iter()
            .map(digest)
            .collect::<Result<_, String>>()?;
        let (sequence, time) = (entry.sequence, instant(&entry.at)?);
        let (expected, before) = match (self.log.entries.last_key_value(), &self.log.pruned) {
            (Some((last, (hash, _))), _) => (last + 1, *hash),
            (None, Some((last, hash, _))) => (last + 1, *hash),
            (None, None) => (1, NO_HASH),
        };
        let at = i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX);
        let mut problems = Vec::new();
        if sequence != expected {
            problems.push(format!("entry {expected} is missing"));
        } else if prev != before {
            problems.push(format!(
                "entry {sequence} does not follow the one before it"
            ));
        }
        if entry_hash(&prev, sequence, at, &input, entry.body.as_bytes()) != own {
            problems.push(format!(
                "entry {sequence} was changed: its hash does not match"
            ));
        }
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.extend(problems);
        }
        self.log.entries.insert(sequence, (own, time));
        Ok(())
    }
}

fn hash(text: &str) -> Result<[u8; 32], String> {
    hex::decode(text).ok_or_else(|| "a hash is not 64 hexadecimal digits".to_owned())
}
