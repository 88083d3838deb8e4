//! The rules about an edge of the graph, one small file each, and the policies made of them.

mod channel_entry;
mod edge;
mod enrolled;
mod hard_block;
mod known_risk;
mod managed;
mod phased_rollout;
mod source_stale;
mod targeted_block;

pub(crate) use channel_entry::not_in_channel;
pub use channel_entry::{ChannelEntry, NOT_IN_CHANNEL};
pub use edge::{EdgeQuestion, Edges, NO_EDGE, RECORDED, UNKNOWN_RELEASE, edge_codes};
pub use enrolled::Enrolled;
pub use hard_block::HardBlock;
pub use known_risk::{KNOWN_RISK, KnownRisk};
pub use managed::Managed;
pub use phased_rollout::{PhasedRollout, ROLLOUT_WITHOUT_ID};
pub use source_stale::SourceStale;
pub use targeted_block::TargetedBlock;
