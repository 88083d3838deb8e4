//! A release that a channel lists by its name, and again for one architecture.

use std::collections::BTreeSet;

use super::Subject;
use crate::finding::Finding;
use crate::version::Version;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for channel in &subject.data.channels {
        let of_all: BTreeSet<&Version> = channel
            .members
            .iter()
            .filter(|m| m.name.arch.is_none())
            .map(|m| &m.name.version)
            .collect();
        let again = channel
            .members
            .iter()
            .filter(|m| m.name.arch.is_some() && of_all.contains(&m.name.version));
        findings.extend(again.map(|member| {
            let problem = format!(
                "{} is listed, and {} means it too",
                member.name, member.name.version
            );
            Finding::warning(
                "duplicate-version",
                member.origin.clone(),
                problem,
                "remove one of them",
            )
        }));
    }
    findings
}
