//! A picture of channels for one client: where each release stands, and what each edge is.
//!
//! Edges are judged as `explain` judges them, by the same two functions. What an edge's blocks and
//! minor versions say is asked once for all edges that are alike in these. Of several channels that
//! hold an edge, the most favourable answer counts, then the first channel's. Edges with equal
//! answers share one, because a large channel has thousands of edges and a few dozen answers.

mod layout;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::graph::model::BlockSetId;
use crate::graph::rules::Edges;
use crate::graph::{
    Channel, ChannelEdge, ChannelName, ChannelView, Edge, EdgeStatus, Graph, Membership, ReleaseId,
    RiskId, Share, Situation, has_entered, passing, steady,
};
use crate::path::Asker;
use crate::rules::Rule;
use crate::verdict::{Answer, Verdict};
use crate::version::{Arch, Minor, Minors};

pub use layout::{GridPlace, Layout};

/// The most channels in one picture.
pub const MAX_CHANNELS: usize = 256;
/// The most edges in one picture. All of OpenShift's, for one architecture, are 59,000.
pub const MAX_EDGES: usize = 200_000;

/// What is to be drawn, and for whom.
#[derive(Clone, Copy)]
pub struct PictureRequest<'a> {
    pub channels: ChannelChoice<'a>,
    pub asker: &'a Asker,
    /// Which minor version follows which.
    pub minors: &'a Minors,
    /// What else there is to say for this cluster.
    pub more: &'a [&'a dyn Rule<Edges>],
    pub now: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelChoice<'a> {
    All,
    Named(&'a [ChannelName]),
}

#[derive(Debug, Clone)]
pub struct Picture<'a> {
    /// By version, then name.
    pub channels: Vec<&'a Channel>,
    pub layout: Layout,
    /// Every release of the channels, also those that enter later, the oldest first.
    pub releases: Vec<PictureRelease>,
    /// What there is to say about edges; each is said once.
    pub answers: Vec<EdgeAnswer>,
    /// By source and target.
    pub edges: Vec<PictureEdge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureRelease {
    pub id: ReleaseId,
    pub place: GridPlace,
    /// When the first of the channels holds it, if that is to come.
    pub enters: Option<Timestamp>,
}

/// An edge between two releases of the picture, by index; and the index of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureEdge {
    pub from: u32,
    pub to: u32,
    pub answer: u32,
}

/// What there is to say about an edge, without the sentences.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeAnswer {
    pub kind: EdgeStatus,
    pub answer: Answer,
    /// The channel that gives this answer, by index.
    pub channel: u32,
    /// What share of clusters the edge has reached, while its window is open.
    pub share: Option<Share>,
    pub codes: BTreeSet<&'static str>,
}

/// Why there is no picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undrawn {
    NoChannel(ChannelName),
    NoArch(Arch),
    TooManyChannels,
    TooManyEdges,
}

impl EdgeAnswer {
    /// The earliest instant at which it is offered while nothing else changes: now, later, or never.
    pub fn offered_from(&self, now: Timestamp) -> Option<Timestamp> {
        self.answer.offered_from(now)
    }

    /// What the cluster has to weigh.
    pub fn risks(&self) -> impl Iterator<Item = RiskId> {
        let risks = match &self.answer {
            Answer::RecommendUnless(risks) => Some(risks),
            Answer::Recommend | Answer::Wait { .. } | Answer::Refuse => None,
        };
        risks.into_iter().flatten().copied()
    }
}

/// Draws.
pub fn picture<'a>(graph: &'a Graph, request: &PictureRequest<'_>) -> Result<Picture<'a>, Undrawn> {
    let arch = &request.asker.arch;
    if !graph.arches().any(|known| known == arch) {
        return Err(Undrawn::NoArch(arch.clone()));
    }
    let channels = channels(graph, request.channels)?;
    let members = Members::of(graph, &channels, arch);
    let layout = Layout::of(members.versions(graph));
    let (answers, edges) = Judge::new(graph, request, &channels).edges(&members)?;
    Ok(Picture {
        releases: members.releases(graph, &layout, request.now),
        channels,
        layout,
        answers,
        edges,
    })
}

