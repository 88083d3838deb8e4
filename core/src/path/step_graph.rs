//! Step graphs: the steps between releases of one architecture, for given channels, a kind of
//! client and a risk policy.
//!
//! A step graph knows neither the time nor the cluster. So it serves every question of that kind,
//! and a busy service keeps it.

use std::sync::Arc;

use super::RiskPolicy;
use super::search_space::common;
use crate::graph::{
    BlockVerdicts, Channel, ClientClass, Graph, GraphStep, GraphSteps, ReleaseId, RiskId, numbers,
};
use crate::version::{Arch, Minor, Minors};

/// What a step graph is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct StepGraphSpec<'a> {
    pub graph: &'a Graph,
    pub arch: &'a Arch,
    /// The channels, in the order in which they are preferred.
    pub channels: &'a [&'a Channel],
    pub class: &'a ClientClass,
    /// What is done about risks.
    pub risks: &'a RiskPolicy,
    /// Which minor version follows which: what skips one is no step, unless clusters may.
    pub minors: &'a Minors,
}

pub trait StepGraphs {
    fn step_graph(&self, of: &StepGraphSpec<'_>) -> Arc<StepGraph>;
}

#[derive(Debug, Clone, Copy)]
pub struct UncachedStepGraphs;

#[derive(Debug)]
pub struct StepGraph {
    pub(super) steps: GraphSteps,
    /// For each release, the channels that hold it, a bit each, in this many words.
    held_by: Vec<u64>,
    pub(super) words: usize,
    verdicts: Arc<BlockVerdicts>,
}

impl StepGraphs for UncachedStepGraphs {
    fn step_graph(&self, of: &StepGraphSpec<'_>) -> Arc<StepGraph> {
        let verdicts = Arc::new(BlockVerdicts::of(of.graph, of.class));
        Arc::new(StepGraph::draw(of, verdicts))
    }
}

impl StepGraph {
    /// Draws it. The verdicts are those of its graph and kind of client.
    pub fn draw(of: &StepGraphSpec<'_>, verdicts: Arc<BlockVerdicts>) -> Self {
        let graph = of.graph;
        let (first, count) = numbers(graph, of.arch);
        let words = of.channels.len().div_ceil(64).max(1);
        let mut held_by = vec![0u64; count as usize * words];
        for (number, channel) in of.channels.iter().enumerate() {
            for (id, _) in graph.members(channel, of.arch) {
                held_by[(id.0 - first) as usize * words + number / 64] |= 1 << (number % 64);
            }
        }
        let is_taken =
            |risks: &[RiskId]| risks.iter().all(|risk| of.risks.takes(graph.risk(*risk)));
        let is_open: Vec<bool> = graph
            .block_sets()
            .map(|blocks| verdicts.risks(blocks).is_some_and(is_taken))
            .collect();
        let held = |release: u32| held(&held_by, words, release);
        // A hold has no end, so a step that is held in every channel is none.
        let holds_some = of.channels.iter().any(|channel| channel.holds_some());
        let is_let_go = |from: u32, to: u32| {
            !holds_some || {
                let mut common = common(held(from), held(to));
                common.any(|number| !is_held(graph, of.channels[number], first, from, to))
            }
        };
        let minor = |release: u32| Minor::of(&graph.release(ReleaseId(first + release)).version);
        let steps = GraphSteps::lay_out(
            graph,
            of.arch,
            |from| held(from).iter().any(|word| *word != 0),
            |from, step| {
                is_open[step.blocks.0 as usize]
                    && overlap(held(from), held(step.release))
                    && of.minors.may_follow(minor(from), minor(step.release))
                    && is_let_go(from, step.release)
            },
        );
        Self {
            steps,
            held_by,
            words,
            verdicts,
        }
    }

    /// The risks of a step.
    pub(super) fn risks(&self, step: GraphStep) -> &[RiskId] {
        self.verdicts.risks(step.blocks).unwrap_or_default()
    }

    /// The channels that hold a release, a bit each.
    pub(super) fn held(&self, release: u32) -> &[u64] {
        held(&self.held_by, self.words, release)
    }

    /// Whether some channel holds both.
    pub(super) fn is_held_together(&self, from: u32, to: u32) -> bool {
        overlap(self.held(from), self.held(to))
    }

    /// What it takes to draw, in steps of a search.
    pub(super) fn drawing_steps(&self) -> usize {
        self.steps.len() + self.held_by.len()
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        self.steps.size() + self.held_by.len() * size_of::<u64>()
    }
}

fn held(held_by: &[u64], words: usize, release: u32) -> &[u64] {
    &held_by[release as usize * words..(release as usize + 1) * words]
}

/// Whether nobody is offered the edge in a channel that holds both releases.
fn is_held(graph: &Graph, channel: &Channel, first: u32, from: u32, to: u32) -> bool {
    let end = |release: u32| {
        let id = ReleaseId(first + release);
        Some((&graph.release(id).version, channel.membership(id)?))
    };
    match (end(from), end(to)) {
        (Some(from), Some(to)) => channel.windows(from, to).are_held(),
        _ => false,
    }
}

fn overlap(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}
