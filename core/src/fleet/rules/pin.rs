//! Pins: a cluster goes to this version, and to none above it.

use super::StartRule;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

static PINNED: Code =
    Code::new("Pinned", "pinned to {pin}", "raise or remove the pin").with(&[("pin", "4.19.9")]);

pub(super) static RULE: StartRule = StartRule::new(&[&PINNED], judge).holding(holds);

fn holds(q: &StartQuestion<'_>) -> bool {
    let both = q.class.pin.zip(q.candidate);
    both.is_some_and(|(pin, candidate)| candidate.version > pin)
}

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let pin = q.class.policy.pin.as_ref().filter(|_| holds(q));
    pin.map(|pin| Verdict::refuse(PINNED.because([("pin", pin.into())])))
        .into_iter()
        .collect()
}
