//! The search for the best path on from a release.
//!
//! It searches releases, not channels. The channel is chosen when the path is known. Among equally
//! good paths it takes the one with the newer release at the first hop where they differ. Among
//! paths with the fewest hops it prefers one whose releases have all entered. So nobody waits
//! without need, and `mirror` lists what the plan uses.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::search_space::{Ends, SearchSpace};
use super::{Preference, pools, reboots, rollouts, safest, schedule};
use crate::duration::Rollout;
use crate::graph::{GraphStep, ReleaseId};

/// How long it takes from one release to another: never less than nothing.
pub type Lasts<'a> = dyn Fn(ReleaseId, ReleaseId) -> SignedDuration + 'a;

pub(super) struct Search<'a> {
    pub(super) space: &'a SearchSpace<'a>,
    pub(super) goal: u32,
    pub(super) prefer: Preference,
    pub(super) lasts: &'a Lasts<'a>,
    /// How many sets of risks were looked at.
    pub(super) max_labels: usize,
    /// Whether what was found is known to be the best.
    pub(super) certainty: Cell<Certainty>,
}

/// Whether the ways that were found are known to be the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Certainty {
    #[default]
    Best,
    /// There is a way for sure, but the search for the fewest risks came to its limit; there may be a safer one.
    SearchLimit,
}

/// What a way costs: the less, the better. The last part makes the newer release the better one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    first: i128,
    hops: usize,
    ends: Ends,
    releases: Vec<Reverse<u32>>,
}

/// From where there is no way.
pub(super) const FAR: u32 = u32::MAX;

