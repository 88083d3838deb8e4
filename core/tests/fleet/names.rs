//! Names that more than one cluster has, and clusters that only say whose they are.

use expect_test::expect;
use towpath_core::fleet::{Binding, FleetPlanner, Ledger, name_findings};

use crate::dsl::{check, read};

/// As it was seen: a foreign cluster said that it was the stage cluster of another organisation, on an old version. That called off what was planned in production.
#[test]
fn one_report_of_a_foreign_cluster_called_off_a_planned_upgrade() {
    let fleet = "
        sector stage
        sector prod after stage
        cluster s1 at 4.9.2 offers 4.9.3 sector stage soak 30
        cluster p1 at 4.9.1 offers 4.9.2 sector prod mutexes m
        upgrade p1 to 4.9.2 planned
    ";
    let expected = |foreign: &str| {
        let story = read(&format!("{fleet}{foreign}"));
        let (mut desk, now) = (FleetPlanner::new(story.input), story.now);
        desk.pass(now).cancels.len()
    };
    assert_eq!(expected(""), 0);
    assert_eq!(
        expected("cluster x at 4.1.0 offers 4.9.2 called s1 unbound"),
        0
    );
    assert_eq!(
        expected("cluster x at 4.1.0 offers 4.9.2 called p1 unbound"),
        0
    );
    assert_eq!(
        expected("cluster x at 4.1.0 offers 4.9.2 called s1"),
        1,
        "two that are bound: somebody must say which"
    );
}

#[test]
fn a_bound_cluster_keeps_its_name_and_the_other_is_held() {
    check(
        "
        cluster p1 at 4.9.1 offers 4.9.2
        cluster x at 4.9.1 offers 4.9.2 called p1 unbound
        ",
        expect![[r#"
            p1  start 4.9.2 at 18:07
            p1  no: p1 is the name of cluster id-p1; this cluster only says that it is called so; its schedule (none) never opens
                  4.9.2: yes
        "#]],
    );
}

#[test]
fn among_equals_nobody_can_tell_and_all_are_held() {
    for standing in ["", "unbound"] {
        check(
            &format!(
                "
                cluster p1 at 4.9.1 offers 4.9.2 {standing}
                cluster x at 4.9.1 offers 4.9.2 called p1 {standing}
                cluster q1 at 4.9.1 offers 4.9.2
                "
            ),
            expect![[r#"
                p1  no: 1 other cluster is called p1 too (id-x), and nobody can tell which is meant
                      4.9.2: yes
                q1  start 4.9.2 at 18:07
                p1  no: 1 other cluster is called p1 too (id-p1), and nobody can tell which is meant
                      4.9.2: yes
            "#]],
        );
    }
}

#[test]
fn names_are_of_an_organisation() {
    check(
        "
        cluster p1 at 4.9.1 offers 4.9.2
        cluster x at 4.9.1 offers 4.9.2 called p1 in beta
        ",
        expect![[r#"
            p1  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn a_cluster_that_is_not_bound_raises_no_limit_and_holds_nobody_back() {
    check(
        "
        sector prod limit 50%
        sector last after prod
        cluster a at 4.9.1 offers 4.9.2 sector prod mutexes m
        cluster b at 4.9.1 offers 4.9.2 sector prod mutexes m
        cluster z at 4.9.0 offers 4.9.1 sector last
        cluster x at 4.1.0 sector prod mutexes m unbound
        cluster y at 4.1.0 sector prod mutexes m unbound
        ",
        expect![[r#"
            x  wait: at most 1 of sector prod may hold mutex m at once: a
            y  wait: at most 1 of sector prod may hold mutex m at once: a
            z  start 4.9.1 at 18:07
            a  start 4.9.2 at 18:07
            b  wait: at most 1 of sector prod may hold mutex m at once: a
                 4.9.2: yes
        "#]],
    );
}

#[test]
fn where_nobody_is_bound_sectors_hold_as_ever() {
    check(
        "
        sector stage
        sector prod after stage
        cluster s1 at 4.9.1 sector stage unbound
        cluster p1 at 4.9.1 offers 4.9.2 sector prod
        ",
        expect![[r#"
            p1  yes
                  4.9.2: wait: sector stage comes first, and s1 there is on 4.9.1
            s1  nothing newer
        "#]],
    );
}

#[test]
fn time_of_who_is_not_bound_or_whose_name_is_disputed_is_no_soak() {
    let sum = |text: &str| {
        let story = read(text);
        let mut ledger = Ledger::default();
        for cluster in &story.input.clusters {
            ledger.set(&cluster.id, &cluster.version, 100);
        }
        let sums = ledger.sums(
            &story.input.policy,
            &story.input.clusters,
            &Default::default(),
        );
        sums.iter().map(|sum| sum.seconds).sum::<i64>()
    };
    assert_eq!(sum("cluster a at 4.9.1\ncluster b at 4.9.1"), 200);
    assert_eq!(sum("cluster a at 4.9.1\ncluster b at 4.9.1 unbound"), 100);
    assert_eq!(
        sum("cluster a at 4.9.1\ncluster b at 4.9.1 called a unbound"),
        100
    );
    assert_eq!(sum("cluster a at 4.9.1\ncluster b at 4.9.1 called a"), 0);
    let foreign: String = (0..100)
        .map(|n| format!("cluster x{n} at 4.9.1 unbound\n"))
        .collect();
    assert_eq!(sum(&foreign), 0, "a hundred foreign tokens make no soak");
}

#[test]
fn time_that_passes_credits_only_who_is_bound() {
    for (text, expected) in [("", 60), ("unbound", 0), ("called b", 0)] {
        let story = read(&format!(
            "cluster b at 4.9.1 workloads other\ncluster a at 4.9.1 {text}"
        ));
        let mut desk = FleetPlanner::new(story.input);
        desk.time_passes(60, story.now);
        let soaked: i64 = desk
            .roster()
            .soak()
            .filter(|(_, workload, ..)| &***workload == "web")
            .map(|sum| sum.3)
            .sum();
        assert_eq!(soaked, expected, "{text}");
    }
}

#[test]
fn a_cluster_that_gets_bound_is_judged_anew() {
    let story =
        read("cluster p1 at 4.9.1 offers 4.9.2\ncluster x at 4.9.1 offers 4.9.2 called p1 unbound");
    let mut bound = story
        .input
        .clusters
        .iter()
        .find(|state| state.id.as_str() == "id-x")
        .unwrap()
        .clone();
    let mut desk = FleetPlanner::new(story.input);
    assert!(desk.seen(bound.clone(), None), "as before");
    bound.binding = Binding::Bound;
    assert!(
        !desk.seen(bound, None),
        "now the name is disputed, and the desk has to be made anew"
    );
}

#[test]
fn findings_say_who_and_what_to_do() {
    let told = |text: &str| {
        let findings = name_findings(&read(text).input.clusters);
        findings
            .iter()
            .map(|finding| format!("{}\n", finding))
            .collect::<String>()
    };
    expect![[r#"
        organisation org: a is the name of cluster id-a; id-x reports the same name and is not bound, so it is held; if it is yours, give it a name of its own and a token for that (`towpath fleet token`); else find out who has its token
        organisation org: b is the name of several clusters (id-b, id-y); all of them are held; `towpath fleet forget ID` the one that is gone, or give each a name of its own
    "#]].assert_eq(&told(
        "cluster a at 4.9.1\ncluster x at 4.9.1 called a unbound\ncluster b at 4.9.1\ncluster y at 4.9.1 called b",
    ));
}
