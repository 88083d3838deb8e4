//! The ground that is searched: the releases of one architecture, and the edges that may be taken between them in some channel.
//!
//! An edge is here if the standing rules offer it to the cluster, its risks may be taken, and a channel holds both ends. When
//! it opens is asked of the rules only where it matters: a way with few hops is looked for without regard to time.
//!
//! Releases have their place among those of the architecture for a number, so a higher number is a newer release.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{Request, RiskPolicy, Tolls};
use crate::domain::graph::BlockSetId;
use crate::domain::{Answer, Channel, Cluster, Edge, Graph, ReleaseId, RiskId, Situation};
use crate::rules::{Policy, Rule};

/// An edge that may be taken, without the end that it is listed under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// The other end.
    pub(super) release: u32,
    blocks: BlockSetId,
    /// Whether its ends are there.
    pub(super) ends: Ends,
}

/// Whether both ends of a step have entered a channel. When the edge between them opens is another matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ends {
    /// One channel holds both by now.
    Entered,
    /// One of them enters later.
    Later,
}

pub(super) struct Ground<'a> {
    pub(super) graph: &'a Graph,
    pub(super) now: Timestamp,
    /// The number of the architecture's first release in the graph.
    first: u32,
    pub(super) count: u32,
    channels: Vec<Place<'a>>,
    /// For each release, the channels that hold it, a bit each; so many words a release.
    held_by: Vec<u64>,
    /// The same, of the channels that it has entered by now.
    entered: Vec<u64>,
    words: usize,
    /// The channels in which all is open to everybody, a bit each.
    settled: Vec<u64>,
    out: Steps,
    into: Steps,
    tolls: &'a Tolls,
    timing: Policy,
}

/// A channel, and the cluster as it would be in it.
#[derive(Clone)]
struct Place<'a> {
    channel: &'a Channel,
    cluster: Cluster,
    /// All that is in it is open to everybody.
    settled: bool,
}

/// The steps of each release, one release after the other.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    begin: Vec<u32>,
}

impl Steps {
    fn of(&self, release: u32) -> &[Step] {
        &self.steps[self.begin[release as usize] as usize..self.begin[release as usize + 1] as usize]
    }
}

impl<'a> Ground<'a> {
    pub(super) fn new(graph: &'a Graph, tolls: &'a Tolls, channels: &[&'a Channel], request: &Request) -> Self {
        let asker = &request.asker;
        let first = graph.releases().partition_point(|release| release.arch < asker.arch);
        let end = graph.releases().partition_point(|release| release.arch <= asker.arch);
        let (first, count) = (first as u32, (end - first) as u32);
        let words = channels.len().div_ceil(64).max(1);
        let mut held_by = vec![0u64; count as usize * words];
        let mut entered = held_by.clone();
        for (number, channel) in channels.iter().enumerate() {
            for (id, place) in graph.members(channel, &asker.arch) {
                let (word, bit) = ((id.0 - first) as usize * words + number / 64, 1 << (number % 64));
                held_by[word] |= bit;
                entered[word] |= if place.start <= request.now { bit } else { 0 };
            }
        }
        let places = channels.iter().map(|channel| Place {
            channel,
            cluster: asker.in_channel(&channel.name),
            settled: is_settled(channel, request.now),
        });
        let places: Vec<Place<'a>> = places.collect();
        let mut settled = vec![0u64; words];
        let is_settled = places.iter().enumerate().filter(|(_, place)| place.settled);
        is_settled.for_each(|(number, _)| settled[number / 64] |= 1 << (number % 64));
        let mut ground = Self {
            graph,
            now: request.now,
            first,
            count,
            channels: places,
            held_by,
            entered,
            words,
            settled,
            out: Steps::default(),
            into: Steps::default(),
            tolls,
            timing: Policy::timing(),
        };
        ground.lay_out(&request.risks);
        ground.turn_around();
        ground
    }

    /// The same ground, were all risks taken.
    pub(super) fn with_all_risks(&self) -> Self {
        let mut ground = Self {
            channels: self.channels.clone(),
            held_by: self.held_by.clone(),
            entered: self.entered.clone(),
            settled: self.settled.clone(),
            out: Steps::default(),
            into: Steps::default(),
            timing: Policy::timing(),
            ..*self
        };
        ground.lay_out(&RiskPolicy::Any);
        ground.turn_around();
        ground
    }

    /// Finds the steps out of each release.
    fn lay_out(&mut self, policy: &RiskPolicy) {
        let taken = |risks: &[RiskId]| risks.iter().all(|risk| policy.takes(self.graph.risk(*risk)));
        let is_open: Vec<bool> =
            self.graph.block_sets().map(|blocks| self.tolls.risks(blocks).is_some_and(taken)).collect();
        self.out.begin.push(0);
        for from in 0..self.count {
            for edge in self.graph.edges_from(self.id(from)) {
                let to = edge.to.0 - self.first;
                if is_open[edge.blocks.0 as usize] && self.is_held_together(from, to) {
                    self.out.steps.push(Step { release: to, blocks: edge.blocks, ends: self.ends(from, to) });
                }
            }
            self.out.begin.push(self.out.steps.len() as u32);
        }
    }

    /// Lists the same steps by where they lead to.
    fn turn_around(&mut self) {
        let mut begin = vec![0u32; self.count as usize + 1];
        self.out.steps.iter().for_each(|step| begin[step.release as usize + 1] += 1);
        (1..begin.len()).for_each(|at| begin[at] += begin[at - 1]);
        let mut next = begin.clone();
        let mut steps = self.out.steps.clone();
        for from in 0..self.count {
            for step in self.out.of(from) {
                let place = &mut next[step.release as usize];
                steps[*place as usize] = Step { release: from, ..*step };
                *place += 1;
            }
        }
        self.into = Steps { steps, begin };
    }

    /// The steps out of a release, the oldest target first.
    pub(super) fn out(&self, release: u32) -> &[Step] {
        self.out.of(release)
    }

    /// The steps into a release, the oldest source first.
    pub(super) fn into(&self, release: u32) -> &[Step] {
        self.into.of(release)
    }

    /// The risks of a step.
    pub(super) fn risks(&self, step: Step) -> &[RiskId] {
        self.tolls.risks(step.blocks).unwrap_or_default()
    }

    /// The step between two releases, if there is one.
    pub(super) fn step(&self, from: u32, to: u32) -> Option<Step> {
        let steps = self.out(from);
        steps.binary_search_by_key(&to, |step| step.release).ok().map(|at| steps[at])
    }

    /// The risks between two releases that a step joins.
    pub(super) fn risks_between(&self, from: u32, to: u32) -> BTreeSet<RiskId> {
        self.step(from, to).map_or_else(BTreeSet::new, |step| self.risks(step).iter().copied().collect())
    }

    /// The channels that hold both releases, in the order in which they are preferred, and when the edge opens in each.
    pub(super) fn openings(&self, from: u32, to: u32) -> impl Iterator<Item = (usize, Timestamp)> {
        let words = self.held(from).iter().zip(self.held(to)).enumerate();
        let together = words.flat_map(|(word, (a, b))| bits(a & b).map(move |bit| word * 64 + bit));
        together.filter_map(move |number| Some((number, self.opening(number, from, to)?)))
    }

    /// When an edge opens in a channel: now or later; none if nobody can say.
    fn opening(&self, channel: usize, from: u32, to: u32) -> Option<Timestamp> {
        let Place { cluster, settled, .. } = &self.channels[channel];
        if *settled {
            return Some(self.now);
        }
        let edge = Edge { from: self.id(from), to: self.id(to), blocks: BlockSetId::NONE };
        let at = Situation { graph: self.graph, cluster, now: self.now };
        match self.timing.judge(edge, &at).answer {
            Answer::Recommend | Answer::RecommendUnless(_) => Some(self.now),
            Answer::Wait { until } => until,
            Answer::Refuse => None,
        }
    }

    /// When an edge opens first, in whichever channel.
    pub(super) fn opens(&self, from: u32, to: u32) -> Option<Timestamp> {
        let mut words = self.held(from).iter().zip(self.held(to)).zip(&self.settled);
        if words.any(|((a, b), settled)| a & b & settled != 0) {
            return Some(self.now);
        }
        let mut earliest = None;
        for (_, opens) in self.openings(from, to) {
            if opens <= self.now {
                return Some(opens);
            }
            earliest = Some(earliest.map_or(opens, |earliest: Timestamp| earliest.min(opens)));
        }
        earliest
    }

    /// A channel.
    pub(super) fn channel(&self, number: usize) -> &'a Channel {
        self.channels[number].channel
    }

