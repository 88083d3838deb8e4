//! The feedback policy's file, what a watch says in words, and decisions that replay to the bit.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{
    Attempt, Ending, FailureRate, FeedbackPolicy, HaltScope, HaltsSoFar, Mode, Outcome,
    WatchDecision, WatchInput, WatchSettings, WatchedRelease, watch,
};
use towpath_core::finding::Place;
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Minor, Version};
use towpath_formats::feedback::policy::{self, FeedbackFile, ProposalDestination};
use towpath_formats::feedback::{record, text};
use towpath_formats::room::Room;

fn read(text: &str) -> Result<FeedbackFile, String> {
    let read = policy::read(&Place::file("feedback.yaml"), text.as_bytes());
    read.map_err(|findings| {
        let lines = findings.iter().map(|finding| format!("{finding}\n"));
        lines.collect()
    })
}

#[test]
fn the_example_says_what_is_built_in_and_proposes_for_two_kinds_of_channels() {
    let file = read(include_str!("../../examples/feedback.yaml")).unwrap();
    assert_eq!(file.policy.default, WatchSettings::default());
    let of = |name: &str| file.policy.of(&ChannelName::new(name).unwrap()).clone();
    assert_eq!(of("candidate-4.20"), WatchSettings::default());
    assert_eq!(of("fast-4.20").mode, Mode::Propose);
    let stable = of("stable-4.21");
    assert_eq!(
        (stable.mode, stable.alpha),
        (Mode::Propose, FailureRate::per_million(100))
    );
    let directory = ProposalDestination::Directory("/srv/graph-data-proposals".to_owned());
    assert_eq!(file.destination, Some(directory));
}

#[test]
fn a_channel_takes_from_the_default_what_it_does_not_say() {
    let file = read("default: {alpha: \"1 %\", horizon: 1d}\nchannels: {stable: {mode: enforce, organisations: 1}}\n").unwrap();
    let expected = WatchSettings {
        mode: Mode::Enforce,
        alpha: FailureRate::per_million(10_000),
        organisations: 1,
        horizon: SignedDuration::from_hours(24),
        ..WatchSettings::default()
    };
    assert_eq!(file.policy.channels["stable"], expected);
    assert_eq!(read("{}").unwrap().policy, FeedbackPolicy::default());
}

#[test]
fn what_is_wrong_says_where_and_what_to_write() {
    let wrong = "\
default:
  mode: halt
  alpha: 0.5
  baseRate: 90%
  organisations: 3
channels:
  Stable 4:
    horizon: P1M
  stable:
    tolerated: 5%
    toleratedRate: 0.2%
propose:
  directory: a
  webhook: b
";
    let told = read(wrong).unwrap_err();
    for (line, part) in [
        (
            2,
            "\"halt\" is not a mode; write observe, propose or enforce",
        ),
        (3, "alpha"),
        (4, "write it in percent, from \"0.01 %\" to \"30 %\""),
        (5, "organisations"),
        (8, "\"P1M\""),
        (10, "has no field \"tolerated\""),
        (
            11,
            "the toleratedRate 0.2 % is not above the baseRate 0.5 %",
        ),
        (13, "a proposal goes to exactly one place"),
    ] {
        let found = told.lines().any(|finding| {
            finding.contains(&format!("feedback.yaml:{line}")) && finding.contains(part)
        });
        assert!(found, "line {line}: {part}, in\n{told}");
    }
    assert!(
        read("channels: {stable: {mode: propose}}")
            .unwrap_err()
            .contains("nothing says where to")
    );
    assert!(read("propose: {webhook: \"file:///etc\"}").is_err());
    assert!(read("x").is_err());
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_763_000_000 + minute * 60).unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn attempt(number: i64, organisation: u8, outcome: Option<Outcome>) -> Attempt {
    Attempt {
        cluster: ClusterId::new(&format!("cluster-{number}")).unwrap(),
        organisation: format!("org{organisation}").as_str().into(),
        from: version(if number % 4 == 0 { "4.19.9" } else { "4.20.3" }),
        to: version(if number % 5 == 4 { "4.20.2" } else { "4.20.4" }),
        platform: match number % 3 {
            0 => Fact::Unknown,
            _ => Fact::Known(Platform::new("AWS").unwrap()),
        },
        arch: Arch::new(if number % 2 == 0 { "amd64" } else { "arm64" }),
        started_at: at(number),
        completed_at: (outcome == Some(Outcome::Done)).then(|| at(number + 50)),
        ending: outcome.map(|outcome| Ending {
            known_at: at(number + 60),
            outcome,
        }),
    }
}

