//! The agent: its policy file, its memory, and its answers.

mod json;
mod news;
pub mod orders;
mod policy;
mod record;
mod seal;
pub mod stamp;
mod text;

pub use json::json;
pub use news::{
    News, Weight, channel_text, news, of_asked_preflight, of_channel, of_dropped_risks, of_gate,
    of_preflight, of_refused_channel, of_set_channel, of_start,
};
pub use policy::{AgentPolicy, read as read_policy};
pub use record::{read as read_record, write as write_record};
pub use text::{Condition, text, upgradeable};

use jiff::Timestamp;
use towpath_core::agent::{ChannelJudgement, Choice, ClusterStanding, Memory};
use towpath_core::cluster::UpgradeableGate;
use towpath_core::verdict::Verdict;
use towpath_core::version::Version;

/// All that an agent has to tell after a look at its cluster.
#[derive(Debug, Clone, Copy)]
pub struct PassReport<'a> {
    pub standing: &'a ClusterStanding,
    pub choice: &'a Choice,
    /// The channel that the fleet's update needs, if the cluster is not in it.
    pub channel: Option<&'a ChannelJudgement>,
    /// The preflight that the fleet asks for, if nobody has run it yet.
    pub preflight: Option<(&'a Version, &'a Verdict)>,
    /// Whether the minor version may change; none if what the cluster runs is not known.
    pub gate: Option<&'a UpgradeableGate>,
    pub memory: &'a Memory,
    pub now: Timestamp,
}
