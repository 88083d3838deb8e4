//! At rest: a cluster that is being updated, fails, or is wrongly configured is left alone.
//!
//! What it was offered also has to be of today: an upstream that cannot be asked may have a block by now.

use super::{Moment, wait};
use crate::domain::automatic::{AutomaticReason, Offer, Status};
use crate::domain::{Fact, Verdict};

/// What must not be so, and whether a cluster that says nothing about it is taken to be so.
const MUST_NOT: [(&str, Silence); 4] = [
    ("Progressing", Silence::IsUnknown),
    ("Failing", Silence::IsUnknown),
    ("Invalid", Silence::IsFine),
    ("Stopping", Silence::IsFine),
];
const MUST: [(&str, Silence); 3] = [
    ("Available", Silence::IsUnknown),
    ("ReleaseAccepted", Silence::IsFine),
    ("RetrievedUpdates", Silence::IsUnknown),
];

/// What it means that a cluster says nothing.
#[derive(Clone, Copy)]
enum Silence {
    /// It is said only where something is wrong, or only by newer clusters.
    IsFine,
    IsUnknown,
}

pub(super) fn judge(_: &Offer, at: &Moment<'_>) -> Verdict {
    let must_not = MUST_NOT.map(|(name, silence)| (name, silence, Status::False));
    let must = MUST.map(|(name, silence)| (name, silence, Status::True));
    let all = must_not.into_iter().chain(must);
    all.map(
        |(name, silence, wanted)| match (at.standing.condition(name), silence) {
            (Fact::Unknown, Silence::IsFine) => Verdict::recommend(),
            (Fact::Unknown, Silence::IsUnknown) => wait(
                None,
                AutomaticReason::RestUnknown {
                    condition: name.into(),
                },
            ),
            (Fact::Known(condition), _) if condition.status == wanted => Verdict::recommend(),
            (Fact::Known(condition), _) => {
                let said = match condition.status {
                    Status::True => name.to_owned(),
                    Status::False => format!("not {name}"),
                    Status::Unknown => format!("{name} unknown"),
                };
                wait(
                    None,
                    AutomaticReason::NotAtRest {
                        condition: said.into(),
                        message: condition.message.clone(),
                    },
                )
            }
        },
    )
    .collect()
}