fn decided(
    mode: Mode,
    attempts: &[Attempt],
    so_far: HaltsSoFar,
) -> (towpath_core::feedback::WatchCase, WatchDecision) {
    let channel = ChannelName::new("stable-4.20").unwrap();
    let watched = WatchedRelease {
        release: version("4.20.4"),
        channels: BTreeSet::from([channel.clone()]),
        by: channel,
        settings: WatchSettings {
            mode,
            ..WatchSettings::default()
        },
    };
    let input = WatchInput {
        watched: &[watched],
        attempts,
        so_far: &BTreeMap::from([(version("4.20.4"), so_far)]),
        at: at(900),
    };
    (input.case(&input.watched[0]), watch(&input).pop().unwrap())
}

fn whole_room() -> Room {
    Room::default()
}

#[test]
fn in_words() {
    let done = |count: i64| (0..count).map(|n| attempt(n * 5, (n % 7) as u8, Some(Outcome::Done)));
    let (_, nine) = decided(
        Mode::Observe,
        &done(9).collect::<Vec<_>>(),
        HaltsSoFar::default(),
    );
    let told = text(&nine, whole_room());
    assert!(
        told.starts_with(
            "4.20.4: inconclusive. 0 of 9 failed. A failure rate of 5 % would be seen after about "
        ),
        "{told}"
    );
    let under_way: Vec<Attempt> = (0..3).map(|n| attempt(850 + n * 5, 1, None)).collect();
    let (_, unknown) = decided(Mode::Observe, &under_way, HaltsSoFar::default());
    let told = text(&unknown, whole_room());
    let expected = "4.20.4: inconclusive. No outcome is known yet; 3 updates are under way. A";
    assert!(told.starts_with(expected), "{told}");
    let (_, nobody) = decided(Mode::Observe, &[], HaltsSoFar::default());
    let told = text(&nobody, whole_room());
    assert!(
        told.starts_with("4.20.4: inconclusive. No update has begun."),
        "{told}"
    );
    let good: Vec<Attempt> = (0..400)
        .map(|n| Attempt {
            started_at: at(n),
            completed_at: Some(at(n + 50)),
            ending: Some(Ending {
                known_at: at(n + 60),
                outcome: Outcome::Done,
            }),
            ..attempt(n * 5, (n % 7) as u8, Some(Outcome::Done))
        })
        .collect();
    let (_, go_on) = decided(Mode::Observe, &good, HaltsSoFar::default());
    let told = text(&go_on, whole_room());
    let expected = "4.20.4: go on. 0 of 400 failed. A failure rate of 5 % is ruled out. \
         Too few outcomes are known for updates from 4.19.\n";
    assert!(told.starts_with(expected), "{told}");
    let bad: Vec<Attempt> = (0..60)
        .map(|n| attempt(n * 5, (n % 7) as u8, Some(Outcome::Failed)))
        .collect();
    let (_, halt) = decided(Mode::Observe, &bad, HaltsSoFar::default());
    let told = text(&halt, whole_room());
    assert!(
        told.starts_with("4.20.4: halt, for all clusters. 60 of 60 failed."),
        "{told}"
    );
    assert!(
        told.contains("`towpath rollouts halt` stops the release"),
        "{told}"
    );
    let one: Vec<Attempt> = (0..60)
        .map(|n| attempt(n * 5, 1, Some(Outcome::Failed)))
        .collect();
    let (_, held_back) = decided(Mode::Enforce, &one, HaltsSoFar::default());
    let told = text(&held_back, whole_room());
    assert!(
        told.contains("without organisation org1 the evidence is not enough"),
        "{told}"
    );
    let json = towpath_formats::feedback::assessment(&held_back);
    assert_eq!(json["heldBack"]["code"], "only-with");
    assert_eq!(
        (&json["answer"], &json["mode"]),
        (&"inconclusive".into(), &"enforce".into())
    );
}

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let one = (0..800_i64, 0..5_u8, 0..4_u8).prop_map(|(number, organisation, outcome)| {
        let outcome = [
            None,
            Some(Outcome::Failed),
            Some(Outcome::Done),
            Some(Outcome::Degraded),
        ][outcome as usize];
        attempt(number, organisation, outcome)
    });
    prop::collection::vec(one, 0..120)
}

