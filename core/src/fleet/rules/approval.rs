//! Approval: where the policy wants it, a person has to consent to each version.

use super::StartRule;
use crate::fleet::WithdrawnApproval;
use crate::fleet::roster::{Candidate, StartQuestion};
use crate::verdict::{Code, Verdict};

static NOT_APPROVED: Code = Code::new(
    "NotApproved",
    "nobody has approved it",
    "approve it with `towpath fleet approve`",
);

/// Somebody had approved it.
static APPROVAL_WITHDRAWN: Code = Code::new(
    "ApprovalWithdrawn",
    "{by} withdrew its approval at {at}: {why}",
    "approve it again with `towpath fleet approve`, after asking who withdrew it",
)
.with(&[("by", "ada"), ("at", "2026-11-16 12:00Z"), ("why", "INC-1")]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&NOT_APPROVED, &APPROVAL_WITHDRAWN], judge).holding(holds);

fn holds(q: &StartQuestion<'_>) -> bool {
    let is_missing = |candidate: &Candidate| !is_approved(q, candidate);
    q.class.policy.needs_approval && q.candidate.is_some_and(is_missing)
}

fn judge(q: &StartQuestion<'_>) -> Verdict {
    match (holds(q), withdrawn(q)) {
        (false, _) => Verdict::recommend(),
        (true, None) => Verdict::refuse(NOT_APPROVED.alone()),
        (true, Some(withdrawn)) => Verdict::refuse(APPROVAL_WITHDRAWN.because([
            ("by", (&withdrawn.by).into()),
            ("at", withdrawn.at.into()),
            ("why", (&withdrawn.why).into()),
        ])),
    }
}

fn withdrawn<'a>(q: &StartQuestion<'a>) -> Option<&'a WithdrawnApproval> {
    let (state, version) = (&q.member.state, q.roster.version(q.candidate?.version));
    let taken_back = &q.roster.taken_back;
    taken_back.approval(&state.organisation, &state.name, version)
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
