//! Whether a cluster is ready, as text and as JSON.

pub(crate) mod json;
pub(crate) mod text;

pub use json::json;
pub use text::text;

use std::collections::BTreeMap;

use jiff::Timestamp;
use towpath_core::cluster::Readiness;
use towpath_core::cluster::way::Way;

use crate::cluster::objects::ClusterObjects;

/// Kinds that could not be read, each with why.
pub type UnreadKinds = BTreeMap<String, String>;

/// What was asked, and what there is to say.
pub struct ReadyReport<'a> {
    pub cluster: &'a ClusterObjects,
    pub way: &'a Way,
    /// When its objects were printed.
    pub now: Timestamp,
    /// What there is to say.
    pub readiness: &'a Readiness,
    /// What a cluster did not let us read.
    pub unread: &'a UnreadKinds,
}
