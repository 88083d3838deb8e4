//! News: what an agent tells of a pass in its cluster's Events. The same news always has the same words.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::decide::{Gate, Outcome};
use towpath_core::domain::automatic::AutomaticReason;
use towpath_core::domain::{Answer, Reason, Version};

use super::Told;
use crate::words::plain;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct News {
    pub weight: Weight,
    /// One word that programs read.
    pub reason: &'static str,
    /// A sentence that people read.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Normal,
    Warning,
}

/// So many offers that nobody believes are told of in a pass.
const MAX_ATTACKS: usize = 10;

/// What is new after a pass: an update that was started, what became of it, offers that nobody believes, and an agent that has stopped.
pub fn news(told: &Told<'_>, outcome: Option<&Outcome>) -> Vec<News> {
    let started = told
        .memory
        .started
        .as_ref()
        .map(|started| of_start(&started.version, started.at));
    let reasons = told
        .choice
        .judged
        .iter()
        .flat_map(|(_, verdict)| &verdict.reasons);
    let stopped = reasons.filter(|reason| {
        is(reason, |one| {
            matches!(one, AutomaticReason::TooManyFailures { .. })
        })
    });
    let stopped = stopped
        .map(|reason| warning("AutomaticUpdatesStopped", reason.to_string()))
        .next();
    started
        .into_iter()
        .chain(outcome.map(of_outcome))
        .chain(stopped)
        .chain(not_trusted(told).take(MAX_ATTACKS))
        .collect()
}

pub fn of_start(version: &Version, at: Timestamp) -> News {
    normal(
        "AutomaticUpdateStarted",
        format!("the update to {version} was started at {at}"),
    )
}

/// What became of an update.
fn of_outcome(outcome: &Outcome) -> News {
    match outcome {
        Outcome::Completed { version, took } => normal(
            "AutomaticUpdateCompleted",
            format!("the update to {version} is complete; it took {took:#}"),
        ),
        Outcome::Failed { version, why } => warning(
            "AutomaticUpdateFailed",
            format!("the update to {version} fails: {}", plain(why)),
        ),
        Outcome::GivenUp { version } => {
            let message =
                format!("the update to {version} was given up: something else was asked for");
            normal("AutomaticUpdateGivenUp", message)
        }
    }
}

/// The gate has opened or closed.
pub fn of_gate(gate: &Gate) -> News {
    let codes: BTreeSet<&str> = gate.objections().map(Reason::code).collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    match gate.is_open() {
        true => normal(
            "MinorUpdatesFree",
            "nothing stands in the way of the next minor version any more".to_owned(),
        ),
        false => warning(
            "MinorUpdatesHeld",
            format!("the next minor version is held: {}", codes.join(", ")),
        ),
    }
}

/// Offers that are refused for what they are: this is how an attack looks.
fn not_trusted(told: &Told<'_>) -> impl Iterator<Item = News> {
    let is_attack = |reason: &&Reason| {
        is(reason, |one| {
            matches!(
                one,
                AutomaticReason::NotSigned { .. }
                    | AutomaticReason::OtherRelease { .. }
                    | AutomaticReason::OtherArch { .. }
                    | AutomaticReason::OnlyClaimed { .. }
                    | AutomaticReason::GraphWentBack { .. }
            )
        })
    };
    let refused = told
        .choice
        .judged
        .iter()
        .filter(|(_, verdict)| verdict.answer == Answer::Refuse);
    refused.filter_map(move |(offer, verdict)| {
        let reason = match verdict.reasons.iter().find(is_attack)? {
            // Its times change with every look.
            reason
                if is(reason, |one| {
                    matches!(one, AutomaticReason::GraphWentBack { .. })
                }) =>
            {
                "the graph is older than one that was seen before".to_owned()
            }
            reason => reason.to_string(),
        };
        let message = format!(
            "{} at {} is not believed: {}",
            offer.version,
            plain(&offer.image),
            plain(&reason)
        );
        Some(warning("OfferNotTrusted", message))
    })
}

fn is(reason: &Reason, wanted: impl Fn(&AutomaticReason) -> bool) -> bool {
    matches!(reason, Reason::Automatic(reason) if wanted(reason))
}

fn normal(reason: &'static str, message: String) -> News {
    News {
        weight: Weight::Normal,
        reason,
        message,
    }
}

fn warning(reason: &'static str, message: String) -> News {
    News {
        weight: Weight::Warning,
        reason,
        message,
    }
}
