//! Reboots of a pool: never past the limit or the pace, never stuck at a budget, and back to how it was.

use jiff::SignedDuration;
use proptest::prelude::*;
use towpath_core::duration::MaxUnavailable;
use towpath_core::nodes::run::{
    NodeAct, NodeMark, RebootPace, RebootProgress, RebootSettings, RebootedNode, no_pool_beside,
};

use crate::pool::{Fate, Pool};

fn quiet(nodes: usize) -> Pool {
    Pool::new(nodes, 3, RebootSettings::default())
}

#[test]
fn nodes_go_one_by_one_and_everything_is_as_before() {
    let mut pool = quiet(6);
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
    assert_eq!(pool.most_away, 1);
    assert_eq!(pool.left_behind(), Vec::<String>::new());
    assert!(!pool.view().is_paused);
    let names: Vec<String> = pool
        .begun
        .iter()
        .map(|(_, name)| name.to_string())
        .collect();
    assert_eq!(names, ["n00", "n01", "n02", "n03", "n04", "n05"]);
}

#[test]
fn a_pool_that_was_paused_stays_paused() {
    let mut pool = quiet(2);
    pool.is_paused = true;
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
    assert!(pool.view().is_paused);
}

#[test]
fn the_pool_is_paused_before_anything_else_happens() {
    let pool = quiet(3);
    assert_eq!(pool.step().acts, [NodeAct::Pause(true)]);
}

#[test]
fn a_drain_that_is_refused_is_given_up_and_holds_no_slot() {
    let mut pool = quiet(4);
    pool.lock("n00");
    pool.until("another node begins", |pool| pool.begun.len() == 2);
    let node = &pool.view().nodes[0];
    assert_eq!((node.cordon, node.is_away()), (None, false));
    assert_eq!(&*pool.begun[1].1, "n01");
    // It waited for as long as it should, and not longer than a pass more.
    let held = pool.begun[1].0.duration_since(pool.begun[0].0);
    let most = pool.settings.refused_for + SignedDuration::from_secs(40);
    assert!(
        held >= pool.settings.refused_for && held <= most,
        "{held:?}"
    );
    let reasons: Vec<&str> = pool
        .step()
        .reasons
        .iter()
        .map(|why| why.code().name)
        .collect();
    assert!(reasons.contains(&"NodeSetAside"), "{reasons:?}");
    // The others are done, and it is tried again until it works.
    pool.until("only the locked node is left", |pool| {
        pool.view().updated() == 3
    });
    pool.unlock();
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
}

#[test]
fn a_node_whose_budget_allows_nothing_is_not_even_cordoned() {
    let mut pool = quiet(3);
    pool.foreseen = true;
    pool.lock("n00");
    pool.until("the others are updated", |pool| pool.view().updated() == 2);
    assert!(pool.begun.iter().all(|(_, name)| &**name != "n00"));
    pool.until("nothing more can begin", |pool| {
        pool.progress() == RebootProgress::Held { updated: 2, of: 3 }
    });
    let reasons: Vec<String> = pool.step().reasons.iter().map(|why| why.text()).collect();
    assert_eq!(
        reasons,
        ["pods of node n00 may not be evicted: the budget shop/a0 allows no eviction"]
    );
}

#[test]
fn the_first_bad_sign_ends_it_and_what_was_begun_comes_back() {
    let mut pool = quiet(8);
    pool.settings.at_most_away = MaxUnavailable::Count(2);
    pool.fates.insert("n02".into(), Fate::Fails);
    pool.run();
    let RebootProgress::Stopped {
        why,
        updated,
        of: 8,
    } = pool.progress()
    else {
        panic!("{:?}", pool.progress());
    };
    assert_eq!(why.code().name, "NodeUpdateFailed");
    assert!((1..=4).contains(&updated), "{updated}");
    assert!(pool.view().is_paused);
    pool.settle();
    // Only the node that the operator could not update is still marked.
    assert_eq!(pool.left_behind(), ["n02 is handed over", "n02 is marked"]);
    let begun = pool.begun.len();
    pool.passes(400);
    assert_eq!(pool.begun.len(), begun);
}

