//! What becomes of an update that we started.

use jiff::SignedDuration;
use towpath_core::agent::{
    Condition, Course, Memory, Past, Stamp, StartedUpdate, Status, UpdateOutcome, follow,
};
use towpath_core::cluster::Fact;
use towpath_core::cluster::objects::Progress;

use crate::cluster::{Story, asked, at, condition, version};

/// We started 4.20.3 at eleven; now it is noon.
fn started() -> Story {
    Story::but(|story| {
        let at = at("2026-11-16T11:00Z");
        story.memory.started = Some(StartedUpdate {
            version: version("4.20.3"),
            at,
            course: Course::Running,
        });
        story.standing.asked = Some(asked("4.20.3"));
    })
}

fn begun(story: &mut Story, progress: Progress) {
    story.standing.desired = Some(asked("4.20.3"));
    let ended = (progress == Progress::Completed).then(|| at("2026-11-16T11:45Z"));
    let past = Past {
        version: version("4.20.3"),
        progress,
        started: Some(at("2026-11-16T11:01Z")),
        ended,
    };
    story.standing.past.insert(0, past);
}

fn followed(story: &Story) -> (Memory, Option<UpdateOutcome>) {
    follow(&story.memory, &story.standing, &story.stamp, story.now)
}

#[test]
fn it_is_remembered_until_it_is_complete() {
    let mut story = started();
    let (memory, outcome) = followed(&story);
    assert_eq!(
        (memory.started.as_ref(), outcome),
        (story.memory.started.as_ref(), None),
        "asked for, not begun"
    );
    begun(&mut story, Progress::Partial);
    assert_eq!(followed(&story).1, None, "under way");
    let mut story = started();
    story.memory.failures = 2;
    begun(&mut story, Progress::Completed);
    let (memory, outcome) = followed(&story);
    let took = SignedDuration::from_mins(45);
    assert_eq!(
        outcome,
        Some(UpdateOutcome::Completed {
            version: version("4.20.3"),
            took
        })
    );
    assert_eq!((memory.started, memory.failures), (None, 0));
}

#[test]
fn a_failure_counts_once_and_completion_forgives_it() {
    let failing = Condition {
        since: Some(at("2026-11-16T11:30Z")),
        ..condition(Status::True)
    };
    let mut story = started();
    begun(&mut story, Progress::Partial);
    story
        .standing
        .conditions
        .insert("Failing".into(), failing.clone());
    let (memory, outcome) = followed(&story);
    assert!(
        matches!(outcome, Some(UpdateOutcome::Failed { .. })),
        "{outcome:?}"
    );
    assert_eq!(memory.failures, 1);
    story.memory = memory;
    let (memory, outcome) = followed(&story);
    assert_eq!((outcome, memory.failures), (None, 1), "not again");
    story.standing.past.remove(0);
    begun(&mut story, Progress::Completed);
    let (memory, outcome) = followed(&story);
    assert!(
        matches!(outcome, Some(UpdateOutcome::Completed { .. })),
        "{outcome:?}"
    );
    assert_eq!(memory.failures, 0);
    // What was wrong before we started is not our update's failure.
    let before = Condition {
        since: Some(at("2026-11-16T10:49Z")),
        ..failing
    };
    let mut story = started();
    story.standing.conditions.insert("Failing".into(), before);
    assert_eq!(followed(&story).1, None);
}

#[test]
fn an_update_that_is_not_accepted_has_failed() {
    let mut story = started();
    story
        .standing
        .conditions
        .insert("ReleaseAccepted".into(), condition(Status::False));
    let (memory, outcome) = followed(&story);
    let why = "Reason: in its own words".to_owned();
    assert_eq!(
        outcome,
        Some(UpdateOutcome::Failed {
            version: version("4.20.3"),
            why
        })
    );
    assert_eq!(memory.failures, 1);
}

#[test]
fn a_person_who_chooses_otherwise_ends_it_and_one_who_brings_the_cluster_on_forgives_failures() {
    let mut story = started();
    story.standing.asked = Some(asked("4.20.2"));
    let (memory, outcome) = followed(&story);
    assert_eq!(
        outcome,
        Some(UpdateOutcome::GivenUp {
            version: version("4.20.3")
        })
    );
    assert_eq!((memory.started, memory.failures), (None, 0));
    let mut story = Story::but(|story| {
        let failed = (version("4.20.1"), at("2026-11-01T00:00Z"));
        (story.memory.failures, story.memory.failed) = (3, Some(failed));
    });
    assert_eq!(
        followed(&story).0.failures,
        0,
        "4.20.1 was completed after that"
    );
    story.memory.failed = Some((version("4.20.3"), at("2026-11-01T00:00Z")));
    assert_eq!(
        followed(&story).0.failures,
        3,
        "to go back forgives nothing"
    );
    story.memory.failed = Some((version("4.20.1"), at("2026-11-10T00:00Z")));
    assert_eq!(followed(&story).0.failures, 3);
}

