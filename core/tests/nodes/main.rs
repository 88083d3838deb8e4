//! Nodes: what replaces things on them, a few at a time.

mod cluster;
mod daemons;
mod blockers;
mod plan;
mod simulator;
