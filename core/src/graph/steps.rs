//! Steps: the edges between releases of one architecture that a search may use, by start and by
//! end.
//!
//! Path, mirror and audit search them. Releases are numbered in their order, so a higher number is
//! a newer release.

use crate::graph::model::BlockSetId;
use crate::graph::{Graph, ReleaseId};
use crate::version::Arch;

#[derive(Debug)]
pub(crate) struct GraphSteps {
    /// The number of the architecture's first release in the graph.
    first: u32,
    count: u32,
    out: StepLists,
    into: StepLists,
}

/// An edge, without the end that it is listed under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GraphStep {
    pub(crate) release: u32,
    pub(crate) blocks: BlockSetId,
}

/// The steps of each release, one release after the other.
#[derive(Debug, Default)]
struct StepLists {
    steps: Vec<GraphStep>,
    begin: Vec<u32>,
}

impl GraphSteps {
    /// The edges from releases that `begins` takes, if `is_step` takes them as well, given both ends.
    pub(crate) fn lay_out(
        graph: &Graph,
        arch: &Arch,
        begins: impl Fn(u32) -> bool,
        is_step: impl Fn(u32, GraphStep) -> bool,
    ) -> Self {
        let (first, count) = numbers(graph, arch);
        let mut out = StepLists::default();
        out.begin.push(0);
        for from in 0..count {
            let edges = match begins(from) {
                true => graph.edges_from(ReleaseId(first + from)),
                false => &[],
            };
            let steps = edges.iter().map(|edge| GraphStep {
                release: edge.to.0 - first,
                blocks: edge.blocks,
            });
            out.steps.extend(steps.filter(|step| is_step(from, *step)));
            out.begin.push(out.steps.len() as u32);
        }
        let into = out.turned_around(count);
        Self {
            first,
            count,
            out,
            into,
        }
    }

    /// How many releases the architecture has.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The steps out of a release, the oldest target first.
    pub(crate) fn out(&self, release: u32) -> &[GraphStep] {
        self.out.of(release)
    }

    /// The steps into a release, the oldest source first.
    pub(crate) fn leading_to(&self, release: u32) -> &[GraphStep] {
        self.into.of(release)
    }

    /// The step between two releases, if there is one.
    pub(crate) fn between(&self, from: u32, to: u32) -> Option<GraphStep> {
        let steps = self.out(from);
        let at = steps.binary_search_by_key(&to, |step| step.release).ok()?;
        Some(steps[at])
    }

    /// A release's number in the graph.
    pub(crate) fn id(&self, release: u32) -> ReleaseId {
        ReleaseId(self.first + release)
    }

    pub(crate) fn number(&self, id: ReleaseId) -> u32 {
        id.0 - self.first
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.out.steps.len()
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        2 * (self.out.steps.len() * size_of::<GraphStep>()
            + self.out.begin.len() * size_of::<u32>())
    }
}

impl GraphStep {
    /// The same edge with that for its other end.
    pub(crate) fn with_end(self, release: u32) -> Self {
        Self { release, ..self }
    }
}

impl StepLists {
    fn of(&self, release: u32) -> &[GraphStep] {
        let release = release as usize;
        &self.steps[self.begin[release] as usize..self.begin[release + 1] as usize]
    }

    /// The same steps by where they lead to.
    fn turned_around(&self, count: u32) -> Self {
        let mut begin = vec![0u32; count as usize + 1];
        let ends = self.steps.iter().map(|step| step.release as usize);
        ends.for_each(|end| begin[end + 1] += 1);
        (1..begin.len()).for_each(|at| begin[at] += begin[at - 1]);
        let mut next = begin.clone();
        let mut steps = self.steps.clone();
        for from in 0..count {
            for step in self.of(from) {
                let place = &mut next[step.release as usize];
                steps[*place as usize] = step.with_end(from);
                *place += 1;
            }
        }
        Self { steps, begin }
    }
}

/// The number of an architecture's first release, and how many it has.
pub(crate) fn numbers(graph: &Graph, arch: &Arch) -> (u32, u32) {
    let releases = graph.releases();
    let first = releases.partition_point(|release| release.arch < *arch);
    let end = releases.partition_point(|release| release.arch <= *arch);
    (first as u32, (end - first) as u32)
}