fn so_far() -> impl Strategy<Value = HaltsSoFar> {
    let scopes = [
        HaltScope::default(),
        HaltScope {
            from: Minor::parse("4.19"),
            ..HaltScope::default()
        },
        HaltScope {
            arch: Some(Arch::new("arm64")),
            platform: Platform::new("AWS"),
            from: None,
        },
    ];
    let some = prop::sample::subsequence(scopes.to_vec(), 0..=3);
    (some.clone(), some).prop_map(|(made, proposed)| HaltsSoFar {
        made: made.into_iter().collect(),
        proposed: proposed.into_iter().collect(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_decision_replays_to_the_bit_from_what_was_written_down(attempts in attempts(), so_far in so_far(), mode in 0..3_usize) {
        let (case, decision) = decided(Mode::ALL[mode], &attempts, so_far);
        let parts = record::parts(&case);
        let given = || parts.iter().map(|(name, body)| (*name, body.as_slice()));
        prop_assert_eq!(record::from_parts(given()).unwrap(), case);
        let logged = record::logged(&decision.judgement).to_string();
        prop_assert_eq!(record::replay(given(), logged.as_bytes()), Ok(true));
        // The same reports in another order are the same bytes.
        let mut reordered = attempts;
        reordered.reverse();
        let (other, _) = decided(Mode::ALL[mode], &reordered, record::from_parts(given()).unwrap().so_far);
        prop_assert_eq!(record::parts(&other), parts);
    }
}

#[test]
fn what_was_changed_or_is_not_ours_is_told() {
    let under_way: Vec<Attempt> = (0..3).map(|n| attempt(850 + n * 5, 1, None)).collect();
    let (_, unknown) = decided(Mode::Observe, &under_way, HaltsSoFar::default());
    let told = text(&unknown, whole_room());
    let expected = "4.20.4: inconclusive. No outcome is known yet; 3 updates are under way. A";
    assert!(told.starts_with(expected), "{told}");
    let (_, nobody) = decided(Mode::Observe, &[], HaltsSoFar::default());
    let told = text(&nobody, whole_room());
    assert!(
        told.starts_with("4.20.4: inconclusive. No update has begun."),
        "{told}"
    );
    let good: Vec<Attempt> = (0..400)
        .map(|n| Attempt {
            started_at: at(n),
            completed_at: Some(at(n + 50)),
            ending: Some(Ending {
                known_at: at(n + 60),
                outcome: Outcome::Done,
            }),
            ..attempt(n * 5, (n % 7) as u8, Some(Outcome::Done))
        })
        .collect();
    let (_, go_on) = decided(Mode::Observe, &good, HaltsSoFar::default());
    let told = text(&go_on, whole_room());
    let expected = "4.20.4: go on. 0 of 400 failed. A failure rate of 5 % is ruled out. \
         Too few outcomes are known for updates from 4.19.\n";
    assert!(told.starts_with(expected), "{told}");
    let bad: Vec<Attempt> = (0..60)
        .map(|n| attempt(n * 5, (n % 7) as u8, Some(Outcome::Failed)))
        .collect();
    let (case, decision) = decided(Mode::Enforce, &bad, HaltsSoFar::default());
    let parts = record::parts(&case);
    let given = || parts.iter().map(|(name, body)| (*name, body.as_slice()));
    let logged = record::logged(&decision.judgement).to_string();
    let changed = logged.replacen("\"halt\"", "\"go-on\"", 1);
    assert_eq!(record::replay(given(), changed.as_bytes()), Ok(false));
    let later = logged.replace("\"format\":1", "\"format\":2");
    assert!(
        record::replay(given(), later.as_bytes())
            .unwrap_err()
            .contains("speaks 1")
    );
    assert!(
        record::from_parts(given().take(1))
            .unwrap_err()
            .contains("is missing")
    );
    assert!(
        record::from_parts(given().chain(given()))
            .unwrap_err()
            .contains("twice")
    );
    assert!(
        record::from_parts([("rest", &b"{}"[..])])
            .unwrap_err()
            .contains("no part")
    );
    assert!(record::is_of_a_watch(given().map(|(name, _)| name)));
}
