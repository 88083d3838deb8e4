//! Node pools first: before a hosted control plane goes on, its node pools follow it, one at a time.

use crate::domain::fleet::roster::Post;
use crate::domain::fleet::{Hold, Pool, Product};

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    pool_behind(post).map(|(at, _)| Hold::PoolFirst(at as u32))
}

/// The first node pool that is behind its control plane, and its place.
pub(crate) fn pool_behind<'a>(post: &Post<'a>) -> Option<(usize, &'a Pool)> {
    let Product::HostedControlPlane { pools } = &post.member.state.product else {
        return None;
    };
    pools
        .iter()
        .enumerate()
        .find(|(_, pool)| pool.version < post.member.state.version)
}
