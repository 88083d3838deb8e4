//! A risk that ends without `fixedIn`: a release has it, the next of its minor does not, and no
//! file says that it is fixed.
//!
//! Somebody forgot to declare the risk for the newer release, or to record the fix. Only people
//! know which. The check looks at releases in channels. It skips pre-releases, because nobody
//! records fixes between them.

use std::collections::BTreeMap;

use super::{Field, NotedRelease, Subject};
use crate::finding::Finding;
use crate::graph::Block;
use crate::version::Version;

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let finals: Vec<&Version> = subject
        .versions_in_channels()
        .into_iter()
        .filter(|version| version.pre_release().is_empty())
        .collect();
    let mut declared: BTreeMap<(&str, u64, u64), DeclaredRisk<'_>> = BTreeMap::new();
    for block in &subject.data.blocks {
        let to = &block.to.version;
        let Some(risk) = block.risk.as_ref().filter(|_| to.pre_release().is_empty()) else {
            continue;
        };
        let risk = declared
            .entry((&risk.name, to.major(), to.minor()))
            .or_default();
        risk.at.entry(to).or_insert(block);
        risk.fixed_in.extend(
            subject
                .fixed_in(block)
                .filter(|fixed| fixed.name.version.same_minor(to)),
        );
    }
    let found = declared.iter().flat_map(|((name, _, _), risk)| {
        let ends = risk
            .ends(&finals)
            .into_iter()
            .map(|(block, next)| end(subject, name, block, next));
        ends.chain(
            risk.contradictions()
                .into_iter()
                .map(|fixed| contradiction(name, fixed)),
        )
    });
    found.collect()
}

/// A risk in one minor version.
#[derive(Default)]
struct DeclaredRisk<'a> {
    /// The releases that have it.
    at: BTreeMap<&'a Version, &'a Block>,
    fixed_in: Vec<&'a NotedRelease>,
}

impl<'a> DeclaredRisk<'a> {
    /// Where the next release does not have it: the last block, and that release.
    fn ends<'v>(&self, finals: &[&'v Version]) -> Vec<(&'a Block, &'v Version)> {
        let next = |version: &Version| {
            let after = finals.partition_point(|known| *known <= version);
            finals
                .get(after)
                .copied()
                .filter(|next| next.same_minor(version))
        };
        let ends = self
            .at
            .iter()
            .filter_map(|(version, block)| Some((*block, next(version)?)));
        ends.filter(|(_, next)| !self.at.contains_key(next) && !self.is_fixed(next))
            .collect()
    }

    fn is_fixed(&self, version: &Version) -> bool {
        self.fixed_in
            .iter()
            .any(|fixed| fixed.name.version <= *version)
    }

    /// Where a release is said to be fixed and has the risk all the same.
    fn contradictions(&self) -> Vec<&'a NotedRelease> {
        self.fixed_in
            .iter()
            .filter(|fixed| {
                self.at
                    .keys()
                    .any(|version| **version >= fixed.name.version)
            })
            .copied()
            .collect()
    }
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
