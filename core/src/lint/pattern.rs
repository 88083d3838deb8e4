//! A pattern that matches no existing release: a block that blocks nothing.
//!
//! It is an error, because its author believes that the block protects clusters.

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::{NamedReleases, never_matching_pattern};

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let graph = || subject.graph.into_iter();
    let released = graph().flat_map(|graph| graph.releases());
    let arches = graph().flat_map(|graph| graph.arches());
    let named = NamedReleases::of(
        &subject.data.channels,
        released.map(|release| &release.version),
        arches.map(|arch| arch.as_str()),
    );
    let finding = |block| never_matching_pattern(block, subject.place(block, Field::From));
    let idle = named.never_matching(&subject.data.blocks);
    idle.into_iter().map(finding).collect()
}
