//! What is taken from sources that fail: refusals, ages, unions.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

mod guards;
mod payloads;
mod recheck;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::Cluster;
use towpath_core::finding::Place;
use towpath_core::graph::{
    ChannelName, ChannelSpec, DeclaredEdge, DeclaredRelease, Graph, GraphData, MatchingRule,
    Member, Releases, Risk, Situation, StaleCause, StaleSource, explain, recommend,
};
use towpath_core::intake::*;
use towpath_core::rules::Policy;
use towpath_core::version::{Arch, ReleaseName};
use towpath_testing_graphs::{minors, pieces};

#[test]
fn ages_change_at_their_instants_and_not_before() {
    let hour = SignedDuration::from_hours(1);
    let ages = Ages {
        degraded_after: hour,
        closed_after: Some(hour * 24),
    };
    let read: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let (instant, late) = (SignedDuration::from_nanos(1), read + hour * 24);
    for (now, expected, next) in [
        (read - hour, Freshness::Fresh, Some(read + hour)),
        (read + hour - instant, Freshness::Fresh, Some(read + hour)),
        (read + hour, Freshness::Degraded, Some(late)),
        (late - instant, Freshness::Degraded, Some(late)),
        (late, Freshness::Closed, None),
    ] {
        assert_eq!(
            (
                Freshness::of(read, now, &ages),
                next_change(read, now, &ages)
            ),
            (expected, next),
            "{now}"
        );
    }
    let never = Ages {
        closed_after: None,
        ..ages
    };
    assert_eq!(Freshness::of(read, late, &never), Freshness::Degraded);
    assert_eq!(next_change(read, late, &never), None);
}

fn release(version: &str, payload: &str) -> DeclaredRelease {
    DeclaredRelease {
        payload: payload.into(),
        ..pieces::release(&version.parse().unwrap())
    }
}

fn supply(source: &str, releases: Vec<DeclaredRelease>, edges: Vec<DeclaredEdge>) -> Supply {
    Supply {
        source: source.into(),
        releases: Releases { releases, edges },
    }
}

fn edge(from: u32, to: u32) -> DeclaredEdge {
    DeclaredEdge {
        from,
        to,
        risks: None,
    }
}

fn risky(from: u32, to: u32, name: &str) -> DeclaredEdge {
    let risk = Risk {
        name: name.into(),
        url: "https://example.com".into(),
        message: "m".into(),
        matching_rules: vec![MatchingRule::Always],
    };
    DeclaredEdge {
        from,
        to,
        risks: Some(Arc::new([risk])),
    }
}

/// The graph of a union, with one channel that holds everything.
fn graph(united: UnitedReleases) -> Graph {
    let member = |release: &DeclaredRelease| Member {
        name: ReleaseName {
            version: release.version.clone(),
            arch: None,
        },
        start: None,
        locked: false,
        held: false,
        replaces: None,
        origin: Place::file("c"),
    };
    let members = united.releases.releases.iter().map(member).collect();
    let name = ChannelName::new("c").unwrap();
    let channels = vec![ChannelSpec {
        name,
        rings: Vec::new(),
        rollouts: vec![],
        members,
        origin: Place::file("c"),
    }];
    Graph::build(
        GraphData {
            channels,
            blocks: united.blocks,
            metadata: vec![],
        },
        united.releases,
    )
    .0
}

fn told(graph: &Graph, from: &str) -> Vec<String> {
    let cluster = Cluster::anonymous(ChannelName::new("c").unwrap(), Arch::default());
    let at = Situation {
        graph,
        cluster: &cluster,
        now: Timestamp::UNIX_EPOCH,
    };
    let explained = explain(&at, &from.parse().unwrap(), None, &minors(), &[]);
    let line = |candidate: &towpath_core::graph::ExplainedRelease| {
        let reasons: Vec<String> = candidate
            .verdict
            .reasons
            .iter()
            .map(ToString::to_string)
            .collect();
        format!(
            "{} {}: {}",
            candidate.to,
            candidate.verdict.is_offered(),
            reasons.join("; ")
        )
    };
    explained.candidates.iter().map(line).collect()
}

