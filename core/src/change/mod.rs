//! What a change of graph data means: two graphs side by side, before anybody merges.

mod both;
mod classes;
mod diff;
mod presubmit;
mod reach;
mod refusal;
mod touched;

pub use classes::{Class, Whom};
pub use diff::{
    ChannelDiff, Diff, EdgeChange, EdgeKind, Only, ReleaseChange, ReleaseKind, RiskNames, When,
    diff,
};
pub use presubmit::{PresubmitOptions, presubmit, share_before_feedback};
pub use touched::{Touched, touched};
