//! An audit, as text and as JSON.

mod json;
pub mod request;
mod text;

pub use json::json;
pub use text::{change, ways, whole};

use towpath_core::audit::{Arrivals, Audit, Stranding};
use towpath_core::graph::Graph;

/// What was looked at, and what was found.
pub struct AuditReport<'a> {
    pub graph: &'a Graph,
    pub audit: &'a Audit,
    /// What the caller asked for: all, or what is new.
    pub strandings: &'a [Stranding],
    /// None where there is no history.
    pub arrivals: Option<&'a Arrivals>,
}
