//! Two graphs side by side: one number for each release of either, and every edge with what it is in both.

use std::collections::BTreeSet;

use super::ring_pairs::RingPair;
use crate::graph::{Channel, ChannelName, Edge, Graph, Membership, ReleaseId, RingId, Window};
use crate::version::{Arch, Version};

/// Something before a change, and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Pair<T> {
    pub(super) base: T,
    pub(super) new: T,
}

impl<T> Pair<T> {
    pub(super) fn map<U>(self, mut f: impl FnMut(T) -> U) -> Pair<U> {
        Pair {
            base: f(self.base),
            new: f(self.new),
        }
    }
}

/// The number of a release that is in one of two graphs, or in both. By architecture and version.
pub(super) type Number = usize;

pub(super) struct GraphPair<'a> {
    pub(super) graphs: Pair<&'a Graph>,
    names: Vec<(&'a Arch, &'a Version)>,
    /// The common number of each release of each graph.
    numbers: Pair<Vec<Number>>,
    edges: Vec<EdgePair>,
    /// Where each release's edges begin; one more than there are releases.
    edges_from: Vec<usize>,
}

/// An edge of either graph, or of both.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgePair {
    pub(super) from: Number,
    pub(super) to: Number,
    pub(super) sides: Pair<Option<Edge>>,
}

/// One channel in two graphs.
pub(super) struct ChannelPair<'a> {
    pub(super) channels: Pair<Option<&'a Channel>>,
    /// Whose windows are compared; everybody else first.
    pub(super) rings: Vec<RingPair>,
    places: Pair<Vec<Option<&'a Membership>>>,
}

/// How an edge phases in, in one graph and channel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phase<'a> {
    pub(super) window: Window,
    pub(super) to: &'a Membership,
    /// Whether a rule of the channel has such edges reach the fleet little by little, `locked` or not, over by now or not.
    pub(super) is_phased: bool,
}

impl<'a> GraphPair<'a> {
    pub(super) fn new(base: &'a Graph, new: &'a Graph) -> Self {
        let graphs = Pair { base, new };
        let all = [base, new].into_iter().flat_map(Graph::releases);
        let names: BTreeSet<(&Arch, &Version)> = all
            .map(|release| (&release.arch, &release.version))
            .collect();
        let names: Vec<(&Arch, &Version)> = names.into_iter().collect();
        let number = |name: (&Arch, &Version)| {
            names
                .binary_search(&name)
                .expect("all releases were given a number")
        };
        let numbers = graphs.map(|graph| {
            graph
                .releases()
                .iter()
                .map(|r| number((&r.arch, &r.version)))
                .collect()
        });
        let mut pair = Self {
            graphs,
            names,
            numbers,
            edges: Vec::new(),
            edges_from: Vec::new(),
        };
        pair.join_edges();
        pair
    }

    /// Both lists are sorted, and common numbers keep their order: one walk joins them.
    fn join_edges(&mut self) {
        let sorted = |edges: &[Edge], numbers: &[Number]| -> Vec<((Number, Number), Edge)> {
            edges
                .iter()
                .map(|edge| {
                    (
                        (numbers[edge.from.0 as usize], numbers[edge.to.0 as usize]),
                        *edge,
                    )
                })
                .collect()
        };
        let mut base = sorted(self.graphs.base.edges(), &self.numbers.base)
            .into_iter()
            .peekable();
        let mut new = sorted(self.graphs.new.edges(), &self.numbers.new)
            .into_iter()
            .peekable();
        while let Some(ends) = [base.peek(), new.peek()]
            .into_iter()
            .flatten()
            .map(|(ends, _)| *ends)
            .min()
        {
            let base = base
                .next_if(|(other, _)| *other == ends)
                .map(|(_, edge)| edge);
            let new = new
                .next_if(|(other, _)| *other == ends)
                .map(|(_, edge)| edge);
            self.edges.push(EdgePair {
                from: ends.0,
                to: ends.1,
                sides: Pair { base, new },
            });
        }
        let begin = |number: Number| self.edges.partition_point(|edge| edge.from < number);
        self.edges_from = (0..=self.names.len()).map(begin).collect();
    }

    /// Every edge of either graph.
    pub(super) fn edges(&self) -> &[EdgePair] {
        &self.edges
    }

    pub(super) fn edges_from(&self, release: Number) -> &[EdgePair] {
        &self.edges[self.edges_from[release]..self.edges_from[release + 1]]
    }

