//! Rings: who goes first, when, and what nobody gains by hiding.

#![allow(
    clippy::unwrap_used,
    reason = "what a test writes is right, or the test is to fail"
)]

use expect_test::{Expect, expect};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{Cluster, ClusterId};
use towpath_core::graph::{ChannelName, Graph, RingId, RolloutRule, Situation, explain, recommend};
use towpath_core::rules::Policy;
use towpath_core::version::Arch;

use towpath_testing_graphs::random::{HOURS, any_channel, any_cluster, any_graph, at};
use towpath_testing_graphs::{day, graph, groups, minors};

/// Canaries until 06:00, early clusters from 06:00 to noon, everybody else from the next day on.
const DATA: &str = "
    channel stable
    ring canaries sector canary
    ring early label tier dev
    rule any P2D after P1D
    turn canaries PT6H
    turn early PT6H after PT6H
    release 4.9.1 day 1
    release 4.9.2 day 10
    edges 4.9.1 -> 4.9.2";

fn cluster(id: Option<&str>, sorted: Option<&str>) -> Cluster {
    Cluster {
        id: id.and_then(ClusterId::new).into(),
        groups: groups(sorted),
        ..Cluster::anonymous(ChannelName::new("stable").unwrap(), Arch::default())
    }
}

fn sees(graph: &Graph, cluster: &Cluster, now: Timestamp) -> bool {
    let at = Situation {
        graph,
        cluster,
        now,
    };
    recommend(Policy::graph(), &at).offered().next().is_some()
}

/// When a cluster first sees the one edge there is, to the nanosecond, as `explain` says; checked on both sides.
fn first_seen(graph: &Graph, cluster: &Cluster) -> Timestamp {
    let at = Situation {
        graph,
        cluster,
        now: day("10"),
    };
    let from = "4.9.1".parse().unwrap();
    let told = explain(&at, &from, None, &minors(), &[]);
    let due = told.candidates[0].offered_from(day("10")).unwrap();
    let before = due - SignedDuration::from_nanos(1);
    assert!(sees(graph, cluster, due), "at {due}");
    assert!(
        due == day("10") || !sees(graph, cluster, before),
        "before {due}"
    );
    due
}

/// The first instants of a hundred clusters that are sorted alike: the earliest and the latest, to the hour.
fn spread(graph: &Graph, sorted: Option<&str>) -> String {
    let ids = (0..100).map(|n| format!("cluster-{n}"));
    let instants = ids.map(|id| first_seen(graph, &cluster(Some(&id), sorted)));
    let mut instants: Vec<Timestamp> = instants.collect();
    instants.sort_unstable();
    let hour = |at: &Timestamp| at.strftime("%dT%H").to_string();
    format!(
        "{} to {}",
        hour(&instants[0]),
        hour(instants.last().unwrap())
    )
}

#[test]
fn each_ring_has_a_window_of_its_own_and_everybody_else_comes_last() {
    let graph = graph(DATA);
    let of = |sorted| spread(&graph, sorted);
    assert_eq!(of(Some("canary")), "10T00 to 10T05");
    assert_eq!(of(Some("tier=dev")), "10T06 to 10T11");
    // A cluster of two rings is in the first.
    assert_eq!(of(Some("canary,tier=dev")), "10T00 to 10T05");
    for others in [Some("prod"), Some("tier=prod"), Some("-"), None] {
        assert_eq!(of(others), "11T01 to 12T22", "{others:?}");
    }
}

#[test]
fn without_an_id_a_cluster_comes_at_the_end_of_everybody_else() {
    let graph = graph(DATA);
    assert_eq!(first_seen(&graph, &cluster(None, None)), day("13"));
}

#[test]
fn a_ring_that_a_rule_does_not_name_goes_with_the_next_one_that_it_names() {
    let only_early = DATA.replace("    turn canaries PT6H\n", "");
    assert_eq!(
        spread(&graph(&only_early), Some("canary")),
        "10T06 to 10T11"
    );
    let only_canaries = DATA.replace("    turn early PT6H after PT6H\n", "");
    assert_eq!(
        spread(&graph(&only_canaries), Some("tier=dev")),
        "11T01 to 12T22"
    );
}

#[test]
fn what_is_locked_or_held_or_replaces_what_was_halted_knows_no_rings() {
    let all = |data: &str, sorted| spread(&graph(data), sorted);
    let locked = DATA.replace("4.9.2 day 10", "4.9.2 day 10 locked");
    for sorted in [Some("canary"), None] {
        assert_eq!(all(&locked, sorted), "10T00 to 10T00");
    }
    let held = graph(&DATA.replace("4.9.2 day 10", "4.9.2 day 10 held"));
    let canary = cluster(Some("x"), Some("canary"));
    assert!(!sees(&held, &canary, day("30")));
    // A fix goes first to those who were hit, whatever their ring.
    let fix =
        DATA.replace("4.9.2 day 10", "4.9.2 day 10 replaces 4.9.1") + "\nblock 4.9.1 halted watch";
    assert_eq!(all(&fix, None), "10T00 to 10T00");
}

