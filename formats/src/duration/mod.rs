//! Durations: the parameter file, update histories, and the answers as text and as JSON.

mod check;
mod cluster_sizes;
mod json;
mod parameters;
mod text;
mod times;
pub mod update_history;

pub use check::{check_json, check_text};
pub(crate) use json::estimate;
pub use json::{estimate_json, fit_json, spread_json};
pub use parameters::{read as read_parameters, write as write_parameters};
pub(crate) use text::described;
pub(crate) use text::short;
pub use text::{estimate_text, fit_text, spread_text};
pub(crate) use times::{max_unavailable, spread};

use towpath_core::duration::{
    CheckSettings, Estimate, Fit, OperatorPhase, Parameters, Shape, SpeedCheck,
};
use towpath_core::finding::Finding;
use towpath_core::version::Version;

use crate::duration::update_history::Counts;

/// Updates one after the other, and how long each takes.
pub struct Estimated<'a> {
    /// The release that the first one begins with, and what each leads to.
    pub versions: &'a [Version],
    /// How long each takes: one less than versions.
    pub hops: &'a [Estimate],
    pub shape: &'a Shape,
    /// What the estimates were made with.
    pub parameters: &'a Parameters,
}

/// What was learnt from histories.
pub struct Fitted<'a> {
    /// What could not be read.
    pub findings: &'a [Finding],
    pub fit: &'a Fit,
    /// When operators come to rest, where ClusterOperators were given.
    pub operators: &'a [OperatorPhase],
    pub counts: &'a Counts,
}

/// Whether releases made updates slower.
pub struct CheckedSpeed<'a> {
    pub checks: &'a [SpeedCheck],
    pub settings: CheckSettings,
    pub counts: &'a Counts,
    pub findings: &'a [Finding],
    /// How many updates were read.
    pub updates: usize,
}
