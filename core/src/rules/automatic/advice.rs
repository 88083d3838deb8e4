//! Advice: an update with risks is taken only where the cluster has found that none applies.

use super::{Moment, refuse, wait};
use crate::domain::Verdict;
use crate::domain::automatic::{Advice, AutomaticReason, Offer};

pub(super) fn judge(offer: &Offer, _: &Moment<'_>) -> Verdict {
    match offer.advice.clone() {
        Advice::Recommended => Verdict::recommend(),
        Advice::NotRecommended { reason, message } => {
            refuse(AutomaticReason::NotRecommended { reason, message })
        }
        Advice::NotKnown { reason, message } => {
            wait(None, AutomaticReason::AdviceUnknown { reason, message })
        }
    }
}