/// How far around the goal one looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// No farther than the start is.
    Start,
    Everywhere,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        space: &'a SearchSpace<'a>,
        goal: u32,
        prefer: Preference,
        lasts: &'a Lasts<'a>,
    ) -> Self {
        Self {
            space,
            goal,
            prefer,
            lasts,
            max_labels: safest::MAX_LABELS,
            certainty: Cell::default(),
        }
    }

    /// The best way from a release, as releases, if there is one.
    pub(super) fn best(&self, start: u32) -> Option<Vec<u32>> {
        match self.prefer {
            Preference::FewestHops => self.fewest(start),
            Preference::Safest => safest::safest(self, start),
            Preference::Soonest => self.soonest(start, self.space.now),
            Preference::FewestReboots => reboots::fewest_reboots(self, start),
        }
    }

    pub(super) fn cost(&self, way: &[u32]) -> Cost {
        let first = match self.prefer {
            Preference::FewestHops => 0,
            Preference::Safest => safest::names(self.space, way).len() as i128,
            Preference::Soonest => self.arrival(way).as_nanosecond(),
            Preference::FewestReboots => self.reboots(way) as i128,
        };
        let ends = match self.prefer {
            Preference::FewestHops => self.space.ends_of(way),
            Preference::Safest | Preference::Soonest | Preference::FewestReboots => Ends::Entered,
        };
        Cost {
            first,
            hops: way.len(),
            ends,
            releases: way.iter().copied().map(Reverse).collect(),
        }
    }

    /// How often workers reboot on a way.
    fn reboots(&self, way: &[u32]) -> usize {
        let releases: Vec<ReleaseId> = way.iter().map(|release| self.space.id(*release)).collect();
        let schedule = pools::schedule(self.space.graph, &releases, self.space.minors());
        rollouts(&schedule, Rollout::Runs)
    }

    /// Over the fewest hops; of those ways, one over releases that are there by now.
    fn fewest(&self, start: u32) -> Option<Vec<u32>> {
        let any = self.fewest_over(start, |_, _| true)?;
        if self.space.ends_of(&any) == Ends::Entered {
            return Some(any);
        }
        let there = self.fewest_over(start, |from, step| {
            self.space.ends(from, step.release) == Ends::Entered
        });
        there.filter(|there| there.len() == any.len()).or(Some(any))
    }

    /// Over the fewest hops, over those steps only of which `may` says so, given where they begin: how far each release is from the goal, then forward.
    pub(super) fn fewest_over(
        &self,
        start: u32,
        may: impl Fn(u32, GraphStep) -> bool,
    ) -> Option<Vec<u32>> {
        let space = self.space;
        let hops = self.hops_to_goal(start, Until::Start, &may);
        let mut way = vec![start];
        let mut at = start;
        while at != self.goal {
            let nearer =
                |to: u32| hops[to as usize] != FAR && hops[to as usize] + 1 == hops[at as usize];
            let mut steps = space.out(at).iter().rev();
            let next = steps.find(|step| nearer(step.release) && may(at, **step))?;
            at = next.release;
            way.push(at);
        }
        Some(way)
    }

    /// Over exactly that many hops: over releases that are there by now if possible, then over the newer ones.
    pub(super) fn of_hops(&self, start: u32, count: usize) -> Option<Vec<u32>> {
        let is_there = |from: u32, to: u32| self.space.ends(from, to) == Ends::Entered;
        let there = self.of_hops_over(start, count, is_there);
        there.or_else(|| self.of_hops_over(start, count, |_, _| true))
    }

    fn of_hops_over(
        &self,
        start: u32,
        count: usize,
        may: impl Fn(u32, u32) -> bool,
    ) -> Option<Vec<u32>> {
        // By the hops that are left, from where the goal is exactly so far.
        let releases = self.space.count as usize;
        let mut near = vec![vec![false; releases]];
        near[0][self.goal as usize] = true;
        for left in 0..count {
            self.space.budget.take(releases);
            let mut farther = vec![false; releases];
            let ends = (0..self.space.count).filter(|to| near[left][*to as usize]);
            for to in ends {
                let sources = self.space.into(to).iter().map(|step| step.release);
                let sources = sources.filter(|from| *from != self.goal && may(*from, to));
                sources.for_each(|from| farther[from as usize] = true);
            }
            near.push(farther);
        }
        let mut way = vec![start];
        for left in (0..count).rev() {
            let at = *way.last()?;
            let newest_first = self.space.out(at).iter().rev().map(|step| step.release);
            let mut nearer = newest_first.filter(|to| near[left][*to as usize] && may(at, *to));
            // In a graph that goes back and forth, this may miss a way. It never goes in circles.
            way.push(nearer.find(|to| !way.contains(to))?);
        }
        Some(way)
    }

    /// How many hops it is at least from each release to the goal; [`FAR`] from where there is no way.
    pub(super) fn hops_to_goal(
        &self,
        start: u32,
        until: Until,
        may: impl Fn(u32, GraphStep) -> bool,
    ) -> Vec<u32> {
        self.space.budget.take(self.space.count as usize);
        let mut hops: Vec<u32> = vec![FAR; self.space.count as usize];
        hops[self.goal as usize] = 0;
        let mut waiting = VecDeque::from([self.goal]);
        while let Some(to) = waiting.pop_front() {
            if to == start && until == Until::Start {
                break;
            }
            for step in self.space.into(to) {
                let from = step.release;
                if hops[from as usize] == FAR && may(from, step.with_end(to)) {
                    hops[from as usize] = hops[to as usize] + 1;
                    waiting.push_back(from);
                }
            }
        }
        hops
    }

    /// By the earliest arrival; then over the fewest hops by which one arrives no later.
    fn soonest(&self, start: u32, now: Timestamp) -> Option<Vec<u32>> {
        // What leads nowhere need not be timed.
        let left = self.hops_to_goal(start, Until::Everywhere, |_, _| true);
        if left[start as usize] == FAR {
            return None;
        }
        let arrivals = self.arrivals(start, now, &left);
        let due = arrivals[self.goal as usize]?;
        let latest = self.latest(start, now, due, &arrivals);
        let (mut at, mut time, mut way) = (start, now, vec![start]);
        for left in (0..latest.len() - 1).rev() {
            let mut steps = self.space.out(at).iter().rev().map(|step| step.release);
            let in_time = |to: u32| {
                let must = latest[left][to as usize]?;
                let arrives = self.arrives(at, to, time)?;
                (arrives <= must).then_some((to, arrives))
            };
            (at, time) = steps.find_map(in_time)?;
            way.push(at);
        }
        Some(way)
    }

    /// The earliest arrival at each release up to the goal. To wait is never better than to go: what is open stays open.
    fn arrivals(&self, start: u32, now: Timestamp, left: &[u32]) -> Vec<Option<Timestamp>> {
        let mut arrivals: Vec<Option<Timestamp>> = vec![None; self.space.count as usize];
        arrivals[start as usize] = Some(now);
        let mut waiting = BinaryHeap::from([Reverse((now, start))]);
        while let Some(Reverse((time, from))) = waiting.pop() {
            if arrivals[from as usize].is_some_and(|earlier| earlier < time) {
                continue;
            }
            if from == self.goal {
                break;
            }
            for to in self.space.out(from).iter().map(|step| step.release) {
                let known = arrivals[to as usize];
                let leads_on = left[to as usize] != FAR;
                if known.is_some_and(|known| known <= time) || !leads_on {
                    continue;
                }
                if let Some(arrives) = self
                    .arrives(from, to, time)
                    .filter(|new| known.is_none_or(|known| *new < known))
                {
                    arrivals[to as usize] = Some(arrives);
                    waiting.push(Reverse((arrives, to)));
                }
            }
        }
        arrivals
    }

    /// The latest time at each release to reach the goal in time with some hops left: for 0, 1, 2,
    /// … hops,
    /// up to the first number that is enough.
    fn latest(
        &self,
        start: u32,
        now: Timestamp,
        due: Timestamp,
        arrivals: &[Option<Timestamp>],
    ) -> Vec<Vec<Option<Timestamp>>> {
        let count = self.space.count as usize;
        let mut latest = vec![vec![None; count]];
        latest[0][self.goal as usize] = Some(due);
        // The earliest way has at most so many hops, so this ends.
        for hops in 0..count {
            self.space.budget.take(count);
            if self.space.budget.end().is_some()
                || latest[hops][start as usize].is_some_and(|must| must >= now)
            {
                break;
            }
            let mut further: Vec<Option<Timestamp>> = vec![None; count];
            for to in 0..self.space.count {
                let Some(must) = latest[hops][to as usize] else {
                    continue;
                };
                for from in self.space.into(to).iter().map(|step| step.release) {
                    let Some(arrival) = arrivals[from as usize] else {
                        continue;
                    };
                    let known = further[from as usize];
                    let leave = self
                        .leaves(from, to, must)
                        .filter(|leave| *leave >= arrival);
                    further[from as usize] = known.max(leave);
                }
            }
            latest.push(further);
        }
        latest
    }

    /// When one arrives who is there at that time and leaves as soon as it is offered.
    fn arrives(&self, from: u32, to: u32, time: Timestamp) -> Option<Timestamp> {
        let opens = self.space.opens(from, to)?;
        Some(schedule::later(time.max(opens), self.lasting(from, to)))
    }

    /// When one has to leave at the latest to arrive by then; none if it is not offered so early.
    fn leaves(&self, from: u32, to: u32, must: Timestamp) -> Option<Timestamp> {
        let leave = must.checked_sub(self.lasting(from, to)).ok()?;
        self.space
            .opens(from, to)
            .filter(|opens| *opens <= leave)
            .map(|_| leave)
    }

    fn lasting(&self, from: u32, to: u32) -> SignedDuration {
        (self.lasts)(self.space.id(from), self.space.id(to)).max(SignedDuration::ZERO)
    }

    /// When one arrives at the end of a way.
    fn arrival(&self, way: &[u32]) -> Timestamp {
        let arrives = |time, pair: &[u32]| {
            self.arrives(pair[0], pair[1], time)
                .unwrap_or(Timestamp::MAX)
        };
        way.windows(2).fold(self.space.now, arrives)
    }
}
