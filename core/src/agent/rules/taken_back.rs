//! Taken back: when a person cancels an update, the agent does not start it again, nor an older
//! release.
//!
//! A newer release is allowed.

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Verdict};

static TAKEN_BACK: Code = Code::new(
    "TakenBack",
    "the update to {version} was started, and somebody took it back; only newer releases are taken",
    "take it by hand, if it is right after all; a newer release is taken again by itself",
)
.with(&[("version", "4.20.3")]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&TAKEN_BACK], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let taken_back = q.at.memory.taken_back.as_ref();
    match taken_back.filter(|version| q.offer.version <= **version) {
        Some(version) => Verdict::refuse(TAKEN_BACK.because([("version", version.into())])),
        None => Verdict::recommend(),
    }
}
