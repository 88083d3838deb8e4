//! `towpath releases show`: one release, as its source declares it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use towpath_core::graph::{Graph, Releases};
use towpath_core::version::Version;
use towpath_formats::release::{ReleaseQuestion, json};

use crate::cli::print;
use crate::graph::Output;
use crate::graph::inputs::{self, Source};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The release.
    #[arg(value_name = "VERSION")]
    release: Version,
    /// Only that of this architecture. [default: all]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// The releases that there are. [default: the built-in example's]
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "FILE")]
    releases: Option<PathBuf>,
    /// Graph data, to say which channels hold it. [default: with the example's releases, the example's]
    #[arg(
        long,
        env = "TOWPATH_GRAPH_DATA",
        value_name = "DIR",
        requires = "releases"
    )]
    graph_data: Option<PathBuf>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn show(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let releases = inputs::releases(args.releases.as_deref())?;
    let graph = args.graph(&releases)?;
    let question = ReleaseQuestion {
        version: &args.release,
        arch: args.arch.as_deref(),
        releases: &releases,
        graph: graph.as_ref(),
    };
    let shown = question.answer();
    print(&match args.output {
        Output::Text => question.text(&shown),
        Output::Json => format!("{:#}\n", json(&shown)),
    })?;
    Ok(if shown.is_empty() {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

impl ShowArgs {
    fn graph(&self, releases: &Releases) -> anyhow::Result<Option<Graph>> {
        let source = match (&self.graph_data, &self.releases) {
            (Some(directory), _) => Source::Directory(directory.clone()),
            (None, None) => Source::Example,
            (None, Some(_)) => return Ok(None),
        };
        inputs::graph(&source, releases.clone(), Timestamp::now()).map(Some)
    }
}
