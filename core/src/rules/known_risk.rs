//! Known risk: the edge carries something that the cluster has to weigh itself.
//!
//! The service cannot see inside the cluster; it passes on how the cluster finds out (PromQL, `Always`).

use super::Rule;
use crate::domain::{Edge, Reason, Situation, Verdict};

/// Attaches the risks that blocks declare.
pub struct KnownRisk;

impl Rule for KnownRisk {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let risky = at
            .graph
            .blocks_on(edge)
            .filter_map(|block| block.risk.map(|risk| (block, risk)));
        risky
            .map(|(block, id)| {
                let risk = at.graph.risk(id);
                let reason = Reason::KnownRisk {
                    name: risk.name.clone(),
                    url: risk.url.clone(),
                    origin: block.origin.clone(),
                };
                Verdict::recommend_unless(id, reason)
            })
            .collect()
    }
}
