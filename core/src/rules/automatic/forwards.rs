//! Forwards: never back, never to where the cluster is, and no minor version is left out.

use super::{Moment, refuse};
use crate::domain::automatic::{AutomaticReason, Downgrades, Offer};
use crate::domain::{Minor, Verdict};

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    let Some(current) = at.standing.current() else {
        return refuse(AutomaticReason::CurrentUnknown);
    };
    let (from, to) = (Minor::of(current), Minor::of(&offer.version));
    if offer.version == *current
        || (offer.version < *current && at.policy.downgrades == Downgrades::Refuse)
    {
        return refuse(AutomaticReason::NotNewer {
            current: current.clone(),
        });
    }
    // Which minor version is the last before a new major one, only the releases know, and what is signed says.
    let is_next = match to.major == from.major {
        true => to.minor <= from.minor.saturating_add(1),
        false => to.major <= from.major.saturating_add(1) && to.minor == 0,
    };
    match is_next || offer.version < *current {
        true => Verdict::recommend(),
        false => refuse(AutomaticReason::SkipsMinor {
            current: current.clone(),
        }),
    }
}
