//! The organisation and the entry itself: what is wrong or switched off holds back what it is about, and nothing else.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge_problems(post: &Post<'_>) -> Option<Hold> {
    (!post.class.problems.is_empty()).then_some(Hold::PolicyProblem)
}

pub(super) fn judge_disabled(post: &Post<'_>) -> Option<Hold> {
    post.roster.organisations[post.class.organisation as usize]
        .disabled
        .then_some(Hold::Disabled)
}
