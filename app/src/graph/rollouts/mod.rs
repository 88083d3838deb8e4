//! `towpath graph rollouts`: every window that is running or to come.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;

use towpath_formats::rollouts::{Bars, json, text};

use super::Output;
use super::inputs::{self, Source};
use crate::cli::print;

#[derive(Debug, Args)]
pub(crate) struct RolloutsArgs {
    /// The graph data. [default: the built-in example]
    #[arg(long, env = "TOWPATH_GRAPH_DATA", value_name = "DIR")]
    graph_data: Option<PathBuf>,
    /// The releases and their edges, as a Cincinnati graph. [default: the built-in example's]
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "FILE")]
    releases: Option<PathBuf>,
    /// As of this time. [default: now]
    #[arg(long, env = "TOWPATH_NOW", value_name = "TIME")]
    now: Option<Timestamp>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn rollouts(args: RolloutsArgs) -> anyhow::Result<ExitCode> {
    if args.graph_data.is_some() && args.releases.is_none() {
        bail!(
            "the edges between releases are not in graph data; name the file that has them: --releases FILE"
        );
    }
    let now = args.now.unwrap_or_else(Timestamp::now);
    let source = args.graph_data.map_or(Source::Example, Source::Directory);
    let graph = inputs::graph(&source, inputs::releases(args.releases.as_deref())?, now)?;
    let rows = towpath_core::graph::rollouts(&graph, now);
    match args.output {
        Output::Json => print(&format!("{:#}\n", json(&rows, now)))?,
        Output::Text => {
            let bars = if std::io::stdout().is_terminal() {
                Bars::Blocks
            } else {
                Bars::Ascii
            };
            print(&text(&rows, now, bars))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
