//! Parallel limit: in a sector that has one, so many clusters that share a mutex may be upgraded at once.
//!
//! Only the sector's own clusters count, and a cluster without declared mutexes is not limited.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let sector = post.class.sector?;
    post.class.mutexes.iter().find_map(|mutex| {
        let limit = post.roster.limit(sector, *mutex)?;
        let entry = &post.roster.mutexes[*mutex as usize];
        let itself = u32::from(entry.holders.contains(&post.number));
        let held = entry
            .in_sector
            .get(&sector)
            .map_or(0, |count| count - itself);
        (held >= limit).then_some(Hold::ParallelLimit {
            mutex: *mutex,
            limit,
        })
    })
}
