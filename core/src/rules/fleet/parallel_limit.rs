//! Parallel limit: in a sector that has one, so many clusters that share a mutex may be upgraded at once.
//!
//! Only the sector's own clusters count, and a cluster without declared mutexes is not limited.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let sector = post.class.sector?;
    post.class.mutexes.iter().find_map(|mutex| {
        let limit = post.roster.limit(sector, *mutex)?;
        let holders = &post.roster.mutexes[*mutex as usize].holders;
        let others = holders.iter().filter(|holder| **holder != post.number);
        let held = others.filter(|holder| post.roster.class_of(**holder).sector == Some(sector)).count();
        (held as u64 >= u64::from(limit)).then_some(Hold::ParallelLimit { mutex: *mutex, limit })
    })
}
