//! Health: nothing is started on a cluster that is not well, or that nobody has heard of.

use jiff::SignedDuration;

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

/// A cluster that has been silent for longer may be in any state.
pub(crate) const SILENCE: SignedDuration = SignedDuration::from_hours(24);

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let state = &post.member.state;
    if !state.health.is_healthy() {
        return Some(Hold::Unhealthy);
    }
    (state.last_seen.duration_until(post.now) > SILENCE).then_some(Hold::NotReporting)
}
