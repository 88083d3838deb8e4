//! `towpath graph rollouts`: every rollout window that is running or planned.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Args;

use towpath_formats::graph::rollouts::{Bars, json, text};

use crate::cli::print;
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::{Output, OutputArgs};
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

pub(super) fn rollouts(args: RolloutsArgs) -> anyhow::Result<ExitCode> {
    let now = args.now.at();
    let settings = args.sources.settings(Needs::GraphDataAndReleases, None)?;
    let sources = Sources::read(settings, now)?;
    let graph = sources.graph()?;
    let rows = towpath_core::graph::rollouts(&graph, now);
    match args.output.form {
        Output::Json => print(&sources.origin().mark(json(&rows, now)))?,
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
