//! The watch over a simulated rollout: when it halts, and who had begun by then.

use jiff::Timestamp;
use towpath_core::feedback::{
    Assessment, Attempt, Halt, HaltWay, HeldBack, History, WatchSettings, assess,
};
use towpath_core::version::Version;

/// Attempts are looked at in such beginnings first: most releases that are bad are halted early.
const BEGINNINGS: [usize; 3] = [250, 1_000, 4_000];

/// The first halt of a release whose clusters alone update, as if somebody had looked at every instant.
///
/// One look at the end is enough for that. The first process goes through all beginnings of the order of starts, and a halt
/// says since when all that it needs was known. Where nobody else updates, nothing else counts. Outcomes must take equally long:
/// where they do not, somebody who always looks may halt sooner, before the last outcome of an early start is known.
pub fn halted(
    release: &Version,
    attempts: &[Attempt],
    history: &History,
    settings: &WatchSettings,
) -> Option<Halt> {
    let beginnings = BEGINNINGS.iter().copied().filter(|n| *n < attempts.len());
    beginnings.chain([attempts.len()]).find_map(|count| {
        let begun = &attempts[..count];
        let end = begun
            .iter()
            .filter_map(|a| Some(a.ending?.known_at))
            .max()?;
        let assessment = assess(release, begun, history, settings, end);
        assessment.halts.into_iter().next()
    })
}

/// What a release with no fault of its own is stopped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alarm {
    pub against_history: bool,
    pub against_others: bool,
}

/// Whether anybody who looked at any time before would have halted it, or more: evidence against history that others hold
/// back now counts too, since they may not have held it back earlier. Evidence never shrinks, so one look at the end is enough.
pub fn alarm(assessment: &Assessment) -> Alarm {
    let by = |way: HaltWay| assessment.halts.iter().any(|halt| halt.way == way);
    let held_back = assessment.held_back == Some(HeldBack::OthersFailToo);
    Alarm {
        against_history: by(HaltWay::AgainstHistory) || held_back,
        against_others: by(HaltWay::AgainstOthers),
    }
}

impl Alarm {
    pub fn is_any(self) -> bool {
        self.against_history || self.against_others
    }
}

/// How many clusters had begun by then. Attempts are in the order of their starts.
pub fn exposed(attempts: &[Attempt], at: Timestamp) -> usize {
    attempts.partition_point(|attempt| attempt.started_at <= at)
}
