//! The ground that is searched: a chart of steps between releases, at one time, for one cluster.
//!
//! An edge is a step if the standing rules offer it to the cluster, its risks may be taken, and a channel holds both ends. When
//! it opens is asked of the rules only where it matters: a way with few hops is looked for without regard to time.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::chart::{Chart, ChartOf, Charts, Step};
use super::{Budget, Request, RiskPolicy};
use crate::domain::graph::BlockSetId;
use crate::domain::{Answer, Channel, Cluster, Edge, Graph, ReleaseId, RiskId, Situation};
use crate::rules::{Policy, Rule};

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
    pub(super) count: u32,
    chart: Arc<Chart>,
    charts: &'a dyn Charts,
    channels: Vec<Place<'a>>,
    /// For each release, the channels that it has entered by now, a bit each.
    entered: Vec<u64>,
    /// The channels in which all is open to everybody, a bit each.
    settled: Vec<u64>,
    timing: Policy,
    pub(super) budget: &'a Budget<'a>,
}

/// A channel, and the cluster as it would be in it.
#[derive(Clone)]
struct Place<'a> {
    channel: &'a Channel,
    cluster: Cluster,
    /// All that is in it is open to everybody.
    settled: bool,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        graph: &'a Graph,
        charts: &'a dyn Charts,
        channels: &[&'a Channel],
        request: &Request,
        budget: &'a Budget<'a>,
    ) -> Self {
        let asker = &request.asker;
        let of = ChartOf {
            graph,
            arch: &asker.arch,
            channels,
            platform: &asker.platform,
            risks: &request.risks,
        };
        let chart = charts.chart(&of);
        // Whether somebody kept the chart or not: the same question takes the same number of steps.
        budget.take(chart.drawing_steps());
        let (first, words) = (chart.first, chart.words);
        let mut entered = vec![0u64; chart.count as usize * words];
        for (number, channel) in channels.iter().enumerate() {
            for (id, place) in graph.members(channel, &asker.arch) {
                let bit = if place.start <= request.now {
                    1 << (number % 64)
                } else {
                    0
                };
                entered[(id.0 - first) as usize * words + number / 64] |= bit;
            }
        }
        let places = channels.iter().map(|channel| Place {
            channel,
            cluster: asker.in_channel(&channel.name),
            settled: is_settled(channel, request.now),
        });
        let places: Vec<Place<'a>> = places.collect();
        let mut settled = vec![0u64; words];
        let all_settled = places.iter().enumerate().filter(|(_, place)| place.settled);
        all_settled.for_each(|(number, _)| settled[number / 64] |= 1 << (number % 64));
        let (count, timing) = (chart.count, Policy::timing());
        Self {
            graph,
            now: request.now,
            count,
            chart,
            charts,
            channels: places,
            entered,
            settled,
            timing,
            budget,
        }
    }

    /// The same ground, were all risks taken.
    pub(super) fn with_all_risks(&self, request: &Request) -> Self {
        let channels: Vec<&Channel> = self.channels.iter().map(|place| place.channel).collect();
        let asker = &request.asker;
        let of = ChartOf {
            graph: self.graph,
            arch: &asker.arch,
            channels: &channels,
            platform: &asker.platform,
            risks: &RiskPolicy::Any,
        };
        let chart = self.charts.chart(&of);
        self.budget.take(chart.drawing_steps());
        Self {
            chart,
            channels: self.channels.clone(),
            entered: self.entered.clone(),
            settled: self.settled.clone(),
            timing: Policy::timing(),
            ..*self
        }
    }

    /// The steps out of a release, the oldest target first.
    pub(super) fn out(&self, release: u32) -> &[Step] {
        self.budget.of(self.chart.out(release))
    }

    /// The steps into a release, the oldest source first.
    pub(super) fn into(&self, release: u32) -> &[Step] {
        self.budget.of(self.chart.leading_to(release))
    }

    /// The risks of a step.
    pub(super) fn risks(&self, step: Step) -> &[RiskId] {
        self.chart.risks(step)
    }

    /// The step between two releases, if there is one.
    pub(super) fn step(&self, from: u32, to: u32) -> Option<Step> {
        let steps = self.chart.out(from);
        steps
            .binary_search_by_key(&to, |step| step.release)
            .ok()
            .map(|at| steps[at])
    }

    /// The risks between two releases that a step joins.
    pub(super) fn risks_between(&self, from: u32, to: u32) -> BTreeSet<RiskId> {
        self.step(from, to).map_or_else(BTreeSet::new, |step| {
            self.risks(step).iter().copied().collect()
        })
    }

    /// The channels that hold both releases, in the order in which they are preferred, and when the edge opens in each.
    pub(super) fn openings(&self, from: u32, to: u32) -> impl Iterator<Item = (usize, Timestamp)> {
        let words = self.held(from).iter().zip(self.held(to)).enumerate();
        let together = words.flat_map(|(word, (a, b))| bits(a & b).map(move |bit| word * 64 + bit));
        together.filter_map(move |number| Some((number, self.opening(number, from, to)?)))
    }

    /// When an edge opens in a channel: now or later; none if nobody can say.
    fn opening(&self, channel: usize, from: u32, to: u32) -> Option<Timestamp> {
        self.budget.take(1);
        let Place {
            cluster, settled, ..
        } = &self.channels[channel];
        if *settled {
            return Some(self.now);
        }
        let edge = Edge {
            from: self.id(from),
            to: self.id(to),
            blocks: BlockSetId::NONE,
        };
        let at = Situation {
            graph: self.graph,
            cluster,
            now: self.now,
        };
        match self.timing.judge(edge, &at).answer {
            Answer::Recommend | Answer::RecommendUnless(_) => Some(self.now),
            Answer::Wait { until } => until,
            Answer::Refuse => None,
        }
    }

    /// When an edge opens first, in whichever channel.
    pub(super) fn opens(&self, from: u32, to: u32) -> Option<Timestamp> {
        self.budget.take(self.settled.len());
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

    pub(super) fn channel(&self, number: usize) -> &'a Channel {
        self.channels[number].channel
    }

    /// Whether a channel holds a release.
    pub(super) fn holds(&self, channel: usize, release: u32) -> bool {
        self.chart.held(release)[channel / 64] >> (channel % 64) & 1 == 1
    }

    /// Whether some channel holds both.
    pub(super) fn is_held_together(&self, from: u32, to: u32) -> bool {
        self.chart.is_held_together(from, to)
    }

    /// Whether some channel holds both by now.
    pub(super) fn ends(&self, from: u32, to: u32) -> Ends {
        let by_now = |release: u32| {
            &self.entered
                [release as usize * self.chart.words..(release as usize + 1) * self.chart.words]
        };
        match by_now(from).iter().zip(by_now(to)).any(|(a, b)| a & b != 0) {
            true => Ends::Entered,
            false => Ends::Later,
        }
    }

    /// Whether all releases of a way are there.
    pub(super) fn ends_of(&self, way: &[u32]) -> Ends {
        way.windows(2)
            .map(|pair| self.ends(pair[0], pair[1]))
            .max()
            .unwrap_or(Ends::Entered)
    }

    /// The channels that hold a release, a bit each.
    fn held(&self, release: u32) -> &[u64] {
        self.chart.held(release)
    }

    /// A release's number in the graph.
    pub(super) fn id(&self, release: u32) -> ReleaseId {
        ReleaseId(self.chart.first + release)
    }

    pub(super) fn number(&self, id: ReleaseId) -> u32 {
        id.0 - self.chart.first
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
    let last = channel
        .members
        .iter()
        .map(|(_, place)| place.start)
        .max()
        .unwrap_or(Timestamp::MIN);
    let last_end = channel
        .rollouts
        .iter()
        .map(|rule| rule.window(last).end)
        .max();
    let is_long_ago = |end: Timestamp| now.duration_since(end) >= CALENDAR_MARGIN;
    last == Timestamp::MIN || (last <= now && last_end.is_none_or(is_long_ago))
}
