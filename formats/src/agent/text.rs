//! What an agent tells people: on a terminal, and in its cluster's conditions.

use std::collections::BTreeSet;
use std::fmt::Write;

use towpath_core::decide::Gate;
use towpath_core::domain::automatic::OptIn;
use towpath_core::domain::{Answer, ReadyReason, Reason, Verdict};

use super::Told;
use crate::words::{counted, plain, wrapped};

/// A condition of a ClusterOperator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub is_so: bool,
    /// One word that programs read.
    pub reason: String,
    pub message: String,
}

/// The longest message of a condition: it has to fit into an object that others read, too.
const MAX_MESSAGE_BYTES: usize = 4_096;

/// So many users of an API are named.
const MAX_USERS: usize = 20;

/// Everything there is to say.
pub fn text(told: &Told<'_>) -> String {
    let standing = told.standing;
    let mut text = String::new();
    let current = standing
        .current()
        .map_or_else(|| "an unknown release".to_owned(), ToString::to_string);
    let wish = match standing.opt_in {
        OptIn::Wanted => "automatic updates are wanted",
        OptIn::NotWanted => "automatic updates are not wanted",
    };
    let _ = writeln!(text, "The cluster runs {current}; {wish}.");
    let _ = match told.choice.takes() {
        Some(offer) => writeln!(text, "It would now be updated to {}.", offer.version),
        None => writeln!(text, "Nothing would be started now."),
    };
    for (offer, verdict) in &told.choice.judged {
        let _ = writeln!(text, "\n{}: {}", offer.version, word(verdict));
        reasons(verdict).for_each(|reason| text.push_str(&wrapped("  - ", &reason)));
    }
    if told.choice.judged.is_empty() {
        text.push_str("\nNo update is offered.\n");
    }
    if let Some(gate) = told.gate {
        let _ = writeln!(
            text,
            "\nThe next minor version: {}",
            if gate.is_open() {
                "nothing stands in its way"
            } else {
                "not now"
            }
        );
        reasons(&gate.next).for_each(|reason| text.push_str(&wrapped("  - ", &reason)));
        gate.later
            .iter()
            .for_each(|reason| text.push_str(&wrapped("  - later: ", &told_reason(reason))));
    }
    text
}

/// An answer in a word, with the time if there is one.
pub(super) fn word(verdict: &Verdict) -> String {
    match &verdict.answer {
        Answer::Recommend => "good".to_owned(),
        Answer::RecommendUnless(_) => "has risks".to_owned(),
        Answer::Wait { until: Some(until) } => format!("not before {until}"),
        Answer::Wait { until: None } => "not now".to_owned(),
        Answer::Refuse => "no".to_owned(),
    }
}

fn reasons(verdict: &Verdict) -> impl Iterator<Item = String> {
    verdict.reasons.iter().map(told_reason)
}

fn told_reason(reason: &Reason) -> String {
    let note = if reason.is_note() { "note: " } else { "" };
    plain(&format!("{note}{reason} [{}]", reason.code())).into_owned()
}

/// In words that stay the same while nothing changes but counts and hours: each change would be a write.
fn steady(reason: &Reason) -> String {
    match reason {
        Reason::Ready(ready) => match &**ready {
            ReadyReason::ApiRemoved(removed) => {
                let users: BTreeSet<&str> = removed.users.iter().map(|user| &*user.name).collect();
                let named = users
                    .into_iter()
                    .take(MAX_USERS)
                    .collect::<Vec<_>>()
                    .join(", ");
                let by = if named.is_empty() {
                    "somebody".to_owned()
                } else {
                    named
                };
                format!(
                    "{} goes in Kubernetes {} and is in use by {by}",
                    removed.api, removed.removed_in
                )
            }
            _ => reason.to_string(),
        },
        _ => reason.to_string(),
    }
}

/// The condition `Upgradeable` of our ClusterOperator: reason codes, and a message that enumerates what stands in the way.
pub fn upgradeable(gate: &Gate) -> Condition {
    let against: Vec<&Reason> = gate.objections().collect();
    if against.is_empty() {
        let message =
            "nothing that towpath looks at stands in the way of the next minor version".to_owned();
        return Condition {
            is_so: true,
            reason: "AsExpected".to_owned(),
            message,
        };
    }
    let mut codes: Vec<&str> = against.iter().map(|reason| reason.code()).collect();
    codes.dedup();
    let mut message = format!(
        "{} the way of the next minor version:",
        match against.len() {
            1 => "1 thing stands in".to_owned(),
            more => format!("{} stand in", counted(more, "thing")),
        }
    );
    for (number, reason) in against.iter().enumerate() {
        let line = format!(" ({}) {}", number + 1, plain(&steady(reason)));
        if message.len() + line.len() > MAX_MESSAGE_BYTES {
            let _ = write!(message, " and {} more", against.len() - number);
            break;
        }
        message.push_str(&line);
    }
    Condition {
        is_so: false,
        reason: codes.join("_"),
        message,
    }
}
