//! Why somebody has no way, and how far they get.

use jiff::Timestamp;

use super::Plan;
use super::ways::Ways;
use crate::domain::{Arch, ChannelName, Graph, ReleaseId, Version};

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWay {
    /// There is no such release for the architecture.
    NoSuchSource,
    /// What the cluster runs is in none of the channels, but in these, each from then on.
    SourceElsewhere(Vec<(ChannelName, Timestamp)>),
    /// There is no such release for the architecture.
    NoSuchTarget,
    /// The target is in none of the channels, but in these, each from then on.
    TargetElsewhere(Vec<(ChannelName, Timestamp)>),
    /// The target is older, and updates lead forward.
    Older,
    /// No step leads on to it.
    Stuck {
        /// The newest release that one gets to and that is not newer than the target.
        newest: ReleaseId,
        /// The way that there is if all risks are accepted.
        with_risks: Option<Plan>,
    },
}

/// Says why nobody gets from a version to the target. `with_risks` finds the way over updates with any risks.
pub(super) fn why_none(
    graph: &Graph,
    ways: &Ways,
    (version, arch): (&Version, &Arch),
    target: &Version,
    with_risks: impl FnOnce(ReleaseId) -> Option<Plan>,
) -> NoWay {
    let channels = |id: ReleaseId| graph.release(id).channels.clone();
    let Some(from) = graph.find(version, arch) else {
        return NoWay::NoSuchSource;
    };
    let Some(to) = graph.find(target, arch) else {
        return NoWay::NoSuchTarget;
    };
    match (ways.holds(from), ways.holds(to)) {
        (false, _) => NoWay::SourceElsewhere(channels(from)),
        (true, false) => NoWay::TargetElsewhere(channels(to)),
        (true, true) if to < from => NoWay::Older,
        (true, true) => NoWay::Stuck {
            newest: ways
                .reached(from)
                .range(from..=to)
                .next_back()
                .copied()
                .unwrap_or(from),
            with_risks: with_risks(from),
        },
    }
}
