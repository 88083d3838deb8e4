//! Tokens that were revoked: the file of `--revoked-tokens`, and lists as text and JSON.
//!
//! ```yaml
//! revoked:
//! - serial: HqFxT0oVqk2Yw3Zc
//!   why: the laptop was lost
//! - person: ada
//!   madeBefore: 2026-11-19T12:00:00Z
//! - cluster: 0f3a
//!   madeBefore: 2026-11-19T12:00:00Z
//! ```

use serde_json::{Value, json};
use towpath_core::access::{Revocation, Revoked};
use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};

use crate::graph::data::parse_time;
use crate::read::{Node, Reader, Record, shown};
use crate::tables;
use crate::words::second;

/// The largest file.
pub const MAX_BYTES: usize = 1 << 20;
const MAX_REVOKED: usize = 10_000;
const WHICH: &str = "name it with `serial`, or `person` or `cluster` with `madeBefore`";

/// Reads a file, or says everything that is wrong with it.
pub fn read(place: &Place, bytes: &[u8]) -> Result<Vec<Revoked>, Vec<Finding>> {
    let limit = ("file", MAX_BYTES, "change the key, and hand out new tokens");
    Reader::whole(place, bytes, limit, list)
}

fn list(reader: &mut Reader, node: &Node) -> Option<Vec<Revoked>> {
    let record = reader.record(node, "a file of revoked tokens", &["revoked"])?;
    let remedy = "add the list `revoked`; an empty one revokes nothing";
    let nodes = reader.required(record, "revoked", remedy)?;
    let mut all = Vec::new();
    for node in reader.list(nodes, "`revoked`", MAX_REVOKED) {
        all.extend(revoked(reader, node));
    }
    Some(all)
}

fn revoked(reader: &mut Reader, node: &Node) -> Option<Revoked> {
    let known = ["serial", "person", "cluster", "madeBefore", "why"];
    let record = reader.record(node, "a revoked token", &known)?;
    if let Some(why) = record.get("why") {
        reader.text(why, "a reason")?;
    }
    let fields = ["serial", "person", "cluster"];
    let given: Vec<(&str, &Node)> = fields
        .into_iter()
        .filter_map(|field| Some((field, record.get(field)?)))
        .collect();
    let [(field, value)] = *given else {
        let problem = "it does not say which token, or says it more than once";
        reader.error("missing-field", node, problem, WHICH);
        return None;
    };
    let name = reader.name(value, field)?;
    if field == "serial" {
        if let Some(before) = record.get("madeBefore") {
            let problem = "one token ends whenever it was made";
            reader.error("bad-value", before, problem, "leave madeBefore out");
            return None;
        }
        return Some(Revoked::Serial(name.into()));
    }
    let made_before = made_before(reader, record)?;
    if field == "person" {
        let name = name.into();
        return Some(Revoked::Person { name, made_before });
    }
    let id = ClusterId::new(name);
    if id.is_none() {
        let problem = format!("{:?} is not a cluster's id", shown(name));
        reader.error("bad-value", value, problem, "write the cluster's id");
    }
    Some(Revoked::Cluster {
        id: id?,
        made_before,
    })
}

fn made_before(reader: &mut Reader, record: Record<'_>) -> Option<jiff::Timestamp> {
    let remedy =
        "add madeBefore, a time as in 2026-11-19T12:00:00Z: tokens that are made later count";
    let node = reader.required(record, "madeBefore", remedy)?;
    let text = reader.text(node, "a time")?;
    let time = parse_time(text);
    if let Err(problem) = &time {
        reader.error("bad-time", node, problem.to_string(), remedy);
    }
    time.ok()
}

/// A list for machines.
pub fn json(revoked: &[Revocation]) -> Value {
    json!({ "revoked": revoked.iter().map(entry).collect::<Vec<Value>>() })
}

fn entry(one: &Revocation) -> Value {
    let (kind, name, made_before) = parts(&one.revoked);
    json!({
        "kind": kind,
        "name": name,
        "madeBefore": made_before.map(|at| at.to_string()),
        "by": *one.by,
        "at": one.at.to_string(),
        "why": *one.why,
    })
}

/// A list for people.
pub fn text(revoked: &[Revocation]) -> String {
    if revoked.is_empty() {
        return "No token is revoked.\n".to_owned();
    }
    let head = ["TOKENS", "MADE BEFORE", "REVOKED", "BY", "WHY"];
    let mut table = tables::table(head);
    for one in revoked {
        let (kind, name, made_before) = parts(&one.revoked);
        table.add_row([
            format!("{kind} {name}"),
            made_before.map_or_else(|| "-".to_owned(), second),
            second(one.at),
            one.by.to_string(),
            one.why.to_string(),
        ]);
    }
    tables::shown(&table)
}

/// What was revoked, in a sentence.
pub fn sentence(revoked: &Revoked) -> String {
    match revoked {
        Revoked::Serial(serial) => format!("The token {serial} is revoked."),
        Revoked::Person { name, made_before } => format!(
            "The tokens of {name} that were made before {} are revoked.",
            second(*made_before)
        ),
        Revoked::Cluster { id, made_before } => format!(
            "The tokens of cluster {id} that were made before {} are revoked.",
            second(*made_before)
        ),
    }
}

fn parts(revoked: &Revoked) -> (&'static str, &str, Option<jiff::Timestamp>) {
    match revoked {
        Revoked::Serial(serial) => ("serial", serial, None),
        Revoked::Person { name, made_before } => ("person", name, Some(*made_before)),
        Revoked::Cluster { id, made_before } => ("cluster", id.as_str(), Some(*made_before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<Revoked>, String> {
        let read = read(&Place::file("revoked.yaml"), text.as_bytes());
        read.map_err(|findings| findings[0].to_string())
    }

    #[test]
    fn revoked_tokens_are_read() {
        let noon = "2026-11-19T12:00:00Z";
        let made_before = noon.parse().unwrap();
        let text = format!(
            "revoked:\n- {{serial: AAAAAAAA, why: lost}}\n- {{person: ada, madeBefore: {noon}}}\n- {{cluster: 0f3a, madeBefore: '{noon}'}}\n"
        );
        let expected = [
            Revoked::Serial("AAAAAAAA".into()),
            Revoked::Person {
                name: "ada".into(),
                made_before,
            },
            Revoked::Cluster {
                id: ClusterId::new("0f3a").unwrap(),
                made_before,
            },
        ];
        assert_eq!(parsed(&text).unwrap(), expected);
        assert_eq!(parsed("revoked: []").unwrap(), []);
    }

    #[test]
    fn what_is_not_understood_revokes_nothing_and_is_an_error() {
        for (text, expected) in [
            ("[]", "revoked.yaml"),
            ("revoked: [{}]", "which token"),
            ("revoked: [{serial: AAAAAAAA, person: ada}]", "which token"),
            ("revoked: [{person: ada}]", "madeBefore"),
            ("revoked: [{person: ada, madeBefore: soon}]", "madeBefore"),
            (
                "revoked: [{serial: AAAAAAAA, madeBefore: 2026-11-19T12:00:00Z}]",
                "leave madeBefore out",
            ),
            ("revoked: [{serials: AAAAAAAA}]", "serials"),
        ] {
            let problem = parsed(text).expect_err(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
