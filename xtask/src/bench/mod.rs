//! `cargo xtask bench`: figures from one run on one machine.
//!
//! The binary that ships is started and asked over HTTP, as its users do. Ratios count, not absolute figures, and no
//! test depends on either.

mod blocks;
mod clients;
mod convert;
mod events;
mod feedback;
mod fleet;
mod fleet_files;
mod fleet_load;
mod fleet_passes;
mod fleet_reports;
pub(crate) mod fleet_service;
mod fleet_views;
mod growth;
mod halt;
pub(crate) mod http;
mod lines;
mod memory;
mod nginx;
mod nodes;
mod page;
mod page_browser;
mod path;
mod real_data;
mod reloads;
mod rotations;
pub(crate) mod running;
mod serve;
mod speed;
mod synthetic;
pub(crate) mod tools;
mod towpath;
mod wrk;

use clap::{Args, Subcommand};

use crate::{Outcome, bars, scratch, table};

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The graph service against nginx with static files; reloads; memory. Exit 1 if a bar is missed.
    Serve(Options),
    /// The cost of a request from 1,000 to 100,000 releases.
    Growth(Options),
    /// Passes over fleets of up to a million clusters; reports into PostgreSQL. Exit 1 if a bar is missed.
    Fleet(FleetOptions),
    /// Ways between random releases of all the real data. Exit 1 if a bar is missed.
    Path(Options),
    /// Pictures of channels, as the page asks for them, and the page in a browser. Exit 1 if a bar is missed.
    Page(Options),
    /// Graphs per second with ten clients of the event stream, in turns with none. Exit 1 if a bar is missed.
    Events(Options),
    /// From a block that is committed to the first answer with it, by webhook and by interval. Exit 1 if a bar is missed.
    Reload(Options),
    /// Requests through 20 rotations of certificates, keys and keyrings. Exit 1 if one is lost.
    Rotations(rotations::RotationOptions),
    /// The watch over simulated releases: false halts, and clusters exposed. Exit 1 if a bar is missed.
    Feedback(feedback::FeedbackOptions),
    /// Planned reboots of random clusters, and a plan of 1,000 nodes. Exit 1 if a bar is missed.
    Nodes,
    /// From the report that decides to the first answer without the edge, in two replicas. Exit 1 if a bar is missed.
    Halt(halt::HaltOptions),
}

/// How to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Build towpath with this profile.
    #[arg(long, default_value = "dist")]
    profile: String,
    /// Measure each case for so long.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Measure each case this many times, and take the median.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=99))]
    rounds: u64,
}

/// How to measure, and what of it.
#[derive(Debug, Args)]
pub(crate) struct FleetOptions {
    #[command(flatten)]
    options: Options,
    /// Only this part; may be given more than once. [default: all]
    #[arg(long, value_enum)]
    part: Vec<fleet::Part>,
}

/// Measures.
pub(crate) fn run(bench: &Bench) -> anyhow::Result<Outcome> {
    match bench {
        Bench::Serve(options) => serve::run(options),
        Bench::Growth(options) => growth::run(options),
        Bench::Fleet(options) => fleet::run(options),
        Bench::Path(options) => path::run(options),
        Bench::Page(options) => page::run(options),
        Bench::Events(options) => events::run(options),
        Bench::Reload(options) => blocks::run(options),
        Bench::Rotations(options) => rotations::run(options),
        Bench::Feedback(options) => feedback::run(options),
        Bench::Nodes => nodes::run(),
        Bench::Halt(options) => halt::run(options),
    }
}

/// The middle of some figures.
fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    assert!(!figures.is_empty(), "a median needs a figure");
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() % 2 {
        0 => f64::midpoint(figures[middle - 1], figures[middle]),
        _ => figures[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([7.0]), 7.0);
    }
}
