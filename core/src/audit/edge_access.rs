//! What the blocks on an edge mean for a kind of client.
//!
//! The block rules judge each set of blocks once. Then comes what clients do with a risk, as the
//! cluster-version operator does it. A client walks the risk's rules in order, skips types that it
//! does not know, and the first known type decides. `Always` decides against everybody. If the
//! client knows none of the types, it never recommends the edge.

use std::collections::BTreeSet;

use crate::graph::model::BlockSetId;
use crate::graph::{BlockId, BlockVerdict, BlockVerdicts, ClientClass, Graph, Risk, RiskId};

/// What a set of blocks means for a kind of client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EdgeAccess {
    Plain,
    /// Recommended to clients to which these risks do not apply.
    Conditional(BTreeSet<RiskId>),
    /// Not for this kind of client as long as any of these blocks is there.
    Stopped(BTreeSet<BlockId>),
    /// Not for this kind of client, and no block is to blame.
    Closed,
}

/// What each set of blocks means for one kind of client.
pub(super) struct ClientAccess {
    pub(super) class: ClientClass,
    by_set: Vec<EdgeAccess>,
}

impl ClientAccess {
    pub(super) fn of(graph: &Graph, class: ClientClass) -> Self {
        let verdicts = BlockVerdicts::of_blocks_alone(graph, &class);
        let access = |set| edge_access(graph, set, verdicts.get(set));
        Self {
            class,
            by_set: graph.block_sets().map(access).collect(),
        }
    }

    /// What this set of blocks means.
    pub(super) fn through(&self, set: BlockSetId) -> &EdgeAccess {
        &self.by_set[set.0 as usize]
    }
}

fn edge_access(graph: &Graph, set: BlockSetId, verdict: &BlockVerdict) -> EdgeAccess {
    let is_never_recommended = |id: &&BlockId| {
        let risk = graph.block(**id).risk.map(|risk| graph.risk(risk));
        risk.is_some_and(|risk| weight(risk) == Weight::NeverRecommended)
    };
    let never = graph.block_ids_in(set).iter().filter(is_never_recommended);
    let mut stopping: BTreeSet<BlockId> = never.copied().collect();
    if let BlockVerdict::Held(blocks) = verdict {
        stopping.extend(blocks);
    }
    match verdict.risks() {
        _ if !stopping.is_empty() => EdgeAccess::Stopped(stopping),
        None => EdgeAccess::Closed,
        Some([]) => EdgeAccess::Plain,
        Some(risks) => EdgeAccess::Conditional(risks.iter().copied().collect()),
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
    use crate::graph::MatchingRule;

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
                url: "https://example.com".into(),
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
