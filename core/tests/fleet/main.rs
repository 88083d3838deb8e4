//! Fleet policy, rule by rule and story by story, in a small language that knows only the domain.
#![allow(
    clippy::unwrap_used,
    reason = "what a test writes is right, or the test is to fail"
)]

mod channels;
mod coverage;
mod dsl;
mod incremental;
mod names;
mod plans;
mod properties;
mod rules;
mod taken_back;
mod timeline;
