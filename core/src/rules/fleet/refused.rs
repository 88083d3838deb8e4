//! Refusals: a version that the API did not take for this cluster is not tried again for a while, longer each time.
//!
//! Lower versions are tried meanwhile, so that a refusal never keeps patches away. It ends: what stood in the way over there may
//! be gone, and nobody tells us.

use jiff::Timestamp;

use super::backoff::wait;
use crate::domain::fleet::roster::{Candidate, Post};
use crate::domain::fleet::{Hold, Upgrade};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let (_, at) = *post
        .member
        .refused
        .iter()
        .find(|(version, _)| *version == candidate.version)?;
    let until = end(&post.roster.upgrades[at as usize])?;
    (post.now < until).then_some(Hold::Refused { upgrade: at, until })
}

/// When the refusals of a member end.
pub(crate) fn ends<'a>(post: &'a Post<'a>) -> impl Iterator<Item = Timestamp> + 'a {
    post.member
        .refused
        .iter()
        .filter_map(|(_, at)| end(&post.roster.upgrades[*at as usize]))
}

fn end(refused: &Upgrade) -> Option<Timestamp> {
    refused.changed_at.checked_add(wait(refused.failures)).ok()
}
