//! Why somebody has no way, and how far they get.

use jiff::Timestamp;

use super::mirror::Traveller;
use super::ways::{Limits, Ways};
use crate::domain::{ChannelName, Graph, ReleaseId, Version};

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
    /// No step leads on to it.
    Stuck {
        /// The newest release that one gets to.
        newest: ReleaseId,
        /// Whether there is a way if risks are weighed.
        with_risks: WithRisks,
    },
}

/// Whether weighing risks would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithRisks {
    /// There is a way then.
    Helps,
    /// Not even then.
    NoHelp,
}

/// Says why a traveller does not get there. The ways with risks are asked for only if they matter.
pub(super) fn why_none(
    graph: &Graph,
    ways: &Ways,
    traveller: &Traveller,
    target: &Version,
    with_risks: impl FnOnce() -> Ways,
) -> NoWay {
    let channels = |id: ReleaseId| graph.release(id).channels.clone();
    let Some(from) = graph.find(&traveller.version, &traveller.arch) else { return NoWay::NoSuchSource };
    let Some(to) = graph.find(target, &traveller.arch) else { return NoWay::NoSuchTarget };
    match (ways.holds(from), ways.holds(to)) {
        (false, _) => NoWay::SourceElsewhere(channels(from)),
        (true, false) => NoWay::TargetElsewhere(channels(to)),
        (true, true) => NoWay::Stuck {
            newest: ways.reached(from).last().copied().unwrap_or(from),
            with_risks: match with_risks().best(from, to, Limits::default()) {
                Some(_) => WithRisks::Helps,
                None => WithRisks::NoHelp,
            },
        },
    }
}
