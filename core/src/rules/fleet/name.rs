//! The name: nothing is started on a cluster whose name others have too. Policies, approvals and people know clusters by their names.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    post.member.clash.as_ref().map(|_| Hold::NameClash)
}
