//! Pins: a cluster goes to this version, and to none above it.

use super::Starts;
use crate::fleet::roster::StartQuestion;
use crate::rules::Rule;
use crate::verdict::{Code, Verdict};

static PINNED: Code =
    Code::new("Pinned", "pinned to {pin}", "raise or remove the pin").with(&[("pin", "4.19.9")]);

pub(super) struct PinRule;

impl Rule<Starts> for PinRule {
    fn codes(&self) -> Vec<&'static Code> {
        vec![&PINNED]
    }

    fn holds(&self, q: &StartQuestion<'_>) -> bool {
        let both = q.class.pin.zip(q.candidate);
        both.is_some_and(|(pin, candidate)| candidate.version > pin)
    }

    fn judge(&self, q: &StartQuestion<'_>) -> Verdict {
        let pin = q.class.policy.pin.as_ref().filter(|_| self.holds(q));
        pin.map(|pin| Verdict::refuse(PINNED.because([("pin", pin.into())])))
            .into_iter()
            .collect()
    }
}
