//! The search space: the steps between releases, at one time, for one cluster. Path and mirror
//! search it.
//!
//! An edge is a step if the standing rules offer it, its risks are acceptable, and a channel holds
//! both ends. The rules say when it opens, and are asked only if that matters: the search for few
//! hops ignores time.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::step_graph::{StepGraph, StepGraphSpec, StepGraphs};
use super::{Asker, Budget, RiskPolicy};
use crate::cluster::Cluster;
use crate::graph::model::BlockSetId;
use crate::graph::rules::Edges;
use crate::graph::{
    Channel, ChannelView, ClientClass, Edge, Graph, GraphStep, ReleaseId, RiskId, Situation,
};
use crate::rules::{Policy, Rule};
use crate::verdict::Answer;
use crate::version::Minors;

/// Whether both ends of a step have entered a channel. When the edge between them opens is another matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ends {
    /// One channel holds both by now.
    Entered,
    /// One of them enters later.
    Later,
}

/// Who asks, when, and what they put up with.
#[derive(Clone, Copy)]
pub(crate) struct SearchTerms<'a> {
    pub(crate) asker: &'a Asker,
    pub(crate) risks: &'a RiskPolicy,
    pub(crate) minors: &'a Minors,
    pub(crate) now: Timestamp,
}

pub(crate) struct SearchSpace<'a> {
    pub(crate) graph: &'a Graph,
    minors: &'a Minors,
    pub(crate) now: Timestamp,
    pub(crate) count: u32,
    drawn: Arc<StepGraph>,
    step_graphs: &'a dyn StepGraphs,
    channels: Vec<Place<'a>>,
    /// For each release, the channels that it has entered by now, a bit each.
    entered: Vec<u64>,
    /// The channels in which all is open to everybody, a bit each.
    settled: Vec<u64>,
    timing: &'static Policy<Edges>,
    pub(crate) budget: &'a Budget<'a>,
}

/// A channel, and the cluster as it would be in it.
#[derive(Clone)]
struct Place<'a> {
    channel: &'a Channel,
    cluster: Cluster,
    /// All that is in it is open to everybody.
    settled: bool,
}

