//! Managed: a cluster under a fleet policy takes only what that policy allows now.
//!
//! `fleet::why` says why the policy does not allow an edge. This rule only holds it.

use std::collections::BTreeSet;

use super::{EdgeQuestion, Edges};
use crate::graph::{Edge, Graph};
use crate::rules::Rule;
use crate::verdict::{Code, Verdict};
use crate::version::Version;

pub(crate) static FLEET_HOLDS: Code = Code::new(
    "FleetHolds",
    "the fleet's policy does not let this cluster take {version} now",
    "`towpath fleet why` says why, and when it will",
)
.with(&[("version", "4.20.5")]);

/// What the policy lets one cluster do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Managed {
    /// If it runs this version, …
    pub from: Version,
    /// … it may go to these; to none if there are none.
    pub to: BTreeSet<Version>,
}

impl Managed {
    pub(crate) const CODES: &'static [&'static Code] = &[&FLEET_HOLDS];

    /// Whether the policy lets the cluster take the edge.
    pub fn lets(&self, edge: Edge, graph: &Graph) -> bool {
        graph.release(edge.from).version == self.from
            && self.to.contains(&graph.release(edge.to).version)
    }
}

impl Rule<Edges> for Managed {
    fn codes(&self) -> Vec<&'static Code> {
        Self::CODES.to_vec()
    }

    fn judge(&self, q: &EdgeQuestion<'_>) -> Verdict {
        let to = &q.graph.release(q.edge.to).version;
        match self.lets(q.edge, q.graph) {
            true => Verdict::recommend(),
            false => Verdict::wait(FLEET_HOLDS.because([("version", to.into())])),
        }
    }
}
