//! `towpath graph rollouts`: every rollout window that is running or planned.

use std::io::IsTerminal;

use clap::Args;

use towpath_formats::graph::rollouts::{Bars, json, text};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};

#[derive(Debug, Args)]
pub(crate) struct RolloutsArgs {
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn rollouts(args: RolloutsArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let settings = args.sources.settings(Needs::GraphDataAndReleases, None)?;
    let sources = Sources::read(settings, now)?;
    let graph = sources.graph()?;
    let rows = towpath_core::graph::rollouts(&graph, now);
    let bars = match std::io::stdout().is_terminal() {
        true => Bars::Blocks,
        false => Bars::Ascii,
    };
    let text = || text(&rows, now, bars);
    args.output
        .print(sources.origin(), text, || json(&rows, now))?;
    Ok(true)
}
