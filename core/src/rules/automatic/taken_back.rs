//! Taken back: what a person took back is not started again by itself, nor anything before it. A newer release is another matter.

use super::{Moment, refuse};
use crate::domain::Verdict;
use crate::domain::automatic::{AutomaticReason, Offer};

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    match at
        .memory
        .taken_back
        .as_ref()
        .filter(|version| offer.version <= **version)
    {
        Some(version) => refuse(AutomaticReason::TakenBack {
            version: version.clone(),
        }),
        None => Verdict::recommend(),
    }
}
