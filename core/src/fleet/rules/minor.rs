//! Minor versions: a cluster goes from one to the next as the table of minor versions says.
//!
//! The graph or the list may offer more: an update that leaves out a minor version, or one to a
//! minor version that nobody knows. The agent and `path` refuse that, and so does the fleet, because
//! OCM and ACM may start it. Decisions from before this rule have no table: nothing is held there.

use super::StartRule;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Value, Verdict};
use crate::version::{Minor, Succession};

static MINOR_LEFT_OUT: Code = Code::new(
    "MinorLeftOut",
    "it leads from OpenShift {from} directly to {to}[, without {between}]; clusters refuse that",
    "let it go through the minor versions between; `towpath path` finds the way",
)
.with(&[("from", "4.18"), ("to", "4.20"), ("between", "4.19")]);

static MINOR_NOT_KNOWN: Code = Code::new(
    "MinorNotKnown",
    "this towpath does not know OpenShift {minor}, nor what it follows",
    "write {minor} into a file for --minors, or use a towpath that knows it",
)
.with(&[("minor", "6.0")]);

static MINOR_NOT_CONFIRMED: Code = Code::new(
    "MinorNotConfirmed",
    "nobody has verified that OpenShift {to} follows {from}",
    "find that in OpenShift's documentation, and confirm it in a file for --minors",
)
.with(&[("from", "5.1"), ("to", "5.2")]);

pub(super) static RULE: StartRule = StartRule::new(
    &[&MINOR_LEFT_OUT, &MINOR_NOT_KNOWN, &MINOR_NOT_CONFIRMED],
    judge,
)
.holding(|q| barred(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let refuse = |step: BarredStep| {
        let ends = [("from", step.from.into()), ("to", step.to.into())];
        let left_out = |between: Vec<Minor>| {
            let [from, to] = ends.clone();
            MINOR_LEFT_OUT.because([from, to, ("between", Value::list(between))])
        };
        Verdict::refuse(match step.succession {
            Succession::LeavesOut(between) => left_out(between),
            Succession::Unknown(minor) => MINOR_NOT_KNOWN.because([("minor", minor.into())]),
            Succession::NextUnverified => MINOR_NOT_CONFIRMED.because(ends),
            Succession::NoWay | Succession::Patch | Succession::Next | Succession::Skip(_) => {
                left_out(Vec::new())
            }
        })
    };
    barred(q).map(refuse).into_iter().collect()
}

/// A step between minor versions that the table does not allow.
struct BarredStep {
    from: Minor,
    to: Minor,
    succession: Succession,
}

fn barred(q: &StartQuestion<'_>) -> Option<BarredStep> {
    let minors = q.roster.minors.as_ref()?;
    let from = Minor::of(&q.member.state.version);
    let to = Minor::of(q.roster.version(q.candidate?.version));
    match minors.succession(from, to) {
        Succession::Patch | Succession::Next | Succession::Skip(_) => None,
        succession => Some(BarredStep {
            from,
            to,
            succession,
        }),
    }
}
