//! Backing off: a cluster that failed waits, longer each time, and lets its peers through.

use jiff::{SignedDuration, Timestamp};

use super::StartRule;
use crate::fleet::Upgrade;
use crate::fleet::roster::StartQuestion;
use crate::fleet::upgrade::REFUSAL_MEMORY;
use crate::verdict::{Code, Verdict};

/// After the first failure; doubled with each further one in a row, …
const FIRST: SignedDuration = SignedDuration::from_hours(1);
/// … up to this.
const LONGEST: SignedDuration = REFUSAL_MEMORY;

static BACKING_OFF: Code = Code::new(
    "BackingOff",
    "it failed to reach {to}, {failures|time|times} in a row, and waits until {until}",
    "find out why it failed; it is tried again then",
)
.with(&[
    ("to", "4.20.5"),
    ("failures", "2"),
    ("until", "2026-11-16 12:00Z"),
]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&BACKING_OFF], judge).holding(|q| failed(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |(failed, until): (&Upgrade, Timestamp)| {
        let facts = [
            ("to", (&failed.to).into()),
            ("failures", failed.failures.max(1).into()),
        ];
        Verdict::wait(BACKING_OFF.because(facts).until(until))
    };
    failed(q).map(wait).into_iter().collect()
}

/// The upgrade that failed lately, and until when the cluster waits.
fn failed<'a>(q: &StartQuestion<'a>) -> Option<(&'a Upgrade, Timestamp)> {
    let failed = &q.roster.upgrades[q.member.failed?];
    let until = failed.changed_at.checked_add(wait(failed.failures)).ok()?;
    (q.now < until).then_some((failed, until))
}

/// How long to wait after a number of failures in a row.
pub(super) fn wait(failures: u32) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(8);
    (FIRST * (1 << doublings)).min(LONGEST)
}
