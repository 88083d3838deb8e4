//! Left alone: a cluster whose file disables the integration that upgrades clusters. A person upgrades it, or nobody does.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    post.class.left_alone.is_some().then_some(Hold::LeftAlone)
}
