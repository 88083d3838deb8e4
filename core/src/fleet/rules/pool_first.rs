//! Node pools first: before a hosted control plane goes on, its node pools follow it, one at a time.

use super::StartRule;
use crate::fleet::roster::StartQuestion;
use crate::fleet::{NodePool, Product};
use crate::verdict::{Code, Verdict};

static NODE_POOL_FIRST: Code = Code::new(
    "NodePoolFirst",
    "node pool {pool} is on {version} and comes first",
    "wait; node pools follow one at a time",
)
.with(&[("pool", "workers"), ("version", "4.20.1")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&NODE_POOL_FIRST], judge).holding(|q| pool_behind(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |pool: &NodePool| {
        let facts = [
            ("pool", (&pool.id).into()),
            ("version", (&pool.version).into()),
        ];
        Verdict::wait(NODE_POOL_FIRST.because(facts))
    };
    pool_behind(q).map(wait).into_iter().collect()
}

/// The first node pool that is behind its control plane.
pub(crate) fn pool_behind<'a>(q: &StartQuestion<'a>) -> Option<&'a NodePool> {
    let Product::HostedControlPlane { pools } = &q.member.state.product else {
        return None;
    };
    pools
        .iter()
        .find(|pool| pool.version < q.member.state.version)
}
