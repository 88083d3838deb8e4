//! Channels: a policy may let a cluster be switched to the next one, under the same rules as any start.

use expect_test::expect;

use crate::dsl::check;

#[test]
fn a_release_of_another_channel_is_a_candidate_only_if_the_policy_follows_its_group() {
    check(
        "
        cluster a at 4.20.1 channel stable-4.20 offers 4.20.2,4.21.3@stable-4.21
        cluster b at 4.20.1 channel stable-4.20 offers 4.20.2,4.21.3@stable-4.21 follows stable
        cluster c at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows eus
        cluster d at 4.18.1 channel eus-4.18 offers 4.19.5@eus-4.20 follows eus
        ",
        expect![[r#"
            d  start 4.19.5 over eus-4.20 at 18:07
            a  start 4.20.2 at 18:07
            b  start 4.21.3 over stable-4.21 at 18:07
            c  nothing newer
        "#]],
    );
}

#[test]
fn a_switch_waits_for_soak_blocks_gates_and_mutexes_like_any_start() {
    check(
        "
        gate g before 4.21
        cluster a at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable
        cluster b at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable acks g soak 2
        cluster c at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable acks g blocks ^4.21
        cluster d at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable acks g mutexes m
        cluster e at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable acks g mutexes m
        ",
        expect![[r#"
            a  yes
                 4.21.3: no: gate g (api.openshift.com/gate-ocp) has not been acknowledged
            c  yes
                 4.21.3: no: blocked by the cluster's pattern ^4.21
            d  start 4.21.3 over stable-4.21 at 18:07
            e  wait: mutex m is held by d
                 4.21.3: yes
            b  yes
                 4.21.3: wait: web has soaked 0 of 2 days; 0 clusters are adding to it
        "#]],
    );
}

#[test]
fn a_channel_that_is_not_available_to_the_cluster_holds_and_lower_versions_go_on() {
    check(
        "
        cluster a at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable may-have stable-4.20
        cluster b at 4.20.1 channel stable-4.20 offers 4.20.2,4.21.3@stable-4.21 follows stable may-have stable-4.20
        cluster c at 4.20.1 channel stable-4.20 offers 4.21.3@stable-4.21 follows stable may-have stable-4.20,stable-4.21
        ",
        expect![[r#"
            a  yes
                 4.21.3: wait: it is only in stable-4.21, which is not available to the cluster
            b  start 4.20.2 at 18:07
            c  start 4.21.3 over stable-4.21 at 18:07
        "#]],
    );
}
