//! `raw/metadata.json`: additional metadata of single releases, by name.

use std::collections::BTreeMap;

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::EdgeEdit;
use towpath_core::version::ReleaseName;

use crate::read::{Unique, json};

const REMEDIES: json::Remedies = json::Remedies {
    form: "write a JSON object: {\"4.9.7\": {\"url\": \"https://…\"}}",
    other: &[],
    part: "correct the file",
};

pub(super) fn read(
    place: &Place,
    bytes: &[u8],
    findings: &mut Vec<Finding>,
) -> Vec<(ReleaseName, BTreeMap<String, String>)> {
    let by_text: Unique<Unique<String>> = match json::read(place, bytes, &REMEDIES) {
        Ok(metadata) => metadata,
        Err(finding) => {
            findings.push(finding);
            return Vec::new();
        }
    };
    let mut metadata = Vec::new();
    for (text, entries) in by_text.0 {
        let mut error = |code, problem: String, remedy| {
            findings.push(Finding::error(code, place.clone(), problem, remedy))
        };
        for (key, value) in &entries.0 {
            if let Some(Err(not)) = EdgeEdit::read(key, value) {
                let problem = format!("{key} of {text:?}: {}", not.problem);
                error(
                    "bad-edge-edit",
                    problem,
                    "write a comma list of versions, or a regular expression for remove_regex",
                );
            }
        }
        match ReleaseName::parse(&text) {
            Ok(name) => metadata.push((name, entries.0)),
            Err(wrong) => error(
                "bad-version",
                format!("the key {wrong}"),
                "write it as in 4.9.7 or 4.9.7+amd64",
            ),
        }
    }
    metadata
}
