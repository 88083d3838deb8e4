//! Timetable: which windows are running or to come, how far each has come, and what blocks keep from it meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::domain::{Audience, Channel, ChannelName, Graph, Share, Version, Window};
use crate::finding::Place;

/// A window in which edges into one release phase in, in one channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimetableRow {
    pub channel: ChannelName,
    pub to: Version,
    /// When, and how. One of no length is for everybody at once.
    pub window: Window,
    /// The share of the fleet that it has reached.
    pub share: Share,
    /// The releases that its edges leave, of whatever architecture.
    pub from: BTreeSet<Version>,
    /// Blocks that keep clusters from some of these edges, by their places.
    pub stops: Vec<Stop>,
}

/// A block on edges of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    pub origin: Place,
    /// Whom it keeps from them.
    pub whom: Audience,
    /// The releases that these edges leave.
    pub from: BTreeSet<Version>,
}

/// Every window that is not over: by channel, then in the order in which they begin.
pub fn timetable(graph: &Graph, now: Timestamp) -> Vec<TimetableRow> {
    let mut channels: Vec<&Channel> = graph.channels().values().collect();
    channels.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
    channels
        .into_iter()
        .flat_map(|channel| rows(graph, channel, now))
        .collect()
}

#[derive(Default)]
struct Edges<'a> {
    from: BTreeSet<Version>,
    stops: BTreeMap<&'a Place, (&'a Audience, BTreeSet<Version>)>,
}

fn rows(graph: &Graph, channel: &Channel, now: Timestamp) -> Vec<TimetableRow> {
    let mut windows: BTreeMap<(Window, &Version), Edges<'_>> = BTreeMap::new();
    for (from, from_place) in &channel.members {
        for edge in graph.edges_from(*from) {
            let Some(to_place) = channel.membership(edge.to) else {
                continue;
            };
            let (from, to) = (
                &graph.release(edge.from).version,
                &graph.release(edge.to).version,
            );
            let window = channel.window((from, from_place), (to, to_place));
            if window.is_over(now) {
                continue;
            }
            let edges = windows.entry((window, to)).or_default();
            edges.from.insert(from.clone());
            for block in graph.blocks_on(*edge) {
                let Some(whom) = &block.stops else { continue };
                let stopped = edges
                    .stops
                    .entry(&block.origin)
                    .or_insert((whom, BTreeSet::new()));
                stopped.1.insert(from.clone());
            }
        }
    }
    let row = |((window, to), edges): ((Window, &Version), Edges<'_>)| TimetableRow {
        channel: channel.name.clone(),
        to: to.clone(),
        window,
        share: window.share(now),
        from: edges.from,
        stops: edges.stops.into_iter().map(stop).collect(),
    };
    windows.into_iter().map(row).collect()
}

fn stop((origin, (whom, from)): (&Place, (&Audience, BTreeSet<Version>))) -> Stop {
    Stop {
        origin: origin.clone(),
        whom: whom.clone(),
        from,
    }
}
