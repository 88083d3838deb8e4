//! What a change of graph data means, in a small language that knows only the domain.
#![allow(
    clippy::unwrap_used,
    reason = "what a test writes is right, or the test is to fail"
)]

mod diff;
mod dsl;
mod presubmit;
mod properties;
mod rings;
mod rollouts;
mod touched;
