//! Step graphs: the steps between the releases of one architecture that some channels, a kind of client and a policy on risks leave.
//!
//! A step graph says nothing about time, and does not depend on who asks. One that is drawn is good for every question of that kind, and a
//! service that is asked often keeps it.
//!
//! Releases have their place among those of the architecture for a number, so a higher number is a newer release.

use std::sync::Arc;

use super::RiskPolicy;
use crate::domain::graph::BlockSetId;
use crate::domain::{Arch, Channel, Graph, ReleaseId, RiskId};
use crate::graph::{BlockVerdicts, ClientClass};

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
}

pub trait StepGraphs {
    fn step_graph(&self, of: &StepGraphSpec<'_>) -> Arc<StepGraph>;
}

#[derive(Debug, Clone, Copy)]
pub struct UncachedStepGraphs;

#[derive(Debug)]
pub struct StepGraph {
    /// The number of the architecture's first release in the graph.
    pub(super) first: u32,
    pub(super) count: u32,
    /// For each release, the channels that hold it, a bit each; so many words a release.
    held_by: Vec<u64>,
    pub(super) words: usize,
    out: Steps,
    into: Steps,
    verdicts: Arc<BlockVerdicts>,
}

/// An edge that may be taken, without the end that it is listed under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) release: u32,
    blocks: BlockSetId,
}

/// The steps of each release, one release after the other.
#[derive(Debug, Default)]
struct Steps {
    steps: Vec<Step>,
    begin: Vec<u32>,
}

impl StepGraphs for UncachedStepGraphs {
    fn step_graph(&self, of: &StepGraphSpec<'_>) -> Arc<StepGraph> {
        Arc::new(StepGraph::draw(
            of,
            Arc::new(BlockVerdicts::of(of.graph, of.class)),
        ))
    }
}

impl StepGraph {
    /// Draws it. The verdicts are those of its graph and kind of client.
    pub fn draw(of: &StepGraphSpec<'_>, verdicts: Arc<BlockVerdicts>) -> Self {
        let releases = of.graph.releases();
        let first = releases.partition_point(|release| release.arch < *of.arch);
        let end = releases.partition_point(|release| release.arch <= *of.arch);
        let (first, count) = (first as u32, (end - first) as u32);
        let words = of.channels.len().div_ceil(64).max(1);
        let mut held_by = vec![0u64; count as usize * words];
        for (number, channel) in of.channels.iter().enumerate() {
            for (id, _) in of.graph.members(channel, of.arch) {
                held_by[(id.0 - first) as usize * words + number / 64] |= 1 << (number % 64);
            }
        }
        let steps = Steps::default();
        let mut drawn = Self {
            first,
            count,
            held_by,
            words,
            out: steps,
            into: Steps::default(),
            verdicts,
        };
        drawn.lay_out(of.graph, of.risks);
        drawn.turn_around();
        drawn
    }

    /// Finds the steps out of each release.
    fn lay_out(&mut self, graph: &Graph, policy: &RiskPolicy) {
        let taken = |risks: &[RiskId]| risks.iter().all(|risk| policy.takes(graph.risk(*risk)));
        let is_open: Vec<bool> = graph
            .block_sets()
            .map(|blocks| self.verdicts.risks(blocks).is_some_and(taken))
            .collect();
        self.out.begin.push(0);
        for from in 0..self.count {
            for edge in graph.edges_from(ReleaseId(self.first + from)) {
                let to = edge.to.0 - self.first;
                if is_open[edge.blocks.0 as usize] && self.is_held_together(from, to) {
                    self.out.steps.push(Step {
                        release: to,
                        blocks: edge.blocks,
                    });
                }
            }
            self.out.begin.push(self.out.steps.len() as u32);
        }
    }

    /// Lists the same steps by where they lead to.
    fn turn_around(&mut self) {
        let mut begin = vec![0u32; self.count as usize + 1];
        self.out
            .steps
            .iter()
            .for_each(|step| begin[step.release as usize + 1] += 1);
        (1..begin.len()).for_each(|at| begin[at] += begin[at - 1]);
        let mut next = begin.clone();
        let mut steps = self.out.steps.clone();
        for from in 0..self.count {
            for step in self.out.of(from) {
                let place = &mut next[step.release as usize];
                steps[*place as usize] = step.with_end(from);
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
    pub(super) fn leading_to(&self, release: u32) -> &[Step] {
        self.into.of(release)
    }

    /// The risks of a step.
    pub(super) fn risks(&self, step: Step) -> &[RiskId] {
        self.verdicts.risks(step.blocks).unwrap_or_default()
    }

    /// The channels that hold a release, a bit each.
    pub(super) fn held(&self, release: u32) -> &[u64] {
        &self.held_by[release as usize * self.words..(release as usize + 1) * self.words]
    }

    /// Whether some channel holds both.
    pub(super) fn is_held_together(&self, from: u32, to: u32) -> bool {
        self.held(from)
            .iter()
            .zip(self.held(to))
            .any(|(a, b)| a & b != 0)
    }

    /// So many steps it took to draw.
    pub(super) fn drawing_steps(&self) -> usize {
        self.out.steps.len() + self.held_by.len()
    }

    /// About so many bytes it takes.
    pub fn size(&self) -> usize {
        let steps = self.out.steps.len() + self.into.steps.len();
        steps * size_of::<Step>()
            + self.held_by.len() * size_of::<u64>()
            + 2 * self.out.begin.len() * size_of::<u32>()
    }
}

impl Step {
    /// The same edge with that for its other end.
    pub(super) fn with_end(self, release: u32) -> Self {
        Self { release, ..self }
    }
}

impl Steps {
    fn of(&self, release: u32) -> &[Step] {
        &self.steps
            [self.begin[release as usize] as usize..self.begin[release as usize + 1] as usize]
    }
}
