//! Declared risks: which releases of a minor version have a risk, and from which release on files say that it is fixed.

use std::collections::BTreeMap;

use super::{NotedRelease, Subject};
use crate::graph::Block;
use crate::version::{Minor, Version};

/// A risk in one minor version.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredRisk<'a> {
    pub(crate) name: &'a str,
    pub(crate) minor: Minor,
    /// The releases that have it, with their blocks.
    pub(crate) at: BTreeMap<&'a Version, Vec<&'a Block>>,
    pub(crate) fixed_in: Vec<&'a NotedRelease>,
}

/// The risks of the releases that count, by name and minor version.
pub(crate) fn declared_risks<'a>(
    subject: &Subject<'a>,
    counts: impl Fn(&Version) -> bool,
) -> Vec<DeclaredRisk<'a>> {
    let mut declared: BTreeMap<(&str, Minor), DeclaredRisk<'a>> = BTreeMap::new();
    for block in &subject.data.blocks {
        let to = &block.to.version;
        let Some(risk) = block.risk.as_ref().filter(|_| counts(to)) else {
            continue;
        };
        let (name, minor) = (risk.name.as_str(), Minor::of(to));
        let risk = declared.entry((name, minor)).or_insert(DeclaredRisk {
            name,
            minor,
            at: BTreeMap::new(),
            fixed_in: Vec::new(),
        });
        risk.at.entry(to).or_default().push(block);
        risk.fixed_in.extend(
            subject
                .fixed_in(block)
                .filter(|fixed| fixed.name.version.same_minor(to)),
        );
    }
    declared.into_values().collect()
}

impl DeclaredRisk<'_> {
    pub(crate) fn is_fixed(&self, version: &Version) -> bool {
        self.fixed_in
            .iter()
            .any(|fixed| fixed.name.version <= *version)
    }
}
