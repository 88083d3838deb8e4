//! `cargo xtask bench rotations`: requests while certificates, keys and keyrings change.
//!
//! It is the test of that name with more requests, with the profile of tests: what is counted is what gets lost, and not
//! how fast it is.

use anyhow::Context;
use clap::Args;

use crate::Outcome;
use crate::say::say;
use crate::workspace;

const TEST: &str = "tls::no_request_is_lost_while_certificates_keys_and_keyrings_change";

#[derive(Debug, Args)]
pub(crate) struct RotationOptions {
    /// Send so many requests.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(20..=10_000_000))]
    requests: u64,
}

pub(super) fn run(options: &RotationOptions) -> anyhow::Result<Outcome> {
    say(format!(
        "{} requests through 20 rotations",
        options.requests
    ))?;
    let test = ["test", "--package", "towpath", "--test", "serve", "--"];
    let status = workspace::cargo(&[&test[..], &[TEST, "--exact", "--nocapture"]].concat())
        .env("ROTATION_REQUESTS", options.requests.to_string())
        .status()
        .context("cargo cannot be run")?;
    Ok(match status.success() {
        true => Outcome::Good,
        false => Outcome::Bad,
    })
}
