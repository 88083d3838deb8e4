//! Rollouts: the windows that are running or to come, and the blocks that keep clusters from their
//! edges.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cluster::Cluster;
use crate::finding::Place;
use crate::graph::rules::HARD_BLOCKS;
use crate::graph::{Audience, Channel, ChannelName, ChannelView, Edge, Graph, Situation, Window};
use crate::rules::Rule;
use crate::version::{Arch, Version};

/// A window in which edges into one release phase in, in one channel, for all architectures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutWindow {
    pub channel: ChannelName,
    pub to: Version,
    /// When, and how. One of no length is for everybody at once.
    pub window: Window,
    /// The releases that its edges leave.
    pub from: BTreeSet<Version>,
    /// Those of them whose edges are for somebody. Edges that are blocked for everybody roll out to nobody.
    pub reaching_from: BTreeSet<Version>,
    /// Blocks that keep clusters from some of these edges, by their places.
    pub stops: Vec<RolloutStop>,
}

/// A block on edges of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutStop {
    pub origin: Place,
    /// Whom it keeps from them.
    pub whom: Audience,
    /// The releases that these edges leave.
    pub from: BTreeSet<Version>,
}

/// Every window that is not over: by channel, then in the order in which they begin.
pub fn rollouts(graph: &Graph, now: Timestamp) -> Vec<RolloutWindow> {
    let mut channels: Vec<&Channel> = graph.channels().values().collect();
    channels.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
    channels
        .into_iter()
        .flat_map(|channel| in_channel(graph, channel, now))
        .collect()
}

impl RolloutWindow {
    /// Whether blocks keep everybody from all its edges.
    pub fn is_blocked(&self) -> bool {
        self.reaching_from.is_empty()
    }
}

#[derive(Default)]
struct Edges<'a> {
    from: BTreeSet<Version>,
    reaching_from: BTreeSet<Version>,
    stops: BTreeMap<&'a Place, (&'a Audience, BTreeSet<Version>)>,
}

fn in_channel(graph: &Graph, channel: &Channel, now: Timestamp) -> Vec<RolloutWindow> {
    let view = ChannelView::of_all_arches(graph, channel, now);
    if view.is_settled() {
        return Vec::new();
    }
    // Who asks makes no difference to the rule that is asked.
    let anybody = Cluster::anonymous(channel.name.clone(), Arch::default());
    let at = Situation {
        graph,
        cluster: &anybody,
        now,
    };
    let mut windows: BTreeMap<(Window, &Version), Edges<'_>> = BTreeMap::new();
    for one in view.edges_of_members() {
        let window = view.window(&one);
        if !window.is_over(now) {
            let to = &graph.release(one.edge.to).version;
            windows.entry((window, to)).or_default().add(one.edge, &at);
        }
    }
    let rollout = |((window, to), edges): ((Window, &Version), Edges<'_>)| RolloutWindow {
        channel: channel.name.clone(),
        to: to.clone(),
        window,
        from: edges.from,
        reaching_from: edges.reaching_from,
        stops: edges.stops.into_iter().map(stop).collect(),
    };
    windows.into_iter().map(rollout).collect()
}

impl<'a> Edges<'a> {
    fn add(&mut self, edge: Edge, at: &Situation<'a>) {
        let from = &at.graph.release(edge.from).version;
        self.from.insert(from.clone());
        if HARD_BLOCKS.judge(&at.about(edge)).is_offered() {
            self.reaching_from.insert(from.clone());
        }
        for block in at.graph.blocks_on(edge) {
            let Some(whom) = &block.stops else { continue };
            let stopped = self.stops.entry(&block.origin);
            let (_, sources) = stopped.or_insert((whom, BTreeSet::new()));
            sources.insert(from.clone());
        }
    }
}

fn stop((origin, (whom, from)): (&Place, (&Audience, BTreeSet<Version>))) -> RolloutStop {
    RolloutStop {
        origin: origin.clone(),
        whom: whom.clone(),
        from,
    }
}