    /// Whether a channel holds a release.
    pub(super) fn holds(&self, channel: usize, release: u32) -> bool {
        self.held_by[release as usize * self.words + channel / 64] >> (channel % 64) & 1 == 1
    }

    /// Whether some channel holds both.
    pub(super) fn is_held_together(&self, from: u32, to: u32) -> bool {
        self.held(from).iter().zip(self.held(to)).any(|(a, b)| a & b != 0)
    }

    /// Whether some channel holds both by now.
    fn ends(&self, from: u32, to: u32) -> Ends {
        let by_now = |release: u32| &self.entered[release as usize * self.words..(release as usize + 1) * self.words];
        match by_now(from).iter().zip(by_now(to)).any(|(a, b)| a & b != 0) {
            true => Ends::Entered,
            false => Ends::Later,
        }
    }

    /// Whether all releases of a way are there.
    pub(super) fn ends_of(&self, way: &[u32]) -> Ends {
        let steps = way.windows(2).filter_map(|pair| self.step(pair[0], pair[1]));
        steps.map(|step| step.ends).max().unwrap_or(Ends::Entered)
    }

    /// The channels that hold a release, a bit each.
    fn held(&self, release: u32) -> &[u64] {
        &self.held_by[release as usize * self.words..(release as usize + 1) * self.words]
    }

    /// A release's number in the graph.
    pub(super) fn id(&self, release: u32) -> ReleaseId {
        ReleaseId(self.first + release)
    }

    /// Its number here.
    pub(super) fn number(&self, id: ReleaseId) -> u32 {
        id.0 - self.first
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

/// Windows that begin earlier may end a little later: both Jan 30 and Jan 31, plus a month, are on Feb 28.
const CALENDAR_MARGIN: SignedDuration = SignedDuration::from_hours(48);

/// Whether everything in a channel has long been open. The rules say the same of each edge in it; this is asked once.
fn is_settled(channel: &Channel, now: Timestamp) -> bool {
    let last = channel.members.iter().map(|(_, place)| place.start).max().unwrap_or(Timestamp::MIN);
    let last_end = channel.rollouts.iter().map(|rule| rule.window(last).end).max();
    let is_long_ago = |end: Timestamp| now.duration_since(end) >= CALENDAR_MARGIN;
    last == Timestamp::MIN || (last <= now && last_end.is_none_or(is_long_ago))
}
