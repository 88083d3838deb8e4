//! The watch over releases: who is watched and how, what follows from each answer, and who cannot bend it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{
    Attempt, Ending, FailureRate, FeedbackPolicy, HaltScope, HaltsSoFar, HeldBack, History, Mode,
    Outcome, WatchAct, WatchAnswer, WatchDecision, WatchInput, WatchSettings, WatchedRelease,
    assess, watch, watched_releases,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};
use towpath_testing_graphs::graph;

const RELEASE: &str = "4.20.4";

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_763_000_000 + minute * 60).unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// A cluster that began in that minute, and ended an hour later.
fn attempt(number: i64, organisation: &str, outcome: Outcome) -> Attempt {
    Attempt {
        cluster: ClusterId::new(&format!("cluster-{organisation}-{number}")).unwrap(),
        organisation: organisation.into(),
        from: version("4.20.3"),
        to: version(RELEASE),
        platform: Fact::Known(Platform::new("AWS").unwrap()),
        arch: Arch::default(),
        started_at: at(number),
        completed_at: (outcome != Outcome::Failed).then(|| at(number + 60)),
        ending: Some(Ending {
            known_at: at(number + 60),
            outcome,
        }),
    }
}

/// So many clusters of ten organisations, of which every third fails.
fn a_bad_release(clusters: i64) -> Vec<Attempt> {
    let one = |number: i64| {
        let outcome = match number % 3 {
            0 => Outcome::Failed,
            _ => Outcome::Done,
        };
        attempt(number, &format!("org{}", number % 10), outcome)
    };
    (0..clusters).map(one).collect()
}

fn settings(mode: Mode) -> WatchSettings {
    WatchSettings {
        mode,
        ..WatchSettings::default()
    }
}

fn watched(mode: Mode) -> WatchedRelease {
    let channel = ChannelName::new("stable-4.20").unwrap();
    WatchedRelease {
        release: version(RELEASE),
        channels: BTreeSet::from([channel.clone()]),
        by: channel,
        settings: settings(mode),
    }
}

fn decide(mode: Mode, attempts: &[Attempt], so_far: &HaltsSoFar) -> WatchDecision {
    let input = WatchInput {
        watched: &[watched(mode)],
        attempts,
        so_far: &BTreeMap::from([(version(RELEASE), so_far.clone())]),
        at: at(600),
    };
    watch(&input).pop().unwrap()
}

fn all_clusters() -> BTreeSet<HaltScope> {
    BTreeSet::from([HaltScope::default()])
}

#[test]
fn each_mode_does_what_its_name_says_and_each_halt_once() {
    let attempts = a_bad_release(120);
    let nothing = HaltsSoFar::default();
    let made = HaltsSoFar {
        made: all_clusters(),
        ..HaltsSoFar::default()
    };
    let proposed = HaltsSoFar {
        proposed: all_clusters(),
        ..HaltsSoFar::default()
    };
    for (mode, so_far, expected) in [
        (Mode::Observe, &nothing, "nothing"),
        (Mode::Propose, &nothing, "propose"),
        (Mode::Propose, &proposed, "nothing"),
        (Mode::Propose, &made, "nothing"),
        (Mode::Enforce, &nothing, "enforce"),
        (Mode::Enforce, &made, "nothing"),
        // Whoever only proposed it has not stopped anything.
        (Mode::Enforce, &proposed, "enforce"),
    ] {
        let judgement = decide(mode, &attempts, so_far).judgement;
        assert_eq!(judgement.assessment.answer, WatchAnswer::Halt);
        assert_eq!(judgement.act.code(), expected, "{mode:?} after {so_far:?}");
        let scopes = judgement.act.halts().iter().map(|halt| &halt.scope);
        assert!(scopes.clone().all(HaltScope::is_all), "{scopes:?}");
    }
}

