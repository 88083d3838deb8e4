//! `towpath graph audit`: does every release have an update path to the newest, and if not, which blocks strand it?

mod arrivals;

use anyhow::{anyhow, bail};
use clap::Args;
use towpath_core::audit::{Audit, Baseline, Scope, audit, strandings};
use towpath_core::graph::{ChannelName, Graph};
use towpath_core::version::{Arch, Version};
use towpath_formats::audit::{self as shown, AuditReport};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::example::Origin;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// The graph data, written as for --graph-data. [default: the built-in example]
    #[arg(value_name = "WHERE")]
    named: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    /// Show only releases that are stranded now and were not in this revision or directory. Exit 1 if there are any.
    #[arg(long, value_name = "REV|DIR")]
    base: Option<String>,
    /// Only this channel. Repeatable.
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Only this architecture.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Show the update paths of this release instead.
    #[arg(long, value_name = "VERSION", conflicts_with_all = ["base", "exit_code"])]
    release: Option<Version>,
    /// Exit 1 if a release is stranded.
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &AuditArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let settings = args
        .sources
        .settings(Needs::GraphDataAndReleases, args.named.as_deref())?;
    let mut sources = Sources::read(settings, now)?;
    let graph = sources.graph()?;
    let scope = scope(args, &graph)?;
    let audited = audit(&graph, &scope, now);
    if let Some(version) = &args.release {
        check_presence(&graph, &audited, version)?;
    }
    let base = args.base.as_ref().map(|base| {
        let base = sources.settings().beside(base)?;
        let data = sources.graph_data_at(&base)?;
        let graph = sources.graph_of(&data)?;
        anyhow::Ok(Baseline::of(&graph, &audit(&graph, &scope, now)))
    });
    let strandings = strandings(&graph, &audited, base.transpose()?.as_ref());
    let arrivals = sources
        .directory()
        .map(arrivals::read)
        .transpose()?
        .flatten();
    let report = AuditReport {
        graph: &graph,
        audit: &audited,
        strandings: &strandings,
        arrivals: arrivals.as_ref(),
    };
    tell(args, &report, sources.origin())?;
    let counts = args.exit_code || args.base.is_some();
    Ok(strandings.is_empty() || !counts)
}

fn tell(args: &AuditArgs, report: &AuditReport<'_>, origin: Origin) -> anyhow::Result<()> {
    let text = match (&args.release, &args.base) {
        (Some(release), _) => shown::ways(report, release),
        (None, Some(base)) => shown::change(report, base),
        (None, None) => shown::whole(report, &args.channel, room()),
    };
    let json = || shown::json(report, args.release.as_ref());
    args.output.print(origin, || text, json)
}

/// A release that is nowhere is a mistake, not an empty answer.
fn check_presence(graph: &Graph, audit: &Audit, version: &Version) -> anyhow::Result<()> {
    let mut releases = audit.sections.iter().flat_map(|part| &part.releases);
    match releases.any(|standing| graph.release(standing.release).version == *version) {
        true => Ok(()),
        false => {
            bail!(
                "{version} is in none of these channels at this time; give another version, or a later --now"
            )
        }
    }
}

/// What is looked at. A name that does not exist is a mistake, too.
fn scope(args: &AuditArgs, graph: &Graph) -> anyhow::Result<Scope> {
    let channel = |name: &String| -> anyhow::Result<ChannelName> {
        let known = graph.channel(name).map(|channel| channel.name.clone());
        known.ok_or_else(|| anyhow!("there is no channel {name:?}; look for its name in channels/"))
    };
    let arch = args.arch.as_ref().map(|name| Arch::new(name.as_str()));
    if let Some(unknown) = arch
        .as_ref()
        .filter(|arch| !graph.arches().any(|known| known == *arch))
    {
        let known: Vec<&str> = graph.arches().map(Arch::as_str).collect();
        bail!(
            "there are no releases for {unknown}; there are for {}",
            known.join(", ")
        );
    }
    Ok(Scope {
        channels: args
            .channel
            .iter()
            .map(channel)
            .collect::<anyhow::Result<_>>()?,
        arch,
    })
}
