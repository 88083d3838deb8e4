//! Across the border of 4.22, 4.23, 5.0 and 5.1: what follows, what is not verified, what is not known.

use expect_test::expect;
use proptest::prelude::*;
use towpath_core::cluster::way::{Step, Stop, Way};
use towpath_core::cluster::{gate, ready};
use towpath_core::version::{Minor, MinorFact, MinorRow, Minors, Version};
use towpath_testing_graphs::{confirmed_minors, minors};

use crate::dsl::{check, read};
use crate::properties::{any_facts, any_way};

#[test]
fn a_clean_cluster_goes_from_4_22_to_either_of_its_successors() {
    check(
        "at 4.22.1\nnode w1 worker 1.35\npool worker runs\nway 5.0.1",
        expect![[r#"
            4.22.1 -> 5.0.1: ready
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.0: kubernetes, kubeletSkew; the strictest reading counts
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10
        "#]],
    );
    check(
        "at 4.22.1\nnode w1 worker 1.35\npool worker runs\nway 4.23.1 5.1.1",
        expect![[r#"
            4.22.1 -> 4.23.1: ready
              MinorUnverified: nobody has verified what towpath knows about OpenShift 4.23: kubernetes, kubeletSkew; the strictest reading counts
            4.23.1 -> 5.1.1: ready
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.1: kubernetes, kubeletSkew; the strictest reading counts
              Rhel10Ahead: new nodes of OpenShift 5.1 have RHEL 10
        "#]],
    );
    check(
        "at 4.22.1\nnode w1 worker 1.35\npool worker runs\nconfirmed\nway 5.0.1",
        expect![[r#"
            4.22.1 -> 5.0.1: ready
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10
        "#]],
    );
}

#[test]
fn what_nobody_has_verified_is_read_strictly() {
    // The operator may be made for the Kubernetes of 5.0, and the API may go in it.
    let story = "at 4.22.1
         operator a.v1 a kube-max 1.40
         api flowschemas.v1beta3.flowcontrol.apiserver.k8s.io removed 1.37 by ada 1
         way 5.0.1";
    check(
        story,
        expect![[r#"
            4.22.1 -> 5.0.1: refused
              ApiRemoved: flowschemas.v1beta3.flowcontrol.apiserver.k8s.io goes in Kubernetes 1.37 and is in use: ada, 1 request in a day
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.0: kubernetes, kubeletSkew; the strictest reading counts
              OperatorIncompatible: a.v1 in a is not made for OpenShift 5.0: it says something about Kubernetes, and nobody knows for sure which one that is
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10
        "#]],
    );
    check(
        &format!("{story}\nconfirmed"),
        expect![[r#"
            4.22.1 -> 5.0.1: ready
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10
        "#]],
    );
}

#[test]
fn in_5_x_kubelets_may_lag_up_to_three_once_that_is_confirmed() {
    let story = "at 4.22.1
         node m1 master 1.35
         node w1 worker 1.35
         pool master runs
         pool worker paused
         way 5.0.1 5.1.1 5.2.1";
    check(
        &format!("{story}\nconfirmed"),
        expect![[r#"
            4.22.1 -> 5.0.1: ready
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10
            5.0.1 -> 5.1.1: ready
            5.1.1 -> 5.2.1: ready
        "#]],
    );
    check(
        story,
        expect![[r#"
            4.22.1 -> 5.0.1: ready
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.0: kubernetes, kubeletSkew; the strictest reading counts
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10
            5.0.1 -> 5.1.1: refused
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.1: kubernetes, kubeletSkew; the strictest reading counts
              PausedPoolTooOld: pool worker is paused and its 1 node at Kubernetes 1.35 would be 2 minor versions behind the API server's 1.37; the limit there is 1
            5.1.1 -> 5.2.1: refused
              MinorNextUnverified: nobody has verified that OpenShift 5.2 follows 5.1
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.2: kubernetes, kubeletSkew; the strictest reading counts
              PausedPoolTooOld: pool worker is paused and its 1 node at Kubernetes 1.36 would be 2 minor versions behind the API server's 1.38; the limit there is 1
        "#]],
    );
}

#[test]
fn a_minor_version_that_nobody_knows_is_held() {
    check(
        "at 4.22.1\nway 6.0.1",
        expect![[r#"
            4.22.1 -> 6.0.1: refused
              MinorUnknown: this towpath does not know OpenShift 6.0: not what it follows, nor which Kubernetes it has
              Rhel10Ahead: new nodes of OpenShift 6.0 have RHEL 10
        "#]],
    );
    // The table has it, but not its Kubernetes.
    check(
        "at 5.2.1\nway 5.3.1",
        expect![[r#"
            5.2.1 -> 5.3.1: refused
              KubernetesUnknown: this towpath does not know which Kubernetes OpenShift 5.3 has
              MinorNextUnverified: nobody has verified that OpenShift 5.3 follows 5.2
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.3: kubeletSkew; the strictest reading counts
        "#]],
    );
}

#[test]
fn a_skip_that_is_confirmed_is_taken_and_told() {
    check(
        "at 5.0.1\nnode w1 worker 1.36\npool worker runs\nconfirmed\nway 5.2.1",
        expect![[r#"
            5.0.1 -> 5.2.1: ready
              MinorSkipped: it goes from 5.0 directly to 5.2, without 5.1; clusters may
        "#]],
    );
    // That the release before is never too old does not hold for a skip.
    check(
        "at 5.0.1\nnode w1 worker 1.36\npool worker runs\nconfirmed\nskew 1\nway 5.2.1",
        expect![[r#"
            5.0.1 -> 5.2.1: refused
              KubeletTooOld: 1 node of pool worker at Kubernetes 1.36 would be 2 minor versions behind the API server's 1.38; the limit there is 1
              MinorSkipped: it goes from 5.0 directly to 5.2, without 5.1; clusters may
        "#]],
    );
}

#[test]
fn what_a_release_says_about_its_kubernetes_comes_first() {
    let said =
        minors().with_releases([("5.0.0-ec.6".parse::<Version>().unwrap(), Minor::new(1, 37))]);
    let kubernetes = |stop: &str| {
        let stops = vec![Stop::parse(stop).unwrap()];
        let way = Way::new("4.22.1".parse().unwrap(), stops, &said).unwrap();
        let ships = way.steps().next().unwrap().kubernetes_after().unwrap();
        (ships.minor.to_string(), ships.is_verified)
    };
    assert_eq!(kubernetes("5.0.0-ec.6"), ("1.37".to_owned(), true));
    assert_eq!(kubernetes("5.0.0-ec.5"), ("1.36".to_owned(), false));
    assert_eq!(kubernetes("5.0"), ("1.36".to_owned(), false));
}

/// The cluster has one condition for all minor updates, so the gate looks at every minor version that may be next.
#[test]
fn the_gate_judges_every_minor_version_that_may_be_next() {
    let objections = |story: &str, target: Option<Minor>, minors: &Minors| {
        let facts = read(story).facts;
        let gate = gate(target, &facts, minors).unwrap();
        let codes: Vec<&str> = gate.objections().map(|reason| reason.code().name).collect();
        codes
    };
    let at_border = "at 4.22.1\noperator a.v1 a max 4.23\nway 4.22.2";
    assert_eq!(
        objections(at_border, None, &minors()),
        ["OperatorIncompatible"]
    );
    let to_4_23 = Some(Minor::new(4, 23));
    assert!(objections(at_border, to_4_23, &minors()).is_empty());
    let beyond = "at 7.0.1\nway 7.0.2";
    assert_eq!(objections(beyond, None, &minors()), ["MinorUnknown"]);
}

#[test]
fn nothing_is_held_of_which_all_is_confirmed() {
    let minors = confirmed_minors();
    for (from, row) in minors.rows() {
        for to in row
            .next
            .iter()
            .filter(|to| minors.kubernetes(**to).is_some())
        {
            let from: Version = format!("{from}.1").parse().unwrap();
            let facts = read(&format!("at {from}\nway {from}")).facts;
            let way = Way::new(from, vec![Stop::Minor(*to)], &minors).unwrap();
            let readiness = ready(&way, &facts);
            assert!(readiness.is_ready(), "{to}: {:?}", readiness.hops);
        }
    }
}

proptest! {
    /// Whatever turns out to be true about a minor version that nobody has verified: what was ready stays ready.
    #[test]
    fn what_nobody_has_verified_never_loosens(
        facts in any_facts(), way in any_way(), truth in (19u64..=21, 1u8..=3),
    ) {
        let unsure = Minor::new(4, 7);
        let row = minors().rows()[&unsure].clone();
        let facts_of = |unverified: &[MinorFact], (kubernetes, skew): (u64, u8)| MinorRow {
            kubernetes: Some(Minor::new(1, kubernetes)),
            kubelet_skew: Some(skew),
            unverified: unverified.iter().copied().collect(),
            ..row.clone()
        };
        let ready_into = |row: MinorRow| {
            let minors = minors().with_rows(&[(unsure, row)].into());
            let stops = way.steps().map(|step| step.to().clone()).collect();
            let way = Way::new(way.from().clone(), stops, &minors).unwrap();
            let hops = ready(&way, &facts).hops;
            let into: Vec<bool> = way
                .steps()
                .zip(&hops)
                .filter(|(step, _)| Step::is_minor(*step) && step.to_minor() == unsure)
                .map(|(_, hop)| hop.is_ready())
                .collect();
            into
        };
        let unverified = facts_of(&[MinorFact::Kubernetes, MinorFact::KubeletSkew], (20, 3));
        let (unsure, sure) = (ready_into(unverified), ready_into(facts_of(&[], truth)));
        for (unsure, sure) in unsure.into_iter().zip(sure) {
            prop_assert!(sure || !unsure);
        }
    }
}