#[test]
fn one_organisation_with_a_tenth_of_the_clusters_halts_nobody() {
    let liar = |number: i64| match number % 10 {
        0 => attempt(number, "liar", Outcome::Failed),
        other => attempt(number, &format!("org{other}"), Outcome::Done),
    };
    for clusters in [40, 200, 1_000] {
        // Ten begin in each minute.
        let attempts: Vec<Attempt> = (0..clusters)
            .map(|n| {
                let Attempt {
                    cluster,
                    organisation,
                    ending,
                    ..
                } = liar(n);
                let outcome = ending.map_or(Outcome::Done, |ending| ending.outcome);
                Attempt {
                    cluster,
                    ..attempt(n / 10, &organisation, outcome)
                }
            })
            .collect();
        let judgement = decide(Mode::Enforce, &attempts, &HaltsSoFar::default()).judgement;
        assert_eq!(judgement.act, WatchAct::Nothing, "of {clusters} clusters");
        // Four failures of forty would not be enough of anybody.
        let held_back = (clusters > 40).then(|| HeldBack::OnlyWith("liar".into()));
        assert_eq!(judgement.assessment.held_back, held_back);
    }
    // A second organisation in which as many fail is another matter.
    let both = |number: i64| match number % 10 {
        1 => attempt(number, "second", Outcome::Failed),
        _ => liar(number),
    };
    let attempts: Vec<Attempt> = (0..200).map(both).collect();
    let judgement = decide(Mode::Enforce, &attempts, &HaltsSoFar::default()).judgement;
    assert_eq!(judgement.act.code(), "enforce");
}

#[test]
fn attempts_at_halted_releases_are_no_history() {
    let mut attempts = a_bad_release(120);
    let before = |number: i64, to: &str, outcome| Attempt {
        cluster: ClusterId::new(&format!("before-{to}-{number}")).unwrap(),
        to: version(to),
        started_at: at(number - 6_000),
        ending: Some(Ending {
            known_at: at(number - 5_940),
            outcome,
        }),
        ..attempt(number, "org1", outcome)
    };
    attempts.extend((0..300).map(|n| before(n, "4.20.2", Outcome::Failed)));
    let so_far = |made| {
        BTreeMap::from([(
            version("4.20.2"),
            HaltsSoFar {
                made,
                ..HaltsSoFar::default()
            },
        )])
    };
    let case = |so_far: &BTreeMap<_, _>| {
        let input = WatchInput {
            watched: &[watched(Mode::Observe)],
            attempts: &attempts,
            so_far,
            at: at(600),
        };
        input.case(&input.watched[0])
    };
    assert_eq!(case(&so_far(all_clusters())).history, History::default());
    assert_ne!(case(&so_far(BTreeSet::new())).history, History::default());
    let kept = case(&BTreeMap::new()).attempts;
    assert!(
        kept.iter().all(|attempt| attempt.to == version(RELEASE)),
        "the rest is history"
    );
}

#[test]
fn a_release_is_watched_in_the_channel_with_the_strictest_mode_that_it_has_entered() {
    let graph = graph(
        "
        channel candidate-4.20 4.20.3 4.20.4
        channel fast-4.20 4.20.3 4.20.4
        channel stable-4.20 4.20.3
        edges 4.20.3 -> 4.20.4
    ",
    );
    let mut policy = FeedbackPolicy::default();
    for (kind, mode) in [("fast", Mode::Propose), ("stable", Mode::Enforce)] {
        policy.channels.insert(kind.to_owned(), settings(mode));
    }
    let one = attempt(0, "org1", Outcome::Done);
    let watched = watched_releases(&graph, &policy, &[one], at(600));
    let told = watched.iter().map(|one| {
        (
            one.release.to_string(),
            one.by.to_string(),
            one.channels.len(),
            one.settings.mode,
        )
    });
    let expected = (RELEASE.to_owned(), "fast-4.20".to_owned(), 2, Mode::Propose);
    assert_eq!(told.collect::<Vec<_>>(), [expected]);
    assert!(
        watched_releases(&graph, &policy, &[], at(600)).is_empty(),
        "nobody has begun"
    );
    policy.channels.insert(
        "candidate-4.20".to_owned(),
        WatchSettings {
            alpha: FailureRate::per_million(100),
            ..settings(Mode::Propose)
        },
    );
    let watched = watched_releases(
        &graph,
        &policy,
        &[attempt(0, "org1", Outcome::Done)],
        at(600),
    );
    assert_eq!(
        watched[0].by.as_str(),
        "candidate-4.20",
        "of equals, the one that promises more"
    );
}

