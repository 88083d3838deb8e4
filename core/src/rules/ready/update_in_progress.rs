//! Update in progress: the minor version does not change before the last update has completed.
//!
//! Patches pass, and do not help: 4.6.z → 4.7.z → 4.7.z+n leaves 4.8 refused until one of the 4.7 completes, so the first update of the
//! way that changes the minor version is refused however many patches come before it.

use super::{not_given, refuse};
use crate::domain::readiness::{Facts, Progress};
use crate::domain::ready_reason::{ObjectKind, ReadyReason};
use crate::domain::way::Step;
use crate::domain::{Fact, Verdict};

pub(super) fn judge(step: Step<'_>, facts: &Facts) -> Verdict {
    let history = match (step.is_first_minor(), &facts.history) {
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
            refuse(ReadyReason::UpdateInProgress {
                to: newest.version.clone(),
                completed: completed.map(|entry| entry.version.clone()),
            })
        }
    }
}
