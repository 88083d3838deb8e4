//! What became of the update that the agent started?
//!
//! The agent compares its memory with the cluster's current state and returns its new memory.

use jiff::{SignedDuration, Timestamp};

use super::memory::CLOCK_MARGIN;
use crate::agent::{
    ClusterStanding, Condition, Course, Memory, Past, Stamp, StartedUpdate, Status, UpdateTarget,
};
use crate::cluster::Fact;
use crate::cluster::objects::Progress;
use crate::version::Version;

/// Something that happened to an update that we started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateOutcome {
    Completed {
        version: Version,
        took: SignedDuration,
    },
    /// The cluster says that it fails, or does not accept it.
    Failed { version: Version, why: String },
    /// Somebody has asked for something else before it was complete.
    GivenUp { version: Version },
}

/// What is remembered from now on, and what happened.
pub fn follow(
    memory: &Memory,
    standing: &ClusterStanding,
    stamp: &Fact<Stamp>,
    now: Timestamp,
) -> (Memory, Option<UpdateOutcome>) {
    let mut memory = set_right(memory.clone(), now);
    // What somebody removed is no longer ours. Whoever accepts it again means it.
    memory
        .accepted
        .retain(|name| standing.accepted_risks.contains(name));
    if let Fact::Known(stamp) = stamp
        && stamp.good_at.duration_since(now) <= CLOCK_MARGIN
    {
        let known = memory
            .graph_good_at
            .filter(|known| known.duration_since(now) <= CLOCK_MARGIN);
        memory.graph_good_at = known.max(Some(stamp.good_at));
    }
    let outcome = memory
        .started
        .clone()
        .and_then(|started| outcome(&started, standing, now));
    match &outcome {
        Some(UpdateOutcome::Completed { .. }) => {
            memory = Memory {
                started: None,
                failures: 0,
                failed: None,
                ..memory
            }
        }
        Some(UpdateOutcome::Failed { version, .. }) => {
            memory.started = memory.started.map(|started| StartedUpdate {
                course: Course::Failing,
                ..started
            });
            (memory.failures, memory.failed) = (
                memory.failures.saturating_add(1),
                Some((version.clone(), now)),
            );
        }
        Some(UpdateOutcome::GivenUp { version }) => {
            // That it failed was counted when it did.
            (memory.started, memory.taken_back) =
                (None, memory.taken_back.max(Some(version.clone())));
        }
        None => {}
    }
    // Whoever brought the cluster there, or further, wants it after all.
    let is_there = |version: &Version| standing.current().is_some_and(|current| current >= version);
    memory.taken_back = memory.taken_back.filter(|version| !is_there(version));
    // Whoever brought the cluster there since, or further, has seen to it; who brought it back has not.
    let newest = standing
        .past
        .first()
        .filter(|past| past.progress == Progress::Completed);
    let has_seen_to = |(version, failed_at): &(Version, Timestamp)| {
        newest.is_some_and(|past| {
            past.version >= *version && past.ended.is_some_and(|ended| ended > *failed_at)
        })
    };
    if memory.failed.as_ref().is_some_and(has_seen_to) {
        (memory.failures, memory.failed) = (0, None);
    }
    (memory, outcome)
}

/// A stored time in the future came from a clock that was ahead. It counts as now.
fn set_right(memory: Memory, now: Timestamp) -> Memory {
    let right = |at: Timestamp| {
        if at.duration_since(now) > CLOCK_MARGIN {
            now
        } else {
            at
        }
    };
    Memory {
        started: memory.started.map(|started| StartedUpdate {
            at: right(started.at),
            ..started
        }),
        failed: memory.failed.map(|(version, at)| (version, right(at))),
        ..memory
    }
}

fn outcome(
    started: &StartedUpdate,
    standing: &ClusterStanding,
    now: Timestamp,
) -> Option<UpdateOutcome> {
    let version = started.version.clone();
    // Another may have been begun since.
    let is_ours = |past: &&Past| {
        let is_since = past
            .ended
            .is_none_or(|ended| started.at.duration_since(ended) <= CLOCK_MARGIN);
        past.version == version && past.progress == Progress::Completed && is_since
    };
    if let Some(ours) = standing.past.iter().find(is_ours) {
        let took = ours
            .ended
            .unwrap_or(now)
            .duration_since(started.at)
            .max(SignedDuration::ZERO);
        return Some(UpdateOutcome::Completed { version, took });
    }
    let is_for = |asked: Option<&UpdateTarget>| {
        asked.is_some_and(|asked| asked.version.as_ref() == Some(&version))
    };
    // What we see may be from just before our start: only another's choice counts at once.
    let is_recent = standing
        .asked
        .as_ref()
        .is_none_or(|asked| Some(asked) == standing.desired.as_ref())
        && now.duration_since(started.at) <= CLOCK_MARGIN;
    if !is_recent && !is_for(standing.asked.as_ref()) && !is_for(standing.desired.as_ref()) {
        return Some(UpdateOutcome::GivenUp { version });
    }
    match started.course {
        Course::Failing => None,
        Course::Running => {
            let failing = against(standing, "Failing", Status::True, started.at);
            let refused = against(standing, "ReleaseAccepted", Status::False, started.at);
            failing.or(refused).map(|condition| UpdateOutcome::Failed {
                version,
                why: format!("{}: {}", condition.reason, condition.message),
            })
        }
    }
}

/// What the cluster says since our start.
fn against<'a>(
    standing: &'a ClusterStanding,
    name: &str,
    status: Status,
    since: Timestamp,
) -> Option<&'a Condition> {
    match standing.condition(name) {
        Fact::Known(condition) if condition.status == status => {
            // Its clock and ours differ; when we started, nothing of the kind was said.
            Some(condition).filter(|condition| {
                condition
                    .since
                    .is_none_or(|at| since.duration_since(at) <= CLOCK_MARGIN)
            })
        }
        _ => None,
    }
}
