//! Feedback: what became of the updates to a release, and whether it is bad enough to stop.
//!
//! An attempt is one cluster's update to one release. Attempts of a class are compared with history and with what other
//! clusters do at the same time. Nothing here reads a clock or a store: attempts come in, an assessment comes out.

mod attempt;

pub use attempt::{Attempt, Class, Ending, Outcome, Scope};
