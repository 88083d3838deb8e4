use proptest::prelude::*;
use towpath_core::finding::Place;
use towpath_core::graph::Share;

use super::*;
use crate::graph::releases;

const NOW: &str = "2026-03-03T12:00:00Z";

const CHANNELS: &str = "# Two channels, the same releases.
channels:
- name: fast-4.20
- name: stable-4.20
  phasedRollouts:
  - fromVersion: patch   # quick
    duration: P2D
  - {fromVersion: minor, duration: 'P14D', ramp: exponential}
versions:
- name: 4.19.9
  start: 2025-12-01T00:00Z
- {name: 4.20.1, start: 2026-01-01T00:00Z}
# The first without the bug.
- start: \"2026-03-02T00:00Z\"
  name: 4.20.2
- name: 4.20.3
  start: 2026-04-01T00:00Z   # to come
";

fn files(channels: &str) -> Vec<SourceFile> {
    vec![
        SourceFile::new("version", "2.0.0".as_bytes()),
        SourceFile::new("channels/4.20.yaml", channels.as_bytes()),
    ]
}

fn graph(files: &[SourceFile]) -> Graph {
    let (data, _) = data::read(files).unwrap();
    let releases = r#"{"nodes": [{"version": "4.19.9", "payload": "a"}, {"version": "4.20.1", "payload": "b"},
        {"version": "4.20.2", "payload": "c"}, {"version": "4.20.3", "payload": "d"}],
        "edges": [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]}"#;
    let (releases, _) = releases::read(&Place::file("r"), releases.as_bytes()).unwrap();
    Graph::build(data, releases).0
}

fn asked(steer: Steer) -> SteerRequest {
    SteerRequest {
        channel: None,
        to: "4.20.2".parse().unwrap(),
        steer,
    }
}

fn planned(files: &[SourceFile], steer: Steer) -> Result<SteerPlan, String> {
    plan(files, &asked(steer), NOW.parse().unwrap())
}

fn hour() -> SignedDuration {
    SignedDuration::from_hours(1)
}

#[test]
fn only_starts_and_durations_change_and_everything_else_stays_as_it_was_written() {
    let files = files(CHANNELS);
    let plan = planned(&files, Steer::SpeedUp(2_000, hour())).unwrap();
    let expected = CHANNELS
        .replace("duration: P2D", "duration: P1D")
        .replace("duration: 'P14D'", "duration: 'P7D'")
        .replace("\"2026-03-02T00:00Z\"", "\"2026-03-02T18:00:00Z\"");
    assert_eq!(plan.change.new.as_deref(), Some(&*expected));
    assert!(plan.notes.iter().any(|note| note.contains("4.20.3")));
    let effect = plan.effect(&graph(&files), &graph(&plan.applied(&files)));
    let shares = |rows: &[RolloutWindow]| -> Vec<Share> {
        rows.iter()
            .map(|row| row.window.share(NOW.parse().unwrap()))
            .collect()
    };
    assert_eq!(shares(&effect.before), shares(&effect.after));
    assert!(!effect.is_let_through(), "an hour is four percent of a day");
    let told = json(&plan, &effect);
    let diff = told["files"][0]["diff"].as_str().unwrap();
    assert!(
        diff.contains("\n-    duration: P2D\n") && diff.contains("\n+    duration: P1D\n"),
        "{diff}"
    );
}

/// Between two rings no window is open, and everything in the rule moves by the same factor.
#[test]
fn rings_go_slower_and_faster_with_everybody_else() {
    let rings = CHANNELS.replace(
        "  - fromVersion: patch   # quick
    duration: P2D
",
        "  - fromVersion: patch
    rings:
    - name: canaries
      duration: PT6H   # first
    - {name: early, after: PT12H, duration: P1D}
    after: P2D
    duration: P2D
",
    );
    let rings = rings.replace(
        "- name: stable-4.20\n",
        "- name: stable-4.20\n  rings: [{name: canaries, sector: canary}, {name: early, label: {tier: dev}}]\n",
    );
    let mut files = files(&rings);
    files[0] = SourceFile::new("version", "2.1.0".as_bytes());
    for (now, steer, lengths) in [
        (
            NOW,
            Steer::Slow(2_000, hour()),
            ["PT12H", "P1D", "P2D", "P4D", "P4D"],
        ),
        (
            "2026-03-02T08:00:00Z",
            Steer::SpeedUp(2_000, hour()),
            ["PT3H", "PT6H", "PT12H", "P1D", "P1D"],
        ),
    ] {
        let now: Timestamp = now.parse().unwrap();
        let plan = plan(&files, &asked(steer), now).unwrap();
        let new = plan.change.new.clone().unwrap();
        let [canaries, waits, early, after, rest] = lengths;
        for expected in [
            format!("      duration: {canaries}   # first\n"),
            format!("    - {{name: early, after: {waits}, duration: {early}}}\n"),
            format!("    after: {after}\n    duration: {rest}\n"),
        ] {
            assert!(new.contains(&expected), "{expected}{new}");
        }
        let effect = plan.effect(&graph(&files), &graph(&plan.applied(&files)));
        let loses = effect
            .findings
            .iter()
            .any(|one| one.code == "rollout-loses");
        assert!(!loses, "{:?}", effect.findings);
    }
}

