//! Matching rules without effect: clients know none of the types, or never come to a rule.

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::MatchingRule;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for block in &subject.data.blocks {
        let Some(risk) = &block.risk else { continue };
        let place = || subject.place(block, Field::MatchingRules);
        let rules = risk.matching_rules.as_slice();
        if rules
            .iter()
            .all(|rule| matches!(rule, MatchingRule::Other(_)))
        {
            let problem =
                "clients know none of these rules, so the edge is recommended to no cluster";
            let remedy = "add `- type: Always` or a PromQL rule; to stop the edge for everybody, remove `matchingRules`";
            findings.push(Finding::error("no-known-rule", place(), problem, remedy));
        }
        let decided = rules.iter().position(|rule| *rule == MatchingRule::Always);
        if decided.is_some_and(|at| at + 1 < rules.len()) {
            let problem = "clients never reach the rules after `type: Always`: it always matches";
            findings.push(Finding::warning(
                "unreachable-rule",
                place(),
                problem,
                "put it last, or remove it",
            ));
        }
    }
    findings
}
