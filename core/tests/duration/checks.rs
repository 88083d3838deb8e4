//! Whether a release made updates slower, in worlds where that is known.

use towpath_core::duration::{
    CheckSettings, NeededUpdates, SpeedCheck, SpeedVerdict, Update, check,
};

use super::usual;
use super::worlds::{RELEASE, World};

fn checked(updates: &[Update]) -> SpeedCheck {
    let release = RELEASE.parse().unwrap();
    check(updates, Some(&release), CheckSettings::default(), &usual()).remove(0)
}

fn called_slower(world: World, worlds: u64) -> usize {
    (0..worlds)
        .filter(|seed| checked(&world.updates(*seed)).verdict == SpeedVerdict::Slower)
        .count()
}

#[test]
fn with_200_updates_15_percent_are_found_in_95_of_100_worlds() {
    let slower = World {
        slow_down: 1.15,
        ..World::default()
    };
    let found = called_slower(slower, 100);
    assert!(found >= 95, "{found}");
}

#[test]
fn a_release_that_changed_nothing_is_called_slower_in_at_most_5_of_100_worlds() {
    for world in [
        World::default(),
        // All clusters alike; clusters that differ more than their updates; nobody knows why it hangs.
        World {
            between: 0.0,
            ..World::default()
        },
        World {
            between: 0.6,
            ..World::default()
        },
        World {
            hangs: 8,
            ..World::default()
        },
        World {
            earlier: 1,
            growth: 0.0,
            ..World::default()
        },
    ] {
        let alarms = called_slower(world, 100);
        assert!(alarms <= 5, "{alarms}");
    }
}

/// Slow clusters took it first. It is not the release that is slow.
#[test]
fn large_clusters_that_go_first_do_not_make_a_release_slow() {
    let alarms = (0..100)
        .filter(|seed| {
            let world = World {
                to_it: 400,
                earlier: 4,
                ..World::default()
            };
            let mut updates = world.updates(1_000 + seed);
            let is_large = |update: &Update| update.nodes > Some(20);
            updates.retain(|update| update.to != RELEASE.parse().unwrap() || is_large(update));
            checked(&updates).verdict == SpeedVerdict::Slower
        })
        .count();
    assert!(alarms <= 5, "{alarms}");
}

#[test]
fn by_how_much_it_is_slower_is_told_with_its_margin() {
    let mut within = 0;
    for seed in 0..50 {
        let world = World {
            slow_down: 1.3,
            ..World::default()
        };
        let slow_down = checked(&world.updates(seed)).slow_down.unwrap();
        assert!(slow_down.at_least <= slow_down.likely && slow_down.likely <= slow_down.at_most);
        within += usize::from(slow_down.at_least <= 1_300 && 1_300 <= slow_down.at_most);
    }
    assert!(within >= 46, "{within} of 50");
}

#[test]
fn a_faster_release_is_not_slower() {
    let world = World {
        slow_down: 0.8,
        ..World::default()
    };
    assert_eq!(checked(&world.updates(1)).verdict, SpeedVerdict::NotSlower);
}

#[test]
fn too_few_updates_say_how_many_would_do() {
    let few = World {
        to_it: 12,
        ..World::default()
    };
    let told = checked(&few.updates(1));
    let SpeedVerdict::Inconclusive { needed } = told.verdict else {
        panic!("{told:?}");
    };
    assert_eq!((told.slow_down, told.updates), (None, 12));
    assert!((20..200).contains(&needed.to_it), "{needed:?}");
    // As many as were said to be needed are enough.
    let enough = World {
        to_it: needed.to_it,
        slow_down: 1.15,
        ..World::default()
    };
    let found = called_slower(enough, 100);
    assert!(found >= 88, "{found} with {needed:?}");
}

#[test]
fn a_release_that_nothing_can_be_compared_with_is_inconclusive() {
    let mut updates = World::default().updates(1);
    updates.retain(|update| update.to == RELEASE.parse().unwrap());
    let told = checked(&updates);
    let nothing = NeededUpdates {
        to_it: 0,
        others: 0,
    };
    assert!(
        matches!(told.verdict, SpeedVerdict::Inconclusive { needed } if needed.others > nothing.others),
        "{told:?}"
    );
    let told = checked(&[]);
    assert!(
        matches!(told.verdict, SpeedVerdict::Inconclusive { .. }),
        "{told:?}"
    );
}

/// However many releases are looked at, the false alarms of all of them together stay within what is said.
#[test]
fn all_releases_together_raise_no_more_false_alarms() {
    let all = |world: World, seed: u64| {
        check(
            &world.updates(seed),
            None,
            CheckSettings::default(),
            &usual(),
        )
    };
    let is_slower = |told: &SpeedCheck| told.verdict == SpeedVerdict::Slower;
    let alarms = (0..100)
        .filter(|seed| all(World::default(), *seed).iter().any(is_slower))
        .count();
    assert!(alarms <= 5, "{alarms}");
    let slower = World {
        slow_down: 1.3,
        ..World::default()
    };
    let told = all(slower, 7);
    assert!(told.len() > 10, "{}", told.len());
    let slower: Vec<String> = told
        .iter()
        .filter(|told| is_slower(told))
        .map(|told| told.release.to_string())
        .collect();
    assert_eq!(slower, [RELEASE]);
}

#[test]
fn the_order_of_updates_changes_nothing() {
    let mut updates = World::default().updates(3);
    let forwards = checked(&updates);
    updates.reverse();
    assert_eq!(checked(&updates), forwards);
}
