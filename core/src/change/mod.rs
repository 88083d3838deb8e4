//! What a change of graph data means: two graphs side by side, before anybody merges.

mod classes;
mod diff;
mod extension;
mod graph_pair;
mod presubmit;
mod refusal;
mod ring_pairs;
mod rollout_arc;
mod steering;
mod touched;

pub use classes::Whom;
pub use diff::{
    ChannelDiff, Diff, EdgeChange, EdgeKind, Only, ReleaseChange, ReleaseKind, RiskNames, When,
    diff,
};
pub use extension::{ExtendedRisks, OpenRisk, open_risks, risk_names_in};
pub use presubmit::{PresubmitOptions, presubmit, share_before_feedback, shown_otherwise};
pub use steering::{
    ChangedDuration, MovedStart, NotSteerable, RuleLength, STRETCHES, Stretch, StretchedFile,
    stretch_file,
};
pub use touched::{TouchedClusters, touched};
