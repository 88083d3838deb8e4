//! Enrolled: a cluster that a fleet may manage, but that no pass has placed yet, takes nothing.
//!
//! `fleet::enrolment` decides which clusters those are. This rule only holds every edge for them.

use super::{EdgeQuestion, Edges};
use crate::fleet::UnplacedReason;
use crate::rules::Rule;
use crate::verdict::{Code, Value, Verdict};

static NOT_ENROLLED: Code = Code::new(
    "NotEnrolled",
    "this cluster is not enrolled: {why}",
    "let it report, or name it in its organisation's file; `unknownClusters: serve` lets unknown clusters through",
)
.with(&[(
    "why",
    "the fleet does not know it, and unknown clusters are held",
)]);

/// Holds every edge of a cluster that has no place in the fleet yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enrolled {
    /// Why it has none.
    pub unplaced: UnplacedReason,
}

impl Enrolled {
    pub(crate) const CODES: &'static [&'static Code] = &[&NOT_ENROLLED];
}

impl Rule<Edges> for Enrolled {
    fn codes(&self) -> Vec<&'static Code> {
        Self::CODES.to_vec()
    }

    fn judge(&self, _: &EdgeQuestion<'_>) -> Verdict {
        Verdict::wait(NOT_ENROLLED.because([("why", Value::text(self.unplaced))]))
    }
}