#[test]
fn explain_says_the_ring_and_why_or_that_it_is_not_known() {
    let graph = graph(DATA);
    let told = |sorted, now: &str| {
        let cluster = cluster(Some("x"), sorted);
        let at = Situation {
            graph: &graph,
            cluster: &cluster,
            now: day(now),
        };
        let from = "4.9.1".parse().unwrap();
        let told = explain(&at, &from, None, &minors(), &[]);
        let verdict = told.candidates.into_iter().next().unwrap().verdict;
        let reasons = verdict.reasons.iter();
        let reasons: Vec<String> = reasons
            .map(|it| format!("{}: {}", it.code(), it.text()))
            .collect();
        format!("{} {}\n", verdict.answer.word(), reasons.join("; "))
    };
    let check = |sorted, now, expected: Expect| expected.assert_eq(&told(sorted, now));
    check(
        Some("canary"),
        "10",
        expect![[r#"
        wait RolloutRingNotReached: the cluster is in ring canaries (sector canary), which has it from 2026-11-10 00:00Z to 2026-11-10 06:00Z; the rollout reaches this cluster at 2026-11-10 00:33:33Z, when 9.3 % of the ring have it
    "#]],
    );
    check(
        Some("canary"),
        "10T06",
        expect![[r#"
        yes RolloutRing: the cluster is in ring canaries (sector canary), which goes first: the ring has it from 2026-11-10 00:00Z to 2026-11-10 06:00Z, everybody else until 2026-11-13 00:00Z
    "#]],
    );
    check(
        Some("tier=dev"),
        "10T01",
        expect![[r#"
        wait RolloutRingNotReached: the cluster is in ring early (label tier=dev), which has it from 2026-11-10 06:00Z to 2026-11-10 12:00Z; the rollout reaches this cluster at 2026-11-10 06:33:33Z, when 9.3 % of the ring have it
    "#]],
    );
    check(
        Some("prod"),
        "10T06",
        expect![[r#"
        wait RolloutAfterRings: canaries, early go first, and this cluster is in no ring; everybody else has it from 2026-11-11 00:00Z to 2026-11-13 00:00Z, and the rollout reaches this cluster at 2026-11-11 04:28:24Z, when 9.3 % of them have it
    "#]],
    );
    check(
        None,
        "10T06",
        expect![[r#"
        wait RolloutAfterRings: canaries, early go first, and nobody knows a ring of this cluster; everybody else has it from 2026-11-11 00:00Z to 2026-11-13 00:00Z, and the rollout reaches this cluster at 2026-11-11 04:28:24Z, when 9.3 % of them have it
    "#]],
    );
    // Once everybody has it, there is nothing to say.
    check(
        Some("canary"),
        "13",
        expect![[r#"
        yes 
    "#]],
    );
}

/// Within a ring, releases share out the risk of being early as they do in a fleet: nobody is among the first tenth twice in a row.
#[test]
fn within_a_ring_nobody_is_in_the_first_tenth_twice_in_a_row() {
    let mut text = DATA.split("    release").next().unwrap().to_owned();
    text += "release 4.9.0 day 1\n";
    for patch in 1..20 {
        text += &format!("release 4.9.{patch} day 10\nedges 4.9.0 -> 4.9.{patch}\n");
    }
    let graph = graph(&text);
    // A tenth of the canaries' six hours.
    let now = day("10") + SignedDuration::from_mins(36);
    let mut early_at_all = 0;
    for number in 0..500 {
        let cluster = cluster(Some(&format!("cluster-{number}")), Some("canary"));
        let at = Situation {
            graph: &graph,
            cluster: &cluster,
            now,
        };
        let view = recommend(Policy::graph(), &at);
        let offered = view
            .offered()
            .map(|(edge, _)| graph.release(edge.to).version.patch());
        let mut early: Vec<u64> = offered.collect();
        early.sort_unstable();
        early_at_all += early.len();
        assert!(
            early.windows(2).all(|pair| pair[1] > pair[0] + 1),
            "{number}: {early:?}"
        );
    }
    // A tenth of 500 clusters for each of 19 releases.
    assert!((800..1100).contains(&early_at_all), "{early_at_all}");
}

fn offered(graph: &Graph, cluster: &Cluster, now: Timestamp) -> Vec<[String; 2]> {
    let view = recommend(
        Policy::graph(),
        &Situation {
            graph,
            cluster,
            now,
        },
    );
    let version = |id| graph.release(id).version.to_string();
    view.offered()
        .map(|(edge, _)| [version(edge.from), version(edge.to)])
        .collect()
}

proptest! {
    /// Whoever hides how they are sorted, or is not known, sees nothing that those see not who are known, in whatever ring.
    #[test]
    fn an_unknown_ring_sees_no_edge_before_anybody_who_is_known(
        graph in any_graph(), cluster in any_cluster(), now in 0..HOURS * 90,
    ) {
        let hidden = Cluster { groups: groups(None), ..cluster.clone() };
        let known = offered(&graph, &cluster, at(now));
        for edge in offered(&graph, &hidden, at(now)) {
            prop_assert!(known.contains(&edge), "{:?} gains {edge:?} by hiding {:?}", cluster.id, cluster.groups);
        }
    }

    /// The random rules are such that a reader takes them: each ring is never behind the next.
    #[test]
    fn random_rings_are_in_order(spec in any_channel("stable-4.9")) {
        for rule in spec.rollouts.iter().filter(|rule| rule.has_rings()) {
            let rings: Vec<RingId> = RingId::all(spec.rings.len()).collect();
            let window = |ring| RolloutRule::window_of(rule, ring, at(0));
            for pair in rings.windows(2) {
                prop_assert!(window(pair[0]).is_never_behind(&window(pair[1])));
            }
        }
    }
}
