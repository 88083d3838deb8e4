//! Left alone: the cluster's file disables the integration that upgrades clusters, so only a
//! person upgrades it.

use super::StartRule;
use crate::fleet::LeftAlone;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

static CLUSTER_DISABLED: Code = Code::new(
    "ClusterDisabled",
    "its file disables {integration}, so it is left alone",
    "remove `disable` from the cluster's file",
)
.with(&[("integration", "ocm-upgrade-scheduler")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&CLUSTER_DISABLED], judge).holding(|q| q.class.left_alone.is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let refuse = |LeftAlone {
                      integration,
                      origin,
                  }: &LeftAlone| {
        let reason = CLUSTER_DISABLED.because([("integration", integration.into())]);
        Verdict::refuse(reason.at(origin))
    };
    q.class.left_alone.iter().map(refuse).collect()
}
