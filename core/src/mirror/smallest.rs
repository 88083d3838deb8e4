//! The smallest set of releases through which all of several clusters reach one target.
//!
//! Each cluster's best path, taken alone, needs too many releases. Ten clusters may pass through
//! ten releases of 4.15 where one would do for all. Finding the fewest is a Steiner problem with
//! one sink, hard in general and small in practice.
//!
//! The search grows a set backwards from the target. At any moment some releases are *inside*
//! (they reach the target through the set) and some are *attached* (one step leads inside). A
//! cluster on an attached release is served. For an unserved cluster, some attached release that
//! it can reach must join the set. The search tries each choice. Three things keep that short:
//!
//! - **A bound.** A cluster that is n releases away needs n more. If the set would grow too large,
//!   the choice was wrong. Sizes are tried from the smallest on, so the first set that is found is
//!   the smallest.
//! - **Dominance.** An attached release only adds the releases that may step to it. If everybody
//!   who may step to `a` may step to `b`, then `b` serves in any set where `a` does. A newer patch
//!   mostly takes everybody that an older one does, so few choices remain.
//! - **No set twice.** Later choices at a place leave out what was tried there, and whatever it
//!   dominates.
//!
//! After [`MAX_LOOKS`] looks the search gives up. Then the answer is the best paths together, and
//! says so.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::reachable_graph::{Limits, ReachableGraph};
use crate::graph::ReleaseId;

/// The search gives up after this many sets. On the real EUS channels 30 are enough, with a cluster
/// on every release.
pub const MAX_LOOKS: usize = 50_000;

/// A set of releases that is enough, and whether it is known to be the smallest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smallest {
    /// The releases that have to be there. The clusters' own are not among them unless somebody passes through.
    pub releases: BTreeSet<ReleaseId>,
    pub proof: SizeProof,
}

/// What is known about a set's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeProof {
    /// No smaller one will do.
    Smallest,
    /// The search gave up: these are the best ways together.
    GaveUp {
        /// No set with fewer releases will do, those aside that are there already.
        at_least: usize,
    },
}

/// The fewest releases through which every source gets to the target. Those in `have` are there already and cost nothing.
/// Sources without a way are left out.
pub fn smallest(
    ways: &ReachableGraph,
    sources: &BTreeSet<ReleaseId>,
    target: ReleaseId,
    have: &BTreeSet<ReleaseId>,
) -> Smallest {
    smallest_within(ways, sources, target, have, MAX_LOOKS)
}

/// The same, with a number of looks.
pub fn smallest_within(
    ways: &ReachableGraph,
    sources: &BTreeSet<ReleaseId>,
    target: ReleaseId,
    have: &BTreeSet<ReleaseId>,
    looks: usize,
) -> Smallest {
    let together = best_together(ways, sources, target);
    let enough = together.difference(have).count();
    let bits = BitGraph::of(ways, sources, target, have);
    let mut search = Search { bits: &bits, looks };
    let start = State::at(&bits, usize::from(!have.contains(&target)));
    for size in start.cost..enough {
        match search.grow(start.clone(), size) {
            SearchOutcome::Set(inside) => {
                let releases = inside.iter().map(|at| bits.releases[at]).collect();
                return Smallest {
                    releases,
                    proof: SizeProof::Smallest,
                };
            }
            SearchOutcome::Nothing => {}
            SearchOutcome::GaveUp => {
                return Smallest {
                    releases: together,
                    proof: SizeProof::GaveUp { at_least: size },
                };
            }
        }
    }
    Smallest {
        releases: together,
        proof: SizeProof::Smallest,
    }
}

/// What the best ways lead through, together.
fn best_together(
    ways: &ReachableGraph,
    sources: &BTreeSet<ReleaseId>,
    target: ReleaseId,
) -> BTreeSet<ReleaseId> {
    let towards = ways.towards(target, Limits::default());
    let plans = sources.iter().filter_map(|source| towards.from(*source));
    plans.flat_map(|plan| plan.hops).map(|hop| hop.to).collect()
}

/// The releases that may matter, numbered from the oldest on: those between a source and the target.
struct BitGraph {
    releases: Vec<ReleaseId>,
    /// For each: who may step to it.
    into: Vec<Bits>,
    /// For each: what it may step to.
    onto: Vec<Bits>,
    sources: Bits,
    target: usize,
    /// Those that are there already.
    free: Bits,
}

