//! Known risk: the edge carries a risk that the cluster has to weigh itself.
//!
//! The service cannot see inside the cluster. It passes on how the cluster finds out (PromQL,
//! `Always`).

use super::{EdgeQuestion, EdgeRule};
use crate::verdict::{Code, Verdict};

/// A known risk, which the cluster weighs itself.
pub static KNOWN_RISK: Code = Code::new(
    "KnownRisk",
    "it carries the risk {risk}, see {url}",
    "read what it is about; the cluster finds out whether it applies",
)
.with(&[("risk", "SlowStart"), ("url", "https://example.com")]);

/// Attaches the risks that blocks declare.
pub(super) static RULE: EdgeRule = EdgeRule::new(&[&KNOWN_RISK], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let risky = q
        .graph
        .blocks_on(q.edge)
        .filter_map(|block| block.risk.map(|risk| (block, risk)));
    risky
        .map(|(block, id)| {
            let risk = q.graph.risk(id);
            let facts = [
                ("risk", risk.name.as_str().into()),
                ("url", risk.url.as_str().into()),
            ];
            Verdict::recommend_unless(id, KNOWN_RISK.because(facts).at(&block.origin))
        })
        .collect()
}
