//! The nouns: graph, cluster, window, verdict, and what they are made of.

pub mod automatic;
pub mod block;
pub mod channel;
pub mod cluster;
pub mod edge_edit;
pub mod fleet;
pub mod graph;
mod graph_build;
pub mod minor;
pub mod position;
pub mod provenance;
pub mod readiness;
pub mod release;
pub mod signature;
pub mod version;
pub mod way;
pub mod window;

pub use block::{Audience, Block, BlockId, MatchingRule, Pattern, Risk, RiskId};
pub use channel::{
    Channel, ChannelName, ChannelSpec, FromVersion, Member, Membership, RolloutRule,
};
pub use cluster::{Cluster, ClusterId, Fact, Platform};
pub use edge_edit::EdgeEdit;
pub use graph::{Edge, Graph, GraphData, KeptBlock, Situation, StaleSource};
pub use minor::Minor;
pub use position::Position;
pub use provenance::{End, Provenance};
pub use release::{DeclaredEdge, DeclaredRelease, Declares, Release, ReleaseId, Releases, Trust};
pub use signature::{PayloadDigest, Refusal, SignaturePolicy, SignatureVerdict, Signer};
pub use version::{Arch, ReleaseName, Version};
pub use window::{Ramp, Share, Window};
