//! What is explained is what is offered: now, at the time that was named, and not a moment before.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{Cluster, Fact};
use towpath_core::graph::{
    ChannelName, ExplainedRelease, Graph, ReleaseId, Situation, explain, recommend,
};
use towpath_core::rules::Policy;
use towpath_core::verdict::Answer;
use towpath_core::version::Arch;
use towpath_formats::graph::explain::{ExplainReport, json, text};
use towpath_formats::minors::built_in;
use towpath_formats::room::Room;

use towpath_testing_graphs::graph;
use towpath_testing_graphs::random::{HOURS, any_cluster, any_graph, at};

/// Whether a client that asks for its graph then is shown the edge.
fn is_shown(
    graph: &Graph,
    cluster: &Cluster,
    now: Timestamp,
    from: ReleaseId,
    to: ReleaseId,
) -> bool {
    let view = recommend(
        Policy::graph(),
        &Situation {
            graph,
            cluster,
            now,
        },
    );
    view.offered()
        .any(|(edge, _)| (edge.from, edge.to) == (from, to))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn at_that_time_it_is_offered_and_a_moment_before_it_is_not(
        graph in any_graph(), cluster in any_cluster(), now in 0..HOURS * 90, later in 0..HOURS * 90,
    ) {
        let (now, later) = (at(now), at(later.max(now)));
        for (number, release) in (0..).zip(graph.releases()).filter(|(_, release)| release.arch == cluster.arch) {
            let from = ReleaseId(number);
            let situation = Situation { graph: &graph, cluster: &cluster, now };
            let explanation = explain(&situation, &release.version, None, &built_in(), &[]);
            let told: Vec<ReleaseId> = explanation.candidates.iter().filter_map(|candidate| candidate.release).collect();
            for ExplainedRelease { release: to, verdict, .. } in &explanation.candidates {
                let to = to.unwrap();
                let shown = |at| is_shown(&graph, &cluster, at, from, to);
                prop_assert_eq!(verdict.is_offered(), shown(now));
                match verdict.answer {
                    Answer::Wait { until: Some(until) } => {
                        prop_assert!(until > now && shown(until), "at {} it is offered", until);
                        prop_assert!(!shown(until - SignedDuration::from_nanos(1)), "before {} it is not", until);
                    }
                    Answer::Wait { until: None } => {
                        let is_hold = verdict.reasons.iter().any(|reason| reason.code().name == "RolloutHeld");
                        prop_assert!(is_hold, "the graph can always say until when, but for what people hold");
                        prop_assert!(!shown(later));
                    }
                    Answer::Refuse => prop_assert!(!shown(later) && !verdict.reasons.is_empty()),
                    Answer::Recommend | Answer::RecommendUnless(_) => prop_assert!(shown(later)),
                }
                let asked = explain(&situation, &release.version, Some(&graph.release(to).version), &built_in(), &[]);
                prop_assert_eq!(&asked.candidates[0].verdict, verdict);
                let told = ExplainReport { at: &situation, from: &release.version, explanation: &asked };
                prop_assert!(!text(&told, Room::default()).is_empty() && json(&told)["candidates"].as_array().unwrap().len() == 1);
            }
            // Whatever it is shown, it is told of.
            for (edge, _) in recommend(Policy::graph(), &situation).offered().filter(|(edge, _)| edge.from == from) {
                prop_assert!(told.contains(&edge.to));
            }
        }
    }
}

/// Releases next to each other with one answer and one reason are a range; the files that say so are counted.
#[test]
fn the_same_is_said_once() {
    let graph = graph(
        "
        channel stable-4.10 4.9.0 4.9.1 4.9.2 4.9.3 4.9.4 4.9.5 4.9.6 4.9.7 4.9.8 4.9.9 4.9.10 4.9.11 4.10.1 4.10.2
        edges 4.9.0 -> 4.9.1 4.9.2 4.9.3 4.9.4 4.9.5 4.9.6 4.9.7 4.9.8 4.9.9 4.9.10 4.9.11 4.10.1 4.10.2
        block a.yaml 4.9.3
        block b.yaml 4.9.4
        risk Slow c.yaml 4.9.7 rules query
        risk Slow d.yaml 4.9.8 rules query
        ",
    );
    let cluster = Cluster {
        id: Fact::Unknown,
        platform: Fact::Unknown,
        channel: ChannelName::new("stable-4.10").unwrap(),
        groups: Fact::Unknown,
        arch: Arch::default(),
    };
    let (from, now) = ("4.9.0".parse().unwrap(), at(0));
    let situation = Situation {
        graph: &graph,
        cluster: &cluster,
        now,
    };
    let explanation = explain(&situation, &from, None, &built_in(), &[]);
    let told = ExplainReport {
        at: &situation,
        from: &from,
        explanation: &explanation,
    };
    assert_eq!(json(&told)["candidates"].as_array().unwrap().len(), 13);
    expect![[r#"
        4.9.0 in stable-4.10 (amd64), a cluster that does not tell its id, on an unknown platform, at 2026-01-01 00:00Z
        11 of 13 updates are offered now, 2 of them with risks.

        4.10.1, 4.10.2               yes
        4.9.9 … 4.9.11 (3 releases)  yes
        4.9.7, 4.9.8                 yes, unless Slow applies
        4.9.5, 4.9.6                 yes

        4.9.3, 4.9.4                 no
            - blocked for every cluster (a.yaml, b.yaml) [HardBlock]
              → take another release; the block's file says why

        4.9.1, 4.9.2                 yes

        The risks, which a cluster weighs itself:

        Slow
            m
            https://example.com
            It applies where this gives 1: x
              c.yaml, d.yaml
    "#]].assert_eq(&text(&told, Room::default()));
}
