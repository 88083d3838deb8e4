//! `towpath releases show`: one release, as its source declares it.

use clap::Args;
use towpath_core::version::Version;
use towpath_formats::graph::release::{ReleaseQuestion, json};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The release.
    #[arg(value_name = "VERSION")]
    release: Version,
    /// Only this architecture. [default: all]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn show(args: &ShowArgs) -> anyhow::Result<bool> {
    let settings = args.sources.settings(Needs::Releases, None)?;
    let knows_channels = settings.graph_data().is_some() || settings.has_upstream();
    let sources = Sources::read(settings, args.now.at())?;
    let releases = sources.releases()?.unwrap_or_default();
    let graph = knows_channels.then(|| sources.graph()).transpose()?;
    let question = ReleaseQuestion {
        version: &args.release,
        arch: args.arch.as_deref(),
        releases: &releases,
        graph: graph.as_ref(),
    };
    let shown = question.answer();
    let text = || question.text(&shown);
    args.output.print(sources.origin(), text, || json(&shown))?;
    Ok(!shown.is_empty())
}
