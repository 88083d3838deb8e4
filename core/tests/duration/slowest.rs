//! How long waves of nodes take.

use towpath_core::duration::{Seconds, Spread, waves_take};

const NODE: Spread = Spread::new(300, 420, 900);

fn near(seconds: Seconds, expected: Seconds) -> bool {
    seconds.abs_diff(expected) * 100 <= expected * 8
}

#[test]
fn one_node_takes_what_it_is_said_to_take() {
    let one = waves_take(&[1], NODE, 1);
    assert!(
        near(one.low, 300) && near(one.likely, 420) && near(one.high, 900),
        "{one:?}"
    );
    assert_eq!(
        waves_take(&[3, 2], Spread::exactly(60), 7),
        Spread::exactly(120)
    );
    assert_eq!(waves_take(&[], NODE, 7), Spread::default());
    assert_eq!(waves_take(&[1], Spread::default(), 7), Spread::exactly(1));
}

#[test]
fn many_waves_are_less_uncertain_than_each_and_large_waves_are_slower() {
    let (many, one) = (waves_take(&[1; 40], NODE, 1), NODE.times(40));
    assert!(many.low > one.low && many.high < one.high, "{many:?}");
    // They are not as certain as if nothing were the cluster's.
    assert!(many.high * 10 > many.low * 13, "{many:?}");
    let large = waves_take(&[10; 4], NODE, 1);
    let small = waves_take(&[1; 4], NODE, 1);
    assert!(large.low > small.low && large.likely > small.likely && large.high > small.high);
}

#[test]
fn the_same_seed_gives_the_same_and_others_nearly_the_same() {
    let take = |seed| waves_take(&[3; 12], NODE, seed);
    assert_eq!(take(5), take(5));
    let first = take(0);
    for seed in 1..10 {
        let other = take(seed);
        assert!(
            near(other.likely, first.likely) && near(other.high, first.high),
            "{other:?}"
        );
    }
}
