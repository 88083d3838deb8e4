//! Soak: a release must run elsewhere before it may run here.
//!
//! Days add up across clusters that share a workload: two clusters for three days count as six. Unhealthy and
//! unobserved time adds nothing; the ledger leaves it out, not this rule.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Post};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let need_seconds = post.class.soak_seconds?;
    let have = |cell: &u32| {
        (
            post.roster.cells[*cell as usize].seconds[candidate.version as usize],
            *cell,
        )
    };
    let (have_seconds, workload) = post.class.cells.iter().map(have).min()?;
    (have_seconds < need_seconds).then_some(Hold::Soak {
        workload,
        have_seconds,
        need_seconds,
    })
}
