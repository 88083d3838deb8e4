//! The watch on simulated releases: it keeps its promises, and power cards say beforehand what it will see, and which stages see it sooner.
//!
//! `cargo xtask bench feedback` measures the same with many more releases.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod halts;
mod power;
mod stages;
