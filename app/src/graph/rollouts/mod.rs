//! `towpath graph rollouts`: every rollout window that is running or planned.

use std::io::IsTerminal;

use clap::Args;

use towpath_formats::graph::rollouts::{Bars, json, text};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::server::{Question, ServerArgs};
use crate::sources::{Needs, Sources};

#[derive(Debug, Args)]
pub(crate) struct RolloutsArgs {
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn rollouts(args: RolloutsArgs) -> anyhow::Result<bool> {
    if let Some(server) = args.server.given() {
        let now = args.now.given().map(|now| now.to_string());
        let question = Question::new("/api/v1/rollouts", [("now", now)]);
        return server.show(args.output, &question);
    }
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
