//! A channel at an instant: the releases that have entered it, the edges between them, and when each edge opens.

use jiff::{SignedDuration, Timestamp};

use super::entry::{Epoch, has_entered};
use crate::cluster::{Group, Groups};
use crate::graph::{
    Channel, Edge, EdgeWindows, Graph, Membership, ReleaseId, RingId, Turn, Window,
};
use crate::version::{Arch, Version};

/// A channel at an instant, for one architecture or all. Looking at it costs nothing; only what is asked for is computed.
#[derive(Debug, Clone, Copy)]
pub struct ChannelView<'a> {
    graph: &'a Graph,
    /// None: there is no such channel, and it holds nothing.
    channel: Option<&'a Channel>,
    /// Also those that have not entered yet.
    members: &'a [(ReleaseId, Membership)],
    now: Timestamp,
}

/// An edge between two members of a channel.
#[derive(Debug, Clone, Copy)]
pub struct ChannelEdge<'a> {
    pub edge: Edge,
    pub from: &'a Membership,
    pub to: &'a Membership,
}

impl<'a> ChannelView<'a> {
    /// The channel of that name, for one architecture.
    pub fn named(graph: &'a Graph, channel: &str, arch: &Arch, now: Timestamp) -> Self {
        let channel = graph.channel(channel);
        Self {
            graph,
            channel,
            members: channel.map_or(&[], |channel| graph.members(channel, arch)),
            now,
        }
    }

    pub fn of_arch(graph: &'a Graph, channel: &'a Channel, arch: &Arch, now: Timestamp) -> Self {
        Self {
            members: graph.members(channel, arch),
            ..Self::of_all_arches(graph, channel, now)
        }
    }

    pub fn of_all_arches(graph: &'a Graph, channel: &'a Channel, now: Timestamp) -> Self {
        Self {
            graph,
            channel: Some(channel),
            members: &channel.members,
            now,
        }
    }

    /// The releases that have entered, by number.
    pub fn releases(self) -> impl Iterator<Item = ReleaseId> {
        self.entered().map(|(id, _)| id)
    }

    /// Whether a release is a member and has entered.
    pub fn holds(self, release: ReleaseId) -> bool {
        self.member(release)
            .is_some_and(|place| has_entered(place.start, self.now))
    }

    /// The edges between releases that have entered.
    pub fn edges(self) -> impl Iterator<Item = ChannelEdge<'a>> {
        self.entered()
            .flat_map(move |(id, place)| self.edges_out_of(id, place))
            .filter(move |edge| has_entered(edge.to.start, self.now))
    }

    /// The edges from a release to others, if it and they have entered.
    pub fn edges_from(self, release: ReleaseId) -> impl Iterator<Item = ChannelEdge<'a>> {
        let place = self
            .member(release)
            .filter(|place| has_entered(place.start, self.now));
        place
            .into_iter()
            .flat_map(move |place| self.edges_out_of(release, place))
            .filter(move |edge| has_entered(edge.to.start, self.now))
    }

    /// The edges between all members, whether they have entered or not.
    pub fn edges_of_members(self) -> impl Iterator<Item = ChannelEdge<'a>> {
        self.members
            .iter()
            .flat_map(move |(id, place)| self.edges_out_of(*id, place))
    }

    /// The span over which an edge of this channel phases in, for a ring.
    pub fn window(self, ring: RingId, edge: &ChannelEdge<'_>) -> Window {
        let [from, to] = self.ends(edge);
        self.channel
            .map(|channel| channel.window(ring, from, to))
            .unwrap_or_else(|| Window::instant(edge.from.start.max(edge.to.start)))
    }

    /// The same for all rings.
    pub fn windows(self, edge: &ChannelEdge<'_>) -> EdgeWindows {
        let [from, to] = self.ends(edge);
        match self.channel {
            Some(channel) => channel.windows(from, to),
            None => EdgeWindows::Alike(self.window(RingId::REST, edge)),
        }
    }

    /// The same for each ring that has one of its own, and everybody else.
    pub fn turns(self, edge: &ChannelEdge<'_>) -> Vec<(Turn, Window)> {
        let [from, to] = self.ends(edge);
        let channel = self.channel;
        channel.map_or_else(Vec::new, |channel| channel.turns(from, to))
    }

    /// The ring of a cluster, by what is known of it.
    pub fn ring_of(self, groups: Option<&Groups>) -> RingId {
        RingId::of(groups, self.rings())
    }

    /// The clusters of each ring, the first first.
    pub fn rings(self) -> impl Iterator<Item = &'a Group> {
        let rings = self.channel.into_iter().flat_map(|channel| &channel.rings);
        rings.map(|ring| &ring.of)
    }

    fn ends<'e>(self, edge: &ChannelEdge<'e>) -> [(&'a Version, &'e Membership); 2] {
        let version = |id| &self.graph.release(id).version;
        [
            (version(edge.edge.from), edge.from),
            (version(edge.edge.to), edge.to),
        ]
    }

    /// The span around now in which no member enters this channel or another one: releases, and the channels that hold them, stay as they are.
    pub fn epoch_of_releases(self) -> Epoch {
        let mut epoch = Epoch::ALWAYS;
        for (id, place) in self.members {
            epoch.cut(place.start, self.now);
            let elsewhere = self.graph.release(*id).channels.iter();
            elsewhere.for_each(|(_, start)| epoch.cut(*start, self.now));
        }
        epoch
    }

    /// Whether every edge has long been open to everybody. What the rules say of each edge then is the same.
    pub fn is_settled(self) -> bool {
        let last = self.members.iter().map(|(_, place)| place.start).max();
        let last = last.unwrap_or(Timestamp::MIN);
        let rollouts = || self.channel.into_iter().flat_map(|it| &it.rollouts);
        if self.channel.is_some_and(Channel::holds_some) {
            return false;
        }
        let last = rollouts()
            .map(|rule| rule.opens(last))
            .max()
            .unwrap_or(last);
        let windows = rollouts().flat_map(|rule| {
            let turns = rule.rings.turns.iter().map(|turn| turn.ring);
            let rings = turns.chain([RingId::REST]);
            rings.map(|ring| rule.window_of(ring, last))
        });
        let last_end = windows.map(|window| window.end).max();
        let is_long_ago = |end: Timestamp| self.now.duration_since(end) >= CALENDAR_MARGIN;
        last == Timestamp::MIN || (has_entered(last, self.now) && last_end.is_none_or(is_long_ago))
    }

    fn entered(self) -> impl Iterator<Item = (ReleaseId, &'a Membership)> {
        let entered =
            move |(_, place): &&(ReleaseId, Membership)| has_entered(place.start, self.now);
        self.members
            .iter()
            .filter(entered)
            .map(|(id, place)| (*id, place))
    }

    fn edges_out_of(
        self,
        release: ReleaseId,
        from: &'a Membership,
    ) -> impl Iterator<Item = ChannelEdge<'a>> {
        let edges = self.graph.edges_from(release).iter();
        edges.filter_map(move |edge| {
            Some(ChannelEdge {
                edge: *edge,
                from,
                to: self.member(edge.to)?,
            })
        })
    }

    fn member(self, release: ReleaseId) -> Option<&'a Membership> {
        let at = self
            .members
            .binary_search_by_key(&release, |(id, _)| *id)
            .ok()?;
        Some(&self.members[at].1)
    }
}

/// Windows that begin earlier may end a little later: both Jan 30 and Jan 31, plus a month, are on Feb 28.
const CALENDAR_MARGIN: SignedDuration = SignedDuration::from_hours(48);
