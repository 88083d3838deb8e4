//! Managed: a cluster that a fleet's policy looks after takes only what that policy lets it take now.
//!
//! Why it does not is the policy's to say (`decide::why`); here is only that it does not.

use std::collections::BTreeSet;

use super::Rule;
use crate::domain::{Edge, Graph, Reason, Situation, Verdict, Version};

/// What the policy lets one cluster do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// If it runs this version, …
    pub from: Version,
    /// … it may go to these; to none if there are none.
    pub to: BTreeSet<Version>,
}

impl Managed {
    /// Whether the policy lets the cluster take the edge.
    pub fn lets(&self, edge: Edge, graph: &Graph) -> bool {
        graph.release(edge.from).version == self.from
            && self.to.contains(&graph.release(edge.to).version)
    }
}

impl Rule for Managed {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        match self.lets(edge, at.graph) {
            true => Verdict::recommend(),
            false => Verdict::wait(Reason::FleetHolds {
                version: at.graph.release(edge.to).version.clone(),
            }),
        }
    }
}
