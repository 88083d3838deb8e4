//! Pauses: people stop new starts everywhere, in an organisation or in a sector.

use super::StartRule;
use crate::fleet::Pause;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Verdict};

static PAUSED: Code = Code::new(
    "Paused",
    "paused[ in sector {sector}][ in organisation {organisation}] by {by} at {at}: {why}",
    "`towpath fleet resume`, after asking who paused it",
)
.with(&[
    ("organisation", "acme"),
    ("sector", "stage"),
    ("by", "ada"),
    ("at", "2026-11-16 12:00Z"),
    ("why", "INC-1"),
]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&PAUSED], judge).holding(|q| pause(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |pause: &Pause| {
        Verdict::wait(PAUSED.because([
            ("organisation", pause.organisation.as_ref().into()),
            ("sector", pause.sector.as_ref().into()),
            ("by", (&pause.by).into()),
            ("at", pause.at.into()),
            ("why", (&pause.why).into()),
        ]))
    };
    pause(q).map(wait).into_iter().collect()
}

fn pause<'a>(q: &StartQuestion<'a>) -> Option<&'a Pause> {
    let (organisation, sector) = (
        &q.member.state.organisation,
        q.class.policy.sector.as_deref(),
    );
    let mut pauses = q.roster.pauses.iter();
    pauses.find(|pause| pause.covers(organisation, sector))
}
