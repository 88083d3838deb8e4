//! For tests and benches only: clusters of nodes, pods and budgets, random ones from a seed and small ones in a line of text.
//!
//! The pods of a random cluster are where the simulated scheduler put them one by one, so that it looks like one that has run for
//! a while. Nothing here decides.

// Nothing of this ships: what goes wrong here is a test that fails, with the reason.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod overdrawn;
mod random;
mod written;

pub use overdrawn::overdrawn;
pub use random::RandomCluster;
pub use written::cluster;
