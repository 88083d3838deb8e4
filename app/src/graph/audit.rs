//! `towpath graph audit`: can every release get on, and if not, which blocks strand it?

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;
use towpath_core::audit::{Arrivals, Audit, Baseline, Scope, audit, strandings};
use towpath_core::domain::{Arch, ChannelName, Graph, Version};
use towpath_formats::graph_json;
use towpath_sources::Git;

use super::Output;
use super::inputs::{self, Source};
use crate::cli::print;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The graph data. [default: the built-in example]
    directory: Option<PathBuf>,
    /// The releases and their edges. [default: the built-in example's]
    #[arg(long, value_name = "FILE")]
    releases: Option<PathBuf>,
    /// Tell only what is stranded and was not there: in a revision of the repository, or in a directory.
    #[arg(long, value_name = "REV|DIR")]
    base: Option<String>,
    /// Look at this channel; can be given several times. [default: all]
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Look at this architecture. [default: all]
    #[arg(long)]
    arch: Option<String>,
    /// Show the ways of this release.
    #[arg(long, value_name = "VERSION")]
    release: Option<Version>,
    /// Exit with 1 if anything is stranded. With --base that is always so.
    #[arg(long)]
    exit_code: bool,
    /// Look at the releases that have entered by then. [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn run(args: AuditArgs) -> anyhow::Result<ExitCode> {
    let now = args.now.unwrap_or_else(Timestamp::now);
    let source = args.directory.clone().map_or(Source::Example, Source::Directory);
    let releases = inputs::releases(args.releases.as_deref())?;
    let graph = inputs::graph(&source, releases, now)?;
    let scope = Scope::default();
    let audit = audit(&graph, &scope, now);
    let strandings = strandings(&graph, &audit, None);
    print(&format!("{:#}\n", graph_json::audit::audit(&graph, &audit, &strandings, &Arrivals::new())))?;
    Ok(ExitCode::SUCCESS)
}
