//! Rollouts: the windows that are running or to come, and the blocks that keep clusters from their
//! edges.
//!
//! A rule with rings has a row for each ring that it names, and one for everybody else.
//! Architectures share a row, unless a block keeps one of them from an edge that another has. Then
//! each has its own: "blocked for everybody" must not be said of clusters that see the edge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::Cluster;
use crate::finding::Place;
use crate::graph::rules::{RISKS_NOT_SERVABLE, stops_everybody};
use crate::graph::{
    Audience, Channel, ChannelEdge, ChannelName, ChannelView, DeclaredHalt, Edge, EdgeMatch, Graph,
    KeptBlock, RolloutRule, Situation, Turn, Window,
};
use crate::rules::Rule;
use crate::version::{Arch, Version};

/// A window in which edges into one release phase in, in one channel, for architectures that are treated alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutWindow {
    pub channel: ChannelName,
    pub to: Version,
    /// Whose window it is.
    pub whose: Turn,
    /// The architectures that have any of its edges.
    pub arches: BTreeSet<Arch>,
    /// When, and how. One of no length is for everybody at once.
    pub window: Window,
    /// When the rule of its edges has shown them to everybody, `locked` or not; none if no rule phases them in.
    pub phased_until: Option<Timestamp>,
    /// The rule that phases its edges in, or holds them; none for one of no length.
    pub rule: Option<NamedRule>,
    /// The releases that its edges leave, and for which architectures.
    pub from: BTreeMap<Version, BTreeSet<Arch>>,
    /// Those of them whose edges are for somebody. Edges that are blocked for everybody roll out to nobody.
    pub reaching_from: BTreeSet<Version>,
    /// Blocks that keep clusters from some of these edges, by their places.
    pub stops: Vec<RolloutStop>,
}

/// A rule of a channel: where it stands, and which edges it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRule {
    pub origin: Place,
    pub edges: EdgeMatch,
}

/// A block on edges of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutStop {
    pub origin: Place,
    /// Whom it keeps from them.
    pub whom: Audience,
    /// What it says about itself, if it is a halt.
    pub halt: Option<Arc<DeclaredHalt>>,
    /// The releases that these edges leave.
    pub from: BTreeSet<Version>,
}

/// Every window that is not over: by channel, then in the order in which they begin.
pub fn rollouts(graph: &Graph, now: Timestamp) -> Vec<RolloutWindow> {
    let is_settled =
        |channel: &Channel| ChannelView::of_all_arches(graph, channel, now).is_settled();
    let is_wanted = |window: &Window, _| !window.is_over(now);
    all(graph, now, is_settled, is_wanted)
}

/// Every window that phases edges in and is not over, or has not been for long: what a metric needs to reach 1.
pub fn recent_rollouts(graph: &Graph, now: Timestamp) -> Vec<RolloutWindow> {
    let since = now
        .saturating_sub(RolloutWindow::RECENT)
        .unwrap_or(Timestamp::MIN);
    let is_settled =
        |channel: &Channel| ChannelView::of_all_arches(graph, channel, since).is_settled();
    let is_wanted = |_: &Window, phased_until| is_recent(phased_until, now);
    all(graph, now, is_settled, is_wanted)
}

impl RolloutWindow {
    /// A rollout that ended is recent for this long.
    pub const RECENT: SignedDuration = SignedDuration::from_hours(7 * 24);

    /// Whether blocks keep everybody from all its edges.
    pub fn is_blocked(&self) -> bool {
        self.reaching_from.is_empty()
    }

    /// Whether it phases edges in, and is not over or has not been for long.
    pub fn is_recent(&self, now: Timestamp) -> bool {
        is_recent(self.phased_until, now)
    }
}

fn is_recent(phased_until: Option<Timestamp>, now: Timestamp) -> bool {
    phased_until.is_some_and(|end| now.duration_since(end) < RolloutWindow::RECENT)
}

fn all(
    graph: &Graph,
    now: Timestamp,
    is_settled: impl Fn(&Channel) -> bool,
    is_wanted: impl Fn(&Window, Option<Timestamp>) -> bool,
) -> Vec<RolloutWindow> {
    let mut channels: Vec<&Channel> = graph.channels().values().collect();
    channels.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
    channels
        .into_iter()
        .filter(|channel| !is_settled(channel))
        .flat_map(|channel| in_channel(graph, channel, now, &is_wanted))
        .collect()
}

/// The edges of one window into a release, for one architecture or for several that are treated alike.
#[derive(Default)]
struct Edges<'a> {
    arches: BTreeSet<Arch>,
    phased_until: Option<Timestamp>,
    rule: Option<&'a RolloutRule>,
    from: BTreeMap<Version, Source<'a>>,
}

/// Whom a block stops, and whether it is a halt.
#[derive(PartialEq, Eq)]
struct Stop<'a> {
    whom: &'a Audience,
    halt: Option<&'a Arc<DeclaredHalt>>,
}

/// A release that an edge leaves.
struct Source<'a> {
    arches: BTreeSet<Arch>,
    is_blocked: bool,
    stops: BTreeMap<&'a Place, Stop<'a>>,
}

