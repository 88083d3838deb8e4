//! Towpath's chores: `cargo xtask <chore>`.
//!
//! Commands for developing the project: the README's test command, the check of the layers, the benches. Nothing here
//! ships, and nothing here depends on the crates that do.
//!
//! Exit 0: good. 1: something was found, or a bar was missed. 2: could not run.

mod bars;
mod bench;
mod kube_api;
mod layers;
mod packages;
mod page;
mod prove;
mod release;
mod say;
mod scratch;
mod supply_chain;
mod table;
mod test;
mod workspace;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Towpath's chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Check everything: format, lints, layers, tests. Stops at the first that fails.
    Test,
    /// Check what every commit must keep: format, layers, lints and tests of core and formats. No root, no network, no service.
    Quick,
    /// Check that dependencies point one way: app to adapters to formats to core.
    Layers,
    /// Check licences, sources and duplicates of all crates, and known vulnerabilities where their database can be reached.
    SupplyChain(supply_chain::SupplyChain),
    /// See to it that there are a Kubernetes API server, scheduler and controller manager for tests: found in the cache, or built from Debian's source.
    KubeApiserver,
    /// Check the page: its types, that ui/dist is what ui/src builds, and its size.
    Page {
        #[command(subcommand)]
        page: Option<page::Page>,
    },
    /// Make a release: the program, completions, manual pages, a list of what is in it, checksums, a signature.
    Dist(release::DistOptions),
    /// Tag this commit as the release of the workspace's version: signed, with its part of CHANGELOG.md as notes.
    Tag(release::TagOptions),
    /// Write the OCI images: one without git, one with it.
    Image(release::ReleaseOptions),
    /// Write the Debian package.
    Package(release::ReleaseOptions),
    /// Measure, on this machine, in one run.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Compare what we claim with something real. It takes longer than a test may.
    #[command(subcommand)]
    Prove(prove::Prove),
}

/// How a chore ended that could be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Nothing to complain about.
    Good,
    /// What is wrong has been printed.
    Bad,
}

fn main() -> ExitCode {
    let outcome = run(Cli::parse());
    match outcome {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::from(1),
        Err(error) => {
            // Nothing is left to be done if even that cannot be said.
            let _ = writeln!(io::stderr(), "xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    match cli.chore {
        Chore::Test => test::run(),
        Chore::Quick => test::quick(),
        Chore::Layers => layers::run(),
        Chore::SupplyChain(options) => supply_chain::run(&options),
        Chore::KubeApiserver => kube_api::run(),
        Chore::Page { page } => page::run(page),
        Chore::Dist(options) => release::dist(&options),
        Chore::Tag(options) => release::tag(&options),
        Chore::Image(options) => release::image(&options),
        Chore::Package(options) => release::package(&options),
        Chore::Prove(prove) => prove::run(&prove),
        Chore::Bench(bench) => bench::run(&bench),
    }
}

/// The same, from words.
#[cfg(test)]
fn run_words<'a>(words: impl Iterator<Item = &'a str>) -> anyhow::Result<Outcome> {
    run(Cli::try_parse_from(words)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_bench_has_flags_for_a_quick_look() {
        let quick = "xtask bench serve --profile release --seconds 4 --rounds 1";
        Cli::try_parse_from(quick.split(' ')).unwrap();
        assert!(Cli::try_parse_from(["xtask", "bench", "serve", "--rounds", "0"]).is_err());
    }
}
