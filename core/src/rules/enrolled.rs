//! Enrolled: a cluster that a fleet may look after, and that no pass has placed yet, takes nothing.
//!
//! Whether it concerns a cluster, whoever knows the fleet says (`domain::fleet::enrolment`); here is only that it then holds every edge.

use super::Rule;
use crate::domain::fleet::Unplaced;
use crate::domain::{Edge, Reason, Situation, Verdict};

/// Holds every edge of a cluster that has no place in the fleet yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enrolled {
    /// Why it has none.
    pub unplaced: Unplaced,
}

impl Rule for Enrolled {
    fn judge(&self, _edge: Edge, _at: &Situation<'_>) -> Verdict {
        Verdict::wait(Reason::NotEnrolled { why: self.unplaced })
    }
}
