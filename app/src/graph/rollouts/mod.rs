//! `towpath graph rollouts`: every window that is running or to come.

mod text;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Args;

use towpath_formats::graph_json;

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
        Output::Json => {
            let answer = graph_json::rollouts::rollouts(&rows, now);
            print(&sources.origin().mark(answer))?;
        }
        Output::Text => {
            let bars = if std::io::stdout().is_terminal() {
                text::Bars::Blocks
            } else {
                text::Bars::Ascii
            };
            print(&text::rollouts(&rows, now, bars))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
