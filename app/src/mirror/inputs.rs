//! Reads the flags and files of `towpath mirror`: which clusters, which goal, which channels. Unreadable input is an error, never a shorter list.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{ChannelName, ChannelView, Graph};
use towpath_core::mirror::{Have, Traveller};
use towpath_core::path::Goal;
use towpath_core::version::{Arch, Version};
use towpath_formats::fleet::cluster_list;
use towpath_formats::words::platform_warning;
use towpath_formats::{SourceFile, mirror};

use crate::cli::failure;
use crate::example;
use crate::input::read_input;

/// The largest list of what is there that we read.
const MAX_HAVE_BYTES: u64 = 256 << 20;
/// The stream where nobody names one.
const USUAL_STREAM: &str = "stable";

/// MirrorClients has to get there, and the streams that they follow.
pub(super) struct MirrorClients {
    pub(super) travellers: Vec<Traveller>,
    streams: BTreeSet<String>,
}

impl MirrorClients {
    /// One cluster.
    pub(super) fn one(version: Version, arch: Arch) -> Self {
        let travellers = vec![Traveller {
            arch,
            version,
            name: String::new(),
        }];
        Self {
            travellers,
            streams: [USUAL_STREAM.to_owned()].into(),
        }
    }

    /// All clusters of a list, or of the example's; only those of an architecture if one is named.
    pub(super) fn listed(
        file: Option<&Path>,
        arch: Option<&Arch>,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let file = match file {
            None => example::clusters(),
            Some(path) => {
                let bytes = read_input(path, cluster_list::MAX_BYTES as u64)?;
                SourceFile::new(path.display().to_string(), bytes)
            }
        };
        let (list, findings) =
            cluster_list::read(&Place::file(file.path.as_str()), &file.bytes, now);
        wrong(&findings)?;
        let clusters = list
            .clusters
            .into_iter()
            .filter(|cluster| arch.is_none_or(|arch| cluster.arch == *arch));
        let (mut travellers, mut streams) = (Vec::new(), BTreeSet::new());
        for cluster in clusters {
            streams.insert(
                cluster
                    .channel
                    .as_ref()
                    .map_or(USUAL_STREAM, |channel| stream(channel))
                    .to_owned(),
            );
            travellers.push(Traveller {
                arch: cluster.arch,
                version: cluster.version,
                name: cluster.name.to_string(),
            });
        }
        if travellers.is_empty() {
            bail!(
                "{}: there are no clusters to get anywhere; list some, or name another --arch",
                file.path
            );
        }
        travellers.sort();
        Ok(Self {
            travellers,
            streams,
        })
    }
}

/// The `eus` of `eus-4.14`.
fn stream(channel: &ChannelName) -> &str {
    let name = channel.as_str();
    name.rsplit_once('-').map_or(name, |(stream, _)| stream)
}

/// The channels that are meant. They are looked at together; their order says nothing.
pub(super) fn channels(
    graph: &Graph,
    via: &[ChannelName],
    who: &MirrorClients,
) -> anyhow::Result<Vec<ChannelName>> {
    let followed: Vec<ChannelName> = who
        .streams
        .iter()
        .filter_map(|name| ChannelName::new(name))
        .collect();
    let wanted = if via.is_empty() { &followed } else { via };
    let meant = towpath_core::path::channels(graph, wanted).map_err(|name| {
        let streams: BTreeSet<&str> = graph.channels().keys().map(stream).collect();
        let streams: Vec<&str> = streams.into_iter().collect();
        anyhow!(
            "there is no channel or stream {name}; there are the streams {}; name some with --via",
            streams.join(", ")
        )
    })?;
    let mut channels: Vec<ChannelName> = meant.iter().map(|channel| channel.name.clone()).collect();
    channels.sort_by(|a, b| a.display_order().cmp(&b.display_order()));
    Ok(channels)
}

/// The version that is meant: of the newest, the newest final release that the channels have for all architectures.
pub(super) fn version(
    goal: &Goal,
    graph: &Graph,
    channels: &[ChannelName],
    who: &MirrorClients,
    now: Timestamp,
) -> anyhow::Result<Version> {
    let wanted = match goal {
        Goal::Version(version) => return Ok(version.clone()),
        Goal::NewestOf { major, minor } => Some((*major, *minor)),
        Goal::Newest => None,
    };
    let fits = |version: &&Version| {
        version.pre_release().is_empty()
            && wanted.is_none_or(|wanted| wanted == (version.major(), version.minor()))
    };
    let of_arch = |arch: &Arch| -> BTreeSet<&Version> {
        let channels = channels
            .iter()
            .filter_map(|name| graph.channel(name.as_str()));
        let views = channels.map(|channel| ChannelView::of_arch(graph, channel, arch, now));
        views
            .flat_map(ChannelView::releases)
            .map(|id| &graph.release(id).version)
            .filter(fits)
            .collect()
    };
    let arches: BTreeSet<&Arch> = who
        .travellers
        .iter()
        .map(|traveller| &traveller.arch)
        .collect();
    let common = arches
        .into_iter()
        .map(of_arch)
        .reduce(|a, b| &a & &b)
        .unwrap_or_default();
    let what = wanted.map_or_else(String::new, |(major, minor)| format!("{major}.{minor} "));
    common.last().map(|version| (*version).clone()).with_context(|| {
        format!("these channels have no final {what}release for all architectures; name a version, or other channels with --via")
    })
}

/// An architecture that there are releases for.
pub(super) fn arch(graph: &Graph, name: &str) -> anyhow::Result<Arch> {
    let known = graph.arches().find(|arch| arch.as_str() == name).cloned();
    known.with_context(|| {
        let known: Vec<&str> = graph.arches().map(Arch::as_str).collect();
        format!(
            "there are no releases for {name}; there are for {}",
            known.join(", ")
        )
    })
}

pub(super) fn platform(name: Option<&str>) -> anyhow::Result<Fact<Platform>> {
    let platform = |name: &str| {
        Platform::new(name)
            .with_context(|| format!("--platform {name:?} is not the name of a platform"))
    };
    let platform = Fact::from(name.map(platform).transpose()?);
    if let Some(warning) = platform_warning(&platform) {
        eprintln!("warning: {warning}");
    }
    Ok(platform)
}

/// What is there already.
pub(super) fn have(path: &Path) -> anyhow::Result<Have> {
    let bytes = read_input(path, MAX_HAVE_BYTES)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow!("{}: this is not text; list digests", path.display()))?;
    mirror::read_have(&Place::file(path.display().to_string()), &text)
        .map_err(|findings| failure(&findings))
}

/// A list that cannot be read whole would make an answer that is not.
fn wrong(findings: &[Finding]) -> anyhow::Result<()> {
    if findings.iter().any(Finding::is_error) {
        Err(failure(findings))
    } else {
        Ok(())
    }
}
