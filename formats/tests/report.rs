//! What an agent writes, the service reads as it was meant; and it fits, whatever the cluster says of itself.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use towpath_core::agent::{ClusterStanding, Condition, Past, Status, UpdateTarget};
use towpath_core::cluster::objects::{Facts, Node, Progress};
use towpath_core::cluster::{Fact, Platform};
use towpath_core::fleet::{AgentOutcome, AgentUpdate, Health, Labels};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, Version};
use towpath_formats::cluster::objects::ClusterObjects;
use towpath_formats::fleet::report::{
    MAX_BYTES, MAX_ENTRIES, Report, Seen, platform_of, read, write,
};

fn version() -> impl Strategy<Value = Version> {
    (
        0..30_u64,
        0..99_u64,
        prop::sample::select(vec![
            "",
            "-rc.1",
            "-multi",
            "-arm64",
            "-0.nightly-2026-01-01-000000",
        ]),
    )
        .prop_map(|(minor, patch, end)| format!("4.{minor}.{patch}{end}").parse().unwrap())
}

fn time() -> impl Strategy<Value = Timestamp> {
    (
        0..4_000_000_000_i64,
        prop::sample::select(vec![0, 1, 500_000_000]),
    )
        .prop_map(|(second, nanosecond)| Timestamp::new(second, nanosecond).unwrap())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z]{0,20}",
        "\\PC{0,40}",
        "[\\x00-\\x20\"\\\\é]{0,3000}"
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let status = prop::sample::select(vec![Status::True, Status::False, Status::Unknown]);
    (status, text(), text(), option::of(time())).prop_map(|(status, reason, message, since)| {
        Condition {
            status,
            reason: reason.into(),
            message: message.into(),
            since,
        }
    })
}

fn past() -> impl Strategy<Value = Past> {
    let progress = prop::sample::select(vec![Progress::Completed, Progress::Partial]);
    (version(), progress, option::of(time()), option::of(time())).prop_map(
        |(version, progress, started, ended)| Past {
            version,
            progress,
            started,
            ended,
        },
    )
}

fn update() -> impl Strategy<Value = AgentUpdate> {
    let outcome = prop::sample::select(AgentOutcome::ALL.to_vec());
    (
        version(),
        outcome,
        text(),
        time(),
        option::of(-5..5_000_000_000_i64),
        any::<bool>(),
    )
        .prop_map(
            |(to, outcome, why, started_at, took, is_automatic)| AgentUpdate {
                to,
                outcome,
                why: why.into(),
                started_at,
                took: took.map(SignedDuration::from_secs),
                is_automatic,
            },
        )
}

fn objects() -> impl Strategy<Value = ClusterObjects> {
    let names = prop_oneof![
        "[A-Z][a-z]{1,12}",
        Just("Failing".to_owned()),
        Just("Available".to_owned()),
        text()
    ];
    let standing = (
        option::of(version()),
        btree_map(names, condition(), 0..90),
        vec(past(), 0..90),
        past().prop_map(|past| Past {
            progress: Progress::Completed,
            ..past
        }),
    );
    let channel = option::of(Just(ChannelName::new("stable-4.20").unwrap()));
    let arch = option::of(prop::sample::select(vec![
        Arch::default(),
        Arch::new("arm64"),
    ]));
    (standing, channel, arch, option::of(0..5_usize)).prop_map(
        |((desired, conditions, mut past, installed), channel, arch, nodes)| {
            past.push(installed);
            let node = Node {
                name: "n".into(),
                pool: Fact::Unknown,
                kubelet: Fact::Unknown,
            };
            ClusterObjects {
                id: Fact::Unknown,
                channel: channel.into(),
                facts: Facts {
                    nodes: nodes.map(|count| vec![node; count]).into(),
                    ..Facts::default()
                },
                standing: ClusterStanding {
                    desired: desired.map(|version| UpdateTarget {
                        version: Some(version),
                        ..UpdateTarget::default()
                    }),
                    conditions: conditions
                        .into_iter()
                        .map(|(name, said)| (name.into(), said))
                        .collect(),
                    past,
                    ..ClusterStanding::default()
                },
                shape: None,
                arch: arch.into(),
                daemon_sets: Fact::Unknown,
                counts: BTreeMap::new(),
                ignored: 0,
            }
        },
    )
}

fn seen<'a>(
    objects: &'a ClusterObjects,
    labels: &'a Labels,
    updates: &'a [AgentUpdate],
) -> Seen<'a> {
    let (organisation, name) = ("acme", Some("shop"));
    let at = "2026-05-12T10:30:00Z".parse().unwrap();
    Seen {
        id: "r-1",
        objects,
        organisation,
        name,
        labels,
        platform: Fact::Unknown,
        updates,
        preflights: &[],
        at,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back_and_fits(
        objects in objects(),
        labels in btree_map("[a-z]{1,10}", "\\PC{0,20}", 0..5),
        updates in vec(update(), 0..70),
    ) {
        let report = Report::of(&seen(&objects, &labels, &updates)).unwrap();
        let bytes = write(&report);
        prop_assert!(bytes.len() <= MAX_BYTES);
        prop_assert_eq!(read(&bytes), Ok(report.clone()));
        prop_assert!(!bytes.contains(&0), "what cannot be stored is not sent");
        let standing = &objects.standing;
        prop_assert_eq!(report.updates.len(), updates.len().min(MAX_ENTRIES), "no outcome is left out");
        let says = |name: &str, status| standing.conditions.get(name).is_some_and(|said| said.status == status);
        prop_assert_eq!(report.failing, says("Failing", Status::True), "however many conditions there are");
        let is_sick = says("Failing", Status::True) || says("Available", Status::False);
        prop_assert_eq!(matches!(report.health, Health::Unhealthy { .. }), is_sick);
        let current = standing.current().unwrap().to_string();
        prop_assert!(current.starts_with(&report.version.to_string()), "{} / {}", current, report.version);
    }
}

