//! What has to be mirrored, told in small graphs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

mod dsl;
mod random;

use dsl::{check, check_documents};
use expect_test::expect;

#[test]
fn a_way_has_the_fewest_hops_and_then_the_newest_releases() {
    check(
        "channel stable-4.9 4.8.1 4.9.0 4.9.1 4.9.2 4.9.3
         edges 4.8.1 -> 4.9.0 4.9.1 4.9.2
         edges 4.9.0 -> 4.9.1
         edges 4.9.1 -> 4.9.3
         edges 4.9.2 -> 4.9.3
         cluster a 4.8.1
         to 4.9.3",
        expect![[r#"
            way 4.8.1 -> 4.9.2 (stable-4.9) -> 4.9.3 (stable-4.9)
            need 4.9.2 in stable-4.9
            need 4.9.3 in stable-4.9
        "#]],
    );
}

#[test]
fn the_head_of_one_channel_need_not_be_in_the_next() {
    check(
        "channel eus-4.14 4.12.0 4.13.9 4.14.1 4.14.8
         channel eus-4.16 4.14.1 4.15.5 4.16.3
         edges 4.12.0 -> 4.13.9
         edges 4.13.9 -> 4.14.1 4.14.8
         edges 4.14.1 -> 4.15.5
         edges 4.15.5 -> 4.16.3
         cluster a 4.12.0
         to 4.16.3",
        expect![[r#"
            way 4.12.0 -> 4.13.9 (eus-4.14) -> 4.14.1 (eus-4.14) -> 4.15.5 (eus-4.16) -> 4.16.3 (eus-4.16)
            need 4.13.9 in eus-4.14
            need 4.14.1 in eus-4.14
            need 4.15.5 in eus-4.16
            need 4.16.3 in eus-4.16
        "#]],
    );
}

#[test]
fn clusters_share_what_they_can() {
    check(
        "channel c 4.1.0 4.1.1 4.2.0 4.2.1 4.2.2 4.3.0
         edges 4.1.0 -> 4.2.0 4.2.2
         edges 4.1.1 -> 4.2.0 4.2.1
         edges 4.2.0 -> 4.3.0
         edges 4.2.1 -> 4.3.0
         edges 4.2.2 -> 4.3.0
         cluster a 4.1.0
         cluster b 4.1.1
         to 4.3.0",
        expect![[r#"
            way 4.1.0 -> 4.2.0 (c) -> 4.3.0 (c)
            way 4.1.1 -> 4.2.0 (c) -> 4.3.0 (c)
            need 4.2.0 in c
            need 4.3.0 in c
        "#]],
    );
}

#[test]
fn what_is_there_already_is_used() {
    check(
        "channel c 4.1.0 4.2.0 4.2.1 4.3.0
         edges 4.1.0 -> 4.2.0 4.2.1
         edges 4.2.0 -> 4.3.0
         edges 4.2.1 -> 4.3.0
         cluster a 4.1.0
         have 4.2.0
         to 4.3.0",
        expect![[r#"
            way 4.1.0 -> 4.2.0 (c) -> 4.3.0 (c)
            need 4.2.0 in c (there)
            need 4.3.0 in c
        "#]],
    );
}

#[test]
fn the_best_way_of_one_cluster_leads_through_what_is_there_already() {
    let text = |have: &str| {
        format!(
            "channel c 4.1.0 4.2.0 4.2.1 4.3.0
             edges 4.1.0 -> 4.2.0 4.2.1
             edges 4.2.0 -> 4.3.0
             edges 4.2.1 -> 4.3.0
             cluster a 4.1.0
             best
             {have}
             to 4.3.0"
        )
    };
    check(
        &text(""),
        expect![[r#"
            way 4.1.0 -> 4.2.1 (c) -> 4.3.0 (c)
            need 4.2.1 in c
            need 4.3.0 in c
        "#]],
    );
    check(
        &text("have 4.2.0"),
        expect![[r#"
            way 4.1.0 -> 4.2.0 (c) -> 4.3.0 (c)
            need 4.2.0 in c (there)
            need 4.3.0 in c
        "#]],
    );
}

#[test]
fn a_release_that_somebody_runs_is_needed_if_another_passes_through() {
    check(
        "channel c 4.1.0 4.1.1 4.1.2
         edges 4.1.0 -> 4.1.1
         edges 4.1.1 -> 4.1.2
         cluster a 4.1.0
         cluster b 4.1.1
         cluster c 4.1.2
         to 4.1.2",
        expect![[r#"
            way 4.1.0 -> 4.1.1 (c) -> 4.1.2 (c)
            way 4.1.1 -> 4.1.2 (c)
            way 4.1.2
            need 4.1.1 in c
            need 4.1.2 in c
        "#]],
    );
}

#[test]
fn ways_around_risks_are_followed_to_the_end() {
    check(
        "channel c 4.1.0 4.1.1 4.1.2 4.1.3 4.1.4
         edges 4.1.0 -> 4.1.1 4.1.2 4.1.4
         edges 4.1.1 -> 4.1.3
         edges 4.1.2 -> 4.1.4
         edges 4.1.3 -> 4.1.4
         risk Slow slow.yaml 4.1.4 from 4[.]1[.][02]
         risk Leak leak.yaml 4.1.2
         risk Loud loud.yaml 4.1.3
         cluster a 4.1.0
         around
         to 4.1.4",
        expect![[r#"
            way 4.1.0 -> 4.1.4 (c unless Slow)
            if Slow: 4.1.0 -> 4.1.1 (c) -> 4.1.3 (c unless Loud) -> 4.1.4 (c)
            if Loud and Slow: 4.1.1 stays
            need 4.1.1 in c for a way around
            need 4.1.3 in c for a way around
            need 4.1.4 in c
        "#]],
    );
}

#[test]
fn a_risk_that_is_for_everybody_is_never_taken_unless_it_is_accepted() {
    let text = "channel c 4.1.0 4.1.1
         edges 4.1.0 -> 4.1.1
         risk Bad bad.yaml 4.1.1 rules always
         cluster a 4.1.0
         to 4.1.1";
    check(
        text,
        expect![[r#"
            no way for a on 4.1.0: stuck at 4.1.0, with risks 4.1.0 -> 4.1.1 (c unless Bad)
        "#]],
    );
    check(
        &format!("{text}\n accept Bad"),
        expect![[r#"
        way 4.1.0 -> 4.1.1 (c unless Bad)
        need 4.1.1 in c
    "#]],
    );
}

#[test]
fn whoever_has_no_way_is_named_with_the_reason() {
    check(
        "channel c 4.1.0 4.1.1 4.2.0 4.2.1 4.3.0
         channel other 4.0.9
         edges 4.1.0 -> 4.1.1
         edges 4.2.0 -> 4.3.0
         edges 4.1.1 -> 4.2.1
         edges 4.2.1 -> 4.3.0
         risk Slow slow.yaml 4.2.1 from 4[.]1
         cluster gone 4.0.1
         cluster away 4.0.9
         cluster stuck 4.1.0
         cluster fine 4.2.0
         over c
         risks never
         to 4.3.0",
        expect![[r#"
            way 4.2.0 -> 4.3.0 (c)
            no way for gone on 4.0.1: FromUnknown
            no way for away on 4.0.9: FromNotInChannels
            no way for stuck on 4.1.0: stuck at 4.1.1, with risks 4.1.0 -> 4.1.1 (c) -> 4.2.1 (c unless Slow) -> 4.3.0 (c)
            need 4.3.0 in c
        "#]],
    );
    check(
        "channel c 4.1.0 4.1.1@2026-02-01
         edges 4.1.0 -> 4.1.1
         cluster early 4.1.0
         to 4.1.1",
        expect![[r#"
            no way for early on 4.1.0: GoalNotInChannels
        "#]],
    );
}

#[test]
fn a_rollout_that_is_under_way_is_prepared_for() {
    check(
        "channel c 4.1.0 4.1.1@2026-01-01
         rule any P30D
         edges 4.1.0 -> 4.1.1
         cluster a 4.1.0
         to 4.1.1",
        expect![[r#"
            way 4.1.0 -> 4.1.1 (c from 2026-01-31T00:00:00Z)
            need 4.1.1 in c
        "#]],
    );
}

#[test]
fn what_clusters_run_is_left_out_unless_it_is_asked_for() {
    check(
        "channel c 4.1.0 4.1.1
         edges 4.1.0 -> 4.1.1
         cluster a 4.1.0
         cluster b 4.1.1
         start
         to 4.1.1",
        expect![[r#"
            way 4.1.0 -> 4.1.1 (c)
            way 4.1.1
            need 4.1.0 in c to begin with
            need 4.1.1 in c
        "#]],
    );
}

#[test]
fn how_far_one_gets_ends_at_the_target_and_any_risk_counts() {
    check(
        "channel c 4.1.0 4.1.1 4.2.0 4.3.0
         edges 4.1.0 -> 4.1.1 4.2.0 4.3.0
         risk Always always.yaml 4.2.0 rules always
         cluster a 4.1.0
         cluster b 4.1.0
         cluster late 4.3.0
         to 4.2.0",
        expect![[r#"
            no way for a on 4.1.0: stuck at 4.1.1, with risks 4.1.0 -> 4.2.0 (c unless Always)
            no way for b on 4.1.0: stuck at 4.1.1, with risks 4.1.0 -> 4.2.0 (c unless Always)
            no way for late on 4.3.0: stuck at 4.3.0, with risks none
        "#]],
    );
}

#[test]
fn a_risk_that_applies_does_so_under_its_name() {
    check(
        "channel c 4.1.0 4.1.1 4.1.2 4.2.0
         edges 4.1.0 -> 4.1.1 4.1.2 4.2.0
         edges 4.1.1 -> 4.2.0
         edges 4.1.2 -> 4.2.0
         risk Slow direct.yaml 4.2.0 from 4[.]1[.]0
         risk Slow through.yaml 4.1.2 rules other
         cluster a 4.1.0
         around
         to 4.2.0",
        expect![[r#"
            way 4.1.0 -> 4.2.0 (c unless Slow)
            if Slow: 4.1.0 -> 4.1.1 (c) -> 4.2.0 (c)
            need 4.1.1 in c for a way around
            need 4.2.0 in c
        "#]],
    );
}

#[test]
fn each_release_gets_a_channel_of_its_own_for_oc_mirror() {
    let channels = "
        channel candidate-4.14 4.13.0 4.14.1 4.14.2 4.14.3
        channel eus-4.14 4.13.0 4.14.1 4.14.2 4.14.3
        channel stable-4.14 4.14.1 4.14.2
        edges 4.13.0 -> 4.14.1
        edges 4.14.1 -> 4.14.2
        edges 4.14.2 -> 4.14.3
        cluster a 4.13.0
        over eus-4.14
        to 4.14.3";
    check_documents(
        channels,
        expect![[r#"
            4.14.1 in eus-4.14, 4.14.2 in stable-4.14, 4.14.3 in candidate-4.14
        "#]],
    );
    check_documents(
        &channels.replace("channel stable-4.14 4.14.1 4.14.2", ""),
        expect![[r#"
        4.14.1 in eus-4.14, 4.14.2 in candidate-4.14
        4.14.3 in eus-4.14
    "#]],
    );
}
