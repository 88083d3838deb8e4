//! A risk that ends without `fixedIn`: a release has it, the next of its minor does not, and no
//! file says that it is fixed.
//!
//! Somebody forgot to declare the risk for the newer release, or to record the fix. Only people
//! know which. The check looks at releases in channels. It skips pre-releases, because nobody
//! records fixes between them.

use super::declared_risks::{DeclaredRisk, declared_risks};
use super::{Field, NotedRelease, Subject};
use crate::finding::Finding;
use crate::graph::Block;
use crate::version::Version;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let is_final = |version: &Version| version.pre_release().is_empty();
    let finals: Vec<&Version> = subject
        .versions_in_channels()
        .into_iter()
        .filter(|version| is_final(version))
        .collect();
    let declared = declared_risks(subject, is_final);
    let found = declared.iter().flat_map(|risk| {
        let ends = ends(risk, &finals)
            .into_iter()
            .map(|(block, next)| end(subject, risk.name, block, next));
        ends.chain(
            contradictions(risk)
                .into_iter()
                .map(|fixed| contradiction(risk.name, fixed)),
        )
    });
    found.collect()
}

/// Where the next release does not have it: the last block, and that release.
fn ends<'a, 'v>(risk: &DeclaredRisk<'a>, finals: &[&'v Version]) -> Vec<(&'a Block, &'v Version)> {
    let next = |version: &Version| {
        let after = finals.partition_point(|known| *known <= version);
        finals
            .get(after)
            .copied()
            .filter(|next| next.same_minor(version))
    };
    let ends = risk
        .at
        .iter()
        .filter_map(|(version, blocks)| Some((*blocks.first()?, next(version)?)));
    ends.filter(|(_, next)| !risk.at.contains_key(next) && !risk.is_fixed(next))
        .collect()
}

/// Where a release is said to be fixed and has the risk all the same.
fn contradictions<'a>(risk: &DeclaredRisk<'a>) -> Vec<&'a NotedRelease> {
    risk.fixed_in
        .iter()
        .filter(|fixed| {
            risk.at
                .keys()
                .any(|version| **version >= fixed.name.version)
        })
        .copied()
        .collect()
}

fn end(subject: &Subject<'_>, name: &str, block: &Block, next: &Version) -> Finding {
    let problem = format!(
        "{} has the risk {name}, the next release {next} has not, and no file says that it is fixed there",
        block.to.version
    );
    let remedy =
        format!("add `fixedIn: {next}` if it is fixed there, or declare the risk for {next} too");
    Finding::warning(
        "risk-ends",
        subject.place(block, Field::Name),
        problem,
        remedy,
    )
}

fn contradiction(name: &str, fixed: &NotedRelease) -> Finding {
    let problem = format!(
        "{name} is fixed in {}, and declared for that release or a later one",
        fixed.name.version
    );
    Finding::warning(
        "fixed-and-declared",
        fixed.place.clone(),
        problem,
        "correct `fixedIn`, or remove the risk there",
    )
}
