//! For tests only: a small language for graphs, random graphs, and a checker of audits.
//!
//! [`read`] turns a text into a graph's data: one line is one fact (see [`language`]). [`random`] has graphs, clusters and
//! instants for property tests. [`Checker`] proves an audit's certificates without searching as the audit does.
//!
//! It is a crate because the tests of core, formats and the app need it. It depends only on core.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod certificates;
pub mod language;
pub mod minors;
pub mod oc_mirror;
pub mod pieces;
pub mod random;

pub use certificates::Checker;
pub use language::{day, graph, groups, read, read_with};
pub use minors::{confirmed_minors, minors};
