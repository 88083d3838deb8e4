//! `towpath agent` on a real Kubernetes API, with a real registry and real signatures: the binary, as it runs in a cluster.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "in tests, what fails must be seen"
)]

mod alerts;
mod asking;
mod attacks;
mod deaths;
mod gates;
mod outages;
mod preflights;
mod previous;
mod process;
mod quiet;
mod ready;
mod reports;
mod risks;
mod site;
mod story;
mod updates;
