//! `towpath graph diff`: what a change of graph data means for clients.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use towpath_core::change::{Only, diff, touched};
use towpath_core::finding::Place;
use towpath_core::fleet::ClusterState;
use towpath_core::graph::{ChannelName, Graph, GraphData, Releases};
use towpath_core::version::{Arch, ReleaseName, Version};
use towpath_formats::change::{Details, json, text};
use towpath_formats::fleet::cluster_list;
use towpath_formats::room::Tone;

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::example::Origin;
use crate::input::read_input;
use crate::output::OutputArgs;
use crate::sources::address::Role;
use crate::sources::{Needs, Sources};
use crate::terminal::aside;

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The graph data before the change: a directory, an address, or a revision of the repository that --graph-data is in.
    #[arg(value_name = "A")]
    before: String,
    /// The graph data after the change. [default: --graph-data as it is, or the current directory]
    #[arg(value_name = "B")]
    after: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    /// Only this channel. Repeatable.
    #[arg(long, value_name = "NAME")]
    channel: Vec<String>,
    /// Only this architecture.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Count the clusters of this list whose offers change.
    #[arg(long, env = "TOWPATH_CLUSTERS", value_name = "FILE")]
    clusters: Option<PathBuf>,
    /// Show each release and edge, grouped by what happens to them.
    #[arg(long)]
    details: bool,
    /// Exit 1 if there is a difference.
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &DiffArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let mut settings = args.sources.settings(Needs::Releases, None)?;
    if settings.is_example() {
        bail!("graph data has no edges between releases; add --releases WHERE");
    }
    let before = settings.beside(&args.before)?;
    let after = match (&args.after, settings.graph_data()) {
        (Some(after), _) => settings.beside(after)?,
        (None, Some(as_it_is)) => as_it_is.clone(),
        (None, None) => settings.beside(".")?,
    };
    settings.specs.retain(|spec| spec.role != Role::GraphData);
    let mut sources = Sources::read(settings, now)?;
    let releases = sources.releases()?.unwrap_or_default();
    let [before, after] = [
        sources.graph_data_at(&before)?,
        sources.graph_data_at(&after)?,
    ];
    let unknown = newly_unknown([&before, &after], &releases);
    let (before, after) = (sources.graph_of(&before)?, sources.graph_of(&after)?);
    let only = only(args, [&before, &after])?;
    let differences = diff(&before, &after, now, &only);
    let clusters = args
        .clusters
        .as_deref()
        .map(|path| clusters(path, &only, now))
        .transpose()?;
    let touched = clusters.map(|clusters| touched(&before, &after, &clusters, now));
    let details = match args.details {
        true => Details::Shown,
        false => Details::Left,
    };
    args.output.print(
        Origin::Named,
        || text(&differences, touched.as_ref(), &unknown, details),
        || json(&differences, touched.as_ref(), &unknown),
    )?;
    Ok(differences.is_empty() || !args.exit_code)
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
    let bytes = read_input(path, cluster_list::MAX_BYTES as u64)?;
    let (mut list, findings) =
        cluster_list::read(&Place::file(path.display().to_string()), &bytes, now);
    for finding in findings.iter().filter(|finding| finding.is_error()) {
        aside(Some(Tone::Careful), &format!("{finding}; it is left out"));
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
