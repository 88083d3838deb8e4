//! Risk not servable: clusters could not store what a block says, so nobody gets the edge.
//!
//! One such risk would make the API server refuse a cluster's whole list of updates. Leaving the
//! risk out would offer the edge without its warning. So the edge is blocked, and all others stay.

use std::collections::{BTreeMap, BTreeSet};

use super::{EdgeQuestion, EdgeRule};
use crate::graph::{KeptBlock, Risk, RiskId, servable};
use crate::verdict::{Code, Verdict};

static RISK_NOT_SERVABLE: Code = Code::new(
    "RiskNotServable",
    "blocked for every cluster, because clusters cannot store the risk {risk}: {what}",
    "correct the block's file; `towpath graph lint` names what is wrong",
)
.with(&[
    ("risk", "SlowStart"),
    ("what", "its url \"example\" is not a URI"),
]);

/// Refuses edges with a risk that no cluster can store.
pub(crate) static RULE: EdgeRule = EdgeRule::new(&[&RISK_NOT_SERVABLE], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let risky: Vec<(&KeptBlock, RiskId, &Risk)> = q
        .graph
        .blocks_on(q.edge)
        .filter_map(|block| Some((block, block.risk?, q.graph.risk(block.risk?))))
        .collect();
    let mut texts: BTreeMap<&str, BTreeSet<RiskId>> = BTreeMap::new();
    for (_, id, risk) in &risky {
        texts.entry(&risk.name).or_default().insert(*id);
    }
    let what = |risk: &Risk| match texts[risk.name.as_str()].len() {
        1 => servable::objection(risk),
        _ => Some("it is declared in several ways for this edge".to_owned()),
    };
    let refusal = |(block, _, risk): &(&KeptBlock, RiskId, &Risk)| {
        let facts = [
            ("risk", risk.name.as_str().into()),
            ("what", what(risk)?.as_str().into()),
        ];
        Some(Verdict::refuse(
            RISK_NOT_SERVABLE.because(facts).at(&block.origin),
        ))
    };
    risky.iter().filter_map(refusal).collect()
}
