//! What became of the update that we started? From what is remembered and how the cluster stands to what is remembered from now on.

use jiff::{SignedDuration, Timestamp};

use crate::domain::automatic::{Asked, Condition, Course, Memory, Stamp, Standing, Started, Status};
use crate::domain::readiness::Progress;
use crate::domain::{Fact, Version};

/// How far ahead of us another clock may be before what it says is not remembered.
const CLOCK_MARGIN: SignedDuration = SignedDuration::from_mins(10);

/// Something that happened to an update that we started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is complete.
    Completed {
        /// To.
        version: Version,
        /// From our start on.
        took: SignedDuration,
    },
    /// The cluster says that it fails, or does not accept it.
    Failed {
        /// To.
        version: Version,
        /// In the cluster's words.
        why: String,
    },
    /// Somebody has asked for something else before it was complete.
    GivenUp {
        /// To.
        version: Version,
    },
}

/// What is remembered from now on, and what happened.
pub fn follow(memory: &Memory, standing: &Standing, stamp: &Fact<Stamp>, now: Timestamp) -> (Memory, Option<Outcome>) {
    let mut memory = memory.clone();
    if let Fact::Known(stamp) = stamp
        && stamp.good_at.duration_since(now) <= CLOCK_MARGIN
    {
        memory.graph_good_at = memory.graph_good_at.max(Some(stamp.good_at));
    }
    let outcome = memory.started.clone().and_then(|started| outcome(&started, standing, now));
    match &outcome {
        Some(Outcome::Completed { .. }) => memory = Memory { started: None, failures: 0, failed_at: None, ..memory },
        Some(Outcome::Failed { .. }) => {
            memory.started = memory.started.map(|started| Started { course: Course::Failing, ..started });
            (memory.failures, memory.failed_at) = (memory.failures.saturating_add(1), Some(now));
        }
        Some(Outcome::GivenUp { .. }) => {
            // That it failed was counted when it did.
            memory.started = None;
        }
        None => {}
    }
    // Whoever brought the cluster on since has seen to it.
    let newest = standing.past.first().filter(|past| past.progress == Progress::Completed);
    let is_since =
        newest.and_then(|past| past.ended).zip(memory.failed_at).is_some_and(|(ended, failed)| ended > failed);
    if is_since {
        (memory.failures, memory.failed_at) = (0, None);
    }
    (memory, outcome)
}

fn outcome(started: &Started, standing: &Standing, now: Timestamp) -> Option<Outcome> {
    let version = started.version.clone();
    let newest = standing.past.first();
    let ours = newest.filter(|past| past.version == version);
    if ours.is_some_and(|past| past.progress == Progress::Completed) {
        let ended = ours.and_then(|past| past.ended).unwrap_or(now);
        let took = ended.duration_since(started.at).max(SignedDuration::ZERO);
        return Some(Outcome::Completed { version, took });
    }
    let is_for = |asked: Option<&Asked>| asked.is_some_and(|asked| asked.version.as_ref() == Some(&version));
    if !is_for(standing.asked.as_ref()) && !is_for(standing.desired.as_ref()) {
        return Some(Outcome::GivenUp { version });
    }
    match started.course {
        Course::Failing => None,
        Course::Running => {
            let failing = against(standing, "Failing", Status::True, started.at);
            let refused = against(standing, "ReleaseAccepted", Status::False, started.at);
            failing.or(refused).map(|condition| Outcome::Failed {
                version,
                why: format!("{}: {}", condition.reason, condition.message),
            })
        }
    }
}

/// What the cluster says since our start.
fn against<'a>(standing: &'a Standing, name: &str, status: Status, since: Timestamp) -> Option<&'a Condition> {
    match standing.condition(name) {
        Fact::Known(condition) if condition.status == status => {
            Some(condition).filter(|condition| condition.since.is_none_or(|at| at >= since))
        }
        _ => None,
    }
}
