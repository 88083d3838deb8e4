//! Ways from one release to another, told in small graphs, and checked against brute force on random ones.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

mod dsl;
mod random;
mod schedule;

use dsl::{check, check_pace};
use expect_test::expect;

/// Three even minor versions, as EUS channels hold them.
const EUS: &str = "
    channel eus-4.8 4.6.1 4.6.9 4.7.5 4.8.2 4.8.9
    channel eus-4.10 4.8.2 4.8.9 4.9.5 4.10.3
    edges 4.6.1 -> 4.6.9
    edges 4.6.9 -> 4.7.5
    edges 4.7.5 -> 4.8.2 4.8.9
    edges 4.8.2 -> 4.8.9 4.9.5
    edges 4.8.9 -> 4.9.5
    edges 4.9.5 -> 4.10.3";

#[test]
fn channels_are_searched_as_one_and_told_hop_by_hop() {
    check(
        EUS,
        "4.6.1 -> 4.10 via eus",
        expect![[r#"
            from 4.6.1
              4.6.9 in eus-4.8, pools stay on 4.6.1
              4.7.5 in eus-4.8, pools stay on 4.6.1
              4.8.9 in eus-4.8, pools stay on 4.6.1, then catch up
              4.9.5 in eus-4.10, pools stay on 4.8.9
              4.10.3 in eus-4.10, pools stay on 4.8.9, then catch up
        "#]],
    );
}

#[test]
fn the_fewest_hops_come_first_then_the_newest_releases() {
    let facts = "
        channel stable-4.9 4.9.0 4.9.1 4.9.2 4.9.3
        edges 4.9.0 -> 4.9.1 4.9.2
        edges 4.9.1 -> 4.9.2 4.9.3
        edges 4.9.2 -> 4.9.3";
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable ways 9",
        expect![[r#"
        from 4.9.0
          4.9.2 in stable-4.9
          4.9.3 in stable-4.9
        from 4.9.0
          4.9.1 in stable-4.9
          4.9.2 in stable-4.9
          4.9.3 in stable-4.9
    "#]],
    );
    check(
        facts,
        "4.9.3 -> newest via stable",
        expect![[r#"
        from 4.9.3
    "#]],
    );
}

#[test]
fn risks_are_avoided_taken_or_counted() {
    let facts = "
        channel stable-4.9 4.9.0 4.9.1 4.9.2 4.9.3
        edges 4.9.0 -> 4.9.1 4.9.2 4.9.3
        edges 4.9.1 -> 4.9.3
        edges 4.9.2 -> 4.9.3
        risk Slow a.yaml 4.9.3 from 4[.]9[.][01] rules query
        risk Slow a.yaml 4.9.1 rules query
        risk Leak b.yaml 4.9.3 from 4[.]9[.]0 rules query
        risk Always c.yaml 4.9.2 rules always";
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable",
        expect![[r#"
            not to 4.9.3; nowhere
              4.9.0 -> 4.9.3: it carries the risk Leak, see https://example.com (b.yaml); it carries the risk Slow, see https://example.com (a.yaml)
              4.9.0 -> 4.9.2: it carries the risk Always, see https://example.com (c.yaml)
              with risks: 4.9.0 -> 4.9.2 -> 4.9.3
        "#]],
    );
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable risks unknown",
        expect![[r#"
        from 4.9.0
          4.9.3 in stable-4.9 unless Leak unless Slow
    "#]],
    );
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable prefer safest",
        expect![[r#"
        from 4.9.0
          4.9.1 in stable-4.9 unless Slow
          4.9.3 in stable-4.9 unless Slow
    "#]],
    );
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable risks accepted:Always",
        expect![[r#"
        from 4.9.0
          4.9.2 in stable-4.9 unless Always
          4.9.3 in stable-4.9
    "#]],
    );
}

#[test]
fn a_hop_that_is_not_open_yet_is_told_with_its_time() {
    let facts = "
        channel fast-4.9 4.9.0 4.9.1 4.9.2 4.9.3@2026-01-04
        channel stable-4.9 4.9.0 4.9.1@2026-01-04 4.9.2 4.9.3@2026-01-20
        rule any P10D
        edges 4.9.0 -> 4.9.1 4.9.2 4.9.3
        edges 4.9.1 -> 4.9.3
        edges 4.9.2 -> 4.9.3
        block slow.yaml 4.9.3 from 4[.]9[.][02]";
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable",
        expect![[r#"
        from 4.9.0
          4.9.1 in stable-4.9 opens 2026-01-14T00:00:00Z
          4.9.3 in stable-4.9 opens 2026-01-30T00:00:00Z
    "#]],
    );
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable prefer soonest",
        expect![[r#"
        from 4.9.0
          4.9.1 in stable-4.9 opens 2026-01-14T00:00:00Z
          4.9.3 in stable-4.9 opens 2026-01-30T00:00:00Z
    "#]],
    );
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable,fast",
        expect![[r#"
        from 4.9.0
          4.9.1 in fast-4.9
          4.9.3 in fast-4.9
    "#]],
    );
}

#[test]
fn soonest_takes_more_hops_if_they_arrive_earlier() {
    let facts = "
        channel stable-4.9 4.9.0 4.9.1 4.9.2
        channel slow-4.9 4.9.0 4.9.2@2026-03-01
        edges 4.9.0 -> 4.9.1 4.9.2
        edges 4.9.1 -> 4.9.2
        block direct.yaml 4.9.2 from 4[.]9[.]0 on AWS";
    check(
        facts,
        "4.9.0 -> 4.9.2 via stable on AWS",
        expect![[r#"
        from 4.9.0
          4.9.1 in stable-4.9
          4.9.2 in stable-4.9
    "#]],
    );
    check(
        facts,
        "4.9.0 -> 4.9.2 via slow-4.9 on GCP",
        expect![[r#"
        from 4.9.0
          4.9.2 in slow-4.9 opens 2026-03-01T00:00:00Z
    "#]],
    );
}

#[test]
fn where_the_way_ends_it_says_why() {
    let blocked =
        format!("{EUS}\n block broken.yaml 4.9.5\n risk Leak leak.yaml 4.7.5 rules always");
    check(
        &blocked,
        "4.8.2 -> 4.10 via eus",
        expect![[r#"
            not to 4.10.3; 4.8.2 -> 4.8.9
              4.8.9 -> 4.9.5: blocked for every cluster (broken.yaml)
              and 1 more
        "#]],
    );
    check(
        &blocked,
        "4.6.1 -> 4.8.2 via eus",
        expect![[r#"
            not to 4.8.2; 4.6.1 -> 4.6.9
              4.6.9 -> 4.7.5: it carries the risk Leak, see https://example.com (leak.yaml)
              with risks: 4.6.1 -> 4.6.9 -> 4.7.5 -> 4.8.2
        "#]],
    );
    check(
        EUS,
        "4.6.1 -> 4.10.3 via eus-4.8",
        expect![[r#"
        GoalNotInChannels
    "#]],
    );
    let split = "
        channel eus-4.8 4.6.1 4.7.5 4.8.2
        channel eus-4.10 4.8.9 4.10.3
        channel stable-4.8 4.8.2 4.8.9
        edges 4.6.1 -> 4.7.5
        edges 4.7.5 -> 4.8.2
        edges 4.8.2 -> 4.8.9
        edges 4.8.9 -> 4.10.3";
    check(
        split,
        "4.6.1 -> 4.10.3 via eus",
        expect![[r#"
        not to 4.10.3; 4.6.1 -> 4.7.5 -> 4.8.2
          4.8.2 -> 4.8.9: together only in ["stable-4.8"]
    "#]],
    );
}

#[test]
fn while_a_source_is_too_old_no_way_leads_anywhere() {
    let closed = dsl::stranded_by_a_stale_source(EUS, "4.6.1 -> 4.10 via eus");
    assert_eq!(
        closed,
        ["SourceStale"],
        "nobody knows what the source would say now"
    );
}

#[test]
fn what_does_not_exist_is_said() {
    check(
        EUS,
        "4.6.1 -> 4.10 via fast",
        expect![[r#"
        NoChannel
    "#]],
    );
    check(
        EUS,
        "4.6.2 -> 4.10 via eus",
        expect![[r#"
        FromUnknown
    "#]],
    );
    check(
        EUS,
        "4.6.1 -> 4.10 via eus-4.10",
        expect![[r#"
        FromNotInChannels
    "#]],
    );
    check(
        EUS,
        "4.6.1 -> 4.10.9 via eus",
        expect![[r#"
        GoalUnknown
    "#]],
    );
    check(
        EUS,
        "4.6.1 -> 4.12 via eus",
        expect![[r#"
        NothingInChannels
    "#]],
    );
    check(
        EUS,
        "4.8.9 -> 4.8.2 via eus",
        expect![[r#"
        not to 4.8.2; nowhere
    "#]],
    );
}

#[test]
fn pools_go_along_where_pausing_saves_nothing() {
    let facts = "
        channel stable 4.7.1 4.8.1 4.9.1 4.9.2 4.10.1 4.10.2 4.11.1
        edges 4.7.1 -> 4.8.1
        edges 4.8.1 -> 4.9.1
        edges 4.9.1 -> 4.9.2
        edges 4.9.2 -> 4.10.1
        edges 4.10.1 -> 4.10.2
        edges 4.10.2 -> 4.11.1";
    check(
        facts,
        "4.7.1 -> 4.11.1 via stable",
        expect![[r#"
        from 4.7.1
          4.8.1 in stable
          4.9.1 in stable, pools stay on 4.8.1
          4.9.2 in stable, pools stay on 4.8.1
          4.10.1 in stable, pools stay on 4.8.1
          4.10.2 in stable, pools stay on 4.8.1, then catch up
          4.11.1 in stable
    "#]],
    );
    let early = "
        channel stable 4.2.1 4.3.1 4.4.1
        edges 4.2.1 -> 4.3.1
        edges 4.3.1 -> 4.4.1";
    check(
        early,
        "4.2.1 -> 4.4.1 via stable",
        expect![[r#"
        from 4.2.1
          4.3.1 in stable
          4.4.1 in stable
    "#]],
    );
}

/// The next minor version waits for the workers, unless they stay paused; a patch does not wait.
#[test]
fn the_next_hop_follows_as_soon_as_kubelets_allow_it() {
    check_pace(
        EUS,
        "4.6.1 -> 4.10 via eus",
        30,
        expect![[r#"
            4.6.9: taken at 0, there at 72, workers too at 72
            4.7.5: taken at 72, there at 163, workers too at 163
            4.8.9: taken at 163, there at 253, workers too at 463
            4.9.5: taken at 463, there at 554, workers too at 554
            4.10.3: taken at 554, there at 644, workers too at 854
            434 + 420 min
        "#]],
    );
    check_pace(
        EUS,
        "4.6.1 -> 4.10 via eus",
        0,
        expect![[r#"
        4.6.9: taken at 0, there at 70, workers too at 70
        4.7.5: taken at 70, there at 158, workers too at 158
        4.8.9: taken at 158, there at 246, workers too at 246
        4.9.5: taken at 246, there at 334, workers too at 334
        4.10.3: taken at 334, there at 422, workers too at 422
        422 + 0 min
    "#]],
    );
    let odd = "
        channel stable 4.7.1 4.7.2 4.8.1 4.9.1
        edges 4.7.1 -> 4.7.2
        edges 4.7.2 -> 4.8.1
        edges 4.8.1 -> 4.9.1";
    check_pace(
        odd,
        "4.7.1 -> 4.9.1 via stable",
        30,
        expect![[r#"
        4.7.2: taken at 0, there at 72, workers too at 261
        4.8.1: taken at 261, there at 352, workers too at 541
        4.9.1: taken at 541, there at 631, workers too at 820
        253 + 567 min
    "#]],
    );
}

#[test]
fn of_equally_short_ways_one_over_releases_that_are_there_comes_first() {
    let facts = "
        channel stable-4.9 4.9.0 4.9.1 4.9.2@2030-01-01 4.9.3
        edges 4.9.0 -> 4.9.1 4.9.2
        edges 4.9.1 -> 4.9.3
        edges 4.9.2 -> 4.9.3";
    check(
        facts,
        "4.9.0 -> 4.9.3 via stable ways 2",
        expect![[r#"
        from 4.9.0
          4.9.1 in stable-4.9
          4.9.3 in stable-4.9
    "#]],
    );
}

#[test]
fn there_is_no_minor_version_after_the_last() {
    let facts = "
        channel c 4.18446744073709551614.0 4.18446744073709551614.1 4.18446744073709551615.0
        edges 4.18446744073709551614.0 -> 4.18446744073709551614.1
        edges 4.18446744073709551614.1 -> 4.18446744073709551615.0";
    check(
        facts,
        "4.18446744073709551614.0 -> newest via c",
        expect![[r#"
        from 4.18446744073709551614.0
          4.18446744073709551614.1 in c
          4.18446744073709551615.0 in c
    "#]],
    );
}

/// From 4.22 on, every third minor version has extended update support, and kubelets may lag up to three.
#[test]
fn across_the_border_to_5_x_pools_wait_for_5_2_once_the_table_is_confirmed() {
    let facts = "
        channel eus-4.22 4.20.9 4.21.9 4.22.5
        channel eus-5.2 4.22.5 5.0.4 5.1.3 5.2.1
        edges 4.20.9 -> 4.21.9
        edges 4.21.9 -> 4.22.5
        edges 4.22.5 -> 5.0.4
        edges 5.0.4 -> 5.1.3
        edges 5.1.3 -> 5.2.1";
    check(
        facts,
        "4.20.9 -> 5.2 via eus confirmed",
        expect![[r#"
            from 4.20.9
              4.21.9 in eus-4.22, pools stay on 4.20.9
              4.22.5 in eus-4.22, pools stay on 4.20.9, then catch up
              5.0.4 in eus-5.2, pools stay on 4.22.5
              5.1.3 in eus-5.2, pools stay on 4.22.5
              5.2.1 in eus-5.2, pools stay on 4.22.5, then catch up
        "#]],
    );
    check(
        facts,
        "4.20.9 -> 5.2 via eus",
        expect![[r#"
            from 4.20.9
              4.21.9 in eus-4.22, pools stay on 4.20.9
              4.22.5 in eus-4.22, pools stay on 4.20.9, then catch up
              5.0.4 in eus-5.2
              5.1.3 in eus-5.2
              5.2.1 in eus-5.2
        "#]],
    );
}

#[test]
fn what_skips_a_minor_version_is_taken_only_where_clusters_may() {
    let facts = "
        channel fast 4.14.1 4.15.1 4.16.1 4.22.5 4.23.1 5.0.4 5.1.3 5.2.1
        edges 4.14.1 -> 4.15.1 4.16.1
        edges 4.15.1 -> 4.16.1
        edges 4.22.5 -> 4.23.1 5.0.4
        edges 4.23.1 -> 5.0.4 5.1.3
        edges 5.0.4 -> 5.1.3 5.2.1
        edges 5.1.3 -> 5.2.1";
    check(
        facts,
        "4.14.1 -> 4.16.1 via fast",
        expect![[r#"
            from 4.14.1
              4.15.1 in fast, pools stay on 4.14.1
              4.16.1 in fast, pools stay on 4.14.1, then catch up
        "#]],
    );
    check(
        facts,
        "5.0.4 -> 5.2.1 via fast",
        expect![[r#"
            from 5.0.4
              5.1.3 in fast
              5.2.1 in fast
        "#]],
    );
    check(
        facts,
        "5.0.4 -> 5.2.1 via fast confirmed",
        expect![[r#"
            from 5.0.4
              5.2.1 in fast
        "#]],
    );
    check(
        facts,
        "4.23.1 -> 5.0.4 via fast",
        expect![[r#"
            not to 5.0.4; nowhere
              4.23.1 -> 5.0.4: it leaves out 
        "#]],
    );
    let without_4_15 = "
        channel fast 4.14.1 4.16.1
        edges 4.14.1 -> 4.16.1";
    check(
        without_4_15,
        "4.14.1 -> 4.16.1 via fast",
        expect![[r#"
            not to 4.16.1; nowhere
              4.14.1 -> 4.16.1: it leaves out 4.15
        "#]],
    );
}

#[test]
fn kubelets_may_lag_by_one_on_odd_and_two_on_even_versions_of_4_x() {
    let minors = towpath_testing_graphs::minors();
    let lag = |workers: &str, api: &str| {
        minors.lets_lag(&workers.parse().unwrap(), &api.parse().unwrap())
    };
    assert!(lag("4.8.57", "4.9.59") && lag("4.8.57", "4.10.67") && lag("4.9.1", "4.10.0"));
    assert!(!lag("4.8.57", "4.11.0") && !lag("4.7.1", "4.9.0"));
    // 1.14 to 1.16, and to 1.17.
    assert!(!lag("4.2.0", "4.3.0") && !lag("4.2.0", "4.4.0"));
    // Nobody has verified the Kubernetes of 5.0.
    assert!(!lag("4.10.0", "4.9.0") && !lag("4.22.0", "5.0.0"));
    let minors = towpath_testing_graphs::confirmed_minors();
    let lag = |workers: &str, api: &str| {
        minors.lets_lag(&workers.parse().unwrap(), &api.parse().unwrap())
    };
    assert!(lag("4.22.0", "5.0.0") && lag("4.22.0", "5.2.0") && !lag("4.21.0", "5.0.0"));
}
