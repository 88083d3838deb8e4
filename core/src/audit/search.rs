//! The search: from a goal back to every release, once for all of them.
//!
//! It finds the fewest blocks exactly, and fast. In general, finding the path with the fewest
//! labels is hard, because a label costs only once. Here no label comes twice: a block concerns
//! edges into *one* release, and a shortest path enters each release once. So blocks add up along
//! a path like lengths, and Dijkstra's search finds the fewest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::edge_access::{ClientAccess, EdgeAccess};
use super::search_space::ChannelSteps;

/// The next release towards the goal, for each that has one. The goal's own is the goal.
pub(super) type NextReleases = Vec<Option<u32>>;

/// Over plain edges only: the fewest hops, then the newest releases.
pub(super) fn plain(space: &ChannelSteps<'_>, access: &ClientAccess, goal: u32) -> NextReleases {
    let mut steps: NextReleases = vec![None; space.steps.count() as usize];
    steps[goal as usize] = Some(goal);
    let mut reached = vec![goal];
    while !reached.is_empty() {
        let mut further = Vec::new();
        // Whoever could step to several takes the newest.
        reached.sort_unstable_by_key(|member| Reverse(*member));
        for to in reached {
            for step in space.steps.leading_to(to) {
                if steps[step.release as usize].is_none()
                    && *access.through(step.blocks) == EdgeAccess::Plain
                {
                    steps[step.release as usize] = Some(to);
                    further.push(step.release);
                }
            }
        }
        reached = further;
    }
    steps
}

/// What a way costs. Fewer blocks to remove come first, then fewer hops, then fewer hops with risks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    blocks: u32,
    hops: u32,
    risky_hops: u32,
}

impl Cost {
    const NOTHING: Self = Self {
        blocks: 0,
        hops: 0,
        risky_hops: 0,
    };

    /// One hop farther; none if nothing makes that hop possible.
    fn with(self, access: &EdgeAccess) -> Option<Self> {
        let (blocks, risky) = match access {
            EdgeAccess::Plain => (0, 0),
            EdgeAccess::Conditional(_) => (0, 1),
            EdgeAccess::Stopped(blocks) => (blocks.len() as u32, 0),
            EdgeAccess::Closed => return None,
        };
        Some(Self {
            blocks: self.blocks + blocks,
            hops: self.hops + 1,
            risky_hops: self.risky_hops + risky,
        })
    }
}

/// Over any edges, stopped ones at the price of their blocks: the cheapest, then the newest releases.
pub(super) fn any(space: &ChannelSteps<'_>, access: &ClientAccess, goal: u32) -> NextReleases {
    let mut best: Vec<Option<(Cost, Reverse<u32>)>> = vec![None; space.steps.count() as usize];
    best[goal as usize] = Some((Cost::NOTHING, Reverse(goal)));
    let mut waiting = BinaryHeap::from([Reverse((Cost::NOTHING, goal))]);
    while let Some(Reverse((cost, to))) = waiting.pop() {
        if best[to as usize].is_some_and(|(cheaper, _)| cheaper < cost) {
            continue;
        }
        for step in space.steps.leading_to(to) {
            let Some(farther) = cost.with(access.through(step.blocks)) else {
                continue;
            };
            let offer = (farther, Reverse(to));
            let known = &mut best[step.release as usize];
            if known.is_none_or(|known| offer < known) {
                // A newer release at the same cost changes the step alone.
                let cheaper = known.is_none_or(|(cost, _)| offer.0 < cost);
                *known = Some(offer);
                if cheaper {
                    waiting.push(Reverse((offer.0, step.release)));
                }
            }
        }
    }
    best.into_iter()
        .map(|best| best.map(|(_, Reverse(step))| step))
        .collect()
}

/// The way from a member to the goal.
pub(super) fn way(steps: &NextReleases, from: u32) -> Option<Vec<u32>> {
    let mut way = vec![from];
    let mut at = from;
    loop {
        let next = steps[at as usize]?;
        if next == at {
            return Some(way);
        }
        // Each step is nearer to the goal, so none comes twice.
        way.push(next);
        at = next;
    }
}
