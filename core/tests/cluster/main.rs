//! What stands in the way on a cluster, rule by rule, and both sides of every boundary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod dsl;
mod health;
mod hosted;
mod minors;
mod properties;
mod way;

use dsl::{check, check_tasks};
use expect_test::expect;
use towpath_core::cluster::gate;

#[test]
fn a_cluster_that_nothing_is_wrong_with_is_ready() {
    check(
        "at 4.14.3
           node m1 master 1.27
           pool master runs
           way 4.14.9 4.15.2 4.16.1",
        expect![[r#"
            4.14.3 -> 4.14.9: ready
            4.14.9 -> 4.15.2: ready
            4.15.2 -> 4.16.1: ready
        "#]],
    );
}

#[test]
fn one_behind_is_allowed_on_odd_minor_versions() {
    let story =
        |kubelet: &str| format!("at 4.8.9\nnode w1 worker {kubelet}\npool worker runs\nway 4.9.1");
    check(
        &story("1.21"),
        expect![[r#"
        4.8.9 -> 4.9.1: ready
    "#]],
    );
    check(
        &story("1.20"),
        expect![[r#"
        4.8.9 -> 4.9.1: refused
          KubeletTooOld: 1 node of pool worker at Kubernetes 1.20 would be 2 minor versions behind the API server's 1.22; the limit there is 1
    "#]],
    );
}

#[test]
fn two_behind_are_allowed_on_even_minor_versions() {
    let story =
        |kubelet: &str| format!("at 4.9.9\nnode w1 worker {kubelet}\npool worker runs\nway 4.10.1");
    check(
        &story("1.21"),
        expect![[r#"
        4.9.9 -> 4.10.1: ready
    "#]],
    );
    check(
        &story("1.20"),
        expect![[r#"
        4.9.9 -> 4.10.1: refused
          KubeletTooOld: 1 node of pool worker at Kubernetes 1.20 would be 3 minor versions behind the API server's 1.23; the limit there is 2
    "#]],
    );
}

#[test]
fn the_limit_can_be_set() {
    let story = |skew: u8| {
        format!("at 4.9.9\nnode w1 worker 1.20\npool worker runs\nway 4.10.1\nskew {skew}")
    };
    check(
        &story(3),
        expect![[r#"
        4.9.9 -> 4.10.1: ready
    "#]],
    );
    check(
        &story(2),
        expect![[r#"
        4.9.9 -> 4.10.1: refused
          KubeletTooOld: 1 node of pool worker at Kubernetes 1.20 would be 3 minor versions behind the API server's 1.23; the limit there is 2
    "#]],
    );
}

#[test]
fn a_node_of_the_release_before_is_never_too_old() {
    check(
        "at 4.2.9\nnode w1 worker 1.14\npool worker runs\nway 4.3.1",
        expect![[r#"
        4.2.9 -> 4.3.1: ready
    "#]],
    );
    check(
        "at 4.2.9\nnode w1 worker 1.13\npool worker runs\nway 4.3.1",
        expect![[r#"
        4.2.9 -> 4.3.1: refused
          KubeletTooOld: 1 node of pool worker at Kubernetes 1.13 would be 3 minor versions behind the API server's 1.16; the limit there is 2
    "#]],
    );
}

#[test]
fn a_node_ahead_of_the_api_server_or_of_an_unknown_version_is_refused() {
    check(
        "at 4.8.9
         node w1 worker 1.22
         node w2 worker ?
         node w3 worker 1.21
         pool worker runs
         way 4.8.10 4.9.1 4.10.1",
        expect![[r#"
            4.8.9 -> 4.8.10: ready
            4.8.10 -> 4.9.1: refused
              KubeletAhead: ahead of the API server's Kubernetes 1.21: w1 at 1.22
              KubeletUnknown: nobody can tell how old the kubelets of w2 are
            4.9.1 -> 4.10.1: refused
              KubeletUnknown: nobody can tell how old the kubelets of w2 are
        "#]],
    );
    check(
        "at 4.8.9\nnode w1 worker 1.22\nnode w2 worker ?\npool worker runs\nway 4.9.1",
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              KubeletAhead: ahead of the API server's Kubernetes 1.21: w1 at 1.22
              KubeletUnknown: nobody can tell how old the kubelets of w2 are
        "#]],
    );
}

/// From 4.6 to 4.10: paused through 4.7 and 4.8, where two behind are allowed; 4.9 allows one, so the workers are updated before it.
#[test]
fn a_paused_pool_is_unpaused_where_the_skew_demands_it() {
    let story = "at 4.6.60
         node m1 master 1.19
         node w1 worker 1.19
         node w2 worker 1.19
         pool master runs
         pool worker paused
         way 4.7.60 4.8.57 4.9.59 4.10.67";
    check(
        story,
        expect![[r#"
            4.6.60 -> 4.7.60: ready
            4.7.60 -> 4.8.57: ready
            4.8.57 -> 4.9.59: refused
              PausedPoolTooOld: pool worker is paused and its 2 nodes at Kubernetes 1.19 would be 3 minor versions behind the API server's 1.22; the limit there is 1
            4.9.59 -> 4.10.67: ready
        "#]],
    );
    check_tasks(
        story,
        expect![[r#"
            before 4.9.59
              unpause pool worker, wait until all of it is at Kubernetes 1.21, and pause it again if it shall skip more
            at the end
              unpause pool worker, so that its nodes follow
              wait until all of pool worker is at 4.10.67
        "#]],
    );
}

/// Workers may skip updates; the control plane's nodes may not, however few versions they are behind.
#[test]
fn a_paused_control_plane_is_refused_at_the_first_minor_update_and_told_before() {
    let story = "at 4.6.60
         node m1 master 1.19
         node w1 worker 1.19
         pool master paused
         pool worker runs
         way 4.6.62 4.7.60 4.7.61 4.8.57";
    check(
        story,
        expect![[r#"
        4.6.60 -> 4.6.62: ready
          ControlPlaneStays: pool master is paused: a patch leaves the control plane's nodes as they are, and the next minor update is refused
        4.6.62 -> 4.7.60: refused
          ControlPlanePaused: pool master is paused, and the control plane's nodes must not skip a minor version
        4.7.60 -> 4.7.61: ready
        4.7.61 -> 4.8.57: ready
    "#]],
    );
    check_tasks(
        story,
        expect![[r#"
            before 4.7.60
              unpause pool master, and wait until all nodes of the control plane are updated
              wait until all of pool worker is at 4.6.62
            before 4.8.57
              wait until all of pool worker is at 4.7.61
        "#]],
    );
    let patch = "at 4.6.60\nnode m1 master 1.19\npool master paused\nway 4.6.62";
    check(
        patch,
        expect![[r#"
        4.6.60 -> 4.6.62: ready
          ControlPlaneStays: pool master is paused: a patch leaves the control plane's nodes as they are, and the next minor update is refused
    "#]],
    );
    check_tasks(
        patch,
        expect![[r#"
            at the end
              unpause pool master, so that its nodes follow
              wait until all of pool master is at 4.6.62
        "#]],
    );
}

/// The nodes of the control plane are judged as if their pool ran, and what is behind already is told as well.
#[test]
fn a_control_plane_that_was_paused_for_long_is_too_old() {
    check(
        "at 4.8.9\nnode m1 master 1.20\npool master paused\nway 4.9.1 4.10.1",
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              ControlPlanePaused: pool master is paused, and the control plane's nodes must not skip a minor version
              KubeletTooOld: 1 node of pool master at Kubernetes 1.20 would be 2 minor versions behind the API server's 1.22; the limit there is 1
            4.9.1 -> 4.10.1: ready
        "#]],
    );
}

#[test]
fn between_odd_minor_versions_a_pool_cannot_stay_paused() {
    check(
        "at 4.7.60
         node w1 worker 1.20
         pool worker paused
         way 4.8.57 4.9.59",
        expect![[r#"
            4.7.60 -> 4.8.57: ready
            4.8.57 -> 4.9.59: refused
              PausedPoolTooOld: pool worker is paused and its 1 node at Kubernetes 1.20 would be 2 minor versions behind the API server's 1.22; the limit there is 1
        "#]],
    );
}

#[test]
fn a_node_in_no_pool_stays_as_it_is() {
    check(
        "at 4.8.9
         node windows ? 1.21
         node w1 gone 1.21
         pool worker runs
         way 4.9.1 4.10.1 4.11.1",
        expect![[r#"
            4.8.9 -> 4.9.1: ready
            4.9.1 -> 4.10.1: ready
            4.10.1 -> 4.11.1: refused
              KubeletTooOld: 1 node of pool gone at Kubernetes 1.21 would be 3 minor versions behind the API server's 1.24; the limit there is 1
              UnpooledNodeTooOld: windows (in no pool that we know of) at Kubernetes 1.21 would be 3 minor versions behind the API server's 1.24; the limit there is 1
        "#]],
    );
}

#[test]
fn an_operators_maximum_and_minimum_are_inclusive() {
    let story = |limits: &str| {
        format!("at 4.8.9\noperator logging.v5 openshift-logging {limits}\nway 4.9.1")
    };
    for within in [
        "",
        "max 4.9",
        "max 4.10",
        "min 4.9",
        "min 4.8",
        "kube-max 1.22",
        "kube-min 1.22",
        "min 4.9 max 4.9",
    ] {
        check(
            &story(within),
            expect![[r#"
            4.8.9 -> 4.9.1: ready
        "#]],
        );
    }
    check(
        &story("max 4.8"),
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              OperatorIncompatible: logging.v5 in openshift-logging is not made for OpenShift 4.9: it says OpenShift 4.8 at most
        "#]],
    );
    check(
        &story("min 4.10"),
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              OperatorIncompatible: logging.v5 in openshift-logging is not made for OpenShift 4.9: it says OpenShift 4.10 at least
        "#]],
    );
    check(
        &story("kube-max 1.21"),
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              OperatorIncompatible: logging.v5 in openshift-logging is not made for OpenShift 4.9: it says Kubernetes 1.21 at most
        "#]],
    );
    check(
        &story("kube-min 1.23"),
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              OperatorIncompatible: logging.v5 in openshift-logging is not made for OpenShift 4.9: it says Kubernetes 1.23 at least
        "#]],
    );
}

#[test]
fn every_operator_that_stands_in_the_way_is_named() {
    let story = "at 4.8.9
         operator logging.v5 openshift-logging max 4.8
         operator mesh.v2 openshift-operators max 4.9
         operator odd.v1 apps problem olm.maxOpenShiftVersion stands twice
         operator fine.v1 apps max 4.12
         way 4.9.1 4.10.1";
    check(
        story,
        expect![[r#"
            4.8.9 -> 4.9.1: refused
              OperatorIncompatible: logging.v5 in openshift-logging is not made for OpenShift 4.9: it says OpenShift 4.8 at most
              OperatorIncompatible: odd.v1 in apps is not made for OpenShift 4.9: it says olm.maxOpenShiftVersion stands twice
            4.9.1 -> 4.10.1: refused
              OperatorIncompatible: logging.v5 in openshift-logging is not made for OpenShift 4.10: it says OpenShift 4.8 at most
              OperatorIncompatible: mesh.v2 in openshift-operators is not made for OpenShift 4.10: it says OpenShift 4.9 at most
              OperatorIncompatible: odd.v1 in apps is not made for OpenShift 4.10: it says olm.maxOpenShiftVersion stands twice
        "#]],
    );
    check_tasks(
        story,
        expect![[r#"
            before 4.9.1
              update logging.v5 in openshift-logging (it says OpenShift 4.8 at most) to a version for OpenShift 4.9, or better 4.10, where the way ends
              update odd.v1 in apps (it says olm.maxOpenShiftVersion stands twice) to a version for OpenShift 4.9, or better 4.10, where the way ends
            before 4.10.1
              update logging.v5 in openshift-logging (it says OpenShift 4.8 at most) to a version for OpenShift 4.10
              update mesh.v2 in openshift-operators (it says OpenShift 4.9 at most) to a version for OpenShift 4.10
              update odd.v1 in apps (it says olm.maxOpenShiftVersion stands twice) to a version for OpenShift 4.10
        "#]],
    );
}

#[test]
fn an_update_in_progress_stops_a_minor_one_and_no_patch() {
    check(
        "partial 4.7.5\nat 4.6.8\nway 4.7.9",
        expect![[r#"
        4.7.5 -> 4.7.9: ready
    "#]],
    );
    check(
        "partial 4.7.5\nat 4.6.8\nway 4.8.1",
        expect![[r#"
        4.7.5 -> 4.8.1: refused
          UpdateInProgress: the update to 4.7.5 has not completed; the last that did is 4.6.8
    "#]],
    );
    check(
        "at 4.7.9\npartial 4.7.5\nat 4.6.8\nway 4.8.1",
        expect![[r#"
        4.7.9 -> 4.8.1: ready
    "#]],
    );
}

/// 4.6.8 → 4.7.5 → 4.7.9 → 4.8.1, where no 4.7 ever completed.
#[test]
fn patches_do_not_end_an_update_that_never_completed() {
    check(
        "partial 4.7.9\npartial 4.7.5\nat 4.6.8\nway 4.8.1",
        expect![[r#"
        4.7.9 -> 4.8.1: refused
          UpdateInProgress: the update to 4.7.9 has not completed; the last that did is 4.6.8
    "#]],
    );
    check(
        "partial 4.7.5\nat 4.6.8\nway 4.7.9 4.8.1 4.9.1",
        expect![[r#"
        4.7.5 -> 4.7.9: ready
        4.7.9 -> 4.8.1: refused
          UpdateInProgress: the update to 4.7.5 has not completed; the last that did is 4.6.8
        4.8.1 -> 4.9.1: ready
    "#]],
    );
}

#[test]
fn what_the_cluster_says_is_about_the_next_minor_version() {
    check(
        "at 4.14.1
         objection machine-config PoolUpdating One or more machine config pools are updating
         way 4.14.9 4.15.1 4.16.1",
        expect![[r#"
            4.14.1 -> 4.14.9: ready
            4.14.9 -> 4.15.1: refused
              NotUpgradeable: machine-config is not upgradeable: PoolUpdating: One or more machine config pools are updating
            4.15.1 -> 4.16.1: ready
        "#]],
    );
}

#[test]
fn a_part_of_the_platform_objects_on_its_own_account() {
    check(
        "at 4.14.1\noperator-objection etcd Busy A backup runs\nway 4.14.9 4.15.1 4.16.1",
        expect![[r#"
        4.14.1 -> 4.14.9: ready
        4.14.9 -> 4.15.1: refused
          NotUpgradeable: etcd is not upgradeable: Busy: A backup runs
        4.15.1 -> 4.16.1: ready
    "#]],
    );
}

#[test]
fn a_broken_cluster_may_be_patched_and_not_changed_its_minor_version() {
    check(
        "at 4.14.1\noperator-failure etcd-is-degraded Unhealthy two members\nway 4.14.9 4.15.1 4.16.1",
        expect![[r#"
            4.14.1 -> 4.14.9: ready
              PatchWhileFailing: etcd-is-degraded: Unhealthy: two members; a patch may heal it, the next minor update is refused until it is healed
            4.14.9 -> 4.15.1: refused
              ClusterFailing: etcd-is-degraded: Unhealthy: two members
            4.15.1 -> 4.16.1: ready
        "#]],
    );
    check(
        "at 4.14.1\nfailure ClusterVersion-is-failing Stuck waits for etcd\nway 4.15.1",
        expect![[r#"
            4.14.1 -> 4.15.1: refused
              ClusterFailing: ClusterVersion-is-failing: Stuck: waits for etcd
        "#]],
    );
    check(
        "at 4.14.1\nunknown failures\nunknown operator-failures\nway 4.14.9 4.15.1",
        expect![[r#"
            4.14.1 -> 4.14.9: ready
            4.14.9 -> 4.15.1: refused
              ObjectsNotGiven: nobody can tell without these objects: ClusterOperators
              ObjectsNotGiven: nobody can tell without these objects: ClusterVersion
        "#]],
    );
}

/// Forgetting what would refuse never makes a cluster ready.
#[test]
fn without_cluster_operators_or_pools_no_minor_update_is_ready() {
    check(
        "at 4.14.1\nunknown operator-objections\nway 4.14.9 4.15.1",
        expect![[r#"
        4.14.1 -> 4.14.9: ready
        4.14.9 -> 4.15.1: refused
          ObjectsNotGiven: nobody can tell without these objects: ClusterOperators
    "#]],
    );
    check(
        "at 4.14.1\nunknown pools\nway 4.14.9 4.15.1 4.16.1",
        expect![[r#"
        4.14.1 -> 4.14.9: ready
        4.14.9 -> 4.15.1: refused
          ObjectsNotGiven: nobody can tell without these objects: MachineConfigPools
        4.15.1 -> 4.16.1: refused
          ObjectsNotGiven: nobody can tell without these objects: MachineConfigPools
    "#]],
    );
}

#[test]
fn a_gate_stands_before_the_updates_that_leave_its_minor_version() {
    let gate = "gate ack-4.8-kube-1.22-api-removals-in-4.9 Kubernetes 1.22 removes APIs";
    let story = |more: &str| format!("at 4.7.9\n{gate}\n{more}\nway 4.8.1 4.8.9 4.9.1 4.10.1");
    check(
        &story(""),
        expect![[r#"
        4.7.9 -> 4.8.1: ready
        4.8.1 -> 4.8.9: ready
        4.8.9 -> 4.9.1: refused
          AdminAckRequired: ack-4.8-kube-1.22-api-removals-in-4.9 has not been acknowledged: Kubernetes 1.22 removes APIs
        4.9.1 -> 4.10.1: ready
    "#]],
    );
    check(
        &story("ack ack-4.8-kube-1.22-api-removals-in-4.9"),
        expect![[r#"
        4.7.9 -> 4.8.1: ready
        4.8.1 -> 4.8.9: ready
        4.8.9 -> 4.9.1: ready
        4.9.1 -> 4.10.1: ready
    "#]],
    );
    check(
        &story("ack ack-4.8-kube-1.22-api-removals-in-4.9\nunknown acks"),
        expect![[r#"
        4.7.9 -> 4.8.1: ready
        4.8.1 -> 4.8.9: ready
        4.8.9 -> 4.9.1: refused
          AdminAckRequired: ack-4.8-kube-1.22-api-removals-in-4.9 has not been acknowledged: Kubernetes 1.22 removes APIs
        4.9.1 -> 4.10.1: ready
    "#]],
    );
}

/// Commands are pasted into shells, so a name that no object can have is in none.
#[test]
fn a_command_names_nothing_that_a_shell_would_obey() {
    let commands = |gate: &str| dsl::commands(&format!("at 4.8.1\ngate {gate} Look\nway 4.9.1"));
    let patch = r#"oc -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.8-x":"true"}}'"#;
    assert_eq!(commands("ack-4.8-x"), [patch]);
    assert_eq!(commands("ack-4.8-x';touch$IFS/tmp/pwned;'"), [""; 0]);
    let paused = |pool: &str| {
        dsl::commands(&format!(
            "at 4.8.1\nnode w {pool} 1.19\npool {pool} paused\nway 4.9.1"
        ))
    };
    assert_eq!(paused("worker").len(), 1);
    assert_eq!(paused("$(reboot)"), [""; 0]);
    assert_eq!(paused("--all"), [""; 0]);
}

#[test]
fn a_gate_that_nobody_understands_stands_before_every_minor_update() {
    check(
        "at 4.8.1\ngate ack-next Look\nack ack-next\nway 4.8.2 4.9.1",
        expect![[r#"
            4.8.1 -> 4.8.2: ready
            4.8.2 -> 4.9.1: refused
              AdminGateNotUnderstood: the gate ack-next does not say which updates it is for
        "#]],
    );
}

#[test]
fn an_api_that_goes_is_told_from_the_start_and_refused_at_its_update() {
    check(
        "at 4.6.60
         api ingresses.v1beta1.extensions by system:serviceaccount:ci:deployer 40 by ada 2
         way 4.6.62 4.7.60 4.8.57 4.9.59 4.10.67",
        expect![[r#"
            4.6.60 -> 4.6.62: ready
              ApiRemovedLater: later, at 4.9.59: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:ci:deployer, 40 requests in a day; ada, 2 requests in a day
            4.6.62 -> 4.7.60: ready
              ApiRemovedLater: later, at 4.9.59: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:ci:deployer, 40 requests in a day; ada, 2 requests in a day
            4.7.60 -> 4.8.57: ready
              ApiRemovedLater: later, at 4.9.59: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:ci:deployer, 40 requests in a day; ada, 2 requests in a day
            4.8.57 -> 4.9.59: refused
              ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:ci:deployer, 40 requests in a day; ada, 2 requests in a day
            4.9.59 -> 4.10.67: ready
        "#]],
    );
}

#[test]
fn an_api_that_stays_or_went_before_or_is_not_used_is_no_matter() {
    for api in [
        "api deployments.v1.apps by ada 2",
        "api deployments.v1beta1.apps by ada 2",
        "api cronjobs.v1beta1.batch by ada 2",
        "api ingresses.v1beta1.extensions",
        "api ingresses.v1beta1.extensions by ada 0",
    ] {
        check(
            &format!("at 4.8.1\n{api}\nway 4.9.1"),
            expect![[r#"
            4.8.1 -> 4.9.1: ready
        "#]],
        );
    }
}

#[test]
fn the_clusters_word_on_a_removal_comes_before_the_table() {
    check(
        "at 4.8.1\napi widgets.v1.example.com removed 1.22 by ada 2\nway 4.9.1",
        expect![[r#"
        4.8.1 -> 4.9.1: refused
          ApiRemoved: widgets.v1.example.com goes in Kubernetes 1.22 and is in use: ada, 2 requests in a day
    "#]],
    );
    check(
        "at 4.8.1\napi ingresses.v1beta1.extensions removed 1.23 by ada 2\nway 4.9.1",
        expect![[r#"
        4.8.1 -> 4.9.1: ready
    "#]],
    );
}

#[test]
fn the_platforms_own_clients_do_not_count() {
    let story = |user: &str| {
        format!(
            "at 4.8.1\noperator mesh.v2 openshift-mesh\napi ingresses.v1beta1.extensions {user}\nway 4.9.1"
        )
    };
    for platform in [
        "by system:kube-controller-manager 9",
        "by system:node:w1 9",
        "by system:serviceaccount:kube-system:gc 9",
        "by system:serviceaccount:openshift-monitoring:prometheus 9",
    ] {
        check(
            &story(platform),
            expect![[r#"
            4.8.1 -> 4.9.1: ready
        "#]],
        );
    }
    check(
        &story("by system:admin 9"),
        expect![[r#"
        4.8.1 -> 4.9.1: refused
          ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:admin, 9 requests in a day
    "#]],
    );
    check(
        &story("by system:serviceaccount:shop:deployer 9"),
        expect![[r#"
        4.8.1 -> 4.9.1: refused
          ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:shop:deployer, 9 requests in a day
    "#]],
    );
    check(
        &story("by system:serviceaccount:openshift-operators:jaeger 9"),
        expect![[r#"
        4.8.1 -> 4.9.1: refused
          ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:openshift-operators:jaeger, 9 requests in a day
    "#]],
    );
    // Its operator is installed elsewhere, for all namespaces.
    check(
        &story("by system:serviceaccount:openshift-gitops:argocd 9"),
        expect![[r#"
        4.8.1 -> 4.9.1: refused
          ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:openshift-gitops:argocd, 9 requests in a day
    "#]],
    );
    check(
        &story("by system:serviceaccount:openshift-mesh:istio 9"),
        expect![[r#"
        4.8.1 -> 4.9.1: refused
          ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use: system:serviceaccount:openshift-mesh:istio, 9 requests in a day
    "#]],
    );
    check(
        &story("by system:node:w1 9 unnamed 3"),
        expect![[r#"
            4.8.1 -> 4.9.1: refused
              ApiRemoved: ingresses.v1beta1.extensions goes in Kubernetes 1.22 and is in use; 3 requests of users whose names were not kept
        "#]],
    );
}

#[test]
fn what_is_not_known_is_refused_with_what_is_missing() {
    let unknown = dsl::FACTS.map(|what| format!("unknown {what}\n")).concat();
    let story = format!("at 4.14.1\nway 4.14.2 4.15.1\n{unknown}");
    check(
        &story,
        expect![[r#"
            4.14.1 -> 4.14.2: ready
            4.14.2 -> 4.15.1: refused
              ObjectsNotGiven: nobody can tell without these objects: APIRequestCounts
              ObjectsNotGiven: nobody can tell without these objects: ClusterOperators
              ObjectsNotGiven: nobody can tell without these objects: ClusterServiceVersions
              ObjectsNotGiven: nobody can tell without these objects: ClusterVersion
              ObjectsNotGiven: nobody can tell without these objects: ConfigMap openshift-config-managed/admin-gates
              ObjectsNotGiven: nobody can tell without these objects: InstallPlans
              ObjectsNotGiven: nobody can tell without these objects: MachineConfigPools
              ObjectsNotGiven: nobody can tell without these objects: Nodes
              ObjectsNotGiven: nobody can tell without these objects: PodDisruptionBudgets
              ObjectsNotGiven: nobody can tell without these objects: Pods
              ObjectsNotGiven: nobody can tell without these objects: alerts
        "#]],
    );
    check_tasks(
        &story,
        expect![[r#"
            not judged: give the APIRequestCounts too
            not judged: give the ClusterOperators too
            not judged: give the ClusterServiceVersions too
            not judged: give the ClusterVersion too
            not judged: give the ConfigMap openshift-config-managed/admin-gates too
            not judged: give the InstallPlans too
            not judged: give the MachineConfigPools too
            not judged: give the Nodes too
            not judged: give the PodDisruptionBudgets too
            not judged: give the Pods too
            not judged: give the alerts too
        "#]],
    );
}

/// The first worker has the kubelet of 4.7 already; seen from 4.6, it would be ahead of the API server.
#[test]
fn during_an_update_the_gate_judges_from_the_release_that_the_cluster_goes_to() {
    let dsl::Story { facts, way } = dsl::read(
        "partial 4.7.9
           at 4.6.8
           node w1 worker 1.20
           node w2 worker 1.19
           pool worker runs
           way 4.8.1",
    );
    let gate = gate(None, &facts, way.minors()).unwrap();
    let codes: Vec<&str> = gate.objections().map(|reason| reason.code().name).collect();
    assert_eq!(codes, ["UpdateInProgress"]);
}

/// Who is paused when is one schedule: readiness judges by it, and its tasks carry it out.
#[test]
fn what_a_plan_has_worker_pools_do_is_judged_and_asked_for() {
    let story = |state: &str| {
        format!(
            "at 4.12.9
               node m1 master 1.25
               node w1 worker 1.25
               pool master runs
               pool worker {state}
               way 4.13.5 4.13.9 4.14.8 4.15.5 4.16.3
               workers wait wait catch-up wait catch-up"
        )
    };
    check(
        &story("runs"),
        expect![[r#"
            4.12.9 -> 4.13.5: ready
            4.13.5 -> 4.13.9: ready
            4.13.9 -> 4.14.8: ready
            4.14.8 -> 4.15.5: ready
            4.15.5 -> 4.16.3: ready
        "#]],
    );
    check_tasks(
        &story("runs"),
        expect![[r#"
            before 4.13.5
              pause pool worker, so that its nodes are updated once, after the minor versions between
            before 4.15.5
              unpause pool worker, so that its nodes catch up with 4.14.8
              wait until all of pool worker is at 4.14.8
              pause pool worker, so that its nodes are updated once, after the minor versions between
            at the end
              unpause pool worker, so that its nodes follow
              wait until all of pool worker is at 4.16.3
        "#]],
    );
    check_tasks(
        &story("paused"),
        expect![[r#"
            before 4.15.5
              unpause pool worker, so that its nodes catch up with 4.14.8
              wait until all of pool worker is at 4.14.8
              pause pool worker, so that its nodes are updated once, after the minor versions between
            at the end
              unpause pool worker, so that its nodes follow
              wait until all of pool worker is at 4.16.3
        "#]],
    );
    // Its workers are older than the plan thinks.
    check(
        &story("paused").replace("node w1 worker 1.25", "node w1 worker 1.24"),
        expect![[r#"
            4.12.9 -> 4.13.5: refused
              PausedPoolTooOld: pool worker is paused and its 1 node at Kubernetes 1.24 would be 2 minor versions behind the API server's 1.26; the limit there is 1
            4.13.5 -> 4.13.9: ready
            4.13.9 -> 4.14.8: ready
            4.14.8 -> 4.15.5: ready
            4.15.5 -> 4.16.3: ready
        "#]],
    );
}
