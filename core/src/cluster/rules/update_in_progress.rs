//! Update in progress: the minor version does not change before the last update has completed.
//!
//! Patches pass, but do not help: after 4.6.z → 4.7.z → 4.7.z+n, 4.8 stays refused until a 4.7
//! completes. So the rule refuses the first update that changes the minor version, however many
//! patches come before it.

use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{ObjectKind, Progress};
use crate::verdict::{Code, Verdict};

static UPDATE_IN_PROGRESS: Code = Code::new(
    "UpdateInProgress",
    "the update to {to} has not completed[; the last that did is {completed}]",
    "let the update to {to} complete, or a patch that follows it",
)
.checked_by("oc get clusterversion version")
.about("{to}")
.with(&[("to", "4.7.9"), ("completed", "4.6.8")]);

pub(super) static RULE: StepRule = StepRule::new(&[&UPDATE_IN_PROGRESS], judge);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let history = match (q.step.is_first_minor(), &q.facts.history) {
        (false, _) => return Verdict::recommend(),
        (true, Fact::Unknown) => return not_given(ObjectKind::ClusterVersion),
        (true, Fact::Known(history)) => history,
    };
    match history.first() {
        None => not_given(ObjectKind::ClusterVersion),
        Some(newest) if newest.progress == Progress::Completed => Verdict::recommend(),
        Some(newest) => {
            let completed = history
                .iter()
                .find(|entry| entry.progress == Progress::Completed);
            Verdict::refuse(UPDATE_IN_PROGRESS.because([
                ("to", (&newest.version).into()),
                ("completed", completed.map(|entry| &entry.version).into()),
            ]))
        }
    }
}
