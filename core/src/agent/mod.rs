//! Automatic updates: the offers, the cluster's state, its administrators' policy, and the agent's
//! memory.
//!
//! Write access to a graph decides nothing here. The agent believes an image only if it is signed,
//! and a time only if it is stamped.

mod channel;
mod choose;
mod evidence;
mod follow;
mod memory;
mod orders;
mod policy;
mod preflight;
pub mod rules;
mod standing;

pub use channel::{
    ChannelCourse, ChannelJudgement, ChannelOrder, ChannelOutcome, SetChannel, channel_to_set,
    follow_channel,
};
pub use choose::{Choice, choose};
pub use evidence::{Evidence, ImageDeclaration, Stamp, Witness};
pub use follow::{UpdateOutcome, follow};
pub use memory::{Course, Memory, StartedUpdate};
pub use orders::{FleetOrders, OrderedUpdate, OrdersUse};
pub use policy::{AutomaticPolicy, Downgrades, Pin, RequiredProof};
pub use preflight::{PreflightOrder, StartedPreflight, follow_preflight};
pub use standing::{
    Advice, ClusterRisk, ClusterStanding, Condition, OptIn, Past, Status, UpdateOffer, UpdateTarget,
};
