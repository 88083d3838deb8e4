//! Schedule: a start is decided only when its time is near.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let calendar = &post.roster.calendars[post.class.calendar as usize];
    calendar
        .schedules()
        .start(post.now)
        .is_none()
        .then_some(Hold::Schedule)
}
