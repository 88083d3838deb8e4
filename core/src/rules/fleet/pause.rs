//! Pauses: people stop new starts, everywhere, in an organisation or in a sector.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::Post;

pub(super) fn judge(post: &Post<'_>) -> Option<Hold> {
    let (organisation, sector) = (
        &post.member.state.organisation,
        post.class.policy.sector.as_deref(),
    );
    let covers = |pause: &crate::domain::fleet::Pause| pause.covers(organisation, sector);
    post.roster
        .pauses
        .iter()
        .position(covers)
        .map(|pause| Hold::Paused(pause as u32))
}
