//! The image of each version in one copy of a source. A released version keeps its image.
//!
//! A version with another digest than before is a mistake or an attack, because nobody releases a
//! version twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Releases;
use crate::signatures::PayloadDigest;
use crate::version::{Arch, Version};

/// How many are named; a thousand say no more than the first few.
const MAX_NAMED: usize = 3;

/// The digests of each release of a copy. More than one is a dispute, which `disputes` handles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Payloads(pub(super) BTreeMap<(Version, Arch), BTreeSet<PayloadDigest>>);

impl Payloads {
    /// Those of these releases. What is named by a tag has none, and may change; what had a digest may not lose it.
    pub fn of(releases: &Releases) -> Self {
        let mut payloads = BTreeMap::<_, BTreeSet<_>>::new();
        for release in &releases.releases {
            let digests = payloads
                .entry((release.version.clone(), release.arch.clone()))
                .or_default();
            digests.extend(PayloadDigest::of_pull_spec(&release.payload));
        }
        Self(payloads)
    }
}

/// What is wrong with `next` after `previous`: releases that both know, each with other digests.
pub fn payload_changed(previous: &Payloads, next: &Payloads) -> Option<String> {
    let changed: Vec<String> = previous
        .0
        .iter()
        .filter_map(|(release, before)| Some((release, before, next.0.get(release)?)))
        .filter(|(_, before, after)| !before.is_empty() && before != after)
        .map(|((version, arch), before, after)| {
            format!(
                "{version} for {arch} ({} before, {} now)",
                listed(before),
                listed(after)
            )
        })
        .collect();
    let more = changed.len().saturating_sub(MAX_NAMED);
    let named = changed[..changed.len() - more].join(", ");
    match (changed.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("the payload has changed: {named}")),
        (false, more) => Some(format!("the payload has changed: {named} and {more} more")),
    }
}

fn listed(digests: &BTreeSet<PayloadDigest>) -> String {
    match digests.is_empty() {
        true => "no digest".to_owned(),
        false => digests
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" and "),
    }
}
