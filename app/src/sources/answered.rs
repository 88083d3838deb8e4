//! Reads graphs that a service answered, for commands with `--graph CHANNEL.json`.
//!
//! These files replace graph data. They lack what the service left out for other clusters.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use towpath_core::graph::Graph;
use towpath_core::path::Request;
use towpath_formats::SourceFile;
use towpath_formats::path::read_graphs;

use super::{Needs, Sources};
use crate::cli::failure;
use crate::config::SourceArgs;
use crate::example::Origin;
use crate::input::read_input;

/// The largest file of a channel's graph that we read.
const MAX_GRAPH_BYTES: u64 = 64 << 20;

/// The graph that a command is about: of sources, or graphs that a service answered.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// Read a graph that a service answered, saved as CHANNEL.json. Repeatable.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["graph_data", "releases"])]
    graph: Vec<PathBuf>,
    #[command(flatten)]
    sources: SourceArgs,
}

impl GraphArgs {
    /// The graph, and whose it is.
    pub(crate) fn graph(&self, now: Timestamp) -> anyhow::Result<(Graph, Origin)> {
        if self.graph.is_empty() {
            let settings = self.sources.settings(Needs::GraphDataAndReleases, None)?;
            let sources = Sources::read(settings, now)?;
            return Ok((sources.graph()?, sources.origin()));
        }
        if self.graph.len() > Request::MAX_VIA {
            bail!(
                "--graph was given {} times; the limit is {}",
                self.graph.len(),
                Request::MAX_VIA
            );
        }
        let read = |path: &PathBuf| {
            let bytes = read_input(path, MAX_GRAPH_BYTES)?;
            Ok(SourceFile::new(path.display().to_string(), bytes))
        };
        let files: Vec<SourceFile> = self.graph.iter().map(read).collect::<anyhow::Result<_>>()?;
        let graph = read_graphs(&files).map_err(|findings| failure(&findings))?;
        Ok((graph, Origin::Named))
    }

    /// Whether the graph is of files of channels. Whoever names them means all of them.
    pub(crate) fn is_of_channels(&self) -> bool {
        !self.graph.is_empty()
    }
}
