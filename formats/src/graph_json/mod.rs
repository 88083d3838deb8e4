//! Answers about graph data as JSON. Field names are stable.

pub mod audit;
pub mod diff;
pub mod rollouts;
