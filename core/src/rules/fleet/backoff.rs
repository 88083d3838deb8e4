//! Backing off: a cluster that failed waits, longer each time, and lets its peers through.

use jiff::SignedDuration;

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;
use crate::domain::fleet::upgrade::REFUSAL_MEMORY;

/// After the first failure; doubled with each further one in a row, …
const FIRST: SignedDuration = SignedDuration::from_hours(1);
const LONGEST: SignedDuration = REFUSAL_MEMORY;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let failed = &post.roster.upgrades[post.member.failed? as usize];
    let until = failed.changed_at.checked_add(wait(failed.failures)).ok()?;
    (post.now < until).then_some(Hold::BackingOff { until })
}

/// How long to wait after so many failures in a row.
pub(super) fn wait(failures: u32) -> SignedDuration {
    let doublings = failures.saturating_sub(1).min(8);
    (FIRST * (1 << doublings)).min(LONGEST)
}
