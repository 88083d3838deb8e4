//! Each rule, both sides of its edge.

use expect_test::expect;
use jiff::SignedDuration;
use towpath_core::fleet::FleetPlanner;

use crate::dsl::{check, read};

#[test]
fn a_mutex_lets_one_cluster_through() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes prod
        cluster b at 4.9.1 offers 4.9.2 mutexes prod
        cluster c at 4.9.1 offers 4.9.2
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  wait: mutex prod is held by a
                 4.9.2: yes
            c  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn an_upgrade_under_way_holds_its_mutexes_whoever_started_it() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes prod
        cluster b at 4.9.1 offers 4.9.2 mutexes prod
        upgrade a to 4.9.2 started by other hours-ago 1
        ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 17:00Z
                 4.9.2: yes
            b  wait: mutex prod is held by a
                 4.9.2: yes
        "#]],
    );
}

#[test]
fn the_walk_is_greedy_and_in_order() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes m1
        cluster b at 4.9.1 offers 4.9.2 mutexes m1,m2
        cluster c at 4.9.1 offers 4.9.2 mutexes m2
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  wait: mutex m1 is held by a
                 4.9.2: yes
            c  start 4.9.2 at 18:07
        "#]],
    );
    check(
        "
        cluster a at 4.9.2 offers 4.9.3 mutexes m1
        cluster b at 4.9.1 offers 4.9.2 mutexes m1,m2
        cluster c at 4.9.2 offers 4.9.3 mutexes m2
        ",
        expect![[r#"
            b  start 4.9.2 at 18:07
            a  wait: mutex m1 is held by b
                 4.9.3: yes
            c  wait: mutex m2 is held by b
                 4.9.3: yes
        "#]],
    );
}

#[test]
fn a_limit_counts_the_sectors_own_holders_of_a_mutex() {
    check(
        "
        sector prod limit 2
        cluster a at 4.9.1 offers 4.9.2 sector prod mutexes m
        cluster b at 4.9.1 offers 4.9.2 sector prod mutexes m
        cluster c at 4.9.1 offers 4.9.2 sector prod mutexes m
        cluster d at 4.9.1 offers 4.9.2 sector prod
        cluster e at 4.9.1 offers 4.9.2 mutexes m
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.9.2 at 18:07
            c  wait: at most 2 of sector prod may hold mutex m at once: a, b
                 4.9.2: yes
            d  start 4.9.2 at 18:07
            e  wait: mutex m is held by a
                 4.9.2: yes
        "#]],
    );
}

#[test]
fn a_mutex_named_after_a_cluster_is_held_by_that_cluster() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2
        cluster b at 4.9.1 offers 4.9.2 mutexes id-a
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  wait: mutex id-a is held by a
                 4.9.2: yes
        "#]],
    );
}

#[test]
fn organisations_share_a_mutex_only_where_they_say_so() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes db
        cluster b at 4.9.1 offers 4.9.2 mutexes db in other
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.9.2 at 18:07
        "#]],
    );
    check(
        "
        org shares db
        org shares db in other
        cluster a at 4.9.1 offers 4.9.2 mutexes db
        cluster b at 4.9.1 offers 4.9.2 mutexes db in other
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  wait: mutex db is held by a
                 4.9.2: yes
        "#]],
    );
}

