//! Approval: where the policy wants it, a person has to consent to each version.

use crate::domain::fleet::Hold;
use crate::domain::fleet::roster::{Candidate, Post};

pub(super) fn judge(post: &Post<'_>, candidate: &Candidate) -> Option<Hold> {
    let missing = post.class.policy.needs_approval && !is_approved(post, candidate);
    missing.then_some(Hold::NotApproved)
}

/// Whether somebody approved it for the cluster, or for its whole organisation.
fn is_approved(post: &Post<'_>, candidate: &Candidate) -> bool {
    let (state, version) = (&post.member.state, post.roster.version(candidate.version));
    [None, Some(&state.name)].into_iter().any(|cluster| {
        post.roster.approvals.contains_key(&(
            state.organisation.clone(),
            cluster.cloned(),
            version.clone(),
        ))
    })
}
