//! Minor versions: an update that leaves one out is told apart from the others.
//!
//! Nothing is held here. The graph offers such an update as its data says, and the cluster itself
//! accepts or refuses it. `path` does not take what clusters refuse.

use super::{EdgeQuestion, Edges};
use crate::graph::ReleaseId;
use crate::rules::Rule;
use crate::verdict::{Code, Value, Verdict};
use crate::version::{Minor, Minors, Succession};

pub(crate) static EDGE_SKIPS_MINOR: Code = Code::new(
    "EdgeSkipsMinor",
    "it leads from {from} directly to {to}[, without {between}]; clusters refuse that",
    "go through the minor versions between; `towpath path` finds the way",
)
.with(EXAMPLE)
.note();

static EDGE_MAY_SKIP_MINOR: Code = Code::new(
    "EdgeMaySkipMinor",
    "it leads from {from} directly to {to}[, without {between}]; clusters may go that way",
    "nothing; the table of minor versions says that clusters support it",
)
.with(EXAMPLE)
.note();

const EXAMPLE: &[(&str, &str)] = &[("from", "5.0"), ("to", "5.2"), ("between", "5.1")];

pub(super) const CODES: &[&Code] = &[&EDGE_SKIPS_MINOR, &EDGE_MAY_SKIP_MINOR];

impl Rule<Edges> for Minors {
    fn codes(&self) -> Vec<&'static Code> {
        CODES.to_vec()
    }

    fn judge(&self, q: &EdgeQuestion<'_>) -> Verdict {
        let minor = |id: ReleaseId| Minor::of(&q.graph.release(id).version);
        let (from, to) = (minor(q.edge.from), minor(q.edge.to));
        let told = |code: &'static Code, between: Vec<Minor>| {
            Verdict::inform(code.because([
                ("from", from.into()),
                ("to", to.into()),
                ("between", Value::list(between)),
            ]))
        };
        match self.succession(from, to) {
            Succession::LeavesOut(between) => told(&EDGE_SKIPS_MINOR, between),
            Succession::Skip(between) => told(&EDGE_MAY_SKIP_MINOR, between),
            // An edge back is no skip.
            Succession::NoWay if to < from => Verdict::recommend(),
            Succession::NoWay => told(&EDGE_SKIPS_MINOR, Vec::new()),
            Succession::Patch
            | Succession::Next
            | Succession::NextUnverified
            | Succession::Unknown(_) => Verdict::recommend(),
        }
    }
}