fn small() -> ClusterObjects {
    let at = |text: &str| Some(text.parse().unwrap());
    let past = |version: &str, progress, started, ended| Past {
        version: version.parse().unwrap(),
        progress,
        started,
        ended,
    };
    let standing = ClusterStanding {
        desired: Some(UpdateTarget {
            version: Some("4.20.2".parse().unwrap()),
            image: Some("quay.io/x@sha256:1".into()),
            ..UpdateTarget::default()
        }),
        past: vec![
            past(
                "4.20.2",
                Progress::Partial,
                at("2026-05-12T10:00:00Z"),
                None,
            ),
            past(
                "4.20.1",
                Progress::Completed,
                at("2026-05-01T09:00:00Z"),
                at("2026-05-01T10:00:00Z"),
            ),
        ],
        ..ClusterStanding::default()
    };
    ClusterObjects {
        id: Fact::Unknown,
        channel: Fact::Known(ChannelName::new("stable-4.20").unwrap()),
        facts: Facts::default(),
        standing,
        shape: None,
        arch: Fact::Unknown,
        daemon_sets: Fact::Unknown,
        counts: BTreeMap::new(),
        ignored: 0,
    }
}

#[test]
fn what_is_not_known_is_left_out() {
    let (objects, labels) = (small(), Labels::new());
    let written =
        String::from_utf8(write(&Report::of(&seen(&objects, &labels, &[])).unwrap())).unwrap();
    let expected: serde_json::Value = serde_json::json!({
        "id": "r-1", "name": "shop", "organisation": "acme", "version": "4.20.1", "desired": "4.20.2",
        "channel": "stable-4.20", "at": "2026-05-12T10:30:00Z",
        "history": [
            {"version": "4.20.2", "state": "Partial", "startedTime": "2026-05-12T10:00:00Z"},
            {"version": "4.20.1", "state": "Completed", "startedTime": "2026-05-01T09:00:00Z", "completionTime": "2026-05-01T10:00:00Z"},
        ],
    });
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&written).unwrap(),
        expected
    );
}

#[test]
fn what_the_service_would_not_take_is_said_before_it_is_sent() {
    let (objects, labels) = (small(), Labels::new());
    let wrong = |seen: Seen<'_>| Report::of(&seen).unwrap_err();
    let good = seen(&objects, &labels, &[]);
    let many: Labels = (0..65).map(|n| (n.to_string(), String::new())).collect();
    let large: Labels = (0..64).map(|n| (n.to_string(), "x".repeat(1024))).collect();
    let installing = ClusterObjects {
        standing: ClusterStanding::default(),
        ..small()
    };
    for (error, expected) in [
        (
            wrong(Seen {
                organisation: "",
                ..good.clone()
            }),
            "organisation is \"\"",
        ),
        (
            wrong(Seen {
                id: "",
                ..good.clone()
            }),
            "the report's id",
        ),
        (
            wrong(Seen {
                labels: &many,
                ..good.clone()
            }),
            "65 labels; at most 64",
        ),
        (
            wrong(Seen {
                labels: &large,
                ..good.clone()
            }),
            "fewer labels",
        ),
        (
            wrong(Seen {
                objects: &installing,
                ..good.clone()
            }),
            "no update and no installation",
        ),
    ] {
        assert!(error.contains(expected), "{error} / {expected}");
    }
}

#[test]
fn a_platform_is_what_the_infrastructure_says() {
    let known = |name: &str| Fact::Known(Platform::new(name).unwrap());
    for (text, expected) in [
        (
            r#"{"kind": "Infrastructure", "status": {"platform": "AWS", "platformStatus": {"type": "AWS"}}}"#,
            known("AWS"),
        ),
        (r#"{"status": {"platform": "GCP"}}"#, known("GCP")),
        (
            r#"{"status": {"platformStatus": {"type": "a b"}}}"#,
            Fact::Unknown,
        ),
        (r#"{"spec": {}}"#, Fact::Unknown),
        ("", Fact::Unknown),
    ] {
        assert_eq!(platform_of(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn what_became_of_a_preflight_comes_back_and_is_cut_to_what_a_report_can_say() {
    let text = r#"{"organisation": "o", "version": "4.20.1", "preflights": [
        {"id": "r-1", "version": "4.21.0", "outcome": "failed", "why": "too old", "risks": ["OldDriver"]},
        {"id": "r-2", "version": "4.21.1", "outcome": "unsupported"}]}"#;
    let report = read(text.as_bytes()).unwrap();
    let told: Vec<_> = report
        .preflights
        .iter()
        .map(|one| (&*one.id, one.state.code(), &*one.why, one.risks.len()))
        .collect();
    assert_eq!(
        told,
        [
            ("r-1", "failed", "too old", 1),
            ("r-2", "unsupported", "", 0)
        ]
    );
    assert_eq!(read(&write(&report)).unwrap(), report);
    for state in ["asked", "running", "fine"] {
        let other = text.replacen("failed", state, 1);
        let error = read(other.as_bytes()).unwrap_err();
        assert!(
            error.contains("there are: passed, failed, incomplete, unsupported, refused"),
            "{error}"
        );
    }
    // An agent of before says nothing about preflights.
    let older = read(br#"{"organisation": "o", "version": "4.20.1"}"#).unwrap();
    assert_eq!(older.preflights, []);
}
