//! The graph at an instant: the kinds of clients, what blocks mean for them, and what a channel
//! holds by now.
//!
//! `recommend`, sheets, managed answers, offers, rollouts, path, mirror, audit and diff all ask
//! here. No other code compares an entry with the time, or asks the standing rules about a set of
//! blocks.

pub mod block;
mod block_verdicts;
mod build;
pub mod channel;
mod channel_list;
mod client_class;
pub mod edge_edit;
mod edge_status;
mod entry;
mod explain;
mod halt;
mod idle_blocks;
pub mod model;
pub mod position;
pub mod provenance;
mod recommend;
pub mod release;
mod release_url;
mod ring;
mod rollouts;
pub mod rules;
pub(crate) mod servable;
mod stages;
mod steps;
mod view;
pub mod window;

pub use block::{Audience, Block, BlockId, MatchingRule, Pattern, Risk, RiskId};
pub use block_verdicts::{BlockVerdict, BlockVerdicts, StandingRules};
pub use channel::{
    Channel, ChannelName, ChannelSpec, EdgeMatch, FromVersion, Member, Membership, RolloutRule,
};
pub use channel_list::{ListedChannel, channel_list};
pub use client_class::{ClientClass, client_classes, named_platforms};
pub use edge_edit::EdgeEdit;
pub use edge_status::EdgeStatus;
pub use entry::{Epoch, channels_entered, has_entered};
pub use explain::{ExplainedRelease, Explanation, ReleaseStanding, explain};
pub(crate) use explain::{passing, steady};
pub use halt::{DeclaredHalt, ObservedFailures};
pub(crate) use idle_blocks::{NamedReleases, never_matching_pattern};
pub use model::{Edge, Graph, GraphData, KeptBlock, Situation, StaleCause, StaleSource};
pub use position::Position;
pub use provenance::{End, Provenance};
pub use recommend::{View, recommend, recommend_managed};
pub use release::{DeclaredEdge, DeclaredRelease, Declares, Release, ReleaseId, Releases, Trust};
pub use ring::{EdgeWindows, Ring, RingId, RingName, RingTurn, RuleRings, Turn};
pub use rollouts::{NamedRule, RolloutStop, RolloutWindow, recent_rollouts, rollouts};
pub use stages::Stages;
pub(crate) use steps::{GraphStep, GraphSteps, numbers};
pub use view::{ChannelEdge, ChannelView};
pub use window::{Ramp, Share, Window};
