//! What should this cluster do now? Take the highest version that every rule recommends, or say
//! why there is none.

use crate::agent::UpdateOffer;
use crate::agent::rules::{Moment, NOT_PROVED, judge};
use crate::verdict::{Answer, Verdict};

/// What a cluster does, and all that was judged on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Every offer, the highest version first, with what was said about it.
    pub judged: Vec<(UpdateOffer, Verdict)>,
}

pub fn choose(at: &Moment<'_>) -> Choice {
    let mut judged: Vec<(UpdateOffer, Verdict)> = at
        .standing
        .offers
        .iter()
        .map(|offer| (offer.clone(), judge(offer, at)))
        .collect();
    judged.sort_by(|(a, _), (b, _)| (&b.version, &b.image).cmp(&(&a.version, &a.image)));
    Choice { judged }
}

impl Choice {
    /// The update to be started, if there is one.
    pub fn takes(&self) -> Option<&UpdateOffer> {
        let recommended =
            |(_, verdict): &&(UpdateOffer, Verdict)| verdict.answer == Answer::Recommend;
        self.judged.iter().find(recommended).map(|(offer, _)| offer)
    }

    /// The highest offer that would be taken, or might be, if it were proved. It comes before any that is.
    pub fn unproved(&self) -> Option<&UpdateOffer> {
        let lacks_proof = |verdict: &Verdict| {
            let mut against = verdict.objections();
            against.any(|reason| reason.is(&NOT_PROVED)) && verdict.objections().count() == 1
        };
        let first = self
            .judged
            .iter()
            .find(|(_, verdict)| verdict.answer == Answer::Recommend || lacks_proof(verdict));
        first
            .filter(|(_, verdict)| lacks_proof(verdict))
            .map(|(offer, _)| offer)
    }
}