#[test]
fn soak_must_be_enough_for_every_workload() {
    check(
        "
        soak web on 4.9.2 6.999
        soak web on 4.9.3 7
        soak db on 4.9.3 0.5
        cluster a at 4.9.1 offers 4.9.2,4.9.3 soak 7
        cluster b at 4.9.1 offers 4.9.2,4.9.3 soak 7 workloads web,db
        cluster c at 4.9.3 workloads db
        cluster d at 4.9.1 offers 4.9.4 soak none
        ",
        expect![[r#"
            d  start 4.9.4 at 18:07
            a  start 4.9.3 at 18:07
            b  yes
                 4.9.3: wait until 2021-09-06T06:00:00Z: db has soaked 0.5 of 7 days; 1 cluster is adding to it, enough at 2021-09-06 06:00Z
                 4.9.2: wait: db has soaked 0 of 7 days; 0 clusters are adding to it
            c  nothing newer
        "#]],
    );
}

#[test]
fn sectors_wait_for_those_before_them() {
    for canary in ["canary workloads web", "canary workloads other"] {
        check(
            &format!(
                "
                sector stage
                sector canary after stage
                sector prod after canary
                cluster p at 4.12.1 offers 4.12.19 sector prod
                cluster c at 4.12.19 sector {canary}
                cluster s at 4.12.1 sector stage
                "
            ),
            match canary {
                "canary workloads web" => expect![[r#"
                    p  start 4.12.19 at 18:07
                    s  nothing newer
                    c  nothing newer
                "#]],
                _ => expect![[r#"
                    p  yes
                         4.12.19: wait: sector stage comes first, and s there is on 4.12.1
                    s  nothing newer
                    c  nothing newer
                "#]],
            },
        );
    }
}

#[test]
fn a_release_candidate_is_before_its_release() {
    check(
        "
        sector stage
        sector prod after stage
        cluster p at 4.12.1 offers 4.13.0 sector prod
        cluster s at 4.13.0-rc.1 sector stage
        ",
        expect![[r#"
            p  yes
                 4.13.0: wait: sector stage comes first, and s there is on 4.13.0-rc.1
            s  nothing newer
        "#]],
    );
}

#[test]
fn stragglers_and_the_silent_stop_holding_back_after_their_days() {
    for days in [2, 3] {
        check(
            &format!(
                "
                sector stage stragglers 3
                sector prod after stage
                cluster p at 4.9.1 offers 4.9.2 sector prod
                cluster s1 at 4.9.2 sector stage since {days}
                cluster s2 at 4.9.1 sector stage
                "
            ),
            match days {
                2 => expect![[r#"
                    p   yes
                          4.9.2: wait: sector stage comes first, and s2 there is on 4.9.1
                    s2  nothing newer
                    s1  nothing newer
                "#]],
                _ => expect![[r#"
                    p   start 4.9.2 at 18:07
                    s2  nothing newer
                    s1  nothing newer
                "#]],
            },
        );
    }
    check(
        "
        sector stage stragglers 3
        sector prod after stage
        cluster p at 4.9.1 offers 4.9.2 sector prod
        cluster s1 at 4.9.2 sector stage
        cluster s2 at 4.9.1 sector stage silent 3
        ",
        expect![[r#"
            p   start 4.9.2 at 18:07
            s2  wait: the cluster has not reported since 2021-08-27 18:00Z
            s1  nothing newer
        "#]],
    );
}

#[test]
fn blocked_versions_are_searched_for_anywhere() {
    check(
        "
        org blocks -rc
        cluster a at 4.12.0 offers 4.12.19,4.12.20,4.13.0-rc.1 blocks 4.12.1
        cluster b at 4.12.0 offers 4.12.19 blocks ^4\\.12\\.1$
        ",
        expect![[r#"
            a  start 4.12.20 at 18:07
            b  start 4.12.19 at 18:07
        "#]],
    );
}

#[test]
fn a_closed_gate_leaves_the_next_lower_version() {
    check(
        "
        gate g1 before 4.10
        gate g2 before 4.10 label api.openshift.com/gate-sts
        cluster a at 4.9.1 offers 4.9.2,4.10.1
        cluster b at 4.9.1 offers 4.9.2,4.10.1 acks g1 not-sts
        cluster c at 4.9.1 offers 4.9.2,4.10.1 acks g1 sts
        cluster d at 4.10.0 offers 4.10.1
        cluster e at 4.9.1 offers 4.10.1 approves-gates api.openshift.com/gate-ocp not-sts
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.10.1 at 18:07
            c  start 4.9.2 at 18:07
            e  start 4.10.1 at 18:07
            d  start 4.10.1 at 18:07
        "#]],
    );
}

#[test]
fn a_gate_of_an_unknown_label_holds_every_cluster() {
    check(
        "
        gate g1 before 4.10 label api.openshift.com/gate-ingress
        cluster a at 4.9.1 offers 4.10.1
        cluster b at 4.9.1 offers 4.9.2,4.10.1
        cluster c at 4.9.1 offers 4.10.1 acks g1
        cluster d at 4.9.1 offers 4.10.1 approves-gates api.openshift.com/gate-ingress
        cluster e at 4.9.1 offers 4.10.1 approves-gates api.openshift.com/gate-ocp
        ",
        expect![[r#"
            a  yes
                 4.10.1: no: gate g1 (api.openshift.com/gate-ingress) has not been acknowledged
            b  start 4.9.2 at 18:07
            c  start 4.10.1 at 18:07
            d  start 4.10.1 at 18:07
            e  yes
                 4.10.1: no: gate g1 (api.openshift.com/gate-ingress) has not been acknowledged
        "#]],
    );
}

#[test]
fn a_minor_version_is_left_out_only_where_the_table_says_so() {
    let clusters = "
        cluster a at 4.9.1 offers 4.9.2,4.12.1
        cluster b at 4.9.1 offers 4.10.1
        cluster c at 4.9.1 offers 4.11.1
        cluster d at 4.10.1 offers 4.12.1
        cluster e at 4.12.1 offers 5.0.1
        cluster f at 4.12.1 offers 6.0.1
        cluster g at 6.0.1 offers 6.0.2
        cluster h at 4.9.1 offers 5.0.1
        ";
    check(
        &format!("minors\n{clusters}"),
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.10.1 at 18:07
            c  start 4.11.1 at 18:07
            h  yes
                 5.0.1: no: it leads from OpenShift 4.9 directly to 5.0, without 4.10, 4.11, 4.12; clusters refuse that
            d  yes
                 4.12.1: no: it leads from OpenShift 4.10 directly to 4.12, without 4.11; clusters refuse that
            e  yes
                 5.0.1: no: nobody has verified that OpenShift 5.0 follows 4.12
            f  yes
                 6.0.1: no: this towpath does not know OpenShift 6.0, nor what it follows
            g  start 6.0.2 at 18:07
        "#]],
    );
    // Decisions from before have no table, and are decided again as they were.
    let before = read(clusters);
    let (_, decision) = towpath_core::fleet::dispatch(before.input, before.now);
    assert_eq!(decision.starts.len(), 8);
}

#[test]
fn a_gate_holds_where_nobody_knows_whether_it_concerns_the_cluster() {
    check(
        "
        gate g1 before 4.10 label api.openshift.com/gate-sts
        gate g2 before 4.11 label api.openshift.com/gate-wif
        cluster a at 4.9.1 offers 4.10.1
        cluster b at 4.9.1 offers 4.10.1 on AWS
        cluster c at 4.9.1 offers 4.10.1 on GCP
        cluster d at 4.9.1 offers 4.10.1 not-sts
        cluster e at 4.9.1 offers 4.10.1 acks g1
        cluster f at 4.10.0 offers 4.11.1
        cluster g at 4.10.0 offers 4.11.1 on gcp
        cluster h at 4.10.0 offers 4.11.1 on aws sts
        cluster i at 4.10.0 offers 4.11.1 on gcp wif
        cluster j at 4.10.0 offers 4.11.1 on gcp not-wif
        ",
        expect![[r#"
            a  yes
                 4.10.1: no: gate g1 (api.openshift.com/gate-sts) has not been acknowledged, and nobody knows whether the cluster uses STS
            b  yes
                 4.10.1: no: gate g1 (api.openshift.com/gate-sts) has not been acknowledged, and nobody knows whether the cluster uses STS
            c  start 4.10.1 at 18:07
            d  start 4.10.1 at 18:07
            e  start 4.10.1 at 18:07
            f  yes
                 4.11.1: no: gate g2 (api.openshift.com/gate-wif) has not been acknowledged, and nobody knows whether the cluster uses WIF
            g  yes
                 4.11.1: no: gate g2 (api.openshift.com/gate-wif) has not been acknowledged, and nobody knows whether the cluster uses WIF
            h  start 4.11.1 at 18:07
            i  yes
                 4.11.1: no: gate g2 (api.openshift.com/gate-wif) has not been acknowledged
            j  start 4.11.1 at 18:07
        "#]],
    );
}

#[test]
fn a_gate_that_does_not_say_what_it_stands_before_stands_before_every_minor_version() {
    check(
        "
        gate g1 before four
        cluster a at 4.9.1 offers 4.9.2,4.10.1
        cluster b at 4.9.1 offers 4.10.1 acks g1
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.10.1 at 18:07
        "#]],
    );
}

#[test]
fn after_a_refusal_the_next_lower_version_is_tried() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2,4.10.1,4.10.2
        cluster b at 4.9.1 offers 4.10.2
        cluster c at 4.9.1 offers 4.9.2,4.10.2
        cluster d at 4.9.1 offers 4.9.2,4.10.2
        upgrade a to 4.10.2 refused hours-ago 0 failures 1
        upgrade b to 4.10.2 refused hours-ago 2 failures 3
        upgrade c to 4.10.2 refused hours-ago 1 failures 1
        upgrade d to 4.10.2 refused hours-ago 30 failures 99
        upgrade d to 4.10.2 refused hours-ago 23 failures 100
        ",
        expect![[r#"
            a  start 4.10.1 at 18:07
            b  yes
                 4.10.2: wait until 2021-08-30T20:00:00Z: the API refused it 3 times in a row and is asked again at 2021-08-30 20:00Z: missing version gate agreements
            c  start 4.10.2 at 18:07
            d  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn a_refused_version_comes_back_when_its_time_has_come_without_anything_else_changing() {
    let story = read(
        "
        cluster a at 4.9.1 offers 4.10.2
        upgrade a to 4.10.2 refused hours-ago 0 failures 2
        ",
    );
    let mut desk = FleetPlanner::new(story.input);
    let starts = |desk: &mut FleetPlanner, minutes| {
        desk.pass(story.now + SignedDuration::from_mins(minutes))
            .starts
            .len()
    };
    assert_eq!(
        [0, 60, 119, 120].map(|minutes| starts(&mut desk, minutes)),
        [0, 0, 0, 1]
    );
}

#[test]
fn a_cluster_that_is_left_alone_is_not_started_and_nobody_waits_for_it() {
    check(
        "
        sector stage limit 50%
        sector prod after stage
        soak web on 4.9.2 1
        cluster s1 at 4.9.0 offers 4.9.2 sector stage left-alone mutexes m
        cluster s2 at 4.9.2 sector stage mutexes m
        cluster p1 at 4.9.1 offers 4.9.2 sector prod
        cluster p2 at 4.9.1 offers 4.9.2 sector prod soak 1
        upgrade s1 to 4.9.2 planned
        ",
        expect![[r#"
            s1  no: its file disables ocm-upgrade-scheduler, so it is left alone (cluster.yaml); its upgrade to 4.9.2 is planned for 2021-08-30 18:30Z
                  4.9.2: yes
            p1  start 4.9.2 at 18:07
            p2  start 4.9.2 at 18:07
            s2  wait: at most 1 of sector stage may hold mutex m at once: s1
            cancel 1: no: its file disables ocm-upgrade-scheduler, so it is left alone (cluster.yaml)
        "#]],
    );
}

#[test]
fn pins_approvals_and_risks() {
    check(
        "
        approve 4.9.2 for b
        cluster a at 4.9.1 offers 4.9.2,4.9.3 pin 4.9.2
        cluster b at 4.9.1 offers 4.9.2,4.9.3 approval
        cluster c at 4.9.1 offers 4.9.2,4.9.3 risk Bad=4.9.3
        cluster d at 4.9.1 offers 4.9.2,4.9.3 risk Bad=4.9.3 accepts Bad
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.9.2 at 18:07
            c  start 4.9.2 at 18:07
            d  start 4.9.3 at 18:07
        "#]],
    );
}

#[test]
fn an_accepted_risk_counts_until_its_end() {
    // It is 18:00. At its end it no longer counts, and a second before it does.
    check(
        "
        cluster a at 4.9.1 offers 4.9.3 risk Bad=4.9.3 accepts Bad@2021-08-30T18:00:01Z
        cluster b at 4.9.1 offers 4.9.3 risk Bad=4.9.3 accepts Bad@2021-08-30T18:00:00Z
        cluster c at 4.9.1 offers 4.9.3 risk Bad=4.9.3 accepts Worse
        ",
        expect![[r#"
            a  start 4.9.3 at 18:07
            b  yes
                 4.9.3: no: it carries the risk Bad, see https://example.com
            c  yes
                 4.9.3: no: it carries the risk Bad, see https://example.com
        "#]],
    );
}

#[test]
fn until_fixed_ends_when_a_higher_release_of_the_minor_has_not_got_the_risk() {
    // b may go to 4.9.4 instead, once that has soaked. 4.10.0 fixes nothing for who wants to stay on 4.9.
    check(
        "
        soak web on 4.9.3 9
        cluster a at 4.9.1 offers 4.9.3,4.10.0 risk Bad=4.9.3 accepts Bad@fixed blocks ^4\\.10 soak 1
        cluster b at 4.9.1 offers 4.9.3,4.9.4 risk Bad=4.9.3 accepts Bad@fixed soak 1
        cluster c at 4.9.1 offers 4.9.2,4.9.3 risk Bad=4.9.3 accepts Bad@fixed soak 1
        ",
        expect![[r#"
            a  start 4.9.3 at 18:07
            b  yes
                 4.9.4: wait: web has soaked 0 of 1 days; 0 clusters are adding to it
                 4.9.3: no: it carries the risk Bad, see https://example.com
            c  start 4.9.3 at 18:07
        "#]],
    );
}

#[test]
fn a_preflight_must_have_passed_where_the_policy_wants_it() {
    check(
        "
        preflight b of 4.9.2 is running
        preflight c of 4.9.2 is passed
        preflight d of 4.9.2 is passed from 4.9.0
        preflight e of 4.9.2 is passed ago 168
        preflight f of 4.9.2 is failed finds OldDriver
        preflight g of 4.9.2 is failed finds OldDriver
        preflight h of 4.9.2 is unsupported
        preflight i of 4.9.2 is unsupported
        preflight j of 4.9.2 is incomplete
        preflight k of 4.9.3 is passed
        cluster a at 4.9.1 offers 4.9.2 preflight required
        cluster b at 4.9.1 offers 4.9.2 preflight required
        cluster c at 4.9.1 offers 4.9.2 preflight required
        cluster d at 4.9.1 offers 4.9.2 preflight required
        cluster e at 4.9.1 offers 4.9.2 preflight required
        cluster f at 4.9.1 offers 4.9.2 preflight required
        cluster g at 4.9.1 offers 4.9.2 preflight required accepts OldDriver
        cluster h at 4.9.1 offers 4.9.2 preflight required
        cluster i at 4.9.1 offers 4.9.2 preflight where-supported
        cluster j at 4.9.1 offers 4.9.2 preflight where-supported
        cluster k at 4.9.1 offers 4.9.2,4.9.3 preflight required
        cluster l at 4.9.1 offers 4.9.2
        ",
        expect![[r#"
            a  yes
                 4.9.2: wait: its policy wants a passed preflight, and none from 4.9.1 counts
            b  yes
                 4.9.2: wait: its preflight was asked for at 2021-08-30 18:00Z, and has no outcome yet
            c  start 4.9.2 at 18:07
            d  yes
                 4.9.2: wait: its policy wants a passed preflight, and none from 4.9.1 counts; the last was at 2021-08-30 18:00Z
            e  yes
                 4.9.2: wait: its policy wants a passed preflight, and none from 4.9.1 counts; the last was at 2021-08-23 18:00Z
            f  yes
                 4.9.2: wait: its preflight at 2021-08-30 18:00Z has failed; it found OldDriver
            g  start 4.9.2 at 18:07
            h  yes
                 4.9.2: wait: its policy wants a passed preflight, and the cluster does not have preflights
            i  start 4.9.2 at 18:07
            j  yes
                 4.9.2: wait: its preflight at 2021-08-30 18:00Z came to no result
            k  start 4.9.3 at 18:07
            l  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn health_pauses_and_switched_off_organisations() {
    check(
        "
        org disabled in off
        sector s
        pause sector s in org
        cluster a at 4.9.1 offers 4.9.2 unhealthy
        cluster b at 4.9.1 offers 4.9.2 silent 2
        cluster c at 4.9.1 offers 4.9.2 sector s
        cluster d at 4.9.1 offers 4.9.2 in off
        cluster e at 4.9.1 offers 4.9.2
        ",
        expect![[r#"
            d  no: organisation off is switched off
                 4.9.2: yes
            a  wait: the cluster is not well: etcd
                 4.9.2: yes
            b  wait: the cluster has not reported since 2021-08-28 18:00Z
                 4.9.2: yes
            c  wait: paused in sector s in organisation org by ada at 2021-08-30 18:00Z: an incident
                 4.9.2: yes
            e  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn a_failed_cluster_backs_off_and_lets_its_peers_through() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes m
        cluster b at 4.9.1 offers 4.9.2 mutexes m
        upgrade a to 4.9.2 failed failures 2 hours-ago 1
        ",
        expect![[r#"
            a  wait: it failed to reach 4.9.2, 2 times in a row, and waits until 2021-08-30 19:00Z; mutex m is held by b
                 4.9.2: yes
            b  start 4.9.2 at 18:07
        "#]],
    );
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes m
        upgrade a to 4.9.2 failed failures 2 hours-ago 2
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn failures_in_a_sector_stop_the_version_there() {
    check(
        "
        sector s failures 2
        cluster a at 4.9.1 offers 4.9.2 sector s
        cluster b at 4.9.1 offers 4.9.2 sector s
        cluster c at 4.9.1 offers 4.9.2,4.9.3 sector s
        cluster d at 4.9.1 offers 4.9.2
        upgrade a to 4.9.2 failed hours-ago 30
        upgrade b to 4.9.2 failed hours-ago 30
        ",
        expect![[r#"
            a  yes
                 4.9.2: wait: 2 upgrades to it failed in sector s, where 2 are too many
            b  yes
                 4.9.2: wait: 2 upgrades to it failed in sector s, where 2 are too many
            c  start 4.9.3 at 18:07
            d  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn node_pools_follow_one_at_a_time_before_the_control_plane_goes_on() {
    check(
        "
        cluster a at 4.9.2 offers 4.9.3 pools np0=4.9.2,np1=4.9.1,np2=4.9.0 schedule 0_3_*_*_* blocks .*
        cluster b at 4.9.2 offers 4.9.3 pools np0=4.9.2
        ",
        expect![[r#"
            a  start np1 4.9.2 at 18:06
            b  start 4.9.3 at 18:07
        "#]],
    );
}

#[test]
fn the_schedule_says_when() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 schedule 0_20_*_*_*
        cluster b at 4.9.1 offers 4.9.2 schedule 1_20_*_*_*
        cluster c at 4.9.1 offers 4.9.2 schedule 0_0_31_2_*
        ",
        expect![[r#"
            a  start 4.9.2 at 20:00
            b  wait until 2021-08-30T20:01:00Z: its schedule (1 20 * * *) is closed until 2021-08-30 20:01Z
                 4.9.2: yes
            c  no: its schedule (0 0 31 2 *) never opens
                 4.9.2: yes
        "#]],
    );
}

#[test]
fn windows_and_exclusions_are_named_where_they_are_what_stands_in_the_way() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 window 0_22_*_*_*+2
        cluster b at 4.9.1 offers 4.9.2 excluded 2021-08-30..2021-09-02=freeze
        cluster c at 4.9.1 offers 4.9.2 schedule 0_9_*_*_1 excluded 2021-09-06..2021-09-07=audit
        cluster d at 4.9.1 offers 4.9.2 schedule 0_9_*_*_* window 0_22_*_*_*+2
        cluster e at 4.9.1 offers 4.9.2 schedule 0_9_*_*_* window 0_8_*_*_*+2
        cluster f at 4.9.1 offers 4.9.2 window 0_18_*_*_*+2 excluded 2021-09-06..2021-09-07=audit
        ",
        expect![[r#"
            a  wait until 2021-08-30T22:00:00Z: its next start is outside its maintenance windows, so it may not start before 2021-08-30 22:00Z
                 4.9.2: yes
            b  wait until 2021-09-02T00:00:00Z: an exclusion (2021-08-30 00:00 to 2021-09-02 00:00 UTC: freeze) covers its next start, so it may not start before 2021-09-02 00:00Z
                 4.9.2: yes
            c  wait until 2021-09-13T09:00:00Z: an exclusion (2021-09-06 00:00 to 2021-09-07 00:00 UTC: audit) covers its next start, so it may not start before 2021-09-13 09:00Z
                 4.9.2: yes
            d  no: its schedule (0 9 * * *) has no start that its maintenance windows and exclusions allow
                 4.9.2: yes
            e  wait until 2021-08-31T09:00:00Z: its schedule (0 9 * * *) is closed until 2021-08-31 09:00Z
                 4.9.2: yes
            f  start 4.9.2 at 18:07
        "#]],
    );
}

/// A mistake may have cost a cluster its sector or its workloads. Then it may be one of those that come first.
#[test]
fn a_cluster_that_nobody_can_place_holds_back_those_who_may_have_to_wait_for_it() {
    let story = |stage: &str| {
        format!(
            "
            sector stage
            sector prod after stage
            cluster s1 at 4.9.2 sector stage
            cluster s2 at 4.9.1 {stage}
            cluster p at 4.9.1 offers 4.9.2 sector prod
            cluster q at 4.9.1 offers 4.9.2
            "
        )
    };
    check(
        &story("problem unknown-field"),
        expect![[r#"
        p   yes
              4.9.2: no: s2 is on 4.9.1, and may belong to sector stage, which comes first: its policy is wrong, so nobody knows its sector
        q   start 4.9.2 at 18:07
        s2  no: its policy is wrong: unknown-field (org.yaml)
        s1  nothing newer
    "#]],
    );
    check(
        &story("sector stage workloads wbe problem unknown-workload"),
        expect![[r#"
            p   yes
                  4.9.2: wait: sector stage comes first, and s2 there is on 4.9.1
            q   start 4.9.2 at 18:07
            s2  no: its policy is wrong: unknown-workload (org.yaml)
            s1  nothing newer
        "#]],
    );
    check(
        &story("problem bad-schedule"),
        expect![[r#"
        p   start 4.9.2 at 18:07
        q   start 4.9.2 at 18:07
        s2  no: its policy is wrong: bad-schedule (org.yaml)
        s1  nothing newer
    "#]],
    );
}

#[test]
fn inherited_soak_counts_and_inherited_versions_lead() {
    check(
        "
        org inherits pub
        sector prod
        soak web on 4.9.2 2 in pub
        soak web on 4.9.3 9 in pub
        cluster x at 4.9.2 in pub
        cluster a at 4.9.1 offers 4.9.2,4.9.3 soak 2 sector prod
        cluster b at 4.9.1 offers 4.9.2,4.9.3 soak 2
        ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  start 4.9.3 at 18:07
            x  nothing newer
        "#]],
    );
}

#[test]
fn a_version_below_is_no_candidate() {
    check(
        "
        cluster a at 4.9.3 offers 4.9.1,4.9.3
        ",
        expect![[r#"
            a  nothing newer
        "#]],
    );
}

#[test]
fn who_is_above_a_version_does_not_make_laggards_of_those_below_it() {
    check(
        "
        sector stage stragglers 3
        sector prod after stage
        cluster p at 4.12.1 offers 4.12.2 sector prod
        cluster s1 at 4.13.0 sector stage since 300
        cluster s2 at 4.12.1 sector stage
        ",
        expect![[r#"
            p   yes
                  4.12.2: wait: sector stage comes first, and s2 there is on 4.12.1
            s2  nothing newer
            s1  nothing newer
        "#]],
    );
}

#[test]
fn a_failure_is_made_good_by_whoever_brings_the_cluster_there() {
    check(
        "
        sector s failures 1
        cluster a at 4.9.2 sector s
        cluster b at 4.9.1 offers 4.9.2 sector s
        upgrade a to 4.9.2 failed hours-ago 1
        ",
        expect![[r#"
            b  start 4.9.2 at 18:07
            a  nothing newer
            finished 1: it had failed, and completed later all the same
        "#]],
    );
}
