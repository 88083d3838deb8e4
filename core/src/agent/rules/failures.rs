//! Failures: after several failed updates in a row the agent waits for a person. It does not retry
//! the same release at once.

use jiff::SignedDuration;

use super::{OfferQuestion, OfferRule};
use crate::verdict::{Code, Verdict};

/// How long the same release is left alone after a failure.
const PAUSE: SignedDuration = SignedDuration::from_hours(1);

pub static TOO_MANY_FAILURES: Code = Code::new(
    "TooManyFailures",
    "{failures|automatic update|automatic updates} in a row failed; a person has to look",
    "find out why they failed; an update to that release or beyond sets it back, and so does removing the annotation `towpath.dev/agent-record`",
)
.with(&[("failures", "3")]);

static FAILED_LATELY: Code = Code::new(
    "FailedLately",
    "an update to it failed at {failed}; it may be tried again at {until}",
    "find out why it failed; else wait",
)
.with(&[
    ("failed", "2026-11-16 12:00Z"),
    ("until", "2026-11-16 13:00Z"),
]);

pub(super) static RULE: OfferRule = OfferRule::new(&[&TOO_MANY_FAILURES, &FAILED_LATELY], judge);

fn judge(q: &OfferQuestion<'_>) -> Verdict {
    let memory = q.at.memory;
    if memory.failures >= q.at.policy.max_failures {
        let failures = ("failures", memory.failures.into());
        return Verdict::refuse(TOO_MANY_FAILURES.because([failures]));
    }
    let failed = memory.failed.as_ref();
    let lately = failed.filter(|(version, _)| *version == q.offer.version);
    let until = lately.and_then(|(_, at)| Some((*at, at.checked_add(PAUSE).ok()?)));
    match until {
        Some((failed, until)) if q.at.now < until => {
            let reason = FAILED_LATELY.because([("failed", failed.into())]);
            Verdict::wait(reason.until(until))
        }
        _ => Verdict::recommend(),
    }
}
