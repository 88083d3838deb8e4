//! The graph as it is at an instant: which clients there are, what blocks mean for them, what a channel holds by now.
//!
//! `recommend`, sheets, managed answers, offers, rollouts, path, mirror, audit and diff all ask here. Nobody else compares an entry
//! with the time, or asks the standing rules about a set of blocks.

mod block_verdicts;
mod client_class;
mod entry;
mod steps;
mod view;

pub use block_verdicts::{BlockVerdict, BlockVerdicts, StandingRules};
pub use client_class::{ClientClass, client_classes, named_platforms};
pub use entry::{Epoch, channels_entered, has_entered};
pub(crate) use steps::{Step, Steps, numbers};
pub use view::{ChannelEdge, ChannelView};
