//! Pin: the agent goes no further than the version that administrators set.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Value, Verdict};

static BEYOND_PIN: Code = Code::new(
    "BeyondPin",
    "the cluster is pinned to {pin}",
    "raise or remove the pin",
)
.with(&[("pin", "4.20")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&BEYOND_PIN], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    match &q.at.policy.pin {
        Some(pin) if !pin.holds(&q.offer.version) => {
            Verdict::refuse(BEYOND_PIN.because([("pin", Value::text(pin))]))
        }
        _ => Verdict::recommend(),
    }
}