    /// How many releases there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn version(&self, release: Number) -> &'a Version {
        self.names[release].1
    }

    /// The architectures that either graph has releases for.
    pub(super) fn arches(&self) -> Vec<&'a Arch> {
        self.names
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| same[0].0)
            .collect()
    }

    /// The releases of one architecture.
    pub(super) fn numbers_of(&self, arch: &Arch) -> std::ops::Range<Number> {
        self.names.partition_point(|name| name.0 < arch)
            ..self.names.partition_point(|name| name.0 <= arch)
    }

    /// The release's number in the new graph.
    pub(super) fn in_new(&self, release: Number) -> Option<ReleaseId> {
        let (arch, version) = self.names[release];
        self.graphs.new.find(version, arch)
    }

    /// The channels of either graph, in the order in which they are listed.
    pub(super) fn channel_names(&self) -> Vec<&'a ChannelName> {
        let names: BTreeSet<&ChannelName> = self
            .graphs
            .base
            .channels()
            .keys()
            .chain(self.graphs.new.channels().keys())
            .collect();
        let mut names: Vec<&ChannelName> = names.into_iter().collect();
        names.sort_by(|a, b| a.display_order().cmp(&b.display_order()));
        names
    }

    pub(super) fn channel(&self, name: &ChannelName) -> ChannelPair<'a> {
        let channels = self.graphs.map(|graph| graph.channel(name.as_str()));
        let places = |channel: Option<&'a Channel>, numbers: &[Number]| {
            let mut places = vec![None; self.names.len()];
            for (id, place) in channel.into_iter().flat_map(|channel| &channel.members) {
                places[numbers[id.0 as usize]] = Some(place);
            }
            places
        };
        let base = places(channels.base, &self.numbers.base);
        ChannelPair {
            rings: RingPair::all(channels),
            channels,
            places: Pair {
                base,
                new: places(channels.new, &self.numbers.new),
            },
        }
    }

    /// How an edge phases in, once for the rings that go together; everybody else first. There is no ring to name where all go together.
    pub(super) fn phases_by_ring<'c>(
        &self,
        channel: &'c ChannelPair<'a>,
        edge: &EdgePair,
    ) -> Vec<(Option<&'c RingPair>, Pair<Option<Phase<'a>>>)> {
        let mut all: Vec<(Option<&RingPair>, Pair<Option<Phase<'_>>>)> = Vec::new();
        let windows = |phases: Pair<Option<Phase<'_>>>| phases.map(|one| one.map(|it| it.window));
        for ring in &channel.rings {
            let phases = self.phases(channel, edge, ring.rings);
            if all
                .iter()
                .all(|(_, known)| windows(*known) != windows(phases))
            {
                all.push((Some(ring), phases));
            }
        }
        if let [(ring, _)] = all.as_mut_slice() {
            *ring = None;
        }
        all
    }

    /// How an edge phases in for the clusters of a ring: on each side on which the edge is there, and both its ends are in the channel.
    fn phases(
        &self,
        channel: &ChannelPair<'a>,
        edge: &EdgePair,
        rings: Pair<RingId>,
    ) -> Pair<Option<Phase<'a>>> {
        let (from, to) = (channel.places(edge.from), channel.places(edge.to));
        let phase = |(side, ring): (Option<Edge>, RingId),
                     channel: Option<&Channel>,
                     from: Option<&'a Membership>,
                     to| {
            let (Some(_), Some(channel), Some(from), Some(to)) = (side, channel, from, to) else {
                return None;
            };
            let (from_version, to_version) = (self.version(edge.from), self.version(edge.to));
            let rule = channel.rule(from_version, to_version);
            Some(Phase {
                window: channel.window(ring, (from_version, from), (to_version, to)),
                to,
                is_phased: rule.is_some_and(|rule| !rule.duration.is_zero() || rule.has_rings()),
            })
        };
        let Pair { base, new } = channel.channels;
        Pair {
            base: phase((edge.sides.base, rings.base), base, from.base, to.base),
            new: phase((edge.sides.new, rings.new), new, from.new, to.new),
        }
    }
}

impl<'a> ChannelPair<'a> {
    /// Whether a release is in the channel on any side; edges of others are not.
    pub(super) fn holds(&self, release: Number) -> bool {
        self.places.base[release].is_some() || self.places.new[release].is_some()
    }

    /// A release's place in the channel, on each side.
    pub(super) fn places(&self, release: Number) -> Pair<Option<&'a Membership>> {
        Pair {
            base: self.places.base[release],
            new: self.places.new[release],
        }
    }
}
