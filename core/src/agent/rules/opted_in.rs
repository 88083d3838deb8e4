//! Opted in: the agent does nothing unless somebody asked for automatic updates.

use super::{OfferQuestion, OfferRule};
use crate::agent::OptIn;
use crate::verdict::{Code, Verdict};

pub static NOT_OPTED_IN: Code = Code::new(
    "NotOptedIn",
    "automatic updates are not wanted here",
    "opt in, if they should be: docs/agent.md says how",
);

pub(super) static RULE: OfferRule = OfferRule::new(&[&NOT_OPTED_IN], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    match q.at.standing.opt_in {
        OptIn::Wanted => Verdict::recommend(),
        OptIn::NotWanted => Verdict::refuse(NOT_OPTED_IN.alone()),
    }
}
