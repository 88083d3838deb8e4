//! The way there: how, and when, does a cluster get from one release to another?

pub mod duration;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::domain::{ChannelName, ReleaseId, RiskId};

/// A way from one release to another, hop by hop. No hops: it is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The release it begins with.
    pub from: ReleaseId,
    /// The hops, each from where the one before it ends.
    pub hops: Vec<Hop>,
}

/// One update of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The channel to be set for it.
    pub channel: ChannelName,
    /// From.
    pub from: ReleaseId,
    /// To.
    pub to: ReleaseId,
    /// What the cluster has to weigh.
    pub risks: BTreeSet<RiskId>,
    /// The earliest instant at which it is offered to the cluster that asks.
    pub opens: Timestamp,
}
