//! What somebody wants to mirror for, made into a wish: which clusters, which goal, which channels. The command line and the service share it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::fleet::ClusterState;
use towpath_core::graph::{ChannelName, ChannelView, Graph};
use towpath_core::mirror::{Branching, Have, MirrorChoice, MirrorStart, Traveller, Wish};
use towpath_core::path::{Goal, RiskPolicy};
use towpath_core::version::{Arch, Minors, Version};

/// The stream where nobody names one.
const USUAL_STREAM: &str = "stable";

/// Those who have to get there, and the streams that they follow.
pub struct MirrorClients {
    travellers: Vec<Traveller>,
    streams: BTreeSet<String>,
}

/// What is wanted, besides for whom.
pub struct MirrorAims {
    pub goal: Goal,
    /// Channels and streams; none: those that the clusters follow.
    pub via: Vec<ChannelName>,
    pub platform: Fact<Platform>,
    /// None: as usual.
    pub risks: Option<RiskPolicy>,
    pub minors: Minors,
    pub choice: MirrorChoice,
    pub branching: Branching,
    pub start: MirrorStart,
    pub have: Have,
}

impl MirrorClients {
    /// One cluster.
    pub fn one(version: Version, arch: Arch) -> Self {
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

    /// All of these clusters; only those of an architecture if one is named.
    pub fn of(clusters: Vec<ClusterState>, arch: Option<&Arch>) -> Self {
        let clusters = clusters
            .into_iter()
            .filter(|cluster| arch.is_none_or(|arch| cluster.arch == *arch));
        let (mut travellers, mut streams) = (Vec::new(), BTreeSet::new());
        for cluster in clusters {
            let channel = cluster.channel.as_ref();
            streams.insert(channel.map_or(USUAL_STREAM, stream).to_owned());
            travellers.push(Traveller {
                arch: cluster.arch,
                version: cluster.version,
                name: cluster.name.to_string(),
            });
        }
        travellers.sort();
        Self {
            travellers,
            streams,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.travellers.is_empty()
    }
}

impl MirrorAims {
    /// The wish, or why nobody can have it.
    pub fn wish(self, graph: &Graph, who: MirrorClients, now: Timestamp) -> Result<Wish, String> {
        let channels = channels(graph, &self.via, &who)?;
        let usual = match self.branching {
            Branching::WaysAround => RiskPolicy::Unknown,
            Branching::Ways => RiskPolicy::Never,
        };
        Ok(Wish {
            target: version(&self.goal, graph, &channels, &who, now)?,
            travellers: who.travellers,
            channels,
            platform: self.platform,
            taken: self.risks.unwrap_or(usual),
            minors: self.minors,
            choice: self.choice,
            branching: self.branching,
            start: self.start,
            have: self.have,
        })
    }
}

/// The `eus` of `eus-4.14`.
fn stream(channel: &ChannelName) -> &str {
    let name = channel.as_str();
    name.rsplit_once('-').map_or(name, |(stream, _)| stream)
}

/// The channels that are meant. They are looked at together; their order says nothing.
fn channels(
    graph: &Graph,
    via: &[ChannelName],
    who: &MirrorClients,
) -> Result<Vec<ChannelName>, String> {
    let followed: Vec<ChannelName> = who
        .streams
        .iter()
        .filter_map(|name| ChannelName::new(name))
        .collect();
    let wanted = if via.is_empty() { &followed } else { via };
    let meant = towpath_core::path::channels(graph, wanted).map_err(|name| {
        let streams: BTreeSet<&str> = graph.channels().keys().map(stream).collect();
        let streams: Vec<&str> = streams.into_iter().collect();
        format!(
            "there is no channel or stream {name}; there are the streams {}; name some with --via",
            streams.join(", ")
        )
    })?;
    let mut channels: Vec<ChannelName> = meant.iter().map(|channel| channel.name.clone()).collect();
    channels.sort_by(|a, b| a.display_order().cmp(&b.display_order()));
    Ok(channels)
}

/// The version that is meant: of the newest, the newest final release that the channels have for all architectures.
fn version(
    goal: &Goal,
    graph: &Graph,
    channels: &[ChannelName],
    who: &MirrorClients,
    now: Timestamp,
) -> Result<Version, String> {
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
    common.last().map(|version| (*version).clone()).ok_or_else(|| {
        format!("these channels have no final {what}release for all architectures; name a version, or other channels with --via")
    })
}

/// An architecture that there are releases for.
pub fn arch(graph: &Graph, name: &str) -> Result<Arch, String> {
    let known = graph.arches().find(|arch| arch.as_str() == name).cloned();
    known.ok_or_else(|| {
        let known: Vec<&str> = graph.arches().map(Arch::as_str).collect();
        format!(
            "there are no releases for {name}; there are for {}",
            known.join(", ")
        )
    })
}
