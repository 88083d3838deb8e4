//! News: what an agent writes to its cluster's Events after a pass. The same news always has the
//! same words.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::agent::{ChannelOutcome, UpdateOutcome};
use towpath_core::graph::ChannelName;

use towpath_core::agent::rules::{
    GRAPH_WENT_BACK, NOT_SIGNED, ONLY_CLAIMED, OTHER_ARCH, OTHER_RELEASE, TOO_MANY_FAILURES,
};
use towpath_core::cluster::UpgradeableGate;
use towpath_core::fleet::{PreflightResult, PreflightState};
use towpath_core::verdict::{Answer, Code, Reason};
use towpath_core::version::Version;

use super::PassReport;
use crate::words::{plain, second};

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

/// The most untrusted offers that one pass reports.
const MAX_ATTACKS: usize = 10;

/// What is new after a pass: an update that was started, what became of it, offers that nobody believes, and an agent that has stopped.
pub fn news(told: &PassReport<'_>, outcome: Option<&UpdateOutcome>) -> Vec<News> {
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
    let stopped = reasons
        .filter(|reason| reason.is(&TOO_MANY_FAILURES))
        .map(|reason| warning("AutomaticUpdatesStopped", told_reason(reason)))
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
        format!("the update to {version} was started at {}", second(at)),
    )
}

/// The API dropped the risks that a start was to accept.
pub fn of_dropped_risks(version: &Version) -> News {
    warning(
        "AcceptedRisksDropped",
        format!(
            "the update to {version} goes on without `acceptRisks`: the cluster's API does not have that field"
        ),
    )
}

pub fn of_asked_preflight(version: &Version, at: Timestamp) -> News {
    normal(
        "PreflightAsked",
        format!(
            "the fleet asked for a preflight of {version}; it was begun at {}",
            second(at)
        ),
    )
}

/// What became of a preflight.
pub fn of_preflight(result: &PreflightResult) -> News {
    let (version, state) = (&result.version, result.state.code());
    let risks: Vec<&str> = result.risks.iter().map(|name| &**name).collect();
    let told = [risks.join(", "), result.why.to_string()];
    let told: Vec<String> = told.into_iter().filter(|part| !part.is_empty()).collect();
    let told = match told.is_empty() {
        true => String::new(),
        false => format!(": {}", plain(&told.join(": "))),
    };
    let message = format!("the preflight of {version}: {state}{told}");
    match result.state {
        PreflightState::Passed => normal("PreflightEnded", message),
        _ => warning("PreflightEnded", message),
    }
}

pub fn of_set_channel(channel: &ChannelName, update: &Version, at: Timestamp) -> News {
    normal(
        "ChannelSet",
        format!(
            "the channel was set to {channel} at {}, for the update to {update} that the fleet has started",
            second(at)
        ),
    )
}

pub fn of_refused_channel(channel: &ChannelName, why: &str) -> News {
    warning(
        "ChannelRefused",
        format!("the API refuses the channel {channel}: {}", plain(why)),
    )
}

/// What became of a channel that was set.
pub fn of_channel(outcome: &ChannelOutcome) -> News {
    let message = channel_text(outcome);
    match outcome {
        ChannelOutcome::InVain(_) => warning("ChannelSetInVain", message),
        ChannelOutcome::Replaced(_) => normal("ChannelReplaced", message),
    }
}

/// The same, for reports.
pub fn channel_text(outcome: &ChannelOutcome) -> String {
    match outcome {
        ChannelOutcome::InVain(set) => format!(
            "the channel was set to {} at {}, and the cluster was not offered {} within two hours; the channel stays",
            set.channel,
            second(set.at),
            set.update
        ),
        ChannelOutcome::Replaced(set) => format!(
            "somebody has replaced the channel {} that was set at {} for {}; the agent does not set it again",
            set.channel,
            second(set.at),
            set.update
        ),
    }
}

/// What became of an update.
fn of_outcome(outcome: &UpdateOutcome) -> News {
    match outcome {
        UpdateOutcome::Completed { version, took } => normal(
            "AutomaticUpdateCompleted",
            format!("the update to {version} is complete; it took {took:#}"),
        ),
        UpdateOutcome::Failed { version, why } => warning(
            "AutomaticUpdateFailed",
            format!("the update to {version} fails: {}", plain(why)),
        ),
        UpdateOutcome::GivenUp { version } => {
            let message =
                format!("the update to {version} was given up: something else was asked for");
            normal("AutomaticUpdateGivenUp", message)
        }
    }
}

/// The gate has opened or closed.
pub fn of_gate(gate: &UpgradeableGate) -> News {
    let codes: BTreeSet<&str> = gate.objections().map(|reason| reason.code().name).collect();
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

/// Reasons for which an offer is not believed: this is how an attack looks.
const ATTACKS: [&Code; 5] = [
    &NOT_SIGNED,
    &OTHER_RELEASE,
    &OTHER_ARCH,
    &ONLY_CLAIMED,
    &GRAPH_WENT_BACK,
];

/// Offers that are refused for what they are.
fn not_trusted(told: &PassReport<'_>) -> impl Iterator<Item = News> {
    let judged = told.choice.judged.iter();
    let refused = judged.filter(|(_, verdict)| verdict.answer == Answer::Refuse);
    refused.filter_map(|(offer, verdict)| {
        let mut reasons = verdict.reasons.iter();
        let reason = reasons.find(|reason| ATTACKS.contains(&reason.code()))?;
        let message = format!(
            "{} at {} is not believed: {}",
            offer.version,
            plain(&offer.image),
            told_reason(reason)
        );
        Some(warning("OfferNotTrusted", message))
    })
}

/// What a reason says in the same words at every look, and what helps.
fn told_reason(reason: &Reason) -> String {
    plain(&format!("{}; {}", reason.steady_text(), reason.help())).into_owned()
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
