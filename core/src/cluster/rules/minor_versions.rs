//! Minor versions: an update to one that the table does not have is held, and so is one to a next
//! that nobody has verified.
//!
//! Way itself refuses what skips a minor version that clusters may not skip. What is known and not
//! verified is told: the other rules then take the strictest reading.

use super::{StepQuestion, StepRule};
use crate::verdict::{Code, Value, Verdict};
use crate::version::{Minor, MinorFact, Succession};

/// The table of minor versions ends before this one.
static MINOR_UNKNOWN: Code = Code::new(
    "MinorUnknown",
    "this towpath does not know OpenShift {minor}: not what it follows, nor which Kubernetes it has",
    "write {minor} into a file for --minors, or use a towpath that knows it",
)
.with(&[("minor", "6.0")]);

static MINOR_NEXT_UNVERIFIED: Code = Code::new(
    "MinorNextUnverified",
    "nobody has verified that OpenShift {to} follows {from}",
    "find that in OpenShift's documentation, and confirm it in a file for --minors",
)
.with(&[("from", "5.1"), ("to", "5.2")]);

static MINOR_UNVERIFIED: Code = Code::new(
    "MinorUnverified",
    "nobody has verified what towpath knows about OpenShift {minor}: {facts}; the strictest reading counts",
    "nothing; to confirm it, write {minor} into a file for --minors",
)
.with(&[("minor", "5.0"), ("facts", "kubernetes, kubeletSkew")])
.note();

static MINOR_SKIPPED: Code = Code::new(
    "MinorSkipped",
    "it goes from {from} directly to {to}[, without {between}]; clusters may",
    "nothing; the table of minor versions says that clusters support it",
)
.with(&[("from", "5.0"), ("to", "5.2"), ("between", "5.1")])
.note();

pub(super) static RULE: StepRule = StepRule::new(
    &[
        &MINOR_UNKNOWN,
        &MINOR_NEXT_UNVERIFIED,
        &MINOR_UNVERIFIED,
        &MINOR_SKIPPED,
    ],
    judge,
);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let (from, to) = (q.step.begins_in(), q.step.to_minor());
    let succession = match q.step.succession() {
        Succession::Patch => return Verdict::recommend(),
        Succession::Next => Verdict::recommend(),
        Succession::NextUnverified => Verdict::refuse(
            MINOR_NEXT_UNVERIFIED.because([("from", from.into()), ("to", to.into())]),
        ),
        Succession::Skip(between) => Verdict::inform(MINOR_SKIPPED.because([
            ("from", from.into()),
            ("to", to.into()),
            ("between", Value::list(between)),
        ])),
        // No way has such a step.
        Succession::LeavesOut(_) | Succession::NoWay => unknown(to),
        Succession::Unknown(minor) => unknown(minor),
    };
    succession.and(unverified(q, to))
}

/// Holds what leads to or from a minor version that the table does not have.
pub(crate) fn unknown(minor: Minor) -> Verdict {
    Verdict::refuse(MINOR_UNKNOWN.because([("minor", minor.into())]))
}

/// What rules ask about, and nobody has verified.
fn unverified(q: &StepQuestion<'_>, to: Minor) -> Verdict {
    let is_said = q.step.kubernetes_after().is_some_and(|it| it.is_verified);
    let counts = |fact: &MinorFact| match fact {
        MinorFact::Kubernetes => !is_said,
        MinorFact::KubeletSkew => true,
        MinorFact::HostedKubeletSkew => q.facts.is_hosted(),
        // Of the next minor version, its own update tells; where pools wait, the plan does.
        MinorFact::Next | MinorFact::Skips | MinorFact::Eus => false,
    };
    let facts = q.step.way().minors().unverified(to).filter(counts);
    let facts: Vec<Value> = facts.map(Value::text).collect();
    match facts.is_empty() {
        true => Verdict::recommend(),
        false => Verdict::inform(
            MINOR_UNVERIFIED.because([("minor", to.into()), ("facts", Value::List(facts))]),
        ),
    }
}
