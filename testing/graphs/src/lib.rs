//! For tests alone: graphs in a few words, random graphs, and a checker of what an audit says.
//!
//! [`read`] turns a text into a graph's data: one line is one fact (see [`language`]). [`random`] has graphs, clusters and
//! instants for property tests. [`Checker`] proves an audit's certificates without searching as the audit does.
//!
//! This is a crate because the tests of core, formats and the app need it. It knows core alone.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod certificates;
pub mod language;
pub mod pieces;
pub mod random;

pub use certificates::Checker;
pub use language::{day, graph, read, read_with};