#[test]
fn a_node_that_does_not_come_back_is_a_bad_sign_after_its_time() {
    let mut pool = quiet(4);
    pool.fates.insert("n01".into(), Fate::Hangs);
    let began = pool.now;
    pool.run();
    assert!(
        matches!(&pool.progress(), RebootProgress::Stopped { why, .. } if why.code().name == "NodeNotBack")
    );
    assert!(pool.now.duration_since(began) > pool.settings.back_within);
}

#[test]
fn thirty_percent_in_ten_minutes() {
    let mut pool = quiet(20);
    pool.settings.at_most_away = MaxUnavailable::Percent(100);
    pool.settings.pace = Some(RebootPace {
        nodes: MaxUnavailable::Percent(30),
        within: SignedDuration::from_mins(10),
    });
    pool.take(usize::MAX);
    pool.take(usize::MAX);
    assert_eq!(pool.begun.len(), 6);
    let step = pool.step();
    let pace: Vec<_> = step
        .reasons
        .iter()
        .filter(|why| why.code().name == "PaceReached")
        .collect();
    assert_eq!(
        pace[0].ends(),
        pool.begun[0]
            .0
            .checked_add(SignedDuration::from_mins(10))
            .ok()
    );
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
    assert_eq!(pool.most_begun_within(SignedDuration::from_mins(10)), 6);
}

#[test]
fn nodes_that_have_still_to_reboot_are_avoided_and_then_closed() {
    let mut pool = quiet(6);
    pool.settings.harden_after = Some(2);
    pool.take(usize::MAX);
    pool.take(usize::MAX);
    let marks =
        |pool: &Pool| -> Vec<NodeMark> { pool.view().nodes.iter().map(|node| node.mark).collect() };
    assert!(marks(&pool).iter().all(|mark| *mark == NodeMark::Avoid));
    let is_right = |node: &RebootedNode| match node.is_updated() {
        true => node.mark == NodeMark::None,
        false => node.mark == NodeMark::KeepOut,
    };
    pool.until("the others are closed", |pool| {
        let view = pool.view();
        view.updated() == 2 && view.nodes.iter().all(is_right)
    });
}

#[test]
fn a_closed_node_is_opened_for_pods_that_fit_nowhere_else() {
    let mut pool = quiet(4);
    pool.settings.harden_after = Some(0);
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
}

#[test]
fn a_node_that_somebody_else_cordoned_is_left_to_them_and_counts() {
    let mut pool = quiet(4);
    pool.cordon_by_hand("n00");
    pool.passes(12);
    assert!(pool.begun.is_empty());
    pool.settings.at_most_away = MaxUnavailable::Count(2);
    pool.until("the others are updated", |pool| pool.view().updated() == 3);
    assert!(pool.begun.iter().all(|(_, name)| &**name != "n00"));
}

#[test]
fn a_pod_that_waited_before_holds_nobody_up() {
    let mut pool = quiet(3);
    pool.always_waiting = Some(pool.now - SignedDuration::from_hours(24));
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
}

#[test]
fn another_configuration_in_the_middle_is_another_run_with_the_same_end() {
    let mut pool = quiet(5);
    pool.until("two are updated", |pool| pool.view().updated() == 2);
    pool.want("rendered-2");
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
    assert_eq!(pool.left_behind(), Vec::<String>::new());
    assert!(
        !pool.view().is_paused,
        "it was not paused before the first of the two"
    );
}

/// Two take the steps at once, and one of them is slow between the record and the cordon.
#[test]
fn a_node_that_has_just_begun_counts_before_it_is_cordoned() {
    let mut pool = quiet(4);
    pool.foreseen = true;
    pool.take(usize::MAX);
    let slow = pool.step();
    pool.take(1);
    // Now the first node would be held, and the second could begin.
    pool.lock("n00");
    pool.wait(20);
    assert_eq!(pool.step().acts.last(), slow.acts.last());
    pool.take(usize::MAX);
    let names: Vec<&str> = pool.begun.iter().map(|(_, name)| &**name).collect();
    assert_eq!(names, ["n00"]);
    assert!(pool.broken.is_empty(), "{:?}", pool.broken);
}

