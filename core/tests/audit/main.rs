//! What an audit says, told in small graphs. Every certificate in these tests is also checked, edge by edge.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod dsl;
mod random;

use dsl::{check, check_change};
use expect_test::expect;
use towpath_testing_graphs::{Checker, read};

#[test]
fn a_way_has_the_fewest_hops_and_then_the_newest_releases() {
    check(
        "channel stable-4.9 4.8.1 4.9.0 4.9.1 4.9.2 4.9.3
         edges 4.8.1 -> 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.1
         edges 4.9.1 -> 4.9.3
         edges 4.9.2 -> 4.9.3",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.8.1: is there; 4.8.1 -> 4.9.2 -> 4.9.3
              4.9.0: 4.9.0 -> 4.9.1 -> 4.9.3
              4.9.1: 4.9.1 -> 4.9.3
              4.9.2: 4.9.2 -> 4.9.3
              4.9.3: is there
        "#]],
    );
}

#[test]
fn a_plain_way_comes_before_a_shorter_one_with_risks() {
    check(
        "channel stable-4.9 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.1 4.9.2
         edges 4.9.1 -> 4.9.2
         risk Slow slow.yaml 4.9.2 from 4[.]9[.]0 rules query|always",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: 4.9.0 -> 4.9.1 -> 4.9.2
              4.9.1: 4.9.1 -> 4.9.2
              4.9.2: is there
        "#]],
    );
}

#[test]
fn a_way_with_risks_names_them() {
    check(
        "channel stable-4.9 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.1
         edges 4.9.1 -> 4.9.2
         risk Slow slow.yaml 4.9.1
         risk Leak leak.yaml 4.9.2 rules later|query",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: 4.9.0 -> 4.9.1 -> 4.9.2 unless Leak unless Slow
              4.9.1: 4.9.1 -> 4.9.2 unless Leak
              4.9.2: is there
        "#]],
    );
}

#[test]
fn a_risk_for_everybody_strands_like_a_block() {
    check(
        "channel stable-4.9 4.9.0 4.9.1
         edges 4.9.0 -> 4.9.1
         risk Broken broken.yaml 4.9.1 rules always",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: not to 4.9.1: broken.yaml (4.9.0 -> 4.9.1)
              4.9.1: is there
        "#]],
    );
    check(
        "channel stable-4.9 4.9.0 4.9.1
         edges 4.9.0 -> 4.9.1
         risk New new.yaml 4.9.1 rules later",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: not to 4.9.1: new.yaml (4.9.0 -> 4.9.1)
              4.9.1: is there
        "#]],
    );
}

