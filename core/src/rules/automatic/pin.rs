//! Pin: no further than administrators say.

use super::{Moment, refuse};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    match &at.policy.pin {
        Some(pin) if !pin.holds(&offer.version) => {
            refuse(AutomaticReason::BeyondPin { pin: pin.clone() })
        }
        _ => Verdict::recommend(),
    }
}
