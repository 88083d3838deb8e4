//! Advice: the agent takes an update with risks only if the cluster found that none of them
//! applies.

use super::{OfferQuestion, OfferRule};
use crate::agent::Advice;
use crate::verdict::{Code, Verdict};

/// A risk of it applies to the cluster.
static NOT_RECOMMENDED: Code = Code::new(
    "NotRecommended",
    "the cluster does not recommend it: {reason}: {message}",
    "read what the risk is about; a person may accept it",
)
.with(&[
    ("reason", "SlowStart"),
    ("message", "it applies to this cluster"),
]);

/// Whether its risks apply is not known.
static ADVICE_UNKNOWN: Code = Code::new(
    "AdviceUnknown",
    "nobody knows whether its risks apply: {reason}: {message}",
    "see that the cluster can ask its Prometheus",
)
.with(&[
    ("reason", "EvaluationFailed"),
    ("message", "Prometheus cannot be asked"),
]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&NOT_RECOMMENDED, &ADVICE_UNKNOWN], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    match &q.offer.advice {
        Advice::Recommended => Verdict::recommend(),
        Advice::NotRecommended { reason, message } => Verdict::refuse(
            NOT_RECOMMENDED.because([("reason", reason.into()), ("message", message.into())]),
        ),
        Advice::NotKnown { reason, message } => Verdict::wait(
            ADVICE_UNKNOWN.because([("reason", reason.into()), ("message", message.into())]),
        ),
    }
}
