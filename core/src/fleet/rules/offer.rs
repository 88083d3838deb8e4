//! Offers: the graph's own verdict on an edge for this cluster (a rollout, a block, a risk).
//!
//! The policy can accept risks, each until its end.

use super::StartRule;
use crate::fleet::GraphObjection;
use crate::fleet::roster::StartQuestion;
use crate::verdict::Verdict;

pub(super) static RULE: StartRule = StartRule::new(&[], judge).holding(|q| objection(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    objection(q)
        .map(|objection| objection.verdict.clone())
        .into_iter()
        .collect()
}

/// What the graph says against it, unless that is over or accepted.
fn objection<'a>(q: &StartQuestion<'a>) -> Option<&'a GraphObjection> {
    let offer = &q.member.state.offers[q.candidate?.offer.at()];
    let objection = offer.objection.as_deref()?;
    let is_over = objection.until().is_some_and(|until| until <= q.now);
    let is_accepted = || {
        !objection.risks.is_empty() && objection.risks.is_subset(&q.accepted_risks(&offer.version))
    };
    (!is_over && !is_accepted()).then_some(objection)
}
