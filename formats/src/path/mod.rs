//! Paths: the question as it is asked over HTTP, the answer for machines, and the answer for people.
//!
//! The command line and the service answer with the same functions.

mod graph_files;
mod json;
mod request;
mod text;

pub use graph_files::read_graphs;
pub use json::json;
pub use request::{PathRequest, read, via};
pub use text::text;

use towpath_core::domain::Graph;
use towpath_core::plan::{Found, Lasts, NoPath, Request};

/// What was asked, and what there is to say.
pub struct Told<'a> {
    /// What was looked at.
    pub graph: &'a Graph,
    /// What was asked.
    pub request: &'a Request,
    /// The ways, or why there is none.
    pub answer: &'a Result<Found, NoPath>,
    /// How long a hop takes.
    pub lasts: &'a Lasts<'a>,
}
