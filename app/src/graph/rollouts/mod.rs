//! `towpath graph rollouts`: every rollout window that is running or planned.

use std::io::IsTerminal;

use clap::Args;

use towpath_formats::graph::rollouts::{
    Bars, OutcomeDetail, halts_text, json, outcomes_text, text, with_halts,
};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::fleet::OutcomeArgs;
use crate::output::OutputArgs;
use crate::server::{Question, ServerArgs};
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
    outcomes: OutcomeArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn rollouts(args: RolloutsArgs) -> anyhow::Result<bool> {
    if let Some(server) = args.server.given() {
        let now = args.now.given().map(|now| now.to_string());
        let question = Question::new("/api/v1/rollouts", [("now", now)]);
        return server.show(args.output, &question);
    }
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
    let outcomes = args.outcomes.read(&graph, now)?;
    let text = || {
        let of_all = OutcomeDetail::Releases;
        let more = || outcomes_text(&rows, outcomes.as_ref(), of_all, room());
        let windows = text(&rows, now, bars, room()) + &halts_text(&graph);
        windows + &outcomes.is_some().then(more).unwrap_or_default()
    };
    args.output.print(sources.origin(), text, || {
        with_halts(json(&rows, outcomes.as_ref(), now), &graph)
    })?;
    Ok(true)
}
