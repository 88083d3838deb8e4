//! Left alone: the cluster's file disables the integration that upgrades clusters, so only a
//! person upgrades it.

use super::Starts;
use crate::fleet::LeftAlone;
use crate::fleet::roster::StartQuestion;
use crate::rules::Rule;
use crate::verdict::{Code, Verdict};

static CLUSTER_DISABLED: Code = Code::new(
    "ClusterDisabled",
    "its file disables {integration}, so it is left alone",
    "remove `disable` from the cluster's file",
)
.with(&[("integration", "ocm-upgrade-scheduler")]);

pub(super) struct LeftAloneCluster;

impl Rule<Starts> for LeftAloneCluster {
    fn codes(&self) -> Vec<&'static Code> {
        vec![&CLUSTER_DISABLED]
    }

    fn holds(&self, q: &StartQuestion<'_>) -> bool {
        q.class.left_alone.is_some()
    }

    fn judge(&self, q: &StartQuestion<'_>) -> Verdict {
        let refuse = |LeftAlone {
                          integration,
                          origin,
                      }: &LeftAlone| {
            let reason = CLUSTER_DISABLED.because([("integration", integration.into())]);
            Verdict::refuse(reason.at(origin))
        };
        q.class.left_alone.iter().map(refuse).collect()
    }
}
