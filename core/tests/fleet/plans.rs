//! Planned upgrades are judged again until they start; what runs is followed.

use expect_test::expect;

use crate::dsl::check;

#[test]
fn a_version_that_gets_blocked_cancels_what_is_planned_and_leaves_what_runs() {
    check(
        "
        org blocks 4.9.2
        cluster a at 4.9.1 offers 4.9.2
        cluster b at 4.9.1 offers 4.9.2 going-to 4.9.2
        cluster c at 4.9.1 offers 4.9.2
        upgrade a to 4.9.2 planned
        upgrade b to 4.9.2 started hours-ago 1
        upgrade c to 4.9.2 planned by other
        ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:30Z
                 4.9.2: no: blocked by the organisation's pattern 4.9.2
            b  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 17:00Z
                 4.9.2: no: blocked by the organisation's pattern 4.9.2
            c  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:30Z
                 4.9.2: no: blocked by the organisation's pattern 4.9.2
            cancel 1: no: blocked by the organisation's pattern 4.9.2
        "#]],
    );
}

#[test]
fn a_plan_begins_when_its_time_has_come_and_it_still_holds() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2
        cluster b at 4.9.1
        cluster c at 4.9.1 offers 4.9.2 unhealthy
        cluster d at 4.9.2
        upgrade a to 4.9.2 planned hours-ago 0
        upgrade b to 4.9.2 planned hours-ago 0
        upgrade c to 4.9.2 planned hours-ago 0
        upgrade d to 4.9.2 planned hours-ago 0
        upgrade gone to 4.9.2 planned hours-ago 0
        ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:00Z
                 4.9.2: yes
            b  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:00Z
            c  wait: the cluster is not well: etcd; its upgrade to 4.9.2 is planned for 2021-08-30 18:00Z
                 4.9.2: yes
            d  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:00Z
            cancel 2: wait: it is no longer available to the cluster
            cancel 3: wait: the cluster is not well: etcd
            cancel 5: wait: the cluster is no longer managed
            begin 1
            finished 4: it is there
        "#]],
    );
}

#[test]
fn what_runs_finishes_is_overdue_or_never_began() {
    check(
        "
        cluster a at 4.9.2
        cluster b at 4.9.1 going-to 4.9.2
        cluster c at 4.9.1
        cluster d at 4.9.1
        cluster e at 4.9.2 pools np0=4.9.2,np1=4.9.1
        upgrade a to 4.9.2 started hours-ago 1
        upgrade b to 4.9.2 started hours-ago 7
        upgrade c to 4.9.2 started hours-ago 2
        upgrade d to 4.9.2 started hours-ago 3
        upgrade e to 4.9.2 started pool np0 hours-ago 1
        ",
        expect![[r#"
            b  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 11:00Z
            c  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 16:00Z
            d  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 15:00Z
            a  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 17:00Z
            e  wait: node pool np1 is on 4.9.1 and comes first; its upgrade of node pool np0 to 4.9.2 has been under way since 2021-08-30 17:00Z
            finished 1: it is there
            failed 4: the cluster did not begin in time
            finished 5: it is there
            overdue 2 since 2021-08-30T11:00:00Z
        "#]],
    );
}

/// Passes may be hours apart. A plan that comes late begins all the same while its schedule, its windows and its exclusions
/// let it; else it is planned again.
#[test]
fn a_plan_that_comes_late_begins_while_its_schedule_is_open() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2
        cluster b at 4.9.1 offers 4.9.2 schedule 0_15_*_*_*
        cluster c at 4.9.1 offers 4.9.2 schedule 0_*_*_*_*
        cluster d at 4.9.1 offers 4.9.2 window 0_14_*_*_*+2
        cluster e at 4.9.1 offers 4.9.2 excluded 2021-08-30T16:00..2021-09-02T00:00=freeze
        upgrade a to 4.9.2 planned hours-ago 3
        upgrade b to 4.9.2 planned hours-ago 3
        upgrade c to 4.9.2 planned hours-ago 3
        upgrade d to 4.9.2 planned hours-ago 3
        upgrade e to 4.9.2 planned hours-ago 3
        ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 is planned for 2021-08-30 15:00Z
                 4.9.2: yes
            b  wait: its schedule (0 15 * * *) is closed until 2021-08-31 15:00Z; its upgrade to 4.9.2 is planned for 2021-08-30 15:00Z
                 4.9.2: yes
            c  wait: its upgrade to 4.9.2 is planned for 2021-08-30 15:00Z
                 4.9.2: yes
            d  wait: its next start is outside its maintenance windows, so it may not start before 2021-08-31 14:00Z; its upgrade to 4.9.2 is planned for 2021-08-30 15:00Z
                 4.9.2: yes
            e  wait: an exclusion (2021-08-30 16:00 to 2021-09-02 00:00 UTC: freeze) covers its next start, so it may not start before 2021-09-02 00:00Z; its upgrade to 4.9.2 is planned for 2021-08-30 15:00Z
                 4.9.2: yes
            cancel 2: wait: its time has passed, and its schedule is no longer open
            cancel 4: wait: its time has passed, and its schedule is no longer open
            cancel 5: wait: its time has passed, and its schedule is no longer open
            begin 1
            begin 3
        "#]],
    );
}

/// Nobody was there at its time. The cluster has two hours from when it could begin, and not from when it should have.
#[test]
fn an_upgrade_that_began_late_has_as_much_time_as_any() {
    check(
        "
        cluster a at 4.9.1
        cluster b at 4.9.1
        upgrade a to 4.9.2 started hours-ago 9 began 1
        upgrade b to 4.9.2 started hours-ago 9 began 3
        ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 17:00Z
            b  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 15:00Z
            failed 2: the cluster did not begin in time
        "#]],
    );
}

/// A clock that was ten years ahead made plans, and started some, and was set right.
#[test]
fn what_a_clock_that_was_ahead_planned_is_called_off() {
    check(
        "
        cluster a at 4.9.1 offers 4.9.2 mutexes m1
        cluster b at 4.9.1 offers 4.9.2 mutexes m2
        cluster c at 4.9.1 offers 4.9.2
        cluster d at 4.9.1 going-to 4.9.2
        cluster e at 4.9.2 pools np0=4.9.2,np1=4.9.1
        upgrade a to 4.9.2 planned hours-ago -2
        upgrade b to 4.9.2 planned hours-ago -87600
        upgrade c to 4.9.2 started hours-ago -87600
        upgrade d to 4.9.2 started hours-ago -87600
        upgrade e to 4.9.2 planned pool np1 hours-ago -3
        ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 is planned for 2021-08-30 20:00Z
                 4.9.2: yes
            b  wait: its upgrade to 4.9.2 is planned for 2031-08-28 18:00Z
                 4.9.2: yes
            c  wait: its upgrade to 4.9.2 has been under way since 2031-08-28 18:00Z
                 4.9.2: yes
            d  wait: its upgrade to 4.9.2 has been under way since 2031-08-28 18:00Z
            e  wait: node pool np1 is on 4.9.1 and comes first; its upgrade of node pool np1 to 4.9.2 is planned for 2021-08-30 21:00Z
            cancel 2: wait: its start lies further ahead than any plan's: it was made by a clock that was ahead
            cancel 5: wait: its start lies further ahead than any plan's: it was made by a clock that was ahead
            failed 3: it was started by a clock that was ahead, and the cluster is not on its way
            overdue 4 since 2031-08-28T18:00:00Z
        "#]],
    );
}
