//! A risk on an edge that another file stops for everybody: no cluster will ever hear of it.
//!
//! It may be meant for the time after the block is lifted, so it is a warning.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Field, Subject};
use crate::finding::Finding;
use crate::graph::{Audience, Edge, Graph, KeptBlock};

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(graph) = subject.graph else {
        return Vec::new();
    };
    let mut covered: BTreeMap<&Arc<str>, Covered<'_>> = BTreeMap::new();
    for edge in graph.edges() {
        let Some(hard) = graph.blocks_on(*edge).find(|block| stops_everybody(block)) else {
            continue;
        };
        let risks = graph
            .blocks_on(*edge)
            .filter(|block| block.risk.is_some() && block.origin.file != hard.origin.file);
        for risk in risks {
            covered
                .entry(&risk.origin.file)
                .or_insert(Covered {
                    edge: *edge,
                    hard,
                    edges: 0,
                })
                .edges += 1;
        }
    }
    let finding = |block| {
        let place = subject.place(block, Field::From);
        Some(covered.get(&block.origin.file)?.finding(graph, place))
    };
    subject.data.blocks.iter().filter_map(finding).collect()
}

/// Edges whose risk is never shown.
struct Covered<'a> {
    edge: Edge,
    hard: &'a KeptBlock,
    edges: u32,
}

impl Covered<'_> {
    fn finding(&self, graph: &Graph, place: crate::finding::Place) -> Finding {
        let (from, to) = (
            &graph.release(self.edge.from).version,
            &graph.release(self.edge.to).version,
        );
        let others = match self.edges {
            1 => String::new(),
            2 => " and one more edge".to_owned(),
            many => format!(" and {} more edges", many - 1),
        };
        let problem = format!(
            "{} stops {from} to {to}{others} for every cluster, so this risk is not shown there",
            self.hard.origin.file
        );
        let remedy = "keep the block or the risk, or narrow `from`";
        Finding::warning("risk-behind-block", place, problem, remedy)
    }
}

fn stops_everybody(block: &KeptBlock) -> bool {
    matches!(
        block.stops,
        Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_))
    )
}
