//! Refusals: a version that the API refused for this cluster is not tried again for a while,
//! longer each time.
//!
//! Lower versions are tried meanwhile, so a refusal never keeps patches away. A refusal ends by
//! itself, because nobody tells us when the obstacle is gone.

use jiff::Timestamp;

use super::StartRule;
use super::backoff::wait;
use crate::fleet::Upgrade;
use crate::fleet::roster::StartQuestion;
use crate::verdict::{Code, Value, Verdict};

static START_REFUSED: Code = Code::new(
    "StartRefused",
    "the API refused it {times|time|times} in a row and is asked again at {until}[: {why}]",
    "settle what the API says; lower versions are tried meanwhile",
)
.with(&[
    ("why", "missing version gate agreements for this cluster"),
    ("times", "2"),
    ("until", "2026-11-16 12:00Z"),
]);

pub(super) static RULE: StartRule =
    StartRule::new(&[&START_REFUSED], judge).holding(|q| refusal(q).is_some());

fn judge(q: &StartQuestion<'_>) -> Verdict {
    let wait = |(refused, until): (&Upgrade, Timestamp)| {
        let facts = [
            ("why", refused.note.as_ref().map(Value::from).into()),
            ("times", refused.failures.max(1).into()),
        ];
        Verdict::wait(START_REFUSED.because(facts).until(until))
    };
    refusal(q).map(wait).into_iter().collect()
}

/// The refused upgrade to the version, and until when it is not tried again.
fn refusal<'a>(q: &StartQuestion<'a>) -> Option<(&'a Upgrade, Timestamp)> {
    let candidate = q.candidate?;
    let mut refused = q.member.refused.iter();
    let (_, at) = *refused.find(|(version, _)| *version == candidate.version)?;
    let upgrade = &q.roster.upgrades[at];
    let until = end(upgrade)?;
    (q.now < until).then_some((upgrade, until))
}

/// When the refusals of a member end.
pub(crate) fn ends<'a>(q: &'a StartQuestion<'a>) -> impl Iterator<Item = Timestamp> + 'a {
    let refused = q.member.refused.iter();
    refused.filter_map(|(_, at)| end(&q.roster.upgrades[*at]))
}

fn end(refused: &Upgrade) -> Option<Timestamp> {
    refused.changed_at.checked_add(wait(refused.failures)).ok()
}
