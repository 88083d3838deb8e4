//! Nodes: what replaces things on them, a few at a time.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

mod advice;
mod blockers;
mod cluster;
mod daemons;
mod plan;
mod pool;
mod reboots;
mod simulator;
