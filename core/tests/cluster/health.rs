//! What only `ready` looks at: pools, room for one node less, budgets, etcd, the network, what waits and what fires.

use expect_test::expect;
use towpath_core::cluster::AcceptedReasons;

use crate::dsl::{check, check_accepting, check_of, check_tasks, commands};

#[test]
fn a_pool_that_is_degraded_or_still_updating_is_named_before_the_next_minor_version() {
    check(
        "at 4.14.3
         pool master runs degraded Node m1 is reporting: failed to drain node
         pool worker runs updating 3 12
         pool infra paused
         way 4.14.9 4.15.2 4.16.1",
        expect![[r#"
            4.14.3 -> 4.14.9: ready
            4.14.9 -> 4.15.2: refused
              PoolDegraded: pool master is degraded: Node m1 is reporting: failed to drain node
              PoolUpdating: pool worker is still updating: 3 of 12 nodes are done
            4.15.2 -> 4.16.1: ready
        "#]],
    );
    check_tasks(
        "at 4.14.3\npool worker runs updating 3 12\nway 4.15.2",
        expect![[r#"
            before 4.15.2
              wait until all nodes of pool worker are updated
        "#]],
    );
}

#[test]
fn a_pool_without_conditions_is_unknown_and_not_fine() {
    check(
        "at 4.14.3\npool worker runs silent\nway 4.15.2",
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          PoolStateUnknown: pool worker does not say whether it is degraded or updating
    "#]],
    );
}

#[test]
fn the_pods_of_one_node_need_room_on_the_others_of_its_pool() {
    // Each node has 4000m, and 2000m of it free.
    let story = |moved: u32, other: &str| {
        format!(
            "at 4.14.3
             pool worker runs
             node w1 worker 1.27
             node w2 worker 1.27
             node i1 {other} 1.27 cpu 64000
             pod shop a w1 owner Deployment/a cpu {moved}
             pod shop b w2 owner Deployment/b cpu 2000
             way 4.15.2"
        )
    };
    check(
        &story(2_000, "worker"),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &format!("pool infra runs\n{}", story(2_000, "infra")),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &format!("pool infra runs\n{}", story(2_001, "infra")),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          NoRoomForPods: while node w1 of pool worker is away, its pods do not fit on the others: 2001m of CPU are requested, 2000m are free
          NoRoomForPods: while node w2 of pool worker is away, its pods do not fit on the others: 2000m of CPU are requested, 1999m are free
    "#]],
    );
}

#[test]
fn a_pod_that_no_other_node_has_room_for_is_named() {
    check(
        "at 4.14.3
         pool worker runs
         node w1 worker 1.27
         node w2 worker 1.27
         node w3 worker 1.27
         pod shop db-0 w1 owner StatefulSet/db mem 6000
         pod shop b w2 mem 4000
         pod shop c w3 mem 4000
         way 4.15.2",
        expect![[r#"
            4.14.3 -> 4.15.2: refused
              NoRoomForPod: while node w1 of pool worker is away, pod db-0 of shop (StatefulSet db) fits on none of the others: 6000Mi of memory are requested, 4192Mi are free
        "#]],
    );
}

#[test]
fn what_stays_through_a_drain_needs_no_room_and_what_takes_no_pods_has_none() {
    let story = |how: &str, second: &str| {
        format!(
            "at 4.14.3
             pool worker runs
             node w1 worker 1.27
             node w2 worker 1.27 {second}
             pod shop a w1 cpu 3000 {how}
             pod shop b w2 cpu 2000 stays
             way 4.15.2"
        )
    };
    check(
        &story("", ""),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          NoRoomForPods: while node w1 of pool worker is away, its pods do not fit on the others: 3000m of CPU are requested, 2000m are free
    "#]],
    );
    check(
        &story("stays", ""),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &story("ended", ""),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &story("", "cpu 64000 cordoned"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          NoRoomForPods: while node w1 of pool worker is away, its pods do not fit on the others: 3000m of CPU are requested, 0m are free
    "#]],
    );
    check(
        &story("stays", "not-ready"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          NodeNotReady: node w2 is not ready
    "#]],
    );
    check(
        &story("stays", "silent"),
        expect![[r#"
            4.14.3 -> 4.15.2: refused
              NodeStateUnknown: these nodes do not say whether they are ready, or what room they have: w2
        "#]],
    );
}

#[test]
fn a_paused_pool_and_a_single_node_move_nothing() {
    check(
        "at 4.14.3
         pool worker paused
         node w1 worker 1.27
         node w2 worker 1.27 cpu 100
         pod shop a w1 cpu 3000
         way 4.15.2",
        expect![[r#"
            4.14.3 -> 4.15.2: ready
        "#]],
    );
    check(
        "at 4.14.3\npool master runs\nnode m1 master 1.27\npod shop a m1 cpu 3000\nway 4.15.2",
        expect![[r#"
            4.14.3 -> 4.15.2: ready
        "#]],
    );
}

#[test]
fn nodes_of_no_known_pool_may_be_anywhere_but_in_a_hosted_cluster() {
    let story = |pool: &str| {
        format!(
            "at 4.14.3\n{pool}\nnode w1 ? 1.27\nnode w2 ? 1.27\npod shop a w1 cpu 3000\nway 4.15.2"
        )
    };
    check(
        &story("pool worker runs"),
        expect![[r#"
            4.14.3 -> 4.15.2: refused
              NodeWithoutPool: these nodes have pods to move, and nobody can tell which pool updates them: w1
        "#]],
    );
    check(
        &story(""),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
}

#[test]
fn a_budget_that_allows_no_eviction_stops_a_drain() {
    let story = |how: &str| {
        format!(
            "at 4.14.3
             pool worker runs
             node w1 worker 1.27
             node w2 worker 1.27
             pod shop db-0 w1 owner StatefulSet/db label app=db
             pod shop db-1 w2 owner StatefulSet/db label app=db
             budget shop db label app=db {how}
             way 4.15.2"
        )
    };
    check(
        &story("max 1 allows 1 healthy 2 desired 1 expects 2"),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &story("max 1 allows 0 healthy 1 desired 1 expects 2"),
        expect![[r#"
            4.14.3 -> 4.15.2: refused
              BudgetAtLimit: PodDisruptionBudget db of shop allows no eviction now: 1 of 2 pods are healthy, and it needs 1; it counts db-0, db-1 of StatefulSet db
        "#]],
    );
    check(
        &story("max 0 allows 0 healthy 2 desired 2 expects 2"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetAllowsNothing: PodDisruptionBudget db of shop never allows an eviction: maxUnavailable is 0; it counts db-0, db-1 of StatefulSet db
    "#]],
    );
    check(
        &story("max 0% allows 0 healthy 2 desired 2 expects 2"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetAllowsNothing: PodDisruptionBudget db of shop never allows an eviction: maxUnavailable is 0; it counts db-0, db-1 of StatefulSet db
    "#]],
    );
    check(
        &story("min 2 allows 0 healthy 2 desired 2 expects 2"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetAllowsNothing: PodDisruptionBudget db of shop never allows an eviction: minAvailable is as many as there are pods; it counts db-0, db-1 of StatefulSet db
    "#]],
    );
    check(
        &story("min 1 allows 1 healthy 2 desired 1 expects 2"),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &story("min 100% allows 0 healthy 2 desired 2 expects 2"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetAllowsNothing: PodDisruptionBudget db of shop never allows an eviction: minAvailable is 100%; it counts db-0, db-1 of StatefulSet db
    "#]],
    );
    check_tasks(
        &story("min 2 allows 0 healthy 2 desired 2 expects 2"),
        expect![[r#"
        before 4.15.2
          let db of shop allow one eviction: lower minAvailable by one, or add a replica
    "#]],
    );
    assert_eq!(
        commands(&story("max 0 allows 0 expects 2")),
        ["oc -n shop edit poddisruptionbudget db"]
    );
}

/// The nodes of a patch are drained, too.
#[test]
fn a_patch_is_not_refused_for_a_budget_and_told_of_it() {
    check(
        "at 4.14.3
         pod shop db-0 ? label app=db
         budget shop db label app=db max 0 allows 0 expects 1
         way 4.14.4 4.15.2 4.15.3",
        expect![[r#"
            4.14.3 -> 4.14.4: ready
              DrainMayStall: PodDisruptionBudget db of shop never allows an eviction: maxUnavailable is 0; it counts db-0: a patch is not refused for it, and its nodes cannot be drained until it is settled
            4.14.4 -> 4.15.2: refused
              BudgetAllowsNothing: PodDisruptionBudget db of shop never allows an eviction: maxUnavailable is 0; it counts db-0
            4.15.2 -> 4.15.3: ready
        "#]],
    );
}

#[test]
fn a_budget_without_a_status_is_unknown_and_not_at_its_limit() {
    let story = |how: &str| {
        format!(
            "at 4.14.3\npod shop a ? label app=db\nbudget shop db label app=db {how}\nway 4.15.2"
        )
    };
    check(
        &story("max 1"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetUnknown: PodDisruptionBudget db of shop does not say how many evictions it allows
    "#]],
    );
    check(
        &story("min 1 allows 1"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetUnknown: PodDisruptionBudget db of shop does not say how many evictions it allows
    "#]],
    );
}

#[test]
fn a_budget_that_counts_no_pod_of_a_drain_stops_none() {
    let story = |pod: &str| {
        format!(
            "at 4.14.3\n{pod}\nbudget shop db label app=db max 0 allows 0 expects 1\nway 4.15.2"
        )
    };
    check(
        &story("pod shop a ? label app=web"),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &story("pod other a ? label app=db"),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    check(
        &story("pod shop a ? label app=db stays"),
        expect![[r#"
        4.14.3 -> 4.15.2: ready
    "#]],
    );
    // What is not among some of the pods may be among the others.
    check(
        &story("some pods"),
        expect![[r#"
        4.14.3 -> 4.15.2: refused
          BudgetAllowsNothing: PodDisruptionBudget db of shop never allows an eviction: maxUnavailable is 0
          ObjectsGivenInPart: only some of these objects were given: Pods
    "#]],
    );
}

#[test]
fn two_budgets_that_count_one_pod_lock_each_other() {
    check(
        "at 4.14.3
         pod shop db-0 ? owner StatefulSet/db label app=db label tier=data
         pod shop db-1 ? owner StatefulSet/db label app=db label tier=data
         pod shop web ? label app=web
         budget shop db label app=db max 1 allows 1 expects 2
         budget shop data label tier=data max 1 allows 1 expects 2
         way 4.15.2",
        expect![[r#"
            4.14.3 -> 4.15.2: refused
              BudgetsLockEachOther: pod db-0 of shop (StatefulSet db) is counted by 2 PodDisruptionBudgets (db, data), and the API evicts no such pod
        "#]],
    );
}

#[test]
fn every_node_of_the_control_plane_has_a_member_of_etcd_that_is_up() {
    check(
        "at 4.14.3
         pool master runs
         node m1 master 1.27
         node m2 master 1.27
         node m3 master 1.27
         no-etcd m3
         pod openshift-etcd etcd-m2 m2 label app=etcd stays not-ready
         way 4.14.4 4.15.2 4.16.1",
        expect![[r#"
            4.14.3 -> 4.14.4: ready
            4.14.4 -> 4.15.2: refused
              EtcdMemberDown: etcd member etcd-m2 on m2 is not ready
              EtcdMemberMissing: control-plane node m3 has no etcd member
            4.15.2 -> 4.16.1: ready
        "#]],
    );
}

#[test]
fn openshift_sdn_ends_at_4_17() {
    let story =
        |network: &str| format!("at 4.15.3\nnetwork {network}\nway 4.16.1 4.16.9 4.17.1 4.18.1");
    check(
        &story("OpenShiftSDN"),
        expect![[r#"
        4.15.3 -> 4.16.1: ready
          NetworkEndsLater: later, at 4.17: the network is OpenShiftSDN, which OpenShift 4.17 does not have
        4.16.1 -> 4.16.9: ready
          NetworkEndsLater: later, at 4.17: the network is OpenShiftSDN, which OpenShift 4.17 does not have
        4.16.9 -> 4.17.1: refused
          NetworkNotSupported: the network is OpenShiftSDN, which OpenShift 4.17 does not have
        4.17.1 -> 4.18.1: ready
    "#]],
    );
    check(
        &story("OVNKubernetes"),
        expect![[r#"
        4.15.3 -> 4.16.1: ready
        4.16.1 -> 4.16.9: ready
        4.16.9 -> 4.17.1: ready
        4.17.1 -> 4.18.1: ready
    "#]],
    );
    check(
        &story("x\nunknown network"),
        expect![[r#"
        4.15.3 -> 4.16.1: ready
        4.16.1 -> 4.16.9: ready
        4.16.9 -> 4.17.1: refused
          ObjectsNotGiven: nobody can tell without these objects: Network
        4.17.1 -> 4.18.1: ready
    "#]],
    );
    check(
        "at 4.17.3\nunknown network\nway 4.18.1",
        expect![[r#"
        4.17.3 -> 4.18.1: ready
    "#]],
    );
}

#[test]
fn an_install_plan_that_waits_is_named_with_what_it_would_install() {
    check(
        "at 4.14.3\nplan openshift-logging install-x7k2p cluster-logging.v6.2.0 loki.v6.2.0\nway 4.15.1 4.16.1",
        expect![[r#"
            4.14.3 -> 4.15.1: refused
              InstallPlanWaits: InstallPlan install-x7k2p of openshift-logging waits for approval: it would install cluster-logging.v6.2.0, loki.v6.2.0
            4.15.1 -> 4.16.1: ready
        "#]],
    );
}

#[test]
fn critical_alerts_and_those_that_somebody_marked_are_settled_first() {
    check(
        "at 4.14.3
         alert VolumeFull critical shop It is full.
         alert VolumeFull critical bank It is full.
         alert OurBatchRuns precheck shop The nightly batch runs.
         alert KubeNodeNotReady warning ? Node w1 is not ready.
         alert PodDisruptionBudgetAtLimit warning shop It is at its limit.
         alert Watchdog none ? This is fine.
         way 4.15.1 4.16.1",
        expect![[r#"
            4.14.3 -> 4.15.1: refused
              AlertBeforeUpdate: the alert KubeNodeNotReady fires, which may slow the update of nodes: Node w1 is not ready.
              AlertBeforeUpdate: the alert OurBatchRuns fires in shop, which somebody marked as one to settle before updates: The nightly batch runs.
              AlertBeforeUpdate: the alert PodDisruptionBudgetAtLimit fires in shop, which may slow node drains: It is at its limit.
              CriticalAlert: the critical alert VolumeFull fires in bank, shop: It is full.
            4.15.1 -> 4.16.1: ready
        "#]],
    );
}

#[test]
fn runc_ends_with_rhel_10_in_openshift_5() {
    check_of(
        "RuncConfigured",
        "at 4.21.3\nrunc config set-runc\nrunc machine-config 99-worker-runc\nway 4.22.1",
        expect![""],
    );
    check_of(
        "RuncConfigured",
        "at 4.22.3\nrunc config set-runc\nrunc machine-config 99-worker-runc\nway 5.0.1",
        expect![[r#"
              RuncConfigured: containerruntimeconfig set-runc sets the container runtime runc, and new nodes of OpenShift 5.0 have RHEL 10, without it
              RuncConfigured: machineconfig 99-worker-runc sets the container runtime runc, and new nodes of OpenShift 5.0 have RHEL 10, without it
        "#]],
    );
    check_of(
        "RuncConfigured",
        "at 4.22.3\nunknown runc-configs\nunknown runc-machine-configs\nway 5.0.1",
        expect![[r#"
              ObjectsNotGiven: nobody can tell without these objects: ContainerRuntimeConfigs
              ObjectsNotGiven: nobody can tell without these objects: MachineConfigs
        "#]],
    );
}

#[test]
fn rhel_10_is_told_before_openshift_5() {
    check_of(
        "Rhel10Ahead",
        "at 4.22.3\nstream rhel-9\npool worker runs\npool infra runs stream rhel-10\nway 4.22.4 5.0.1",
        expect![[r#"
              Rhel10Ahead: new nodes of OpenShift 5.0 have RHEL 10; pools of the cluster are on rhel-9; these name a stream of their own: infra (rhel-10)
        "#]],
    );
    check_of("Rhel10Ahead", "at 4.21.3\nway 4.22.4", expect![[""]]);
}

#[test]
fn an_operator_that_nobody_supports_any_more_is_a_note() {
    check(
        "at 4.14.3\nended cluster-logging.v5.8.1 openshift-logging 2025-11-30\nway 4.15.1 4.16.1",
        expect![[r#"
            4.14.3 -> 4.15.1: ready
              OperatorEnded: cluster-logging.v5.8.1 in openshift-logging is no longer supported, since 2025-11-30
            4.15.1 -> 4.16.1: ready
        "#]],
    );
}

#[test]
fn gates_of_later_minor_versions_are_foretold() {
    let story = |more: &str| {
        format!(
            "at 4.10.3
             known-gate 4.10 ack-4.10-x
             known-gate 4.11 ack-4.11-x
             known-gate 4.13 ack-4.13-cns on vSphere
             known-gate 4.13 ack-4.13-x
             {more}
             way 4.11.1 4.12.1 4.13.1 4.14.1"
        )
    };
    check(
        &story(""),
        expect![[r#"
            4.10.3 -> 4.11.1: ready
            4.11.1 -> 4.12.1: ready
              AdminAckAhead: OpenShift 4.11 is known to ask for ack-4.11-x before 4.12: Look first
            4.12.1 -> 4.13.1: ready
            4.13.1 -> 4.14.1: ready
              AdminAckAhead: OpenShift 4.13 is known to ask for ack-4.13-cns before 4.14 (on vSphere): Look first
              AdminAckAhead: OpenShift 4.13 is known to ask for ack-4.13-x before 4.14: Look first
        "#]],
    );
    check(
        &story("ack ack-4.11-x\ngate ack-4.13-x Look"),
        expect![[r#"
            4.10.3 -> 4.11.1: ready
            4.11.1 -> 4.12.1: ready
            4.12.1 -> 4.13.1: ready
            4.13.1 -> 4.14.1: refused
              AdminAckAhead: OpenShift 4.13 is known to ask for ack-4.13-cns before 4.14 (on vSphere): Look first
              AdminAckRequired: ack-4.13-x has not been acknowledged: Look
        "#]],
    );
}

/// The table ends somewhere, and says so once. What it knows of a single source, it says with a doubt.
#[test]
fn what_the_table_of_gates_does_not_know_is_said_once() {
    check(
        "at 4.20.3
         node w1 worker 1.33
         pool worker runs
         known-gate 4.21 ack-4.21-x
         gate-unverified
         way 4.21.1 4.22.1 4.23.1 5.1.1",
        expect![[r#"
            4.20.3 -> 4.21.1: ready
            4.21.1 -> 4.22.1: ready
              AdminAckAhead: OpenShift 4.21 is known to ask for ack-4.21-x before 4.22; nobody has verified that: Look first
            4.22.1 -> 4.23.1: ready
              AdminAcksNotKnown: nobody knows yet which acknowledgements OpenShift 4.22 and later ask for before the next minor version
              MinorUnverified: nobody has verified what towpath knows about OpenShift 4.23: kubernetes, kubeletSkew; the strictest reading counts
            4.23.1 -> 5.1.1: ready
              MinorUnverified: nobody has verified what towpath knows about OpenShift 5.1: kubernetes, kubeletSkew; the strictest reading counts
              Rhel10Ahead: new nodes of OpenShift 5.1 have RHEL 10
        "#]],
    );
}

/// A cluster before the patch that brings a gate does not show it yet.
#[test]
fn a_gate_that_begins_with_a_patch_is_foretold_to_clusters_before_it() {
    let story =
        |at: &str| format!("at {at}\nknown-gate 4.8 ack-4.8-x\ngate-since 4.8.14\nway 4.9.1");
    check(
        &story("4.8.13"),
        expect![[r#"
            4.8.13 -> 4.9.1: ready
              AdminAckAhead: OpenShift 4.8 is known to ask for ack-4.8-x before 4.9, from 4.8.14 on: Look first
        "#]],
    );
    check(
        &story("4.8.14"),
        expect![[r#"
            4.8.14 -> 4.9.1: ready
        "#]],
    );
}

/// A later patch of the same minor version may bring the gate.
#[test]
fn a_gate_that_a_patch_on_the_way_may_bring_is_foretold_too() {
    let story = |way: &str| format!("at 4.8.1\nknown-gate 4.8 ack-4.8-x\nway {way}");
    check(
        &story("4.9.1"),
        expect![[r#"
        4.8.1 -> 4.9.1: ready
    "#]],
    );
    check(
        &story("4.8.20 4.9.1"),
        expect![[r#"
            4.8.1 -> 4.8.20: ready
            4.8.20 -> 4.9.1: ready
              AdminAckAhead: OpenShift 4.8 is known to ask for ack-4.8-x before 4.9: Look first
        "#]],
    );
}

#[test]
fn what_is_accepted_stays_visible_and_stands_in_the_way_no_longer() {
    let story = "at 4.14.3
         alert VolumeFull critical shop It is full.
         alert DiskSlow critical shop It is slow.
         plan shop install-a a.v1
         way 4.15.1";
    check_accepting(
        &[],
        story,
        expect![[r#"
        4.14.3 -> 4.15.1: refused
          CriticalAlert: the critical alert DiskSlow fires in shop: It is slow.
          CriticalAlert: the critical alert VolumeFull fires in shop: It is full.
          InstallPlanWaits: InstallPlan install-a of shop waits for approval: it would install a.v1
    "#]],
    );
    check_accepting(
        &["CriticalAlert", "InstallPlanWaits/shop/install-a"],
        story,
        expect![[r#"
        4.14.3 -> 4.15.1: ready
          accepted CriticalAlert: the critical alert DiskSlow fires in shop: It is slow.
          accepted CriticalAlert: the critical alert VolumeFull fires in shop: It is full.
          accepted InstallPlanWaits: InstallPlan install-a of shop waits for approval: it would install a.v1
    "#]],
    );
    check_accepting(
        &[
            "CriticalAlert/VolumeFull",
            "InstallPlanWaits/shop/install-b",
        ],
        story,
        expect![[r#"
            4.14.3 -> 4.15.1: refused
              CriticalAlert: the critical alert DiskSlow fires in shop: It is slow.
              InstallPlanWaits: InstallPlan install-a of shop waits for approval: it would install a.v1
              accepted CriticalAlert: the critical alert VolumeFull fires in shop: It is full.
            nothing is InstallPlanWaits/shop/install-b
        "#]],
    );
    check_accepting(
        &["ObjectsNotGiven/alerts"],
        "at 4.14.3\nunknown alerts\nway 4.15.1",
        expect![[r#"
            4.14.3 -> 4.15.1: ready
              accepted ObjectsNotGiven: nobody can tell without these objects: alerts
        "#]],
    );
}

#[test]
fn a_name_that_no_reason_has_cannot_be_accepted() {
    let read = |name: &str| AcceptedReasons::read([name]).map_err(|error| error.to_string());
    for (name, problem) in [
        (
            "CriticalAlerts",
            "no reason of `ready` has the code \"CriticalAlerts\"; `towpath reason` lists them",
        ),
        (
            "",
            "no reason of `ready` has the code \"\"; `towpath reason` lists them",
        ),
        (
            "NotSoaked",
            "no reason of `ready` has the code \"NotSoaked\"; `towpath reason` lists them",
        ),
        (
            "AdminAckAhead",
            "AdminAckAhead is a note and stands in the way of nothing; leave it out",
        ),
        (
            "KubeletAhead/w1",
            "KubeletAhead is about no single object; accept KubeletAhead as a whole, or not at all",
        ),
    ] {
        assert_eq!(read(name).unwrap_err(), problem);
    }
    assert!(read("BudgetAtLimit/shop/db").is_ok());
}
