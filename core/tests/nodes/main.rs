//! Nodes: what replaces things on them, a few at a time.

mod blockers;
mod cluster;
mod daemons;
mod plan;
mod pool;
mod reboots;
mod simulator;
