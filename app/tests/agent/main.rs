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
mod process;
mod quiet;
mod reports;
mod site;
mod updates;

#[allow(dead_code, reason = "the service's tests use all of it")]
#[path = "../serve/harness.rs"]
mod harness;
#[path = "../serve/signer.rs"]
mod signer;
#[path = "../../../adapters/sources/tests/support/mod.rs"]
mod support;
