//! Preflights: when the cluster is asked, and what its answers mean. Only what was seen to run can pass.

use towpath_core::agent::rules::judge_preflight;
use towpath_core::agent::{
    ClusterRisk, Condition, OptIn, StartedPreflight, Status, follow_preflight,
};
use towpath_core::fleet::Name;
use towpath_core::verdict::Answer;

use crate::cluster::{Story, asked, at, condition, image, offer, version};

/// Of a preflight of 4.20.3: name, reason, whether it applies, since when.
type Told<'a> = (&'a str, &'a str, Status, &'a str);

const RUNNING: Told<'_> = (
    "PreflightInProgress",
    "PreflightRunning",
    Status::True,
    "2026-11-16T11:31:00Z",
);
const FOUND: Told<'_> = (
    "OldDriver",
    "PreflightValidation",
    Status::True,
    "2026-11-16T11:40:00Z",
);

fn risk(version: &str, (name, reason, status, since): Told<'_>) -> (Name, ClusterRisk) {
    let applies = Condition {
        status,
        reason: reason.into(),
        message: "".into(),
        since: Some(at(since)),
    };
    let message = format!("Preflight={version}: {name} was found").into();
    let applies = Some(applies);
    (name.into(), ClusterRisk { message, applies })
}

/// Asked for at half past eleven; now it is noon.
fn asked_for(seen: bool, told: &[Told<'_>]) -> (Story, StartedPreflight) {
    let started = StartedPreflight {
        id: "r-1".into(),
        version: version("4.20.3"),
        at: at("2026-11-16T11:30Z"),
        seen,
    };
    let story = Story::but(|story| {
        story.memory.preflight = Some(started.clone());
        story.standing.preflight = Some(asked("4.20.3"));
        story.standing.risks = told.iter().map(|one| risk("4.20.3", *one)).collect();
    });
    (story, started)
}

fn outcome(story: &Story, started: &StartedPreflight) -> String {
    match follow_preflight(started, &story.standing, story.now) {
        (started, None) => format!("waits, seen {}", started.seen),
        (_, Some(result)) => {
            let risks: Vec<&str> = result.risks.iter().map(|name| &**name).collect();
            let told = [result.state.code(), &risks.join(" "), &result.why];
            let told: Vec<&str> = told.into_iter().filter(|part| !part.is_empty()).collect();
            told.join(": ")
        }
    }
}

#[track_caller]
fn check(seen: bool, told: &[Told<'_>], expected: &str) {
    let (story, started) = asked_for(seen, told);
    assert_eq!(outcome(&story, &started), expected);
}

#[test]
fn it_has_passed_if_it_was_seen_to_run_and_left_no_risk() {
    check(false, &[], "waits, seen false");
    check(false, &[RUNNING], "waits, seen true");
    check(true, &[RUNNING, FOUND], "waits, seen true");
    check(true, &[], "passed");
    let ruled_out = ("OldDriver", "PreflightValidation", Status::False, FOUND.3);
    check(true, &[ruled_out], "passed");
}

/// The cluster's times have whole seconds. Ours was asked for at 11:30:00.4, and another began or ended within that second.
#[test]
fn a_status_of_before_the_request_is_no_pass() {
    let within = |since: &'static str, is_observed: bool| {
        let running = (RUNNING.0, RUNNING.1, RUNNING.2, since);
        let (mut story, mut started) = asked_for(false, &[running]);
        started.at = at("2026-11-16T11:30:00.4Z");
        story.standing.is_observed = is_observed;
        let before = outcome(&story, &started);
        let (after, _) = follow_preflight(&started, &story.standing, story.now);
        story.standing.risks.clear();
        story.standing.is_observed = true;
        format!("{before}; then {}", outcome(&story, &after))
    };
    // The status is of the specification before ours, whatever its times say.
    for since in [
        "2026-11-16T11:30:00Z",
        "2026-11-16T11:30:01Z",
        "2026-11-16T11:31:00Z",
    ] {
        let expected = "waits, seen false; then waits, seen false";
        assert_eq!(within(since, false), expected, "{since}");
    }
    // Ours began within the second in which it was asked for.
    assert_eq!(
        within("2026-11-16T11:30:00Z", true),
        "waits, seen true; then passed"
    );
}

#[test]
fn what_it_finds_may_apply_unless_the_cluster_rules_it_out() {
    check(true, &[FOUND], "failed: OldDriver: OldDriver was found");
    let unknown = ("Other", "PreflightValidation", Status::Unknown, FOUND.3);
    check(true, &[unknown], "failed: Other: Other was found");
    // It was quick: nobody saw it run, but what it found is new.
    check(false, &[FOUND], "failed: OldDriver: OldDriver was found");
    // Left from a preflight before.
    let old = (
        "OldDriver",
        "PreflightValidation",
        Status::True,
        "2026-11-01T00:00:00Z",
    );
    check(false, &[old], "waits, seen false");
}

#[test]
fn what_was_not_carried_through_is_no_pass() {
    for reason in ["PreflightFailed", "PreflightPartial"] {
        let broken = ("PreflightIncomplete", reason, Status::True, FOUND.3);
        let expected = "incomplete: OldDriver: PreflightIncomplete was found";
        check(true, &[broken, FOUND], expected);
    }
    let (mut story, started) = asked_for(true, &[]);
    story.standing.preflight = None;
    assert_eq!(
        outcome(&story, &started),
        "incomplete: somebody took it back"
    );
    story.standing.preflight = Some(asked("4.20.2"));
    assert_eq!(
        outcome(&story, &started),
        "incomplete: somebody took it back"
    );
    let (mut story, started) = asked_for(true, &[]);
    story.standing.is_observed = false;
    assert_eq!(outcome(&story, &started), "waits, seen true");
    let refused = condition(Status::False);
    let conditions = &mut story.standing.conditions;
    conditions.insert("ReleaseAccepted".into(), refused);
    assert_eq!(
        outcome(&story, &started),
        "incomplete: Reason: in its own words"
    );
}

#[test]
fn after_an_hour_it_is_given_up() {
    let late = |seen: bool, told: &[Told<'_>], now: &str| {
        let (mut story, started) = asked_for(seen, told);
        story.now = at(now);
        outcome(&story, &started)
    };
    let (in_time, late_by) = ("2026-11-16T12:30:00Z", "2026-11-16T12:30:01Z");
    assert_eq!(late(true, &[RUNNING], in_time), "waits, seen true");
    assert_eq!(
        late(true, &[RUNNING], late_by),
        "incomplete: it was not over after an hour"
    );
    assert_eq!(
        late(false, &[], late_by),
        "incomplete: the cluster has not said within an hour that it runs"
    );
}

#[test]
fn risks_of_another_version_say_nothing() {
    let (mut story, started) = asked_for(true, &[]);
    story.standing.risks = [risk("4.21.0", FOUND)].into();
    assert_eq!(outcome(&story, &started), "passed");
}

#[test]
fn the_cluster_is_asked_inside_its_windows_and_only_for_a_signed_release() {
    let asks = |change: &dyn Fn(&mut Story)| {
        let story = Story::but(change);
        let verdict = judge_preflight(&offer("4.20.3"), &story.moment());
        let codes: Vec<&str> = verdict.objections().map(|one| one.code().name).collect();
        match verdict.answer {
            Answer::Recommend => "asks".to_owned(),
            Answer::Wait { .. } => format!("waits: {}", codes.join(" ")),
            _ => format!("refuses: {}", codes.join(" ")),
        }
    };
    assert_eq!(asks(&|_| ()), "asks");
    assert_eq!(
        asks(&|story| story.standing.opt_in = OptIn::NotWanted),
        "refuses: NotOptedIn"
    );
    assert_eq!(
        asks(&|story| story.standing.preflight = Some(asked("4.20.2"))),
        "waits: OpenPreflight"
    );
    // The other one is cleared, and the cluster has not noticed yet.
    assert_eq!(
        asks(&|story| story.standing.risks = [risk("4.20.3", RUNNING)].into()),
        "waits: PreflightStillTold"
    );
    assert_eq!(
        asks(&|story| story.standing.is_observed = false),
        "waits: StatusBehind"
    );
    assert_eq!(
        asks(&|story| story.standing.risks = [risk("4.20.3", FOUND)].into()),
        "asks"
    );
    assert_eq!(
        asks(&|story| story.standing.asked = Some(asked("4.20.2"))),
        "waits: UpdateRequested"
    );
    assert_eq!(
        asks(&|story| drop(story.evidence.remove(&image("4.20.3")))),
        "waits: NotProved"
    );
    // It changes nothing, so neither the interval nor a pin nor failures hold it back.
    assert_eq!(
        asks(&|story| {
            story.memory.failures = 9;
            story.policy.pin = towpath_core::agent::Pin::parse("4.20.1");
            story.policy.at_least_between = jiff::SignedDuration::from_hours(9_000);
        }),
        "asks"
    );
    // While ours runs, no update starts.
    let (story, _) = asked_for(false, &[]);
    assert_eq!(story.told(), "waits: PreflightRuns");
}
