//! Failures in a sector: after so many failed upgrades to a version, nobody else there is sent to it.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Post};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let sector = post.class.sector?;
    let most = post.roster.sectors[sector as usize].max_failures?;
    let failures = post
        .roster
        .failures
        .get(&(sector, candidate.version))
        .copied()
        .unwrap_or(0);
    (failures >= most.max(1)).then_some(Hold::SectorFailures { failures })
}
