//! `towpath nodes run` on a real API server with its own scheduler and controllers. The kubelets are ours, and the machine-config operator
//! is played by the tests: it takes nodes of a pool that is not paused, cordons them, and brings them back with the pool's configuration.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

mod agent;
mod deaths;
mod drains;
mod role;
mod runs;
mod stage;
