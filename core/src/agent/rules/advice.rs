//! Advice: the agent takes an update with risks only if the cluster found that none of them
//! applies, or if every risk that may apply is accepted.
//!
//! A risk can be accepted on the cluster, in the agent's policy, or in the fleet's policy for the
//! update that the fleet has started. A risk whose name nobody tells cannot be accepted.

use std::collections::BTreeSet;

use super::{OfferQuestion, OfferRule};
use crate::agent::{Advice, UpdateOffer};
use crate::fleet::Name;
use crate::fleet::accepted_risk::{in_force, may_fix};
use crate::verdict::{Code, Value, Verdict};

/// The most risks that a ClusterVersion accepts.
pub const MAX_ACCEPTED: usize = 1_000;
/// The most bytes of names that are accepted with one start: they have to fit into the agent's record.
const MAX_BYTES: usize = 8 << 10;

/// A risk of it applies to the cluster.
static NOT_RECOMMENDED: Code = Code::new(
    "NotRecommended",
    "the cluster does not recommend it: {reason}: {message}[; not accepted: {risks}]",
    "read what the risk is about; to take it all the same, accept it with a reason and an end: `acceptedRisks` in the policy",
)
.with(&[
    ("reason", "SlowStart"),
    ("message", "it applies to this cluster"),
    ("risks", "SlowStart"),
]);

/// Whether its risks apply is not known.
static ADVICE_UNKNOWN: Code = Code::new(
    "AdviceUnknown",
    "nobody knows whether its risks apply: {reason}: {message}[; not accepted: {risks}]",
    "see that the cluster can ask its Prometheus",
)
.with(&[
    ("reason", "EvaluationFailed"),
    ("message", "Prometheus cannot be asked"),
    ("risks", "SlowStart"),
]);

static RISKS_ACCEPTED: Code = Code::new(
    "RisksAccepted",
    "its risks are accepted: {risks}",
    "nothing; the policies say who accepted them, and until when",
)
.with(&[("risks", "SlowStart")])
.note();

static TOO_MANY_RISKS: Code = Code::new(
    "TooManyRisks",
    "the cluster would accept {count|risk|risks}, and the new names have {bytes} bytes; at most {most} risks can be accepted, and {mostBytes} bytes of names with one start",
    "remove risks that no longer matter: `oc adm upgrade accept NAME-`",
)
.with(&[
    ("count", "1001"),
    ("bytes", "9000"),
    ("most", "1000"),
    ("mostBytes", "8192"),
]);

pub(super) static RULE: OfferRule = OfferRule::new(
    &[
        &NOT_RECOMMENDED,
        &ADVICE_UNKNOWN,
        &RISKS_ACCEPTED,
        &TOO_MANY_RISKS,
    ],
    judge,
);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let risks = &q.offer.risks;
    let accepted = accepted(q);
    let open: BTreeSet<&Name> = risks.difference(&accepted).collect();
    let is_accepted = !risks.is_empty() && open.is_empty();
    let told = |code: &'static Code, reason: &Name, message: &Name| {
        code.because([
            ("reason", reason.into()),
            ("message", message.into()),
            ("risks", Value::list(open.iter().copied())),
        ])
    };
    match &q.offer.advice {
        Advice::Recommended => Verdict::recommend(),
        _ if is_accepted => within_limits(q),
        Advice::NotRecommended { reason, message } => {
            Verdict::refuse(told(&NOT_RECOMMENDED, reason, message))
        }
        Advice::NotKnown { reason, message } => {
            Verdict::wait(told(&ADVICE_UNKNOWN, reason, message))
        }
    }
}

/// Everything that counts as accepted for this offer.
fn accepted(q: &OfferQuestion<'_>) -> BTreeSet<Name> {
    let at = q.at;
    // What we accepted there ourselves, for another update, is nobody's word.
    let on_cluster = at.standing.accepted_risks.difference(&at.memory.accepted);
    let is_fixed = |risk: &str| {
        let without = |other: &UpdateOffer| match other.advice {
            Advice::Recommended => true,
            _ => !other.risks.is_empty() && !other.risks.contains(risk),
        };
        let mut offers = at.standing.offers.iter();
        offers.any(|other| may_fix(&q.offer.version, &other.version) && without(other))
    };
    let by_policy = in_force(&at.policy.accepted_risks, is_fixed, at.now);
    let ordered = at.orders.update.as_ref();
    let ordered = ordered.filter(|update| update.to == q.offer.version);
    let by_fleet = ordered.map(|update| in_force(&update.accepted, |_| false, at.now));
    let all = on_cluster.cloned().chain(by_policy);
    all.chain(by_fleet.into_iter().flatten()).collect()
}

fn within_limits(q: &OfferQuestion<'_>) -> Verdict {
    let (standing, ours) = (q.at.standing, &q.at.memory.accepted);
    let there: BTreeSet<&Name> = standing.accepted_risks.difference(ours).collect();
    let added = q.offer.risks.iter().filter(|name| !there.contains(name));
    let bytes: usize = added.clone().map(|name| name.len()).sum();
    let count = there.len() + added.count();
    match count > MAX_ACCEPTED || bytes > MAX_BYTES {
        true => Verdict::refuse(TOO_MANY_RISKS.because([
            ("count", number(count)),
            ("bytes", number(bytes)),
            ("most", number(MAX_ACCEPTED)),
            ("mostBytes", number(MAX_BYTES)),
        ])),
        false => Verdict::inform(RISKS_ACCEPTED.because([("risks", Value::list(&q.offer.risks))])),
    }
}

fn number(count: usize) -> Value {
    u32::try_from(count).unwrap_or(u32::MAX).into()
}
