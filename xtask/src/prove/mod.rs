//! `cargo xtask prove`: what takes longer than three minutes, so no test does it.
//!
//! Each compares what we claim with something real, prints a table for the docs, and holds the figures to their bars.

mod callers;
mod failover;
mod fleet_of_clusters;
mod ground;
mod haproxy;
mod nodes;
mod openapi;
mod patroni;
mod previous;
mod rolling;

use clap::Subcommand;

use crate::{Outcome, release};

/// What can be proved.
#[derive(Debug, Subcommand)]
pub(crate) enum Prove {
    /// How many pods a rolling reboot moves, on the real scheduler and in our simulator. Exit 1 if a bar is missed.
    Nodes(nodes::NodesOptions),
    /// Whether the service answers as its description says: 20,000 requests made from it, also with the store away. Exit 1 with any finding.
    Openapi(openapi::OpenapiOptions),
    /// What a failover of PostgreSQL costs: leaders are killed under load, and nothing that was acknowledged may be lost. Exit 1 if a bar is missed.
    Failover(failover::FailoverOptions),
    /// Replace three replicas behind HAProxy one after the other, under load. Exit 1 if a request fails.
    RollingUpdate(rolling::RollingOptions),
    /// The program before this one: its agent with this service, this agent with its service, and its program on this one's store.
    Previous(previous::PreviousOptions),
    #[command(flatten)]
    Shipped(release::Proof),
}

pub(crate) fn run(prove: &Prove) -> anyhow::Result<Outcome> {
    match prove {
        Prove::Nodes(options) => nodes::run(options),
        Prove::Openapi(options) => openapi::run(options),
        Prove::Failover(options) => failover::run(options),
        Prove::RollingUpdate(options) => rolling::run(options),
        Prove::Previous(options) => previous::run(options),
        Prove::Shipped(proof) => release::prove(proof),
    }
}
