//! One name, one risk: its url, message and rules are the same in every file.
//!
//! Clients tell risks by their names alone. The text that most files have is taken as the right one.

use std::collections::BTreeMap;

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::{Block, Risk};

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, BTreeMap<&Risk, Vec<&Block>>> = BTreeMap::new();
    for block in &subject.data.blocks {
        if let Some(risk) = &block.risk {
            by_name
                .entry(&risk.name)
                .or_default()
                .entry(risk)
                .or_default()
                .push(block);
        }
    }
    let mut findings = Vec::new();
    for texts in by_name.values().filter(|texts| texts.len() > 1) {
        // Of texts that stand in equally many files, that of the earliest release.
        let usual = texts.iter().min_by_key(|(_, blocks)| {
            (
                std::cmp::Reverse(blocks.len()),
                blocks.iter().map(|block| (&block.to, &block.origin)).min(),
            )
        });
        let Some((usual, usual_blocks)) = usual else {
            continue;
        };
        for (risk, blocks) in texts.iter().filter(|(risk, _)| risk != &usual) {
            let (what, field) = difference(risk, usual);
            let problem = format!(
                "risk {} has another {what} than in {}",
                risk.name, usual_blocks[0].origin.file
            );
            let remedy = "write the same in all its files, or give it another name";
            let places = blocks.iter().map(|block| subject.place(block, field));
            findings.extend(
                places.map(|place| Finding::error("risk-differs", place, problem.as_str(), remedy)),
            );
        }
    }
    findings
}

fn difference(risk: &Risk, usual: &Risk) -> (&'static str, Field) {
    match (risk.url == usual.url, risk.message == usual.message) {
        (false, _) => ("url", Field::Url),
        (true, false) => ("message", Field::Message),
        (true, true) => ("list of matchingRules", Field::MatchingRules),
    }
}