/// What a stranger may do to the reports of an attempt: repeat it, tell another end later, or tell of a future.
fn noise() -> impl Strategy<Value = (usize, u8, i64)> {
    (0..120_usize, 0..4_u8, 1..400_i64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn forged_late_repeated_and_reordered_reports_change_nothing(
        noise in prop::collection::vec(noise(), 0..200),
        seed in any::<u64>(),
    ) {
        let attempts = a_bad_release(120);
        let plain = decide(Mode::Enforce, &attempts, &HaltsSoFar::default());
        let mut all = attempts.clone();
        for (number, kind, minutes) in noise {
            let known = &attempts[number];
            let later = SignedDuration::from_mins(minutes);
            all.push(match kind {
                0 => known.clone(),
                // A second attempt of the same cluster.
                1 => Attempt { started_at: known.started_at + later, ..known.clone() },
                // Another end, told after the first.
                2 => Attempt {
                    ending: known.ending.map(|ending| Ending { known_at: ending.known_at + later, outcome: Outcome::Done }),
                    ..known.clone()
                },
                _ => Attempt { started_at: at(600) + later, cluster: ClusterId::new(&format!("future-{minutes}")).unwrap(), ..known.clone() },
            });
        }
        let mut state = seed | 1;
        for place in (1..all.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            all.swap(place, (state >> 33) as usize % (place + 1));
        }
        prop_assert_eq!(decide(Mode::Enforce, &all, &HaltsSoFar::default()), plain);
    }

    #[test]
    fn what_is_left_out_of_a_case_changes_no_halt(
        bad in prop::collection::vec((0..3_000_i64, 0..6_u8, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let one = |(number, (minute, organisation, is_bad, is_own)): (usize, &(i64, u8, bool, bool))| Attempt {
            cluster: ClusterId::new(&format!("c{number}")).unwrap(),
            to: version(if *is_own { RELEASE } else { "4.20.2" }),
            ..attempt(*minute, &format!("org{organisation}"), if *is_bad { Outcome::Failed } else { Outcome::Done })
        };
        let attempts: Vec<Attempt> = bad.iter().enumerate().map(one).collect();
        let input = WatchInput { watched: &[watched(Mode::Enforce)], attempts: &attempts, so_far: &BTreeMap::new(), at: at(4_000) };
        let case = input.case(&input.watched[0]);
        let whole = assess(&case.release, &attempts, &case.history, &case.settings, case.at);
        let part = case.judge().assessment;
        prop_assert_eq!((whole.answer, whole.halts, whole.held_back), (part.answer, part.halts, part.held_back));
    }
}

/// One that began in that minute and was not heard of again.
fn silent(number: i64, to: &str) -> Attempt {
    Attempt {
        to: version(to),
        completed_at: None,
        ending: None,
        ..attempt(number, "acme", Outcome::Failed)
    }
}

#[test]
fn an_update_that_is_not_heard_of_has_failed_after_the_horizon_of_its_policy() {
    let attempts: Vec<Attempt> = (0..5).map(|number| silent(number, RELEASE)).collect();
    let failed = |hour: i64, horizon: i64| {
        let settings = WatchSettings {
            horizon: SignedDuration::from_hours(horizon),
            ..WatchSettings::default()
        };
        let history = History::default();
        let told = assess(
            &version(RELEASE),
            &attempts,
            &history,
            &settings,
            at(60 * hour),
        );
        told.scopes[0].failed
    };
    assert_eq!(
        [11, 13].map(|hour| failed(hour, 6)),
        [0, 5],
        "twelve hours without history"
    );
    assert_eq!([13, 23, 25].map(|hour| failed(hour, 24)), [0, 0, 5]);
}

#[test]
fn history_knows_updates_that_were_not_heard_of_again() {
    let mut attempts: Vec<Attempt> = (0..120)
        .map(|number| Attempt {
            to: version("4.20.3"),
            ..attempt(number, "acme", Outcome::Done)
        })
        .collect();
    attempts.extend((200..204).map(|number| silent(number, "4.20.3")));
    attempts.push(attempt(60 * 24, "acme", Outcome::Done));
    let history = History::before(&version(RELEASE), &attempts, &WatchSettings::default());
    let [(_, past)] = history.groups.iter().collect::<Vec<_>>()[..] else {
        panic!("{history:?}")
    };
    assert_eq!((past.attempts, past.failed), (124, 4));
    // Before anybody began with the release, what is under way has not failed.
    attempts.pop();
    let history = History::before(&version(RELEASE), &attempts, &WatchSettings::default());
    assert_eq!(
        history.groups.values().map(|past| past.failed).sum::<u64>(),
        0
    );
}
