//! Days of a fleet, decided hour by hour.

use expect_test::expect;

use crate::dsl::check_days;

/// AUS really made this one: facts/aus.md.
#[test]
fn the_timeline_that_aus_made() {
    check_days(
        14,
        "
        now 2026-01-05T00:00Z
        sector stage
        sector prod after stage
        cluster stage-1 at 4.9.1 soak 0 sector stage mutexes stage schedule 0_13_*_*_1-5
        cluster stage-2 at 4.9.1 soak 1 sector stage mutexes stage schedule 0_13_*_*_1-5
        cluster prod-1 at 4.9.1 soak 5 sector prod mutexes prod schedule 0_13_*_*_1-5
        cluster prod-2 at 4.9.1 soak 5 sector prod mutexes prod schedule 0_13_*_*_1-5
        release 4.9.2 at 2026-01-05T00:00Z
        release 4.9.3 at 2026-01-08T00:00Z
        ",
        expect![[r#"
            2026-01-05T13:00 stage-1 -> 4.9.2
            2026-01-07T13:00 stage-2 -> 4.9.2
            2026-01-08T13:00 stage-1 -> 4.9.3
            2026-01-12T13:00 prod-1 -> 4.9.2
            2026-01-12T13:00 stage-2 -> 4.9.3
            2026-01-13T13:00 prod-2 -> 4.9.3
            2026-01-14T13:00 prod-1 -> 4.9.3
        "#]],
    );
}

#[test]
fn two_stage_clusters_let_production_with_four_soak_days_go_after_two_days() {
    check_days(
        7,
        "
        now 2026-01-05T00:00Z
        cluster stage-1 at 4.9.1 offers 4.9.2
        cluster stage-2 at 4.9.1 offers 4.9.2
        cluster prod at 4.9.1 offers 4.9.2 soak 4
        ",
        expect![[r#"
            2026-01-05T00:07 stage-1 -> 4.9.2
            2026-01-05T00:07 stage-2 -> 4.9.2
            2026-01-07T02:07 prod -> 4.9.2
        "#]],
    );
}

#[test]
fn eighteen_soak_days_over_three_clusters_take_six_days() {
    check_days(
        10,
        "
        now 2026-01-05T00:00Z
        cluster stage-1 at 4.9.1 offers 4.9.2
        cluster stage-2 at 4.9.1 offers 4.9.2
        cluster stage-3 at 4.9.1 offers 4.9.2
        cluster prod at 4.9.1 offers 4.9.2 soak 18
        ",
        expect![[r#"
            2026-01-05T00:07 stage-1 -> 4.9.2
            2026-01-05T00:07 stage-2 -> 4.9.2
            2026-01-05T00:07 stage-3 -> 4.9.2
            2026-01-11T02:07 prod -> 4.9.2
        "#]],
    );
}

#[test]
fn sectors_stage_blue_and_green_with_mutexes() {
    check_days(
        10,
        "
        now 2026-01-05T00:00Z
        sector stage
        sector blue after stage
        sector green after blue
        cluster stage at 4.9.1 offers 4.9.2 sector stage
        cluster blue-1 at 4.9.1 offers 4.9.2 soak 1 sector blue mutexes blue
        cluster blue-2 at 4.9.1 offers 4.9.2 soak 1 sector blue mutexes blue
        cluster green-1 at 4.9.1 offers 4.9.2 soak 2 sector green mutexes green
        cluster green-2 at 4.9.1 offers 4.9.2 soak 2 sector green mutexes green
        ",
        expect![[r#"
            2026-01-05T00:07 stage -> 4.9.2
            2026-01-06T02:07 blue-1 -> 4.9.2
            2026-01-06T04:07 blue-2 -> 4.9.2
            2026-01-06T12:07 green-1 -> 4.9.2
            2026-01-06T14:07 green-2 -> 4.9.2
        "#]],
    );
}

#[test]
fn node_pools_follow_their_control_plane() {
    check_days(
        1,
        "
        now 2026-01-05T00:00Z
        cluster hcp at 4.9.1 offers 4.9.2 pools np0=4.9.1,np1=4.9.1
        ",
        expect![[r#"
            2026-01-05T00:07 hcp -> 4.9.2
            2026-01-05T02:06 hcp -> 4.9.2
            2026-01-05T04:06 hcp -> 4.9.2
        "#]],
    );
}
