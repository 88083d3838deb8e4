//! Whom policies select, and what is odd about that.

use expect_test::{Expect, expect};
use towpath_core::cluster::ClusterId;
use towpath_core::finding::Place;
use towpath_core::fleet::{FleetInput, PolicyDefault, UpgradePolicy, coverage};

use crate::dsl::read;

/// The findings of a fleet of clusters `a` and `b`, after a change.
fn check(change: impl FnOnce(&mut FleetInput), expected: Expect) {
    let mut input = read("cluster a at 4.9.1\ncluster b at 4.9.1").input;
    change(&mut input);
    let findings = coverage(&input.policy, &input.clusters);
    let lines = findings
        .iter()
        .map(|finding| format!("{} {:?} {finding}\n", finding.code, finding.severity));
    expected.assert_eq(&lines.collect::<String>());
}

fn org(input: &mut FleetInput) -> &mut towpath_core::fleet::Organisation {
    input.policy.organisations.get_mut("org").unwrap()
}

#[test]
fn a_fleet_in_which_each_policy_has_its_cluster_has_no_findings() {
    check(|_| {}, expect![[r#""#]]);
}

#[test]
fn a_policy_that_matches_no_cluster_says_why() {
    check(
        |input| input.clusters[0].name = "other".into(),
        expect![[r#"
        matches-no-cluster Warning org.yaml: this policy matches no cluster: no cluster "a" is known in organisation "org"; correct its name, let the cluster report, or remove the policy
    "#]],
    );
    check(
        |input| input.clusters[0].organisation = "elsewhere".into(),
        expect![[r#"
        matches-no-cluster Warning org.yaml: this policy matches no cluster: "a" belongs to organisation "elsewhere", not to "org"; move the policy to the cluster's organisation
    "#]],
    );
    check(
        |input| org(input).clusters[0].id = ClusterId::new("id-x"),
        expect![[r#"
        matches-no-cluster Warning org.yaml: this policy matches no cluster: "a" is known, and not by the id id-x; correct the id, or remove it so that the name counts
    "#]],
    );
}

#[test]
fn a_default_that_nobody_takes_is_told_and_one_that_somebody_takes_is_not() {
    let default = |name: &str, label: &str| PolicyDefault {
        name: name.into(),
        match_labels: [("tier".to_owned(), label.to_owned())].into(),
        policy: UpgradePolicy::default(),
        problems: Vec::new(),
        origin: Place::file("org.yaml"),
    };
    check(
        |input| {
            input.clusters[0]
                .labels
                .insert("tier".to_owned(), "one".to_owned());
            org(input).clusters.remove(0);
            org(input).defaults = vec![default("first", "one"), default("second", "two")];
        },
        expect![[r#"
            matches-no-cluster Warning org.yaml: no cluster takes its policy from default "second"; correct its labels, or remove it; named clusters and earlier defaults come first
        "#]],
    );
}

#[test]
fn two_clusters_of_one_name_are_an_error() {
    check(
        |input| input.clusters[1].name = "a".into(),
        expect![[r#"
            name-disputed Error organisation org: a is the name of several clusters (id-a, id-b); all of them are held; `towpath fleet forget ID` the one that is gone, or give each a name of its own
            matches-no-cluster Warning org.yaml: this policy matches no cluster: no cluster "b" is known in organisation "org"; correct its name, let the cluster report, or remove the policy
        "#]],
    );
}

#[test]
fn a_cluster_that_two_entries_select_is_told() {
    check(
        |input| {
            org(input).clusters[0].id = ClusterId::new("id-b");
            input.clusters.remove(0);
        },
        expect![[r#"
            selected-twice Warning org.yaml: cluster "b" is selected twice: by its name here, and by its id at org.yaml, which counts; keep one of them
        "#]],
    );
}

#[test]
fn without_clusters_nobody_can_say_and_that_is_said() {
    check(
        |input| input.clusters.clear(),
        expect![[r#"
        no-clusters Warning org.yaml: no cluster is known, so nobody can check which policies match one; give a list of clusters (--clusters), or a store that clusters have reported to (--store)
    "#]],
    );
}

#[test]
fn what_there_is_too_much_of_is_counted() {
    let text: String = (0..60)
        .map(|n| format!("cluster c{n} at 4.9.1\n"))
        .collect();
    let mut input = read(&text).input;
    input.clusters.truncate(1);
    let findings = coverage(&input.policy, &input.clusters);
    assert_eq!(findings.len(), 51);
    assert!(
        findings
            .iter()
            .any(|finding| finding.problem == "there are 9 more like the 50 above"),
        "{findings:?}"
    );
}

#[test]
fn a_workload_on_several_kinds_of_channel_is_told() {
    let channel = |name| towpath_core::graph::ChannelName::new(name);
    check(
        |input| {
            input.clusters[0].channel = channel("stable-4.9");
            input.clusters[1].channel = channel("stable-4.10");
        },
        expect![[r#""#]],
    );
    check(
        |input| {
            input.clusters[0].channel = channel("stable-4.9");
            input.clusters[1].channel = channel("candidate-4.9");
        },
        expect![[r#"
            mixed-channels Warning org.yaml: the clusters of workload "web" are on different channels: candidate (b), stable (a); put them on channels of one kind, or give them workloads of their own: a version soaks only where it is offered
        "#]],
    );
}
