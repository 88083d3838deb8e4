//! Passages: what the blocks on an edge mean for a kind of client.
//!
//! The standing rules say it, once for each set of blocks. On top of their verdict stands what clients do with a risk: they walk
//! its rules in order, pass over types they do not know, and the first they know decides. `Always` decides against everybody; a
//! list without a rule that clients know is never recommended either (facts of the cluster-version operator).

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::ClientClass;
use crate::domain::graph::BlockSetId;
use crate::domain::{BlockId, Edge, Graph, KeptBlock, Reason, Risk, RiskId, Situation, Verdict};
use crate::finding::Place;
use crate::rules::{Policy, Rule};

/// What a set of blocks means for a kind of client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Passage {
    Plain,
    /// Recommended to those whom these risks do not concern.
    Conditional(BTreeSet<RiskId>),
    /// Not for this kind of client as long as any of these blocks is there.
    Stopped(BTreeSet<BlockId>),
}

/// What each set of blocks means for one kind of client.
pub(super) struct Passages {
    pub(super) class: ClientClass,
    by_set: Vec<Passage>,
}

impl Passages {
    /// Judges each set of blocks on one of the edges that have it.
    pub(super) fn of(graph: &Graph, class: ClientClass, now: Timestamp) -> Self {
        let cluster = class.cluster(graph);
        let at = Situation {
            graph,
            cluster: &cluster,
            now,
        };
        let rules = Policy::standing();
        let mut by_set: Vec<Option<Passage>> = Vec::new();
        for edge in graph.edges() {
            let set = edge.blocks.0 as usize;
            by_set.resize(by_set.len().max(set + 1), None);
            by_set[set].get_or_insert_with(|| passage(graph, *edge, &rules.judge(*edge, &at)));
        }
        // A number that no edge has is never asked about.
        Self {
            class,
            by_set: by_set
                .into_iter()
                .map(|passage| passage.unwrap_or(Passage::Plain))
                .collect(),
        }
    }

    /// What this set of blocks means.
    pub(super) fn through(&self, set: BlockSetId) -> &Passage {
        &self.by_set[set.0 as usize]
    }
}

fn passage(graph: &Graph, edge: Edge, verdict: &Verdict) -> Passage {
    let refusing: BTreeSet<&Place> = verdict.reasons.iter().filter_map(refuses).collect();
    let risk = |block: &KeptBlock| block.risk.map(|risk| (risk, weight(graph.risk(risk))));
    let stops = |block: &KeptBlock| {
        let for_everybody =
            risk(block).is_some_and(|(_, weight)| weight == Weight::NeverRecommended);
        for_everybody || refusing.contains(&block.origin)
    };
    let on_edge = || graph.block_ids_on(edge).iter().zip(graph.blocks_on(edge));
    let stopping: BTreeSet<BlockId> = on_edge()
        .filter(|(_, block)| stops(block))
        .map(|(id, _)| *id)
        .collect();
    if !stopping.is_empty() {
        return Passage::Stopped(stopping);
    }
    assert!(
        verdict.is_offered(),
        "a standing rule refuses because of a block, and names it: {verdict:?}"
    );
    match on_edge()
        .filter_map(|(_, block)| risk(block))
        .map(|(risk, _)| risk)
        .collect::<BTreeSet<RiskId>>()
    {
        risks if risks.is_empty() => Passage::Plain,
        risks => Passage::Conditional(risks),
    }
}

/// The block that a reason refuses for.
fn refuses(reason: &Reason) -> Option<&Place> {
    match reason {
        Reason::HardBlock { origin }
        | Reason::BlockNotUnderstood { origin, .. }
        | Reason::PlatformBlocked { origin, .. }
        | Reason::PlatformUnknown { origin, .. } => Some(origin),
        _ => None,
    }
}

/// What clients make of a risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Some may find that it does not concern them.
    Weighed,
    /// None ever recommends an edge that has it.
    NeverRecommended,
}

fn weight(risk: &Risk) -> Weight {
    if risk.is_for_everybody() {
        Weight::NeverRecommended
    } else {
        Weight::Weighed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::MatchingRule;

    #[test]
    fn the_first_rule_that_clients_know_decides() {
        let (always, query, later) = (
            MatchingRule::Always,
            MatchingRule::PromQl("x".into()),
            MatchingRule::Other("{}".into()),
        );
        let weight_of = |rules: &[&MatchingRule]| {
            let matching_rules = rules.iter().map(|rule| (*rule).clone()).collect();
            weight(&Risk {
                name: "R".into(),
                url: String::new(),
                message: String::new(),
                matching_rules,
            })
        };
        for weighed in [
            &[&query][..],
            &[&query, &always],
            &[&later, &query],
            &[&later, &query, &always],
        ] {
            assert_eq!(weight_of(weighed), Weight::Weighed, "{weighed:?}");
        }
        for never in [
            &[][..],
            &[&always],
            &[&later],
            &[&later, &always],
            &[&always, &query],
        ] {
            assert_eq!(weight_of(never), Weight::NeverRecommended, "{never:?}");
        }
    }
}