#[test]
fn what_is_over_but_would_be_open_again_moves_too() {
    let over = CHANNELS.replace(
        "{name: 4.20.1, start: 2026-01-01T00:00Z}",
        "{name: 4.20.1, start: 2026-02-10T00:00Z}",
    );
    let files = files(&over);
    let plan = planned(&files, Steer::Slow(2_000, hour())).unwrap();
    assert!(
        plan.notes.iter().any(|note| note.contains("4.20.1")),
        "{:?}",
        plan.notes
    );
    let effect = plan.effect(&graph(&files), &graph(&plan.applied(&files)));
    let loses = effect
        .findings
        .iter()
        .any(|finding| finding.code == "rollout-loses");
    assert!(!loses, "{:?}", effect.findings);
}

#[test]
fn a_halt_is_one_file_and_resuming_removes_it() {
    let files = files(CHANNELS);
    let note = HaltNote::new(None, Some("Nodes: \"NotReady\" # x".to_owned()), None).unwrap();
    let halt = planned(&files, Steer::Halt(note.clone())).unwrap();
    assert_eq!(halt.change.path, "blocked-edges/4.20.2-halted.yaml");
    let halted = halt.applied(&files);
    let effect = halt.effect(&graph(&files), &graph(&halted));
    assert!(effect.is_let_through());
    assert!(
        effect.after.iter().all(RolloutWindow::is_blocked),
        "{:?}",
        effect.after
    );
    assert!(
        planned(&halted, Steer::Halt(note))
            .unwrap_err()
            .contains("halted already")
    );
    let resume = planned(&halted, Steer::Resume).unwrap();
    assert_eq!(resume.applied(&halted), files);
    let effect = resume.effect(&graph(&halted), &graph(&files));
    assert!(!effect.is_let_through(), "three quarters gain it at once");
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let plain = files(CHANNELS);
    let foreign = SourceFile::new(
        "blocked-edges/4.20.2-halted.yaml",
        "to: 4.20.2\nfrom: .*\n".as_bytes(),
    );
    let by_hand: Vec<SourceFile> = plain.iter().cloned().chain([foreign]).collect();
    let unphased = files(&CHANNELS.replace("phasedRollouts", "# phasedRollouts").replace(
        "  - fromVersion: patch   # quick\n    duration: P2D\n  - {fromVersion: minor, duration: 'P14D', ramp: exponential}\n",
        "",
    ));
    let slow = || Steer::Slow(2_000, hour());
    for (files, steer, expected) in [
        (&plain, Steer::Resume, "was not halted by this command"),
        (&by_hand, Steer::Resume, "was not written by"),
        (&by_hand, Steer::Halt(HaltNote::default()), "halted already"),
        (&unphased, slow(), "no window of 4.20.2 is open"),
        (&plain, Steer::Slow(100_000, hour()), "longer than 366 days"),
    ] {
        let refused = planned(files, steer).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    let later = SteerRequest {
        to: "4.20.3".parse().unwrap(),
        ..asked(slow())
    };
    let refused = plan(&plain, &later, NOW.parse().unwrap()).unwrap_err();
    assert!(refused.contains("no window of 4.20.3 is open"), "{refused}");
    let unknown = SteerRequest {
        to: "4.20.9".parse().unwrap(),
        ..asked(slow())
    };
    let refused = plan(&plain, &unknown, NOW.parse().unwrap()).unwrap_err();
    assert!(refused.contains("no channel lists 4.20.9"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the factor and the time: presubmit never says that somebody loses an edge.
    #[test]
    fn nobody_loses_an_edge(
        thousandths in 1_001u32..=20_000,
        hours in 0i64..47,
        minutes in 0i64..240,
        is_slower: bool,
    ) {
        let files = files(CHANNELS);
        let begin: Timestamp = "2026-03-02T00:30:00Z".parse().unwrap();
        let now = begin + SignedDuration::from_hours(hours);
        let within = SignedDuration::from_mins(minutes);
        let steer = match is_slower {
            true => Steer::Slow(thousandths, within),
            false => Steer::SpeedUp(thousandths, within),
        };
        let plan = plan(&files, &asked(steer), now).unwrap();
        let effect = plan.effect(&graph(&files), &graph(&plan.applied(&files)));
        for finding in &effect.findings {
            prop_assert_eq!(finding.code, "rollout-jumps", "{}", finding);
        }
        // At the instant that it was made for, nothing jumps but what serving late costs.
        if minutes == 0 {
            prop_assert!(effect.is_let_through(), "{:?}", effect.findings);
        }
    }
}
