//! Backing off: a cluster that failed waits, longer each time, and lets its peers through.

use jiff::SignedDuration;

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

/// After the first failure; doubled with each further one in a row, …
const FIRST: SignedDuration = SignedDuration::from_hours(1);
/// … up to this.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let failed = &post.roster.upgrades[post.member.failed? as usize];
    let doublings = failed.failures.saturating_sub(1).min(8);
    let wait = (FIRST * (1 << doublings)).min(LONGEST);
    let until = failed.changed_at.checked_add(wait).ok()?;
    (post.now < until).then_some(Hold::BackingOff { until })
}