impl BitGraph {
    fn of(
        ways: &ReachableGraph,
        sources: &BTreeSet<ReleaseId>,
        target: ReleaseId,
        have: &BTreeSet<ReleaseId>,
    ) -> Self {
        let reached: BTreeSet<ReleaseId> = sources
            .iter()
            .flat_map(|source| ways.reached(*source))
            .collect();
        let mut between = BTreeSet::from([target]);
        let mut into: BTreeMap<ReleaseId, Vec<ReleaseId>> = BTreeMap::new();
        for from in &reached {
            ways.steps(*from)
                .for_each(|(to, _)| into.entry(to).or_default().push(*from));
        }
        let mut open = vec![target];
        while let Some(to) = open.pop() {
            open.extend(
                into.get(&to)
                    .into_iter()
                    .flatten()
                    .filter(|from| between.insert(**from)),
            );
        }
        let releases: Vec<ReleaseId> = between.into_iter().collect();
        let number = |release: &ReleaseId| releases.binary_search(release).ok();
        let all =
            |found: &BTreeSet<ReleaseId>| Bits::of(releases.len(), found.iter().filter_map(number));
        let mut bits = Self {
            into: vec![Bits::of(releases.len(), []); releases.len()],
            onto: vec![Bits::of(releases.len(), []); releases.len()],
            sources: all(sources),
            free: all(have),
            // The target was the first to be put there.
            target: number(&target).unwrap_or_default(),
            releases: Vec::new(),
        };
        for (from, release) in releases.iter().enumerate() {
            for to in ways.steps(*release).filter_map(|(to, _)| number(&to)) {
                bits.into[to].insert(from);
                bits.onto[from].insert(to);
            }
        }
        bits.releases = releases;
        bits
    }
}

/// A set as it grows.
#[derive(Clone)]
struct State {
    inside: Bits,
    /// What is in it, or one step away.
    attached: Bits,
    /// What has been tried before and is not to be tried again.
    excluded: Bits,
    /// How many of it are not there already.
    cost: usize,
}

impl State {
    fn at(bits: &BitGraph, cost: usize) -> Self {
        let nothing = Bits::of(bits.releases.len(), []);
        let start = Self {
            inside: nothing.clone(),
            attached: nothing.clone(),
            excluded: nothing,
            cost,
        };
        start.with(bits, bits.target, 0)
    }

    fn with(mut self, bits: &BitGraph, release: usize, cost: usize) -> Self {
        self.inside.insert(release);
        self.attached.insert(release);
        self.attached.unite(&bits.into[release]);
        self.cost += cost;
        self
    }

    /// What is there already joins as soon as it can: it costs nothing.
    fn with_all_that_is_free(mut self, bits: &BitGraph) -> Self {
        loop {
            let free = self.attached.and(&bits.free).without(&self.inside);
            let Some(first) = free.iter().next() else {
                return self;
            };
            self = self.with(bits, first, 0);
        }
    }
}

enum SearchOutcome {
    Set(Bits),
    Nothing,
    GaveUp,
}

struct Search<'a> {
    bits: &'a BitGraph,
    looks: usize,
}

