//! Orders: what the fleet asks of its cluster. Its service seals them for this cluster alone, so
//! nobody who can only write a graph gives any.

use crate::agent::{ChannelOrder, PreflightOrder};
use crate::fleet::AcceptedRisk;
use crate::version::Version;

/// What the fleet asks of the cluster now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetOrders {
    /// The update that the fleet has started.
    pub update: Option<OrderedUpdate>,
    /// The preflight that it asks for.
    pub preflight: Option<PreflightOrder>,
}

/// Why somebody asks for a cluster's orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrdersUse {
    /// To carry them out: a preflight counts as running from then on.
    Act,
    /// To say what would be done. Nothing changes.
    Look,
}

/// An update that the fleet has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderedUpdate {
    pub to: Version,
    /// The channel that it is in, if the cluster has to be switched for it.
    pub channel: Option<ChannelOrder>,
    /// The risks that the fleet's policy accepts on the way there. Those that are fixed are left out already.
    pub accepted: Vec<AcceptedRisk>,
}
