//! The stages that do best in a window.

use jiff::SignedDuration;
use towpath_core::feedback::{Stage, WatchSettings, best_stages};
use towpath_core::graph::Share;

fn stages(hours: i64, clusters: u64) -> Vec<Stage> {
    let length = SignedDuration::from_hours(hours);
    best_stages(length, clusters, &WatchSettings::default())
}

#[test]
fn each_is_as_long_as_feedback_takes_and_larger_by_the_same_factor() {
    let shown = |stage: &Stage| format!("{:#}: {}", stage.after, stage.share);
    let shown: Vec<String> = stages(24, 10_000).iter().map(shown).collect();
    assert_eq!(
        shown,
        [
            "0s: 0.5 %",
            "4h 48m: 1.4 %",
            "9h 36m: 4.2 %",
            "14h 24m: 12.0 %",
            "19h 12m: 34.6 %",
            "24h: 100.0 %"
        ]
    );
}

#[test]
fn they_grow_and_end_with_everybody() {
    for (hours, clusters) in [(5, 100), (24, 60), (48, 10_000), (336, 1_000_000)] {
        let stages = stages(hours, clusters);
        assert!((2..=12).contains(&stages.len()), "{stages:?}");
        let pairs = stages.iter().zip(&stages[1..]);
        for (stage, next) in pairs {
            assert!(
                stage.share < next.share && stage.after < next.after,
                "{stages:?}"
            );
        }
        let last = stages.last().unwrap();
        let end = SignedDuration::from_hours(hours);
        assert_eq!((last.after, last.share), (end, Share::WHOLE));
    }
}

#[test]
fn without_room_for_two_there_are_none() {
    assert_eq!(stages(4, 10_000), [], "nothing is known in time");
    assert_eq!(stages(24, 40), [], "the first stage would be everybody");
    assert_eq!(stages(24, 0), []);
}
