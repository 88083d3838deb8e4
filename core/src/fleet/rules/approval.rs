//! Approval: where the policy wants it, a person has to consent to each version.

use super::StartRule;
use crate::fleet::roster::{Candidate, StartQuestion};
use crate::verdict::{Code, Verdict};

static NOT_APPROVED: Code = Code::new(
    "NotApproved",
    "nobody has approved it",
    "approve it with `towpath fleet approve`",
);

pub(super) static RULE: StartRule = StartRule::new(&[&NOT_APPROVED], judge).holding(holds);

fn holds(q: &StartQuestion<'_>) -> bool {
    let is_missing = |candidate: &Candidate| !is_approved(q, candidate);
    q.class.policy.needs_approval && q.candidate.is_some_and(is_missing)
}

fn judge(q: &StartQuestion<'_>) -> Verdict {
    match holds(q) {
        true => Verdict::refuse(NOT_APPROVED.alone()),
        false => Verdict::recommend(),
    }
}

/// Whether somebody approved it for the cluster, or for its whole organisation.
fn is_approved(q: &StartQuestion<'_>, candidate: &Candidate) -> bool {
    let (state, version) = (&q.member.state, q.roster.version(candidate.version));
    [None, Some(&state.name)].into_iter().any(|cluster| {
        q.roster.approvals.contains_key(&(
            state.organisation.clone(),
            cluster.cloned(),
            version.clone(),
        ))
    })
}
