//! Pins: a cluster goes to this version, and to none above it.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Post};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    post.class
        .pin
        .is_some_and(|pin| candidate.version > pin)
        .then_some(Hold::Pinned)
}