#[test]
fn sources_unite_and_the_first_has_the_say_about_words() {
    let with = |mut release: DeclaredRelease, entries: &[(&str, &str)]| {
        release.metadata = entries
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect();
        release
    };
    let united = unite(vec![
        supply(
            "a",
            vec![
                with(release("4.9.0", "quay.io/x@sha256:0"), &[("url", "a")]),
                release("4.9.1", "p@sha256:1"),
            ],
            vec![edge(0, 1)],
        ),
        supply(
            "b",
            vec![
                release("4.9.2", "p@sha256:2"),
                with(
                    release("4.9.0", "mirror/x@sha256:0"),
                    &[("url", "b"), ("more", "b")],
                ),
            ],
            vec![edge(1, 0)],
        ),
    ]);
    assert_eq!(
        (united.findings.len(), united.blocks.len()),
        (0, 0),
        "a mirror has another address and the same digest"
    );
    let first = &united.releases.releases[0];
    assert_eq!(
        (
            first.payload.as_str(),
            first.metadata["url"].as_str(),
            first.metadata["more"].as_str()
        ),
        ("quay.io/x@sha256:0", "a", "b")
    );
    assert_eq!(
        told(&graph(united), "4.9.0"),
        ["4.9.2 true: ", "4.9.1 true: "]
    );
}

#[test]
fn a_risk_never_disappears_in_a_union() {
    let releases = || vec![release("4.9.0", "0"), release("4.9.1", "1")];
    let plain = || supply("plain", releases(), vec![edge(0, 1)]);
    let one = || supply("one", releases(), vec![risky(0, 1, "One")]);
    let two = || supply("two", releases(), vec![risky(0, 1, "Two")]);
    for order in [
        vec![plain(), one(), two()],
        vec![two(), one(), plain()],
        vec![one(), plain(), two()],
    ] {
        let told = told(&graph(unite(order)), "4.9.0");
        assert!(
            told[0].contains("the risk One") && told[0].contains("the risk Two"),
            "{told:?}"
        );
    }
}

#[test]
fn no_update_leads_to_a_release_whose_payload_is_disputed() {
    let of = |source: &str, digest: &str| {
        supply(
            source,
            vec![
                release("4.9.0", "p@sha256:0"),
                release("4.9.1", digest),
                release("4.9.2", "p@sha256:2"),
            ],
            vec![edge(0, 1), edge(1, 2)],
        )
    };
    let united = unite(vec![of("a", "p@sha256:1"), of("b", "p@sha256:bad")]);
    let finding = united.findings[0].to_string();
    assert!(
        finding.starts_with(
            "b: 4.9.1 for amd64 has the payload p@sha256:1 in a, and p@sha256:bad in b"
        ),
        "{finding}"
    );
    let graph = graph(united);
    assert_eq!(
        told(&graph, "4.9.0"),
        ["4.9.1 false: not offered to anybody, because a and b name different payloads for it (b)"]
    );
    assert_eq!(
        told(&graph, "4.9.1"),
        ["4.9.2 true: "],
        "whoever runs it finds the way on"
    );
}

#[test]
fn while_a_source_is_too_old_releases_stay_and_nothing_is_offered() {
    let releases = vec![
        release("4.9.0", "0"),
        release("4.9.1", "1"),
        release("4.9.2", "2"),
    ];
    let graph = graph(unite(vec![supply(
        "a",
        releases,
        vec![edge(0, 1), risky(0, 2, "Risk")],
    )]));
    let last_good = "2026-01-01T00:00:00Z".parse().unwrap();
    let closed = graph.clone().with_stale(vec![StaleSource {
        source: "graph-data".into(),
        last_good,
        cause: StaleCause::TooOld,
    }]);
    let cluster = Cluster::anonymous(ChannelName::new("c").unwrap(), Arch::default());
    let view = |graph: &Graph| {
        let view = recommend(
            Policy::graph(),
            &Situation {
                graph,
                cluster: &cluster,
                now: Timestamp::UNIX_EPOCH,
            },
        );
        (view.releases.len(), view.offered().count())
    };
    assert_eq!((view(&graph), view(&closed)), ((3, 2), (3, 0)));
    let sentence = "nothing is offered while graph-data cannot be read; the last good copy is of 2026-01-01 00:00Z";
    assert!(
        told(&closed, "4.9.0")
            .iter()
            .all(|line| line.contains(sentence))
    );
}
