//! Gates: the agent does not start an update that `towpath ready` refuses. Patches are never
//! stopped.

use super::{OfferQuestion, OfferRule};
use crate::cluster::rules;
use crate::cluster::way::{Stop, Way};
use crate::verdict::Verdict;

pub(super) static RULE: OfferRule = OfferRule::new(&[], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let Some(current) = q.at.standing.current() else {
        return Verdict::recommend();
    };
    // What is no way at all, `forwards` refuses.
    let way = Way::new(
        current.clone(),
        vec![Stop::Release(q.offer.version.clone())],
        q.at.minors,
    );
    way.map_or_else(
        |_| Verdict::recommend(),
        |way| {
            way.steps()
                .map(|step| rules::judge(step, q.at.facts))
                .collect()
        },
    )
}
