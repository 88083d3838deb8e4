//! Ways from one release to another, told in small graphs, and checked against brute force on random ones.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

#[path = "../../../formats/tests/support/graphs.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod graphs;
mod random;
