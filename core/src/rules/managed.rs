//! Managed: a cluster that a fleet's policy looks after takes only what that policy lets it take now.
//!
//! Why it does not is the policy's to say (`decide::why`); here is only that it does not.

use std::collections::BTreeSet;

use super::Rule;
use crate::domain::{Edge, Reason, Situation, Verdict, Version};

/// What the policy lets one cluster do now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managed {
    /// From which release; none: from none.
    pub from: Option<Version>,
    pub to: BTreeSet<Version>,
}

impl Rule for Managed {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let version = |id| &at.graph.release(id).version;
        let lets =
            self.from.as_ref() == Some(version(edge.from)) && self.to.contains(version(edge.to));
        match lets {
            true => Verdict::recommend(),
            false => Verdict::wait(Reason::FleetHolds {
                version: version(edge.to).clone(),
            }),
        }
    }
}