#[test]
fn a_targeted_block_strands_its_platform_and_who_reports_none() {
    check(
        "channel stable-4.9 4.9.0 4.9.1
         channel stable-4.10 4.10.0
         edges 4.9.0 -> 4.9.1
         block aws.yaml 4.9.1 on AWS",
        expect![[r#"
            stable-4.9 for AWS, unknown platform
              4.9.0: not to 4.9.1: aws.yaml (4.9.0 -> 4.9.1)
              4.9.1: is there
            stable-4.9 for other platforms
              4.9.0: 4.9.0 -> 4.9.1
              4.9.1: is there
            stable-4.10 for AWS, other platforms, unknown platform
              4.10.0: is there
        "#]],
    );
}

#[test]
fn the_fewest_blocks_are_named_even_on_a_longer_way() {
    check(
        "channel stable-4.9 4.9.0 4.9.1 4.9.2 4.9.3
         edges 4.9.0 -> 4.9.1 4.9.3
         edges 4.9.1 -> 4.9.2
         edges 4.9.2 -> 4.9.3
         block one.yaml 4.9.3 from 4[.]9[.]0
         block two.yaml 4.9.3 from 4[.]9[.]0
         block three.yaml 4.9.1",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: not to 4.9.3: three.yaml (4.9.0 -> 4.9.1 -> 4.9.2 -> 4.9.3)
              4.9.1: 4.9.1 -> 4.9.2 -> 4.9.3
              4.9.2: 4.9.2 -> 4.9.3
              4.9.3: is there
        "#]],
    );
}

#[test]
fn all_blocks_of_an_edge_count() {
    check(
        "channel stable-4.9 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.1
         edges 4.9.1 -> 4.9.2
         block a.yaml 4.9.1
         block b.yaml 4.9.1 on AWS
         risk C c.yaml 4.9.1 rules always
         risk Weighed d.yaml 4.9.1
         block e.yaml 4.9.2",
        expect![[r#"
            stable-4.9 for AWS, unknown platform
              4.9.0: not to 4.9.2: a.yaml + b.yaml + c.yaml + e.yaml (4.9.0 -> 4.9.1 -> 4.9.2)
              4.9.1: not to 4.9.2: e.yaml (4.9.1 -> 4.9.2)
              4.9.2: is there
            stable-4.9 for other platforms
              4.9.0: not to 4.9.2: a.yaml + c.yaml + e.yaml (4.9.0 -> 4.9.1 -> 4.9.2)
              4.9.1: not to 4.9.2: e.yaml (4.9.1 -> 4.9.2)
              4.9.2: is there
        "#]],
    );
}

#[test]
fn want_of_edges_is_told_apart_from_blocks() {
    check(
        "channel stable-4.9 4.9.0 4.9.1 4.9.2 4.9.3
         edges 4.9.0 -> 4.9.1
         block a.yaml 4.9.1
         block b.yaml 4.9.3",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: not to 4.9.3: no edge reaches
              4.9.1: not to 4.9.3: no edge leaves
              4.9.2: not to 4.9.3: no edge leaves
              4.9.3: is there
        "#]],
    );
}

#[test]
fn releases_that_enter_later_are_not_there_yet() {
    check(
        "channel stable-4.9 4.9.0 4.9.1 4.9.2@2026-02-01
         edges 4.9.0 -> 4.9.1 4.9.2
         edges 4.9.1 -> 4.9.2
         block a.yaml 4.9.1",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: not to 4.9.1: a.yaml (4.9.0 -> 4.9.1)
              4.9.1: is there
        "#]],
    );
}

#[test]
fn a_window_that_has_opened_strands_nobody() {
    check(
        "channel stable-4.9 4.9.0 4.9.1@2026-01-05
         rule any P30D
         edges 4.9.0 -> 4.9.1",
        expect![[r#"
            stable-4.9 for other platforms, unknown platform
              4.9.0: 4.9.0 -> 4.9.1
              4.9.1: is there
        "#]],
    );
}

#[test]
fn pre_releases_are_goals_only_where_there_is_no_newer_final_release() {
    check(
        "channel candidate-4.21 4.20.0-rc.1 4.20.0 4.20.1 4.20.2-rc.0 4.21.0-ec.0 4.21.0-ec.1
         edges 4.20.0-rc.1 -> 4.20.0
         edges 4.20.0 -> 4.20.1
         edges 4.21.0-ec.0 -> 4.21.0-ec.1",
        expect![[r#"
            candidate-4.21 for other platforms, unknown platform
              4.20.0-rc.1: 4.20.0-rc.1 -> 4.20.0 -> 4.20.1
              4.20.0: 4.20.0 -> 4.20.1
              4.20.1: is there
              4.20.2-rc.0: is there; not to 4.21.0-ec.1: no edge leaves
              4.21.0-ec.0: 4.21.0-ec.0 -> 4.21.0-ec.1
              4.21.0-ec.1: is there
        "#]],
    );
}

#[test]
fn a_change_is_told_by_whom_it_strands_newly() {
    let before = "channel stable-4.9 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.1
         edges 4.9.1 -> 4.9.2
         block old.yaml 4.9.1";
    check_change(
        before,
        &format!("{before}\n block new.yaml 4.9.2 on AWS"),
        expect![[r#"
        new.yaml
          4.9.1 not to 4.9.2 in stable-4.9 for AWS unknown
    "#]],
    );
    check_change(before, &before.replace("old", "renamed"), expect![[""]]);
}

#[test]
fn a_new_release_that_is_stranded_is_new() {
    check_change(
        "channel stable-4.9 4.9.0 4.9.2
         edges 4.9.0 -> 4.9.2",
        "channel stable-4.9 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.2",
        expect![[r#"
            noEdgeLeaves
              4.9.1 not to 4.9.2 in stable-4.9 for other unknown
        "#]],
    );
}

#[test]
fn a_set_of_blocks_stands_since_its_last_block_came() {
    use std::collections::BTreeSet;
    use towpath_core::audit::{Arrivals, Barrier, strandings};
    let text = "channel stable-4.9 4.9.0 4.9.1
         edges 4.9.0 -> 4.9.1
         block a.yaml 4.9.1
         block b.yaml 4.9.1";
    let (graph, audit) = dsl::audited(text);
    let barrier = &strandings(&graph, &audit, None)[0].barrier;
    let at = |day: u32| format!("2026-01-0{day}T00:00Z").parse().unwrap();
    let arrivals = Arrivals::from([("a.yaml".to_owned(), at(3)), ("b.yaml".to_owned(), at(2))]);
    assert_eq!(barrier.blocks().map(BTreeSet::len), Some(2));
    assert_eq!(barrier.since(&graph, &arrivals), Some(at(3)));
    assert_eq!(
        barrier.since(&graph, &Arrivals::from([("a.yaml".to_owned(), at(3))])),
        None
    );
    assert_eq!(Barrier::NoEdgeLeaves.since(&graph, &arrivals), None);
}

#[test]
fn a_risk_that_the_source_of_releases_declares_strands_as_well() {
    use towpath_core::audit::{Scope, audit, strandings};
    use towpath_core::graph::{Graph, MatchingRule, Risk};
    let (data, mut releases) = read("channel stable-4.9 4.9.0 4.9.1\n edges 4.9.0 -> 4.9.1");
    let (name, url, message) = ("Broken".into(), "https://example.com".into(), "m".into());
    let risk = Risk {
        name,
        url,
        message,
        matching_rules: vec![MatchingRule::Always],
    };
    releases.edges[0].risks = Some([risk].into());
    let graph = Graph::build(data, releases).0;
    let found = strandings(&graph, &audit(&graph, &Scope::default(), dsl::now()), None);
    let told: String = found
        .iter()
        .map(|one| dsl::stranding_text(&graph, one))
        .collect();
    assert_eq!(
        told,
        "releases\n  4.9.0 not to 4.9.1 in stable-4.9 for other unknown\n"
    );
}

/// The audit once gave up on reasons that it did not list.
#[test]
fn a_disputed_payload_strands_like_a_block_and_an_old_source_strands_nobody() {
    use towpath_core::audit::{Scope, audit, strandings};
    use towpath_core::graph::{Audience, Graph, StaleCause, StaleSource};
    let text = "channel stable-4.9 4.9.0 4.9.1\n edges 4.9.0 -> 4.9.1\n block a.yaml 4.9.1";
    let (mut data, releases) = read(text);
    data.blocks[0].stops = Some(Audience::Disputed("two sources disagree".into()));
    let stale = || StaleSource {
        source: "graph data".into(),
        last_good: dsl::now(),
        cause: StaleCause::TooOld,
    };
    let told = |graph: &Graph| -> String {
        let found = strandings(graph, &audit(graph, &Scope::default(), dsl::now()), None);
        let texts = found.iter().map(|one| dsl::stranding_text(graph, one));
        texts.collect()
    };
    let disputed = Graph::build(data.clone(), releases.clone()).0;
    let stranded = "a.yaml\n  4.9.0 not to 4.9.1 in stable-4.9 for other unknown\n";
    assert_eq!(told(&disputed), stranded);
    assert_eq!(told(&disputed.with_stale(vec![stale()])), stranded);
    data.blocks.clear();
    let open = Graph::build(data, releases).0;
    assert_eq!(told(&open.with_stale(vec![stale()])), "");
}

/// The checker is worth something only if it finds what is wrong.
#[test]
fn the_checker_refuses_what_is_not_so() {
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use towpath_core::audit::{Audit, GoalOutcome, StrandingCause};
    let text = "channel stable-4.9 4.9.0 4.9.1 4.9.2 4.9.3
         edges 4.9.0 -> 4.9.1
         edges 4.9.1 -> 4.9.2
         edges 4.9.2 -> 4.9.3
         block a.yaml 4.9.1
         block b.yaml 4.9.3 from 4[.]9[.]0
         risk Slow c.yaml 4.9.2";
    let (_, audit) = dsl::audited(text);
    let refused = |change: &dyn Fn(&mut Audit)| {
        let mut changed = audit.clone();
        change(&mut changed);
        let (data, releases) = read(text);
        let checker = Checker::new(data, releases, dsl::now());
        let section = &changed.sections[0];
        let check = || {
            section
                .clients
                .iter()
                .for_each(|class| checker.check(section, class))
        };
        assert!(catch_unwind(AssertUnwindSafe(check)).is_err());
    };
    // The way stops short; a risk is not told; it leads the other way.
    let way = |audit: &mut Audit, change: &dyn Fn(&mut towpath_core::audit::CertifiedWay)| {
        let GoalOutcome::Way(way) = &mut audit.sections[0].releases[1].head.outcome else {
            panic!("4.9.1 has a way")
        };
        change(way);
    };
    refused(&|audit| way(audit, &|way| way.releases.truncate(1)));
    refused(&|audit| way(audit, &|way| way.risks.clear()));
    refused(&|audit| way(audit, &|way| way.releases.reverse()));
    // A block too many; one too few; no edge where there is one.
    let cause = |audit: &mut Audit, change: &dyn Fn(&mut StrandingCause)| {
        let GoalOutcome::Stranded(cause) = &mut audit.sections[0].releases[0].head.outcome else {
            panic!("stranded")
        };
        change(cause);
    };
    let blocks = |audit: &mut Audit, numbers: &[u32]| {
        let ids: BTreeSet<_> = numbers
            .iter()
            .map(|number| towpath_core::graph::BlockId(*number))
            .collect();
        cause(audit, &|cause| {
            *cause = StrandingCause::Blocks {
                blocks: ids.clone(),
                way: vec![],
            }
        });
    };
    refused(&|audit| blocks(audit, &[0, 1]));
    refused(&|audit| blocks(audit, &[]));
    refused(&|audit| cause(audit, &|cause| *cause = StrandingCause::NoEdgeReaches));
}
