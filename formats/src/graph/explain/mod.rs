//! Explanations: the HTTP query, and the answer as text and as JSON.
//!
//! The command line and the service answer with the same functions.

pub(crate) mod json;
pub(crate) mod request;
pub(crate) mod text;

pub use json::json;
pub use request::{ExplainRequest, Form, read};
pub use text::text;

use towpath_core::graph::{Explanation, Situation};
use towpath_core::version::Version;

/// What was asked, and what there is to say.
pub struct ExplainReport<'a> {
    pub at: &'a Situation<'a>,
    /// The release that the cluster runs.
    pub from: &'a Version,
    /// What there is to say.
    pub explanation: &'a Explanation,
}
