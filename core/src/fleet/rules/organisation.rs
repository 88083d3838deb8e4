//! Organisations and entries: a mistake or a switch in one holds back its own clusters, and no
//! others.

use super::StartRule;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

/// The cluster's policy entry is wrong.
static POLICY_PROBLEM: Code = Code::new(
    "PolicyProblem",
    "its policy is wrong: {problem}",
    "correct the file; `towpath fleet lint` shows all of it",
)
.with(&[("problem", "no sector prd")]);

static ORGANISATION_DISABLED: Code = Code::new(
    "OrganisationDisabled",
    "organisation {organisation} is switched off",
    "switch the organisation on",
)
.with(&[("organisation", "acme")]);

pub(super) static POLICY_PROBLEMS: StartRule =
    StartRule::new(&[&POLICY_PROBLEM], judge_policy_problems)
        .holding(|q| !q.class.problems.is_empty());

fn judge_policy_problems(q: &StartQuestion<'_>) -> Verdict {
    let refuse = |problem: &crate::finding::Finding| {
        let reason = POLICY_PROBLEM.because([("problem", problem.problem.as_str().into())]);
        Verdict::refuse(reason.at(&problem.place))
    };
    q.class.problems.iter().map(refuse).collect()
}

pub(super) static DISABLED: StartRule = StartRule::new(&[&ORGANISATION_DISABLED], judge_disabled)
    .holding(|q| q.roster.organisations[q.class.organisation].disabled);

fn judge_disabled(q: &StartQuestion<'_>) -> Verdict {
    let organisation = &q.roster.organisations[q.class.organisation];
    match organisation.disabled {
        true => Verdict::refuse(
            ORGANISATION_DISABLED.because([("organisation", (&organisation.name).into())]),
        ),
        false => Verdict::recommend(),
    }
}