/// The channels that were named, each once, in the order in which they are listed.
fn channels<'a>(graph: &'a Graph, chosen: ChannelChoice<'_>) -> Result<Vec<&'a Channel>, Undrawn> {
    let mut channels: Vec<&Channel> = match chosen {
        ChannelChoice::All => graph.channels().values().collect(),
        ChannelChoice::Named(names) => names
            .iter()
            .map(|name| {
                let channel = graph.channel(name.as_str());
                channel.ok_or_else(|| Undrawn::NoChannel(name.clone()))
            })
            .collect::<Result<_, _>>()?,
    };
    channels.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
    channels.dedup_by(|a, b| a.name == b.name);
    match channels.len() <= MAX_CHANNELS {
        true => Ok(channels),
        false => Err(Undrawn::TooManyChannels),
    }
}

/// The releases of the channels, each with its places in them.
struct Members<'a> {
    /// By number, and then by the index of the channel.
    of_releases: BTreeMap<ReleaseId, Vec<(u32, &'a Membership)>>,
}

impl<'a> Members<'a> {
    fn of(graph: &'a Graph, channels: &[&'a Channel], arch: &Arch) -> Self {
        let mut of_releases: BTreeMap<ReleaseId, Vec<(u32, &Membership)>> = BTreeMap::new();
        for (number, channel) in (0..).zip(channels) {
            for (id, place) in graph.members(channel, arch) {
                of_releases.entry(*id).or_default().push((number, place));
            }
        }
        Self { of_releases }
    }

    fn versions(&self, graph: &'a Graph) -> impl Iterator<Item = &'a crate::version::Version> {
        self.of_releases
            .keys()
            .map(|id| &graph.release(*id).version)
    }

    fn releases(&self, graph: &Graph, layout: &Layout, now: Timestamp) -> Vec<PictureRelease> {
        let release = |(id, places): (&ReleaseId, &Vec<(u32, &Membership)>)| {
            let first = places.iter().map(|(_, place)| place.start).min();
            let version = &graph.release(*id).version;
            PictureRelease {
                id: *id,
                place: layout.place_of(version).expect("each has a place"),
                enters: first.filter(|start| !has_entered(*start, now)),
            }
        };
        self.of_releases.iter().map(release).collect()
    }
}

