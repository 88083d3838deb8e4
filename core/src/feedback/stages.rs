//! The ramp that does best where outcomes take a while: in stages, each as long as feedback takes.
//!
//! What begins between two looks at outcomes is exposed, and teaches nothing in time. So a stage begins at once, and the next one
//! begins when the outcomes of this one are known. Each stage is larger than the one before by the same factor. Then a release
//! that is stopped after n outcomes is never on more than n clusters times that factor, and no ramp of the same window can
//! promise a smaller factor for every n. docs/feedback.md has the argument and what was measured.
//!
//! This is advice for people: nothing is decided by it until somebody writes it into graph data
//! ([`Ramp::Stages`](crate::graph::Ramp::Stages)).

use jiff::SignedDuration;

use super::visible::attempts_needed;
use super::{FailureRate, WatchSettings};
use crate::graph::{Share, Stages};

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

/// The stages that do best in a window of this length, for so many clusters. None where the window has no room for two, or the
/// fleet is so small that the first stage would be all of it.
pub fn best_stages(
    length: SignedDuration,
    clusters: u64,
    settings: &WatchSettings,
) -> Option<Stages> {
    let delay = settings.delay + settings.delay / SLACK;
    let pauses = match delay.as_secs() {
        0 => 0,
        seconds => (length.as_secs() / seconds).min(MOST_STAGES - 1),
    };
    let needed = attempts_needed(SEEN_FIRST, settings.base_rate, settings)?;
    // Graph data can say no smaller share.
    let first =
        share_of(needed.saturating_mul(SPARE), clusters)?.max(Share::hundredths_of_percent(1));
    let pauses = u32::try_from(pauses).ok().filter(|pauses| *pauses > 0)?;
    if first >= Share::WHOLE {
        return None;
    }
    let factor = factor(first, pauses);
    let shares = (0..pauses).map(|stage| hundredths(grown(first, factor, stage)));
    Stages::new(&shares.collect::<Vec<u16>>())
}

/// In hundredths of a percent, as graph data has it.
fn hundredths(share: Share) -> u16 {
    let whole = u128::from(Stages::WHOLE);
    let parts = (share.parts() * whole + Share::WHOLE.parts() / 2) / Share::WHOLE.parts();
    u16::try_from(parts).unwrap_or(Stages::WHOLE)
}

/// The share that has begun when a release is stopped that needs the outcomes of so large a share. None: it is not stopped.
pub(super) fn begun(stages: &Stages, needed: Share) -> Option<Share> {
    stages.shares().find(|share| *share >= needed)
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