#[test]
fn what_was_seen_just_before_our_start_ends_nothing() {
    let mut story = started();
    (story.standing.asked, story.now) = (None, at("2026-11-16T11:05Z"));
    let (memory, outcome) = followed(&story);
    assert_eq!(
        (outcome, memory.started.is_some()),
        (None, true),
        "the cluster may not have told us yet"
    );
    story.stamp = Fact::Known(Stamp {
        good_at: story.now,
        stamped_at: story.now,
    });
    assert_eq!(
        story.told(),
        "waits: JustStarted",
        "and nothing is started again"
    );
    story.now = at("2026-11-16T11:11Z");
    assert!(
        matches!(followed(&story).1, Some(UpdateOutcome::GivenUp { .. })),
        "somebody took it back"
    );
}

#[test]
fn the_newest_graph_is_remembered_unless_it_is_of_the_future() {
    let stamp = |good: &str| {
        Fact::Known(Stamp {
            good_at: at(good),
            stamped_at: at(good),
        })
    };
    let remembered = |good: &str, seen: Option<&str>| {
        let mut story = Story::new();
        (story.stamp, story.memory.graph_good_at) = (stamp(good), seen.map(at));
        followed(&story).0.graph_good_at.map(|at| at.to_string())
    };
    assert_eq!(
        remembered("2026-11-16T11:00Z", None).as_deref(),
        Some("2026-11-16T11:00:00Z")
    );
    assert_eq!(
        remembered("2026-11-16T11:00Z", Some("2026-11-16T11:30Z")).as_deref(),
        Some("2026-11-16T11:30:00Z")
    );
    assert_eq!(
        remembered("2026-11-16T12:10Z", None).as_deref(),
        Some("2026-11-16T12:10:00Z")
    );
    assert_eq!(
        remembered("2027-11-16T12:10Z", None),
        None,
        "a clock that is wrong once does not stop us for a year"
    );
}

#[test]
fn what_was_written_down_by_a_clock_that_was_wrong_counts_from_now_on() {
    let mut story = started();
    let future = at("2036-01-01T00:00Z");
    story.memory.started = Some(StartedUpdate {
        version: version("4.20.3"),
        at: future,
        course: Course::Running,
    });
    story.memory.failed = Some((version("4.20.2"), future));
    let (memory, outcome) = followed(&story);
    assert_eq!(outcome, None);
    assert_eq!(
        memory.started.as_ref().map(|started| started.at),
        Some(story.now)
    );
    assert_eq!(memory.failed.as_ref().map(|(_, at)| *at), Some(story.now));
    // Somebody has taken the request back: in time that is noticed, and not in ten years.
    story.memory = memory;
    story.standing.asked = None;
    story.now += SignedDuration::from_mins(11);
    assert_eq!(
        followed(&story).1,
        Some(UpdateOutcome::GivenUp {
            version: version("4.20.3")
        })
    );
}

#[test]
fn an_update_that_completed_before_anybody_looked_is_complete_whatever_came_after() {
    let mut story = started();
    begun(&mut story, Progress::Completed);
    let past = Past {
        version: version("4.20.4"),
        progress: Progress::Partial,
        started: Some(at("2026-11-16T11:50Z")),
        ended: None,
    };
    story.standing.past.insert(0, past);
    (story.standing.asked, story.standing.desired) = (Some(asked("4.20.4")), Some(asked("4.20.4")));
    assert!(
        matches!(followed(&story).1, Some(UpdateOutcome::Completed { .. })),
        "{:?}",
        followed(&story).1
    );
    // One of long ago is another matter.
    story.standing.past[1].ended = Some(at("2026-11-16T10:00Z"));
    assert_eq!(
        followed(&story).1,
        Some(UpdateOutcome::GivenUp {
            version: version("4.20.3")
        })
    );
}

#[test]
fn what_somebody_took_back_is_not_started_again_by_itself() {
    let mut story = started();
    story.standing.asked = None;
    let (memory, outcome) = followed(&story);
    assert_eq!(
        outcome,
        Some(UpdateOutcome::GivenUp {
            version: version("4.20.3")
        })
    );
    assert_eq!(memory.taken_back, Some(version("4.20.3")));
    story.memory = memory;
    assert_eq!(story.told(), "refuses: TakenBack");
    story.standing.offers.push(crate::cluster::offer("4.20.2"));
    assert_eq!(story.told(), "refuses: TakenBack", "nor anything before it");
    story.standing.offers.push(crate::cluster::offer("4.21.0"));
    assert_eq!(
        story.told(),
        "takes 4.21.0",
        "a newer release is another matter"
    );
    // Whoever goes there by hand wants it after all.
    begun(&mut story, Progress::Completed);
    assert_eq!(followed(&story).0.taken_back, None);
}

#[test]
fn the_same_release_is_not_tried_again_at_once() {
    let failed = |ago: SignedDuration| {
        Story::but(|story| {
            (story.memory.failures, story.memory.failed) =
                (1, Some((version("4.20.3"), story.now - ago)))
        })
    };
    assert_eq!(
        failed(SignedDuration::from_mins(59)).told(),
        "waits until 2026-11-16T12:01:00Z: FailedLately"
    );
    assert_eq!(failed(SignedDuration::from_mins(60)).told(), "takes 4.20.3");
}