impl<'a> SearchSpace<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
        step_graphs: &'a dyn StepGraphs,
        channels: &[&'a Channel],
        terms: &SearchTerms<'a>,
        budget: &'a Budget<'a>,
    ) -> Self {
        let SearchTerms {
            asker,
            risks,
            minors,
            now,
        } = *terms;
        let of = StepGraphSpec {
            graph,
            arch: &asker.arch,
            channels,
            class: &ClientClass::of(graph, &asker.platform),
            risks,
            minors,
        };
        let drawn = step_graphs.step_graph(&of);
        // Whether somebody kept the step graph or not: the same question takes the same number of steps.
        budget.take(drawn.drawing_steps());
        let (count, words) = (drawn.steps.count(), drawn.words);
        let mut entered = vec![0u64; count as usize * words];
        for (number, channel) in channels.iter().enumerate() {
            for id in ChannelView::of_arch(graph, channel, &asker.arch, now).releases() {
                entered[drawn.steps.number(id) as usize * words + number / 64] |=
                    1 << (number % 64);
            }
        }
        let places = channels.iter().map(|channel| Place {
            channel,
            cluster: asker.in_channel(&channel.name),
            settled: ChannelView::of_all_arches(graph, channel, now).is_settled(),
        });
        let places: Vec<Place<'a>> = places.collect();
        let mut settled = vec![0u64; words];
        let all_settled = places.iter().enumerate().filter(|(_, place)| place.settled);
        all_settled.for_each(|(number, _)| settled[number / 64] |= 1 << (number % 64));
        let timing = Policy::timing();
        Self {
            graph,
            minors,
            now,
            count,
            drawn,
            step_graphs,
            channels: places,
            entered,
            settled,
            timing,
            budget,
        }
    }

    /// The same space, were all risks taken.
    pub(crate) fn with_all_risks(&self, asker: &Asker) -> Self {
        let channels: Vec<&Channel> = self.channels.iter().map(|place| place.channel).collect();
        let of = StepGraphSpec {
            graph: self.graph,
            arch: &asker.arch,
            channels: &channels,
            class: &ClientClass::of(self.graph, &asker.platform),
            risks: &RiskPolicy::Any,
            minors: self.minors,
        };
        let drawn = self.step_graphs.step_graph(&of);
        self.budget.take(drawn.drawing_steps());
        Self {
            drawn,
            channels: self.channels.clone(),
            entered: self.entered.clone(),
            settled: self.settled.clone(),
            timing: Policy::timing(),
            ..*self
        }
    }

    /// Which minor version follows which.
    pub(super) fn minors(&self) -> &'a Minors {
        self.minors
    }

    /// The steps out of a release, the oldest target first.
    pub(crate) fn out(&self, release: u32) -> &[GraphStep] {
        self.budget.of(self.drawn.steps.out(release))
    }

    /// The steps into a release, the oldest source first.
    pub(crate) fn into(&self, release: u32) -> &[GraphStep] {
        self.budget.of(self.drawn.steps.leading_to(release))
    }

    /// The risks of a step.
    pub(crate) fn risks(&self, step: GraphStep) -> &[RiskId] {
        self.drawn.risks(step)
    }

    /// The step between two releases, if there is one.
    pub(crate) fn step(&self, from: u32, to: u32) -> Option<GraphStep> {
        self.drawn.steps.between(from, to)
    }

    /// The risks between two releases that a step joins.
    pub(crate) fn risks_between(&self, from: u32, to: u32) -> BTreeSet<RiskId> {
        self.step(from, to).map_or_else(BTreeSet::new, |step| {
            self.risks(step).iter().copied().collect()
        })
    }

    /// The channels that hold both releases, in the order in which they are preferred, and when the edge opens in each.
    pub(crate) fn openings(&self, from: u32, to: u32) -> impl Iterator<Item = (usize, Timestamp)> {
        common(self.held(from), self.held(to))
            .filter_map(move |number| Some((number, self.opening(number, from, to)?)))
    }

    /// The channels that both releases have entered by now, in the same order, and when the edge opens in each.
    pub(crate) fn openings_by_now(
        &self,
        from: u32,
        to: u32,
    ) -> impl Iterator<Item = (usize, Timestamp)> {
        common(self.entered(from), self.entered(to))
            .filter_map(move |number| Some((number, self.opening(number, from, to)?)))
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
        match self.timing.judge(&at.about(edge)).answer {
            Answer::Recommend | Answer::RecommendUnless(_) => Some(self.now),
            Answer::Wait { until } => until,
            Answer::Refuse => None,
        }
    }

    /// When an edge opens first, in whichever channel.
    pub(crate) fn opens(&self, from: u32, to: u32) -> Option<Timestamp> {
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

    pub(crate) fn channel(&self, number: usize) -> &'a Channel {
        self.channels[number].channel
    }

    /// Whether a channel holds a release.
    pub(crate) fn holds(&self, channel: usize, release: u32) -> bool {
        self.drawn.held(release)[channel / 64] >> (channel % 64) & 1 == 1
    }

    /// Whether some channel holds both.
    pub(crate) fn is_held_together(&self, from: u32, to: u32) -> bool {
        self.drawn.is_held_together(from, to)
    }

    /// Whether some channel holds both by now.
    pub(crate) fn ends(&self, from: u32, to: u32) -> Ends {
        let mut words = self.entered(from).iter().zip(self.entered(to));
        match words.any(|(a, b)| a & b != 0) {
            true => Ends::Entered,
            false => Ends::Later,
        }
    }

    /// Whether a release has entered some channel by now.
    pub(crate) fn has_entered(&self, release: u32) -> bool {
        self.entered(release).iter().any(|word| *word != 0)
    }

    /// The channels that a release has entered by now, a bit each.
    fn entered(&self, release: u32) -> &[u64] {
        let words = self.drawn.words;
        &self.entered[release as usize * words..(release as usize + 1) * words]
    }

    /// Whether all releases of a way are there.
    pub(crate) fn ends_of(&self, way: &[u32]) -> Ends {
        way.windows(2)
            .map(|pair| self.ends(pair[0], pair[1]))
            .max()
            .unwrap_or(Ends::Entered)
    }

    /// The channels that hold a release, a bit each.
    fn held(&self, release: u32) -> &[u64] {
        self.drawn.held(release)
    }

    /// A release's number in the graph.
    pub(crate) fn id(&self, release: u32) -> ReleaseId {
        self.drawn.steps.id(release)
    }

    pub(crate) fn number(&self, id: ReleaseId) -> u32 {
        self.drawn.steps.number(id)
    }
}

/// The numbers of the bits that are set in both.
pub(super) fn common(a: &[u64], b: &[u64]) -> impl Iterator<Item = usize> {
    let words = a.iter().zip(b).enumerate();
    words.flat_map(|(word, (a, b))| bits(a & b).map(move |bit| word * 64 + bit))
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}
