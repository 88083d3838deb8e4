//! Gates: what `towpath ready` has against an update, the agent does not start. Patches are never stopped.

use super::Moment;
use crate::domain::Verdict;
use crate::domain::automatic::Offer;
use crate::domain::way::{Stop, Way};
use crate::rules::ready;

pub(super) fn judge(offer: &Offer, at: &Moment<'_>) -> Verdict {
    let Some(current) = at.standing.current() else {
        return Verdict::recommend();
    };
    // What is no way at all, `forwards` refuses.
    let way = Way::new(current.clone(), vec![Stop::Release(offer.version.clone())]);
    way.map_or_else(
        |_| Verdict::recommend(),
        |way| {
            way.steps()
                .map(|step| ready::judge(step, at.facts, at.policy.max_skew))
                .collect()
        },
    )
}
