//! Towpath's decisions, as pure functions.
//!
//! Every reason an update may not happen now is a [`rules::Rule`]: *question → verdict with
//! reasons*. A policy is a list of rules and is itself a rule. This crate has no IO, no clock, no
//! randomness, no threads and no wire formats. `core/clippy.toml` and `cargo xtask layers` keep it
//! so.

pub mod access;
pub mod agent;
pub mod audit;
pub mod chance;
pub mod change;
pub mod cluster;
pub mod duration;
pub mod feedback;
pub mod finding;
pub mod fleet;
pub mod graph;
pub mod hex;
pub mod intake;
pub mod lint;
pub mod mirror;
pub mod moment;
pub mod nodes;
pub mod path;
pub mod picture;
pub mod rate;
pub mod repeats;
pub mod retry;
pub mod rules;
pub mod signatures;
pub mod simulate;
pub mod table;
pub mod verdict;
pub mod version;
