//! The stages that do best in a window.

use jiff::SignedDuration;
use towpath_core::feedback::{WatchSettings, best_stages, power_card};
use towpath_core::graph::{Ramp, Share, Stages, Window};

fn stages(hours: i64, clusters: u64) -> Option<Stages> {
    let length = SignedDuration::from_hours(hours);
    best_stages(length, clusters, &WatchSettings::default())
}

fn window(hours: i64, stages: Stages) -> Window {
    let start = "2026-01-05T00:00:00Z".parse().unwrap();
    Window {
        start,
        end: start + SignedDuration::from_hours(hours),
        ramp: Ramp::Stages(stages),
    }
}

#[test]
fn each_is_as_long_as_feedback_takes_and_larger_by_the_same_factor() {
    let stages = stages(24, 10_000).unwrap();
    let window = window(24, stages);
    let begin = window.bends().map(|at| at.duration_since(window.start));
    let shown: Vec<String> = begin
        .zip(stages.shares())
        .map(|(after, share)| format!("{after:#}: {share}"))
        .collect();
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
        let stages = stages(hours, clusters).unwrap();
        let shares: Vec<Share> = stages.shares().collect();
        assert!((2..=12).contains(&shares.len()), "{stages:?}");
        assert!(shares.is_sorted_by(|stage, next| stage < next));
        assert_eq!(shares.last(), Some(&Share::WHOLE));
    }
}

#[test]
fn without_room_for_two_there_are_none() {
    assert_eq!(stages(4, 10_000), None, "nothing is known in time");
    assert_eq!(stages(24, 40), None, "the first stage would be everybody");
    assert_eq!(stages(24, 0), None);
}

/// Whoever has written what a card advises is told so by the next card: it advises nothing, and halts as soon as was promised.
#[test]
fn a_window_in_the_best_stages_needs_no_advice() {
    let stages = stages(24, 10_000).unwrap();
    let card = power_card(&window(24, stages), 10_000, &WatchSettings::default());
    assert_eq!(card.stages, None);
    let halted: Vec<String> = card
        .stopped
        .iter()
        .filter_map(|stopped| stopped.in_window)
        .map(|share| share.to_string())
        .collect();
    assert_eq!(halted, ["0.5 %", "1.4 %", "4.2 %"]);
}
