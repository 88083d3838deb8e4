//! `towpath graph rollouts`: every rollout window that is running or planned.

use std::io::IsTerminal;

use clap::Args;

use towpath_formats::graph::rollouts::{Bars, json, text};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct RolloutsArgs {
    /// The graph data, written as for --graph-data. [default: the built-in example]
    #[arg(value_name = "WHERE")]
    named: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn rollouts(args: RolloutsArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let settings = args
        .sources
        .settings(Needs::GraphDataAndReleases, args.named.as_deref())?;
    let sources = Sources::read(settings, now)?;
    let graph = sources.graph()?;
    let rows = towpath_core::graph::rollouts(&graph, now);
    let bars = match std::io::stdout().is_terminal() {
        true => Bars::Blocks,
        false => Bars::Ascii,
    };
    let text = || text(&rows, now, bars, room());
    args.output
        .print(sources.origin(), text, || json(&rows, now))?;
    Ok(true)
}
