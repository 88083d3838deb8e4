//! Under way: one upgrade of a cluster at a time, whoever started it.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    post.member.upgrade.map(Hold::UnderWay)
}
