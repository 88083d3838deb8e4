//! The ramp that does best where outcomes take a while: in stages, each as long as feedback takes.
//!
//! What begins between two looks at outcomes is exposed, and teaches nothing in time. So a stage begins at once, and the next one
//! begins when the outcomes of this one are known. Each stage is larger than the one before by the same factor. Then a release
//! that is stopped after n outcomes is never on more than n clusters times that factor, and no ramp of the same window can
//! promise a smaller factor for every n. docs/feedback.md has the argument and what was measured.
//!
//! This is advice for people: graph data cannot say it, and nothing is decided by it.

use jiff::SignedDuration;

use super::visible::attempts_needed;
use super::{FailureRate, WatchSettings};
use crate::graph::Share;

/// The first stage is made for releases that fail so often.
const SEEN_FIRST: FailureRate = FailureRate::per_million(200_000);
/// It holds so many times what such a release needs on average, so that nearly all of them end there.
const SPARE: u64 = 2;
/// A stage is longer than feedback usually takes, by one part in so many.
const SLACK: i32 = 10;
/// More stages than this are of little use, and nobody could follow them.
const MOST_STAGES: i64 = 12;
/// Factors are in thousandths.
const ONE: u128 = 1_000;

/// From this time after the start on, this share of the fleet is shown a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    pub after: SignedDuration,
    pub share: Share,
}

/// The stages that do best in a window of this length, for so many clusters; the last one is everybody. None at all where the
/// window has no room for two, or the fleet is so small that the first stage would be all of it.
pub fn best_stages(length: SignedDuration, clusters: u64, settings: &WatchSettings) -> Vec<Stage> {
    let delay = settings.delay + settings.delay / SLACK;
    let pauses = match delay.as_secs() {
        0 => 0,
        seconds => (length.as_secs() / seconds).min(MOST_STAGES - 1),
    };
    let needed = attempts_needed(SEEN_FIRST, settings.base_rate, settings);
    let first = needed.and_then(|needed| share_of(needed.saturating_mul(SPARE), clusters));
    let (Some(first), true) = (first.filter(|first| *first < Share::WHOLE), pauses > 0) else {
        return Vec::new();
    };
    let pauses = u32::try_from(pauses).unwrap_or(1);
    let factor = factor(first, pauses);
    let share = |stage: u32| match stage == pauses {
        true => Share::WHOLE,
        false => grown(first, factor, stage),
    };
    let after = |stage: u32| length * i32::try_from(stage).unwrap_or(0) / pauses.cast_signed();
    (0..=pauses)
        .map(|stage| Stage {
            after: after(stage),
            share: share(stage),
        })
        .collect()
}

/// The share that has begun when a release is stopped that needs the outcomes of so large a share. None: it is not stopped.
pub(super) fn begun(stages: &[Stage], needed: Share) -> Option<Share> {
    let mut shares = stages.iter().map(|stage| stage.share);
    shares.find(|share| *share >= needed)
}

/// So many clusters as a part of all. None: there are not so many.
pub(super) fn share_of(count: u64, clusters: u64) -> Option<Share> {
    let is_part = count <= clusters && clusters > 0;
    is_part.then(|| {
        let parts = u128::from(count) * Share::WHOLE.parts();
        Share::of_parts(parts.div_ceil(u128::from(clusters)))
    })
}

/// The largest factor with which the stage before the last still leaves room for one as large.
fn factor(first: Share, pauses: u32) -> u128 {
    let fits = |factor: u128| grown(first, factor, pauses) < Share::WHOLE;
    let (mut fitting, mut large) = (ONE, ONE * Share::WHOLE.parts() / first.parts() + ONE);
    while large - fitting > 1 {
        let middle = fitting.midpoint(large);
        match fits(middle) {
            true => fitting = middle,
            false => large = middle,
        }
    }
    fitting
}

/// A share after so many steps by a factor, at most all.
fn grown(first: Share, factor: u128, steps: u32) -> Share {
    (0..steps).fold(first, |share, _| {
        Share::of_parts(share.parts().saturating_mul(factor) / ONE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(hours: i64) -> SignedDuration {
        SignedDuration::from_hours(hours)
    }

    fn shown(length: i64, clusters: u64) -> Vec<String> {
        let stages = best_stages(hours(length), clusters, &WatchSettings::default());
        let shown = |stage: &Stage| format!("{:#}: {}", stage.after, stage.share);
        stages.iter().map(shown).collect()
    }

    #[test]
    fn each_stage_is_as_long_as_feedback_takes_and_larger_by_the_same_factor() {
        assert_eq!(
            shown(24, 10_000),
            [
                "0s: 0.5 %",
                "4h 48m: 1.4 %",
                "9h 36m: 4.2 %",
                "14h 24m: 12.0 %",
                "19h 12m: 34.7 %",
                "24h: 100.0 %"
            ]
        );
    }

    #[test]
    fn they_never_shrink_and_end_with_everybody() {
        for (length, clusters) in [(5, 100), (24, 60), (48, 10_000), (336, 1_000_000)] {
            let stages = best_stages(hours(length), clusters, &WatchSettings::default());
            assert!(stages.len() <= 12);
            assert!(stages.is_sorted_by(|a, b| a.share < b.share && a.after < b.after));
            let last = stages.last().unwrap();
            assert_eq!((last.after, last.share), (hours(length), Share::WHOLE));
        }
    }

    #[test]
    fn without_room_for_two_there_are_none() {
        assert_eq!(shown(4, 10_000), [""; 0], "nothing is known in time");
        assert_eq!(shown(24, 40), [""; 0], "the first stage would be everybody");
        assert_eq!(shown(24, 0), [""; 0]);
    }

    #[test]
    fn a_release_is_stopped_in_the_stage_that_shows_it() {
        let stages = best_stages(hours(24), 10_000, &WatchSettings::default());
        let begun = |count| {
            begun(&stages, share_of(count, 10_000).unwrap())
                .unwrap()
                .to_string()
        };
        assert_eq!(
            [25, 50, 51, 300].map(begun),
            ["0.5 %", "0.5 %", "1.4 %", "4.2 %"]
        );
        assert_eq!(share_of(2, 1), None);
    }
}
