//! Forwards: never back, never to where the cluster is, and no minor version is left out.

use super::{Moment, refuse};
use crate::domain::automatic::{AutomaticReason, Downgrades, Offer};
use crate::domain::{Minor, Verdict};

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    let Some(current) = at.standing.current() else { return refuse(AutomaticReason::CurrentUnknown) };
    let (from, to) = (Minor::of(current), Minor::of(&offer.version));
    let same_major = from.major == to.major;
    if offer.version == *current || (offer.version < *current && at.policy.downgrades == Downgrades::Refuse) {
        return refuse(AutomaticReason::NotNewer { current: current.clone() });
    }
    match same_major && to.minor > from.minor.saturating_add(1) {
        true => refuse(AutomaticReason::SkipsMinor { current: current.clone() }),
        false => Verdict::recommend(),
    }
}
