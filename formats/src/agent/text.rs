//! The agent's answer as text: for a terminal, and for the cluster's conditions.

use std::collections::BTreeSet;
use std::fmt::Write;

use towpath_core::agent::OptIn;
use towpath_core::cluster::UpgradeableGate;
use towpath_core::verdict::{Reason, Verdict};

use super::PassReport;
use crate::room::{Room, toned};
use crate::verdict;
use crate::words::{counted, plain, second, tone};

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

/// Everything there is to say.
pub fn text(told: &PassReport<'_>, room: Room) -> String {
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
        let word = toned(tone(&verdict.answer), &word(verdict));
        let _ = writeln!(text, "\n{}: {word}", offer.version);
        points(&verdict.reasons, &mut text);
    }
    if told.choice.judged.is_empty() {
        text.push_str("\nNo update is offered.\n");
    }
    orders(told, &mut text);
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
        points(&gate.next.reasons, &mut text);
        let later = gate.later.iter();
        later.for_each(|reason| text.push_str(&verdict::point("  - later: ", reason)));
    }
    room.fit(&text)
}

/// What the fleet asks for besides, and what is said about it.
fn orders(told: &PassReport<'_>, text: &mut String) {
    if let Some(one) = told.channel {
        let word = toned(tone(&one.verdict.answer), &word(&one.verdict));
        let _ = writeln!(
            text,
            "\nThe channel {} for the fleet's update to {}: {word}",
            one.channel, one.update
        );
        points(&one.verdict.reasons, text);
    }
    if let Some((version, verdict)) = told.preflight {
        let word = toned(tone(&verdict.answer), &word(verdict));
        let _ = writeln!(text, "\nThe fleet's preflight of {version}: {word}");
        points(&verdict.reasons, text);
    }
}

fn points(reasons: &BTreeSet<Reason>, text: &mut String) {
    for reason in reasons {
        text.push_str(&verdict::point("  - ", reason));
    }
}

/// An answer in a word, with the time if there is one.
pub(super) fn word(verdict: &Verdict) -> String {
    match verdict.answer.until() {
        Some(until) => format!("{} until {}", verdict.answer.word(), second(until)),
        None => verdict.answer.word().to_owned(),
    }
}

/// The condition `Upgradeable` of our ClusterOperator: reason codes, and a message that enumerates what stands in the way.
pub fn upgradeable(gate: &UpgradeableGate) -> Condition {
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
    let mut codes: Vec<&str> = against.iter().map(|reason| reason.code().name).collect();
    codes.dedup();
    let mut message = format!(
        "{} the way of the next minor version:",
        match against.len() {
            1 => "1 thing stands in".to_owned(),
            more => format!("{} stand in", counted(more, "thing")),
        }
    );
    for (number, reason) in against.iter().enumerate() {
        // In words that stay the same while nothing changes but counts and hours: each change would be a write.
        let (text, help) = (reason.steady_text(), reason.help());
        let line = format!(" ({}) {}; {}", number + 1, plain(&text), plain(&help));
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
