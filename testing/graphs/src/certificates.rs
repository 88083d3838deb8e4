//! Checks an audit's results independently of its search. It walks each path with the rules. Where blocks strand a release,
//! it removes them from the data and puts each back, to see whether there is a path.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use jiff::Timestamp;
use towpath_core::audit::{GoalOutcome, Reachability, Section, StrandingCause};
use towpath_core::cluster::Cluster;
use towpath_core::graph::{
    ClientClass, Edge, Graph, GraphData, MatchingRule, ReleaseId, Releases, RiskId, Situation,
    recommend,
};
use towpath_core::rules::Policy;
use towpath_core::verdict::{Answer, Verdict};

/// The data that is audited, and the graphs that it makes without some of its files.
pub struct Checker {
    pub data: GraphData,
    releases: Releases,
    now: Timestamp,
    graphs: RefCell<BTreeMap<Files, Rc<Graph>>>,
}

pub type Files = BTreeSet<String>;
/// The edges that clients may recommend, with the risks that they have to weigh.
pub type Steps = BTreeMap<(ReleaseId, ReleaseId), BTreeSet<RiskId>>;

impl Checker {
    pub fn new(data: GraphData, releases: Releases, now: Timestamp) -> Self {
        Self {
            data,
            releases,
            now,
            graphs: RefCell::default(),
        }
    }

    /// The graph without these block files.
    fn graph_without(&self, files: &Files) -> Rc<Graph> {
        let build = || {
            let mut data = self.data.clone();
            data.blocks
                .retain(|block| !files.contains(&*block.origin.file));
            Rc::new(Graph::build(data, self.releases.clone()).0)
        };
        self.graphs
            .borrow_mut()
            .entry(files.clone())
            .or_insert_with(build)
            .clone()
    }

    /// Checks every claim of a section about a kind of client. Panics on a wrong one.
    pub fn check(&self, section: &Section, class: &ClientClass) {
        let known: RefCell<BTreeMap<Files, Rc<Steps>>> = RefCell::default();
        let look = |files: &Files| Rc::new(self.steps_without(files, section, class));
        let without = |files: &Files| {
            known
                .borrow_mut()
                .entry(files.clone())
                .or_insert_with(|| look(files))
                .clone()
        };
        for standing in &section.releases {
            standing
                .goals()
                .iter()
                .for_each(|(_, outlook)| self.check_outlook(standing.release, outlook, &without));
        }
    }

    fn check_outlook(
        &self,
        from: ReleaseId,
        outlook: &Reachability,
        without: &dyn Fn(&Files) -> Rc<Steps>,
    ) {
        let (goal, steps) = (outlook.goal, without(&Files::new()));
        match &outlook.outcome {
            GoalOutcome::Way(way) => {
                let walked = way
                    .releases
                    .windows(2)
                    .map(|step| steps.get(&(step[0], step[1])).expect("a recommended step"));
                let met: BTreeSet<RiskId> = walked.flatten().copied().collect();
                let ends = (way.releases.first(), way.releases.last());
                assert_eq!(ends, (Some(&from), Some(&goal)), "it leads elsewhere");
                assert_eq!(met, way.risks, "it has other risks");
                if !met.is_empty() {
                    let plain = steps.iter().filter(|(_, risks)| risks.is_empty());
                    let plain = plain.map(|(step, risks)| (*step, risks.clone())).collect();
                    assert!(!reaches(&plain, from, goal), "there is a plain way");
                }
            }
            GoalOutcome::Stranded(StrandingCause::Blocks { blocks, .. }) => {
                let graph = self.graph_without(&Files::new());
                let files: Files = blocks
                    .iter()
                    .map(|id| graph.block(*id).origin.file.to_string())
                    .collect();
                assert!(
                    reaches(&without(&files), from, goal),
                    "there is no way without {files:?}"
                );
                for back in &files {
                    let fewer = files.iter().filter(|file| *file != back).cloned().collect();
                    assert!(!reaches(&without(&fewer), from, goal), "{fewer:?} would do");
                }
            }
            GoalOutcome::Stranded(cause) => {
                let steps = without(
                    &self
                        .data
                        .blocks
                        .iter()
                        .map(|block| block.origin.file.to_string())
                        .collect(),
                );
                assert!(!reaches(&steps, from, goal), "there are edges");
                let leaves = steps.keys().any(|(start, _)| *start == from);
                assert_eq!(
                    *cause,
                    if leaves {
                        StrandingCause::NoEdgeReaches
                    } else {
                        StrandingCause::NoEdgeLeaves
                    }
                );
            }
        }
    }

    /// The edges that clients of a kind may recommend without these files.
    pub fn steps_without(&self, files: &Files, section: &Section, class: &ClientClass) -> Steps {
        let platform = class.platform();
        let graph = self.graph_without(files);
        let cluster = Cluster {
            platform,
            ..Cluster::anonymous(section.channel.clone(), section.arch.clone())
        };
        let view = recommend(
            Policy::standing(),
            &Situation {
                graph: &graph,
                cluster: &cluster,
                now: self.now,
            },
        );
        let is_known = |rule: &&MatchingRule| !matches!(rule, MatchingRule::Other(_));
        let first = |risk: &RiskId| graph.risk(*risk).matching_rules.iter().find(is_known);
        let step = |(edge, verdict): &(Edge, Verdict)| {
            let risks = if let Answer::RecommendUnless(risks) = &verdict.answer {
                risks.clone()
            } else {
                [].into()
            };
            let weighed = risks
                .iter()
                .all(|risk| matches!(first(risk), Some(MatchingRule::PromQl(_))));
            weighed.then_some(((edge.from, edge.to), risks))
        };
        view.offered().filter_map(step).collect()
    }
}

/// Whether the target is reachable, by breadth-first search.
pub fn reaches(steps: &Steps, from: ReleaseId, to: ReleaseId) -> bool {
    let (mut reached, mut waiting) = (BTreeSet::from([from]), vec![from]);
    while let Some(at) = waiting.pop() {
        let next = steps
            .range((at, ReleaseId(0))..=(at, ReleaseId(u32::MAX)))
            .map(|((_, next), _)| *next);
        waiting.extend(next.filter(|next| reached.insert(*next)));
    }
    reached.contains(&to)
}