/// Gives each edge its answer.
struct Judge<'a, 'r> {
    graph: &'a Graph,
    request: &'r PictureRequest<'r>,
    /// Each with the client, were it in that channel.
    channels: Vec<(ChannelView<'a>, Cluster)>,
    /// What blocks and minor versions say, by the edges that are alike in them.
    steady: BTreeMap<(BlockSetId, Minor, Minor), Verdict>,
    /// The answers of edges about which nothing else is said.
    plain: BTreeMap<(BlockSetId, Minor, Minor, u32), u32>,
    numbers: BTreeMap<EdgeAnswer, u32>,
    answers: Vec<EdgeAnswer>,
}

impl<'a, 'r> Judge<'a, 'r> {
    fn new(graph: &'a Graph, request: &'r PictureRequest<'r>, channels: &[&'a Channel]) -> Self {
        let arch = &request.asker.arch;
        let of = |channel: &&'a Channel| {
            let view = ChannelView::of_arch(graph, channel, arch, request.now);
            (view, request.asker.in_channel(&channel.name))
        };
        Self {
            graph,
            request,
            channels: channels.iter().map(of).collect(),
            steady: BTreeMap::new(),
            plain: BTreeMap::new(),
            numbers: BTreeMap::new(),
            answers: Vec::new(),
        }
    }

    fn edges(
        mut self,
        members: &Members<'_>,
    ) -> Result<(Vec<EdgeAnswer>, Vec<PictureEdge>), Undrawn> {
        let indices: BTreeMap<ReleaseId, u32> =
            members.of_releases.keys().copied().zip(0..).collect();
        let mut edges = Vec::new();
        for (from, in_channels) in &members.of_releases {
            for edge in self.graph.edges_from(*from) {
                let Some(other) = members.of_releases.get(&edge.to) else {
                    continue;
                };
                let Some(answer) = self.answer(*edge, in_channels, other) else {
                    continue;
                };
                if edges.len() == MAX_EDGES {
                    return Err(Undrawn::TooManyEdges);
                }
                edges.push(PictureEdge {
                    from: indices[from],
                    to: indices[&edge.to],
                    answer,
                });
            }
        }
        Ok((self.answers, edges))
    }

    /// The number of the answer; none if no channel holds both ends.
    fn answer(
        &mut self,
        edge: Edge,
        from: &[(u32, &Membership)],
        to: &[(u32, &Membership)],
    ) -> Option<u32> {
        let mut best: Option<(u32, Verdict, ChannelEdge<'_>)> = None;
        for (channel, from, to) in in_both(from, to) {
            let verdict = self.passing(edge, channel);
            let is_better = best
                .as_ref()
                .is_none_or(|(_, known, _)| is_more_favourable(&verdict, known));
            if is_better {
                let is_free = verdict == Verdict::recommend();
                best = Some((channel, verdict, ChannelEdge { edge, from, to }));
                if is_free {
                    break;
                }
            }
        }
        let (channel, verdict, edge) = best?;
        Some(self.number(channel, verdict, &edge))
    }

    fn passing(&self, edge: Edge, channel: u32) -> Verdict {
        let (_, cluster) = &self.channels[channel as usize];
        passing(&self.situation(cluster).about(edge), self.request.more)
    }

    fn situation<'s>(&'s self, cluster: &'s Cluster) -> Situation<'s> {
        Situation {
            graph: self.graph,
            cluster,
            now: self.request.now,
        }
    }

    fn number(&mut self, channel: u32, passing: Verdict, edge: &ChannelEdge<'_>) -> u32 {
        let minor = |id| Minor::of(&self.graph.release(id).version);
        let alike = (edge.edge.blocks, minor(edge.edge.from), minor(edge.edge.to));
        let (view, cluster) = &self.channels[channel as usize];
        let window = view.window(view.ring_of(cluster.groups()), edge);
        let share = window.share_while_open(self.request.now);
        let key = (alike.0, alike.1, alike.2, channel);
        let is_plain = share.is_none() && passing == Verdict::recommend();
        if let Some(number) = self.plain.get(&key).filter(|_| is_plain) {
            return *number;
        }
        let verdict = self.steady(alike, edge.edge, channel).and(passing);
        let number = self.kept(EdgeAnswer {
            kind: EdgeStatus::of(&verdict),
            codes: verdict.reasons.iter().map(|one| one.code().name).collect(),
            answer: verdict.answer,
            channel,
            share,
        });
        if is_plain {
            self.plain.insert(key, number);
        }
        number
    }

    fn steady(&mut self, alike: (BlockSetId, Minor, Minor), edge: Edge, channel: u32) -> Verdict {
        if let Some(known) = self.steady.get(&alike) {
            return known.clone();
        }
        let (_, cluster) = &self.channels[channel as usize];
        let verdict = steady(&self.situation(cluster).about(edge), self.request.minors);
        self.steady.insert(alike, verdict.clone());
        verdict
    }

    /// The number of an answer, a new one if nothing else has it.
    fn kept(&mut self, answer: EdgeAnswer) -> u32 {
        if let Some(known) = self.numbers.get(&answer) {
            return *known;
        }
        let number = self.answers.len() as u32;
        self.answers.push(answer.clone());
        self.numbers.insert(answer, number);
        number
    }
}

/// The channels that hold both ends.
fn in_both<'a>(
    from: &'a [(u32, &'a Membership)],
    to: &'a [(u32, &'a Membership)],
) -> impl Iterator<Item = (u32, &'a Membership, &'a Membership)> {
    from.iter().filter_map(|(channel, place)| {
        let at = to.binary_search_by_key(channel, |(other, _)| *other).ok()?;
        Some((*channel, *place, to[at].1))
    })
}

/// Whether an edge is offered sooner. What else is said of it is the same in all channels.
fn is_more_favourable(verdict: &Verdict, other: &Verdict) -> bool {
    let rank = |verdict: &Verdict| match verdict.answer {
        Answer::Recommend | Answer::RecommendUnless(_) => (0, None),
        Answer::Wait { until: Some(until) } => (1, Some(until)),
        Answer::Wait { until: None } => (2, None),
        Answer::Refuse => (3, None),
    };
    rank(verdict) < rank(other)
}
