//! Hosted control planes: their node pools are updated one by one, and may lag further once that is confirmed.

use expect_test::expect;
use proptest::prelude::*;
use towpath_core::cluster::objects::Topology;
use towpath_core::cluster::way::{Step, Way};
use towpath_core::cluster::{Fact, ready};
use towpath_core::version::{Minor, MinorFact, MinorRow};
use towpath_testing_graphs::minors;

use crate::dsl::{check, read};
use crate::properties::{any_facts, any_way};

/// Node pools stay where they are while the control plane goes on. Three minor versions are too many until somebody confirms that they are not.
#[test]
fn node_pools_may_lag_by_three_once_that_is_confirmed() {
    let story = "at 4.20.1
         hosted
         node w1 blue 1.32
         node-pool blue 4.19.5
         way 4.21.1 4.22.1";
    check(
        story,
        expect![[r#"
            4.20.1 -> 4.21.1: refused
              MinorUnverified: nobody has verified what towpath knows about OpenShift 4.21: hostedKubeletSkew; the strictest reading counts
              NodePoolTooOld: node pool blue at Kubernetes 1.32 would be 2 minor versions behind the hosted API server's 1.34; the limit there is 1
            4.21.1 -> 4.22.1: ready
              MinorUnverified: nobody has verified what towpath knows about OpenShift 4.22: hostedKubeletSkew; the strictest reading counts
        "#]],
    );
    check(
        &format!("{story}\nconfirmed"),
        expect![[r#"
            4.20.1 -> 4.21.1: ready
            4.21.1 -> 4.22.1: ready
        "#]],
    );
}

/// A node pool that is given counts like one of its nodes: it makes the next one.
#[test]
fn a_node_pool_of_an_old_release_is_refused_whatever_its_nodes_say() {
    check(
        "at 4.20.1\nhosted\nconfirmed\nnode w1 blue 1.33\nnode-pool blue 4.16.5\nnode-pool green soon\nway 4.21.1",
        expect![[r#"
            4.20.1 -> 4.21.1: refused
              KubeletUnknown: nobody can tell how old the kubelets of node pool green are
              NodePoolTooOld: node pool blue at Kubernetes 1.29 would be 5 minor versions behind the hosted API server's 1.34; the limit there is 3
        "#]],
    );
}

#[test]
fn where_nobody_knows_whether_it_is_hosted_the_stricter_limit_counts() {
    let story = "at 4.20.1\nconfirmed\nnode w1 ? 1.32\nway 4.21.1";
    check(
        &format!("{story}\nunknown topology"),
        expect![[r#"
            4.20.1 -> 4.21.1: refused
              UnpooledNodeTooOld: w1 (in no pool that we know of) at Kubernetes 1.32 would be 2 minor versions behind the API server's 1.34; the limit there is 1
        "#]],
    );
    check(
        &format!("{story}\nhosted"),
        expect![[r#"
            4.20.1 -> 4.21.1: ready
        "#]],
    );
}

proptest! {
    /// Not to know whether a control plane is hosted never makes an update ready, whatever the table says about those that are.
    #[test]
    fn an_unknown_topology_never_loosens(
        facts in any_facts(), way in any_way(), hosted in 1u8..=3, is_verified in any::<bool>(),
    ) {
        let minor = Minor::new(4, 7);
        let row = MinorRow {
            hosted_kubelet_skew: Some(hosted),
            unverified: (!is_verified).then_some(MinorFact::HostedKubeletSkew).into_iter().collect(),
            ..minors().rows()[&minor].clone()
        };
        let minors = minors().with_rows(&[(minor, row)].into());
        let stops = way.steps().map(|step| step.to().clone()).collect();
        let way = Way::new(way.from().clone(), stops, &minors).unwrap();
        let of = |topology: Fact<Topology>| {
            let facts = towpath_core::cluster::objects::Facts { topology, ..facts.clone() };
            let hops = ready(&way, &facts).hops;
            let of_minors = way.steps().zip(&hops).filter(|(step, _)| Step::is_minor(*step));
            of_minors.map(|(_, hop)| hop.is_ready()).collect::<Vec<bool>>()
        };
        // What holds a hop back is told once, so a hop counts as ready only if all before it are.
        let gets_to = |hops: Vec<bool>| hops.iter().take_while(|is_ready| **is_ready).count();
        let unknown = gets_to(of(Fact::Unknown));
        for known in [Topology::Standalone, Topology::Hosted] {
            prop_assert!(gets_to(of(Fact::Known(known))) >= unknown);
        }
    }
}

/// What nobody has verified is no looser than for every other cluster.
#[test]
fn unverified_limits_of_hosted_clusters_are_no_looser() {
    for minor in minors().rows().keys() {
        assert!(
            minors().hosted_kubelet_skew(*minor) <= minors().kubelet_skew(*minor),
            "{minor}"
        );
    }
    let story = read("at 4.20.1\nhosted\nway 4.21.1");
    assert!(story.facts.is_hosted());
}
