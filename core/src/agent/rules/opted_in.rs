//! Opted in: the agent does nothing unless somebody asked for automatic updates.

use super::{OfferQuestion, Offers};
use crate::agent::OptIn;
use crate::rules::Rule;
use crate::verdict::{Code, Verdict};

pub static NOT_OPTED_IN: Code = Code::new(
    "NotOptedIn",
    "automatic updates are not wanted here",
    "opt in, if they should be: docs/agent.md says how",
);

pub(super) struct OptedIn;

impl Rule<Offers> for OptedIn {
    fn codes(&self) -> Vec<&'static Code> {
        vec![&NOT_OPTED_IN]
    }

    fn judge(&self, q: &OfferQuestion<'_>) -> Verdict {
        match q.at.standing.opt_in {
            OptIn::Wanted => Verdict::recommend(),
            OptIn::NotWanted => Verdict::refuse(NOT_OPTED_IN.alone()),
        }
    }
}
