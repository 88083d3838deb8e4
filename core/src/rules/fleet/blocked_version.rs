//! Blocked versions: patterns of the organisation and of the cluster, searched for anywhere in the version.
//!
//! `4.12.1` therefore blocks 4.12.19 too; `^4\.12\.1$` does not.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Post};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let blocks = |pattern: &&u32| {
        post.roster.patterns[**pattern as usize].blocks[candidate.version as usize]
    };
    post.class
        .patterns
        .iter()
        .find(blocks)
        .map(|pattern| Hold::Blocked(*pattern))
}
