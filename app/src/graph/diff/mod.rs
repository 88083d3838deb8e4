//! `towpath graph diff`: what a change of graph data means for clients.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use towpath_core::change::{Only, diff, touched};
use towpath_core::finding::Place;
use towpath_core::fleet::ClusterState;
use towpath_core::graph::{ChannelName, Graph, GraphData, Releases};
use towpath_core::version::{Arch, ReleaseName, Version};
use towpath_formats::cluster_list;
use towpath_formats::diff::{Details, json, text};
use towpath_sources::read_file;

use super::Output;
use super::inputs::{self, Source};
use crate::cli::print;

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The graph data before the change: a directory, or a revision of the repository that --graph-data is in.
    #[arg(value_name = "A")]
    before: String,
    /// The graph data after it. [default: the directory of --graph-data as it is]
    #[arg(value_name = "B")]
    after: Option<String>,
    /// Where the graph data is, in the repository whose revisions are compared.
    #[arg(
        long,
        env = "TOWPATH_GRAPH_DATA",
        value_name = "DIR",
        default_value = "."
    )]
    graph_data: PathBuf,
    /// The releases and their edges, as a Cincinnati graph.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "FILE")]
    releases: PathBuf,
    /// Look at this channel only; can be given several times.
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Look at this architecture only.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Count the clusters of this list to which something else is offered.
    #[arg(long, env = "TOWPATH_CLUSTERS", value_name = "FILE")]
    clusters: Option<PathBuf>,
    /// Show each release and edge, those alike together.
    #[arg(long)]
    details: bool,
    /// Exit with 1 if there is a difference.
    #[arg(long)]
    exit_code: bool,
    /// As of this time. [default: now]
    #[arg(long, env = "TOWPATH_NOW", value_name = "TIME")]
    now: Option<Timestamp>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn run(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let now = args.now.unwrap_or_else(Timestamp::now);
    let releases = inputs::releases(Some(&args.releases))?;
    let before = Source::named(&args.before, &args.graph_data);
    let after = args.after.as_ref().map_or_else(
        || Source::Directory(args.graph_data.clone()),
        |after| Source::named(after, &args.graph_data),
    );
    let [before, after] = [
        inputs::graph_data(&before, now)?,
        inputs::graph_data(&after, now)?,
    ];
    let unknown = newly_unknown([&before, &after], &releases);
    let before = Graph::build(before, releases.clone()).0;
    let after = Graph::build(after, releases).0;
    let only = only(args, [&before, &after])?;
    let differences = diff(&before, &after, now, &only);
    let clusters = args
        .clusters
        .as_deref()
        .map(|path| clusters(path, &only, now))
        .transpose()?;
    let touched = clusters.map(|clusters| touched(&before, &after, &clusters, now));
    match args.output {
        Output::Json => print(&format!(
            "{:#}\n",
            json(&differences, touched.as_ref(), &unknown)
        ))?,
        Output::Text => {
            let details = if args.details {
                Details::Shown
            } else {
                Details::Left
            };
            print(&text(&differences, touched.as_ref(), &unknown, details))?;
        }
    }
    Ok(if args.exit_code && !differences.is_empty() {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// Releases that the change lists and nobody knows: what it does to clients with them cannot be told.
fn newly_unknown([before, after]: [&GraphData; 2], releases: &Releases) -> BTreeSet<ReleaseName> {
    let known: BTreeSet<&Version> = releases
        .releases
        .iter()
        .map(|release| &release.version)
        .collect();
    let listed = |data: &GraphData| -> BTreeSet<ReleaseName> {
        let members = data.channels.iter().flat_map(|channel| &channel.members);
        members
            .map(|member| member.name.clone())
            .filter(|name| !known.contains(&name.version))
            .collect()
    };
    listed(after).difference(&listed(before)).cloned().collect()
}

/// The channels and the architecture that were asked for. What is in neither graph is a mistake.
fn only(args: &DiffArgs, graphs: [&Graph; 2]) -> anyhow::Result<Only> {
    let mut channels = BTreeSet::new();
    for name in &args.channel {
        match ChannelName::new(name).filter(|name| {
            graphs
                .iter()
                .any(|graph| graph.channel(name.as_str()).is_some())
        }) {
            Some(known) => channels.insert(known),
            None => bail!(
                "there is no channel {name:?} before the change or after it; correct its name"
            ),
        };
    }
    let arch = args.arch.as_deref().map(Arch::new);
    if let Some(arch) = &arch
        && !graphs
            .iter()
            .any(|graph| graph.arches().any(|known| known == arch))
    {
        let known: BTreeSet<&str> = graphs
            .iter()
            .flat_map(|graph| graph.arches())
            .map(Arch::as_str)
            .collect();
        let known: Vec<&str> = known.into_iter().collect();
        bail!(
            "there are no releases for architecture {arch}; there are some for {}",
            known.join(", ")
        );
    }
    Ok(Only { channels, arch })
}

/// The clusters of a list, in so far as they are asked about. What cannot be read of it is said, and left out.
fn clusters(path: &Path, only: &Only, now: Timestamp) -> anyhow::Result<Vec<ClusterState>> {
    let bytes =
        read_file(path, cluster_list::MAX_BYTES as u64).map_err(|finding| anyhow!("{finding}"))?;
    let (mut list, findings) =
        cluster_list::read(&Place::file(path.display().to_string()), &bytes, now);
    for finding in findings.iter().filter(|finding| finding.is_error()) {
        writeln!(std::io::stderr(), "towpath: {finding}; it is left out")?;
    }
    let meant = |cluster: &ClusterState| {
        let channel = only.channels.is_empty()
            || cluster
                .channel
                .as_ref()
                .is_some_and(|c| only.channels.contains(c));
        channel && only.arch.as_ref().is_none_or(|arch| *arch == cluster.arch)
    };
    list.clusters.retain(meant);
    Ok(list.clusters)
}
