//! `cargo xtask prove`: what takes longer than three minutes, so no test does it.
//!
//! Each compares what we claim with something real, prints a table for the docs, and holds the figures to their bars.

mod nodes;
mod previous;

use clap::Subcommand;

use crate::{Outcome, release};

/// What can be proved.
#[derive(Debug, Subcommand)]
pub(crate) enum Prove {
    /// How many pods a rolling reboot moves, on the real scheduler and in our simulator. Exit 1 if a bar is missed.
    Nodes(nodes::NodesOptions),
    /// The program before this one: its agent with this service, this agent with its service, and its program on this one's store.
    Previous(previous::PreviousOptions),
    #[command(flatten)]
    Shipped(release::Proof),
}

pub(crate) fn run(prove: &Prove) -> anyhow::Result<Outcome> {
    match prove {
        Prove::Nodes(options) => nodes::run(options),
        Prove::Previous(options) => previous::run(options),
        Prove::Shipped(proof) => release::prove(proof),
    }
}
