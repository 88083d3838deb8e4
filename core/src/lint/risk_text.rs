//! One name, one risk: its url, message and rules are the same in every file.
//!
//! Clients tell risks by their names alone. The text that most files have is taken as the right one.

use std::collections::BTreeMap;

use super::{Field, Subject};
use crate::domain::{Block, Risk};
use crate::finding::Finding;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, BTreeMap<&Risk, Vec<&Block>>> = BTreeMap::new();
    for block in &subject.data.blocks {
        if let Some(risk) = &block.risk {
            by_name.entry(&risk.name).or_default().entry(risk).or_default().push(block);
        }
    }
    let mut findings = Vec::new();
    for texts in by_name.values().filter(|texts| texts.len() > 1) {
        // Of texts that stand in equally many files, the first in order.
        let usual = texts.iter().max_by_key(|(risk, blocks)| (blocks.len(), std::cmp::Reverse(*risk)));
        let Some((usual, usual_blocks)) = usual else { continue };
        let others = texts.iter().filter(|(risk, _)| risk != &usual);
        for (risk, block) in others.flat_map(|(risk, blocks)| blocks.iter().map(move |block| (risk, block))) {
            let problem = format!(
                "{} of risk {} is not as in {}",
                difference(risk, usual),
                risk.name,
                usual_blocks[0].origin.file
            );
            let remedy = "write the same in all its files, or give it another name";
            findings.push(Finding::error("risk-differs", subject.place(block, Field::Name), problem, remedy));
        }
    }
    findings
}

fn difference(risk: &Risk, usual: &Risk) -> &'static str {
    match (risk.url == usual.url, risk.message == usual.message) {
        (false, _) => "the url",
        (true, false) => "the message",
        (true, true) => "matchingRules",
    }
}
