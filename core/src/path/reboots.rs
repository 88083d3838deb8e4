//! The path with the fewest reboots of workers, then the fewest hops.
//!
//! What a hop costs depends on whether pools are paused, and since which minor version. So the
//! search goes over releases and that. The schedule itself is made by `pools`, from the path.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::search::Search;
use crate::graph::ReleaseId;
use crate::version::{Minor, Version};

/// The minor version that pools are paused on; none while they go along.
type PausedOn = Option<Minor>;

/// Reboots, then hops.
type RebootCost = (usize, usize);

/// The best way from a release.
pub(super) fn fewest_reboots(search: &Search<'_>, start: u32) -> Option<Vec<u32>> {
    let left = to_goal(search);
    let mut states: BTreeMap<PausedOn, usize> = BTreeMap::from([(None, 0)]);
    let best = |at: u32, states: &BTreeMap<PausedOn, usize>| -> Option<RebootCost> {
        let total = |(paused_on, reboots): (&PausedOn, &usize)| {
            let (more, hops) = left.get(&(at, *paused_on))?;
            Some((reboots + more, *hops))
        };
        states.iter().filter_map(total).min()
    };
    let (mut at, mut way) = (start, vec![start]);
    while at != search.goal {
        let (reboots, hops) = best(at, &states)?;
        let newest_first = search.space.out(at).iter().rev().map(|step| step.release);
        let next = newest_first
            .map(|to| (to, after(search, &states, at, to)))
            .find(|(to, states)| best(*to, states) == Some((reboots, hops - 1)))?;
        (at, states) = next;
        way.push(at);
    }
    Some(way)
}

/// What it costs at least from each release, with pools as they are there, to the goal with all pools updated.
fn to_goal(search: &Search<'_>) -> BTreeMap<(u32, PausedOn), RebootCost> {
    let end = (search.goal, None);
    let mut costs = BTreeMap::from([(end, (0, 0))]);
    let mut waiting = BinaryHeap::from([Reverse(((0, 0), end))]);
    while let Some(Reverse((cost, (to, paused_after)))) = waiting.pop() {
        if costs
            .get(&(to, paused_after))
            .is_some_and(|known| *known < cost)
        {
            continue;
        }
        for from in search.space.into(to).iter().map(|step| step.release) {
            for paused_before in possible(search, from) {
                let more = hop(search, paused_before, from, to)
                    .filter(|(after, _)| *after == paused_after)
                    .map(|(_, reboots)| reboots)
                    .min();
                let Some(more) = more else { continue };
                let (new, state) = ((cost.0 + more, cost.1 + 1), (from, paused_before));
                if costs.get(&state).is_none_or(|known| new < *known) {
                    costs.insert(state, new);
                    waiting.push(Reverse((new, state)));
                }
            }
        }
    }
    costs
}

/// How pools can be when the control plane is at a release.
fn possible(search: &Search<'_>, release: u32) -> Vec<PausedOn> {
    let minors = search.space.minors();
    let at = Minor::of(version(search, release));
    let eus = minors.rows().keys().filter(|minor| minors.is_eus(**minor));
    let before = eus.filter(|minor| **minor <= at).rev().take(2);
    std::iter::once(None)
        .chain(before.map(|minor| Some(*minor)))
        .collect()
}

/// How pools can be after a hop, and how often they reboot for it.
fn hop(
    search: &Search<'_>,
    before: PausedOn,
    from: u32,
    to: u32,
) -> impl Iterator<Item = (PausedOn, usize)> {
    let minors = search.space.minors();
    let (from, to) = (version(search, from), version(search, to));
    let goes_along = before.is_none().then_some((None, 1));
    let on = before.or_else(|| Some(Minor::of(from)).filter(|minor| minors.is_eus(*minor)));
    // Between that and the next minor version with extended update support.
    let is_within = |on: &Minor| {
        let is_between = |minor: &Minor| minor > on && *minor < Minor::of(to);
        let mut between = minors.rows().keys().filter(|minor| is_between(minor));
        Minor::of(to) >= *on
            && !between.any(|minor| minors.is_eus(*minor))
            && minors.lets_minor_lag(*on, to)
    };
    let on = on.filter(is_within);
    let stays = on.map(|on| (Some(on), 0));
    let reaches = |on: &Minor| Minor::of(to) > *on && minors.is_eus(Minor::of(to));
    let catches_up = on.filter(reaches).map(|_| (None, 1));
    goes_along.into_iter().chain(stays).chain(catches_up)
}

/// How pools can be after a hop, each with the fewest reboots so far.
fn after(
    search: &Search<'_>,
    states: &BTreeMap<PausedOn, usize>,
    from: u32,
    to: u32,
) -> BTreeMap<PausedOn, usize> {
    let mut all = BTreeMap::new();
    for (before, so_far) in states {
        for (paused_on, more) in hop(search, *before, from, to) {
            let reboots = so_far + more;
            let known = all.entry(paused_on).or_insert(reboots);
            *known = reboots.min(*known);
        }
    }
    all
}

fn version<'a>(search: &'a Search<'_>, release: u32) -> &'a Version {
    let id: ReleaseId = search.space.id(release);
    &search.space.graph.release(id).version
}
