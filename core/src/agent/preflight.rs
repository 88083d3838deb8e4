//! Preflights: the cluster runs the checks of a release, and does not update to it.
//!
//! The cluster reports a preflight among the risks that it knows of. Their messages begin with
//! `Preflight=VERSION: `, and the reason of `Applies` says how far it is. A preflight that finds
//! nothing leaves nothing. So it has passed only if it was seen to run and then left no risk, in
//! statuses that are about our request. Whatever else happens is no pass.

use jiff::{SignedDuration, Timestamp};

use super::memory::CLOCK_MARGIN;
use crate::agent::{ClusterRisk, ClusterStanding, Status};
use crate::cluster::Fact;
use crate::fleet::{Name, PreflightResult, PreflightState};
use crate::version::Version;

/// How long a preflight may take.
const LONGEST: SignedDuration = SignedDuration::from_hours(1);

/// A preflight that the fleet asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightOrder {
    /// Names the request.
    pub id: Name,
    pub version: Version,
    /// The release's image, by digest. None if the fleet does not know it: then the cluster's own offer says.
    pub image: Option<Name>,
}

/// A preflight that we asked the cluster for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedPreflight {
    pub id: Name,
    pub version: Version,
    pub at: Timestamp,
    /// Whether the cluster has said that it runs.
    pub seen: bool,
}

/// How the preflight goes that we asked for: what is remembered of it, and what became of it if it is over.
pub fn follow_preflight(
    started: &StartedPreflight,
    standing: &ClusterStanding,
    now: Timestamp,
) -> (StartedPreflight, Option<PreflightResult>) {
    let mut started = started.clone();
    if started.at.duration_since(now) > CLOCK_MARGIN {
        started.at = now;
    }
    let told = told(&started.version, standing);
    // Times have whole seconds, so they cannot tell our preflight from one just before it. Generations can: no other preflight
    // was told as running when we asked, and a status of our generation or a later one is from after that.
    let has_begun = told.iter().any(|(_, risk)| stage(risk) != Stage::Found);
    started.seen |= standing.is_observed && has_begun;
    let over = |state: PreflightState, why: &str| {
        let found = told.iter().filter(|(_, risk)| stage(risk) == Stage::Found);
        let applying = found.filter(|(_, risk)| may_apply(risk));
        PreflightResult {
            id: started.id.clone(),
            version: started.version.clone(),
            state,
            why: why.into(),
            risks: applying.map(|(name, _)| (*name).clone()).collect(),
        }
    };
    let open = standing.preflight.as_ref();
    let is_open = open.is_some_and(|open| open.version.as_ref() == Some(&started.version));
    let is_late = now.duration_since(started.at) > LONGEST;
    let messages = |wanted: Stage| -> String {
        let of = told.iter().filter(|(_, risk)| stage(risk) == wanted);
        let texts: Vec<&str> = of.map(|(_, risk)| text(&started.version, risk)).collect();
        texts.join("; ")
    };
    let is_at = |wanted: Stage| told.iter().any(|(_, risk)| stage(risk) == wanted);
    let finds = told
        .iter()
        .any(|(_, risk)| stage(risk) == Stage::Found && may_apply(risk) && is_new(risk, &started));
    let result = if !is_open {
        Some(over(PreflightState::Incomplete, "somebody took it back"))
    } else if let Some(why) = refused(standing, started.at) {
        Some(over(PreflightState::Incomplete, &why))
    } else if is_late {
        let why = match started.seen {
            true => "it was not over after an hour",
            false => "the cluster has not said within an hour that it runs",
        };
        Some(over(PreflightState::Incomplete, why))
    } else if !standing.is_observed || is_at(Stage::Running) {
        None
    } else if is_at(Stage::Broken) {
        Some(over(PreflightState::Incomplete, &messages(Stage::Broken)))
    } else if finds {
        Some(over(PreflightState::Failed, &messages(Stage::Found)))
    } else if started.seen {
        Some(over(PreflightState::Passed, ""))
    } else {
        None
    };
    (started, result)
}

/// How far a preflight is, as one of its risks tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// It was not carried through.
    Broken,
    Found,
}

/// What the cluster's status says of a preflight that is not over, whoever asked for it.
pub(super) fn told_as_running(standing: &ClusterStanding) -> Option<&Name> {
    let mut risks = standing.risks.values();
    let running = risks.find(|risk| stage(risk) == Stage::Running);
    running.map(|risk| &risk.message)
}

/// The risks that the cluster tells of the preflight of a version.
fn told<'a>(version: &Version, standing: &'a ClusterStanding) -> Vec<(&'a Name, &'a ClusterRisk)> {
    let prefix = prefix(version);
    let risks = standing.risks.iter();
    risks
        .filter(|(_, risk)| risk.message.starts_with(&prefix))
        .collect()
}

fn prefix(version: &Version) -> String {
    format!("Preflight={version}: ")
}

fn text<'a>(version: &Version, risk: &'a ClusterRisk) -> &'a str {
    let text = risk.message.strip_prefix(&prefix(version));
    text.unwrap_or(&risk.message)
}

fn stage(risk: &ClusterRisk) -> Stage {
    let reason = risk.applies.as_ref().map(|condition| &*condition.reason);
    match reason {
        Some("PreflightRunning") => Stage::Running,
        Some("PreflightFailed" | "PreflightPartial") => Stage::Broken,
        _ => Stage::Found,
    }
}

/// What the cluster does not rule out may apply.
fn may_apply(risk: &ClusterRisk) -> bool {
    let applies = risk.applies.as_ref();
    applies.is_none_or(|condition| condition.status != Status::False)
}

/// Whether it is not left from a preflight before: we saw ours run, or it was told since.
fn is_new(risk: &ClusterRisk, started: &StartedPreflight) -> bool {
    let since = risk.applies.as_ref().and_then(|condition| condition.since);
    let is_since = |at: Timestamp| started.at.duration_since(at) <= SignedDuration::ZERO;
    started.seen || since.is_some_and(is_since)
}

/// Why the cluster does not take the release at all, if it has said so since.
fn refused(standing: &ClusterStanding, since: Timestamp) -> Option<String> {
    match standing.condition("ReleaseAccepted") {
        Fact::Known(condition) if condition.status == Status::False => {
            let is_since = |at: Timestamp| since.duration_since(at) <= CLOCK_MARGIN;
            let told = format!("{}: {}", condition.reason, condition.message);
            condition.since.is_none_or(is_since).then_some(told)
        }
        _ => None,
    }
}
