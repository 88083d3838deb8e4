//! Mutexes: without a limit of parallel upgrades, a cluster needs every one of its mutexes for itself.
//!
//! Its own id is one of them. A cluster without mutexes is limited by nobody.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let limited = post
        .class
        .sector
        .is_some_and(|sector| post.roster.sectors[sector as usize].max_parallel.is_some());
    if limited {
        return None;
    }
    post.roster.mutexes_of(post.number).find_map(|mutex| {
        let holder = post.roster.mutexes[mutex as usize]
            .holders
            .iter()
            .find(|holder| **holder != post.number)?;
        Some(Hold::Mutex {
            mutex,
            holder: *holder,
        })
    })
}
