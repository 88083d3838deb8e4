//! Nodes: what replaces things on them, a few at a time.

mod cluster;
mod daemons;
mod pool;
mod reboots;
mod simulator;