fn in_channel(
    graph: &Graph,
    channel: &Channel,
    now: Timestamp,
    is_wanted: impl Fn(&Window, Option<Timestamp>) -> bool,
) -> Vec<RolloutWindow> {
    let view = ChannelView::of_all_arches(graph, channel, now);
    // Who asks makes no difference to the rule that is asked.
    let anybody = Cluster::anonymous(channel.name.clone(), Arch::default());
    let at = Situation {
        graph,
        cluster: &anybody,
        now,
    };
    let mut windows: BTreeMap<(Window, Turn, &Version), BTreeMap<&Arch, Edges<'_>>> =
        BTreeMap::new();
    for one in view.edges_of_members() {
        let phased_until = phased_until(graph, channel, &one);
        let wanted = view.turns(&one).into_iter();
        for (whose, window) in wanted.filter(|(_, window)| is_wanted(window, phased_until)) {
            let to = graph.release(one.edge.to);
            let is_of_a_rule =
                whose != Turn::Everybody || window.start < window.end || window.is_held();
            let arches = windows.entry((window, whose, &to.version)).or_default();
            let edges = arches.entry(&to.arch).or_default();
            edges.phased_until = edges.phased_until.max(phased_until);
            if is_of_a_rule {
                let from = &graph.release(one.edge.from).version;
                edges.rule = channel.rule(from, &to.version);
            }
            edges.add(one.edge, &at);
        }
    }
    let mut rows = Vec::new();
    for ((window, whose, to), arches) in windows {
        let alike = alike(arches.into_values());
        rows.extend(
            alike
                .into_iter()
                .map(|edges| edges.row(channel, to, (window, whose.clone()))),
        );
    }
    rows
}

/// When everybody sees an edge by its rule, whether its release is locked or not.
fn phased_until(graph: &Graph, channel: &Channel, one: &ChannelEdge<'_>) -> Option<Timestamp> {
    let version = |id| &graph.release(id).version;
    let start = one.from.start.max(one.to.start);
    let rule = channel.rule(version(one.edge.from), version(one.edge.to))?;
    let window = rule.window(start);
    (window.start > Timestamp::MIN && window.start < window.end).then_some(window.end)
}

/// Puts architectures together that are treated alike wherever they have the same edges.
fn alike<'a>(arches: impl Iterator<Item = Edges<'a>>) -> Vec<Edges<'a>> {
    let mut groups: Vec<Edges<'a>> = Vec::new();
    for edges in arches {
        match groups.iter_mut().find(|group| group.agrees_with(&edges)) {
            Some(group) => group.join(edges),
            None => groups.push(edges),
        }
    }
    groups
}

impl<'a> Edges<'a> {
    fn add(&mut self, edge: Edge, at: &Situation<'a>) {
        let from = at.graph.release(edge.from);
        let blocks = at.graph.blocks_on(edge);
        let stop = |block: &'a KeptBlock| {
            let (whom, halt) = (block.stops.as_ref()?, block.halt.as_ref());
            Some((&block.origin, Stop { whom, halt }))
        };
        let stops = blocks.filter_map(stop);
        let source = Source {
            arches: [from.arch.clone()].into(),
            is_blocked: at.graph.blocks_on(edge).any(stops_everybody)
                || !RISKS_NOT_SERVABLE.judge(&at.about(edge)).is_offered(),
            stops: stops.collect(),
        };
        self.arches.insert(from.arch.clone());
        self.from.insert(from.version.clone(), source);
    }

    fn agrees_with(&self, other: &Self) -> bool {
        let is_same = |(version, source): (&Version, &Source<'_>)| {
            let own = self.from.get(version);
            own.is_none_or(|own| (own.is_blocked, &own.stops) == (source.is_blocked, &source.stops))
        };
        other.from.iter().all(is_same)
    }

    fn join(&mut self, mut other: Self) {
        self.arches.append(&mut other.arches);
        self.phased_until = self.phased_until.max(other.phased_until);
        for (version, mut source) in other.from {
            match self.from.get_mut(&version) {
                Some(own) => own.arches.append(&mut source.arches),
                None => drop(self.from.insert(version, source)),
            }
        }
    }

    fn row(
        self,
        channel: &Channel,
        to: &Version,
        (window, whose): (Window, Turn),
    ) -> RolloutWindow {
        let mut stops: BTreeMap<&Place, RolloutStop> = BTreeMap::new();
        for (version, source) in &self.from {
            for (origin, one) in &source.stops {
                let stop = stops.entry(origin).or_insert_with(|| RolloutStop {
                    origin: (*origin).clone(),
                    whom: one.whom.clone(),
                    halt: one.halt.cloned(),
                    from: BTreeSet::new(),
                });
                stop.from.insert(version.clone());
            }
        }
        let reaching = self.from.iter().filter(|(_, source)| !source.is_blocked);
        RolloutWindow {
            channel: channel.name.clone(),
            to: to.clone(),
            whose,
            arches: self.arches,
            window,
            phased_until: self.phased_until,
            rule: self.rule.map(|rule| NamedRule {
                origin: rule.origin.clone(),
                edges: rule.edges.clone(),
            }),
            reaching_from: reaching.map(|(version, _)| version.clone()).collect(),
            stops: stops.into_values().collect(),
            from: self
                .from
                .into_iter()
                .map(|(version, source)| (version, source.arches))
                .collect(),
        }
    }
}