/// Whoever gives a drain up dies right after it is written down.
#[test]
fn a_drain_that_was_given_up_is_uncordoned_by_the_next_pass() {
    let mut pool = quiet(3);
    pool.lock("n00");
    pool.until("a node begins", |pool| pool.begun.len() == 1);
    let gives_up = |pool: &Pool| {
        let acts = pool.step().acts;
        acts.contains(&NodeAct::Uncordon("n00".into()))
    };
    for _ in 0..100 {
        if gives_up(&pool) {
            break;
        }
        pool.take(usize::MAX);
        pool.wait(10);
    }
    pool.take(1);
    assert!(pool.view().nodes[0].is_draining());
    assert!(gives_up(&pool));
    pool.take(usize::MAX);
    assert!(!pool.view().nodes[0].is_away());
}

/// There is nothing to hand nodes over to: what is being drained comes back, and no further node begins.
#[test]
fn a_pool_beside_that_is_unfit_holds_no_slot() {
    let mut pool = quiet(4);
    pool.until("a node begins", |pool| pool.begun.len() == 1);
    pool.blocked = Some(no_pool_beside(
        &"worker".into(),
        "towpath.dev/reboot=",
        Some("pool.yaml"),
    ));
    pool.passes(2);
    assert_eq!(pool.left_behind(), Vec::<String>::new());
    let step = pool.step();
    assert_eq!(step.progress, RebootProgress::Held { updated: 0, of: 4 });
    assert_eq!(step.reasons[0].code().name, "PoolBesideMissing");
    assert!(pool.view().is_paused);
    pool.blocked = None;
    pool.run();
    assert_eq!(pool.progress(), RebootProgress::Done);
}

/// What is remembered is written in an annotation, which has its limits.
#[test]
fn the_record_forgets_nodes_that_are_done() {
    let mut pool = quiet(6);
    pool.until("five are updated", |pool| pool.view().updated() == 5);
    let record = pool.record.clone().expect("a record");
    assert!(record.began.len() <= 1, "{record:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever takes the steps dies in the middle of them, nodes and pods do as they like, and people cordon nodes.
    #[test]
    fn the_limit_and_the_pace_hold_whoever_dies(seed in any::<u64>()) {
        let mut pool = Pool::random(seed);
        pool.live(seed);
        prop_assert!(pool.broken.is_empty(), "{:?}", pool.broken);
        // Nobody disturbs it any more: it comes to an end.
        pool.calm_down();
        pool.run();
        pool.settle();
        let progress = pool.progress();
        let stopped = matches!(progress, RebootProgress::Stopped { .. });
        prop_assert!(progress == RebootProgress::Done || stopped, "{progress:?}");
        let left = pool.left_behind();
        let is_the_operators = |one: &String| pool.is_stuck(one.split(' ').next().unwrap_or_default());
        prop_assert!(left.iter().all(is_the_operators), "{left:?}");
        if !stopped {
            prop_assert_eq!(pool.view().is_paused, pool.was_paused);
        }
    }

    /// It is removed at any moment, and somebody undoes it.
    #[test]
    fn undone_at_any_moment_nothing_is_left(seed in any::<u64>()) {
        let mut pool = Pool::random(seed);
        pool.live(seed);
        pool.calm_down();
        pool.undo();
        let left = pool.left_behind();
        let is_the_operators = |one: &String| pool.is_stuck(one.split(' ').next().unwrap_or_default());
        prop_assert!(left.iter().all(is_the_operators), "{left:?}");
        if left.is_empty() {
            prop_assert_eq!(pool.view().is_paused, pool.was_paused);
        }
    }
}