impl Search<'_> {
    /// A set of at most that size that contains what the state has, and nothing that it excludes.
    fn grow(&mut self, state: State, size: usize) -> SearchOutcome {
        let Some(left) = self.looks.checked_sub(1) else {
            return SearchOutcome::GaveUp;
        };
        self.looks = left;
        let mut state = state.with_all_that_is_free(self.bits);
        let unserved = self.bits.sources.without(&state.attached);
        if unserved.is_empty() {
            return SearchOutcome::Set(state.inside);
        }
        if !self.is_near_enough(&state, &unserved, size - state.cost) {
            return SearchOutcome::Nothing;
        }
        for choice in self.choices(&state, &unserved) {
            match self.grow(state.clone().with(self.bits, choice, 1), size) {
                SearchOutcome::Nothing => state.excluded.insert(choice),
                found => return found,
            }
        }
        SearchOutcome::Nothing
    }

    /// Whether each of these reaches an attached release with at most this many more releases.
    fn is_near_enough(&self, state: &State, unserved: &Bits, more: usize) -> bool {
        let mut near = state.attached.clone();
        for _ in 0..more {
            let mut new = self.before(&near, state);
            // What is there already costs nothing, however many of it follow each other.
            loop {
                let free = new.and(&self.bits.free).without(&near);
                near.unite(&new);
                if free.is_empty() {
                    break;
                }
                new = self.before(&free, state);
            }
        }
        unserved.without(&near).is_empty()
    }

    /// Who may step to one of these that is not excluded.
    fn before(&self, these: &Bits, state: &State) -> Bits {
        let mut before = Bits::of(self.bits.releases.len(), []);
        these
            .without(&state.excluded)
            .iter()
            .for_each(|at| before.unite(&self.bits.into[at]));
        before
    }

    /// The attached releases that the most constrained source needs. One of them must join.
    fn choices(&self, state: &State, unserved: &Bits) -> Vec<usize> {
        let (askers, attached) = self.askers(state, unserved);
        let useful = |at: usize| self.bits.into[at].and(&askers);
        let candidates: Vec<(usize, Bits)> = attached.iter().map(|at| (at, useful(at))).collect();
        // What was excluded has been tried; what it dominates need not be.
        let dominated = |(at, users): &(usize, Bits)| {
            let better = |(other, theirs): &(usize, Bits)| {
                other != at
                    && users.is_within(theirs)
                    && (users != theirs || other > at || state.excluded.has(*other))
            };
            candidates.iter().any(better)
        };
        let is_open =
            |candidate: &&(usize, Bits)| !state.excluded.has(candidate.0) && !dominated(candidate);
        let open: Vec<&(usize, Bits)> = candidates.iter().filter(is_open).collect();
        let of_source = |source: usize| {
            let (askers, _) = self.askers(state, &Bits::of(self.bits.releases.len(), [source]));
            open.iter()
                .filter(|(_, users)| !users.and(&askers).is_empty())
                .copied()
                .collect::<Vec<_>>()
        };
        let fewest = unserved
            .iter()
            .map(of_source)
            .min_by_key(Vec::len)
            .unwrap_or_default();
        let mut choices: Vec<(usize, usize)> = fewest
            .iter()
            .map(|(at, users)| (users.count(), *at))
            .collect();
        choices.sort_unstable_by_key(|choice| Reverse(*choice));
        choices.into_iter().map(|(_, at)| at).collect()
    }

    /// The releases that these get to before they come to an attached one, and the attached ones that they come to.
    fn askers(&self, state: &State, these: &Bits) -> (Bits, Bits) {
        let (mut askers, mut open) = (these.clone(), these.clone());
        let mut attached = Bits::of(self.bits.releases.len(), []);
        while !open.is_empty() {
            let mut next = Bits::of(self.bits.releases.len(), []);
            open.iter().for_each(|at| next.unite(&self.bits.onto[at]));
            attached.unite(&next.and(&state.attached));
            open = next
                .without(&state.attached)
                .without(&state.excluded)
                .without(&askers);
            askers.unite(&open);
        }
        (askers, attached)
    }
}

/// A set of small numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bits(Box<[u64]>);

impl Bits {
    fn of(len: usize, members: impl IntoIterator<Item = usize>) -> Self {
        let mut bits = Self(vec![0; len.div_ceil(64)].into());
        members.into_iter().for_each(|at| bits.insert(at));
        bits
    }

    fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] & 1 << (at % 64) != 0
    }

    fn unite(&mut self, other: &Self) {
        self.0
            .iter_mut()
            .zip(&other.0)
            .for_each(|(word, other)| *word |= other);
    }

    fn and(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(word, other)| word & other)
                .collect(),
        )
    }

    fn without(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(word, other)| word & !other)
                .collect(),
        )
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .all(|(word, other)| word & !other == 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let without_lowest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
        let of_word = move |word: u64| {
            std::iter::successors(Some(word).filter(|word| *word != 0), without_lowest)
        };
        let words = self.0.iter().enumerate();
        words.flat_map(move |(number, word)| {
            of_word(*word).map(move |rest| number * 64 + rest.trailing_zeros() as usize)
        })
    }
}
