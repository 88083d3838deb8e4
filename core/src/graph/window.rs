//! Windows: spans of time over which an edge reaches the fleet.
//!
//! A window turns time into a share of the fleet. It uses integers only, so that replicas of every
//! architecture agree to the nanosecond. The share never falls. It is 0 before the start and whole
//! from the end on.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::{Position, Stages};

/// A span of time, and how the share of the fleet grows in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// From here on, somebody may see the edge.
    pub start: Timestamp,
    /// From here on, everybody sees it.
    pub end: Timestamp,
    /// How the share grows in between.
    pub ramp: Ramp,
}

/// How the share grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Ramp {
    #[default]
    Linear,
    /// In eight equal stretches of time, each twice as steep as the one before: early warning at small cost.
    /// Half the time has passed when 15/255, about 6 %, of the fleet is reached.
    Exponential,
    /// In equal stretches of time: a share begins at once, the next one when outcomes of this one are known.
    Stages(Stages),
    /// Not at all: nobody is reached until people let it go on.
    Held,
}

/// A share of the fleet: 0 is nobody, [`Share::WHOLE`] is everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub(crate) u128);

impl Share {
    pub const NONE: Self = Self(0);
    pub const WHOLE: Self = Self(1 << 64);

    /// This many thousandths of the fleet, at most all of it.
    pub fn thousandths(parts: u16) -> Self {
        Self((u128::from(parts.min(1000)) << 64) / 1000)
    }

    /// This many hundredths of a percent of the fleet, at most all of it.
    pub(crate) fn hundredths_of_percent(parts: u16) -> Self {
        Self((u128::from(parts.min(Stages::WHOLE)) << 64) / u128::from(Stages::WHOLE))
    }

    /// In parts of 2^64, to be written down.
    pub fn parts(self) -> u128 {
        self.0
    }

    /// This many parts of 2^64, at most all of them.
    pub fn of_parts(parts: u128) -> Self {
        Self(parts.min(Self::WHOLE.0))
    }

    /// Whether a cluster at this position is in the share. Strict: the share 0 holds nobody.
    pub fn holds(self, position: Position) -> bool {
        u128::from(position.0) < self.0
    }

    /// For people and metrics; never for decisions.
    pub fn as_fraction(self) -> f64 {
        self.0 as f64 / Self::WHOLE.0 as f64
    }
}

/// In percent, to one place; only nobody is 0 % and only everybody is 100 %.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 1000 + (1 << 63)) >> 64;
        match tenths {
            0 if *self > Self::NONE => f.write_str("less than 0.1 %"),
            1000 if *self < Self::WHOLE => f.write_str("more than 99.9 %"),
            tenths => write!(f, "{}.{} %", tenths / 10, tenths % 10),
        }
    }
}

impl Ramp {
    /// Its name, as graph data has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Exponential => "exponential",
            Self::Stages(_) => "stages",
            Self::Held => "held",
        }
    }

    /// The number of stretches, each twice as steep as the one before; they reach 2^n − 1 parts of the fleet.
    fn doublings(self) -> u32 {
        match self {
            Self::Linear | Self::Held | Self::Stages(_) => 1,
            Self::Exponential => 8,
        }
    }

    pub fn stages(self) -> Option<Stages> {
        match self {
            Self::Stages(stages) => Some(stages),
            Self::Linear | Self::Exponential | Self::Held => None,
        }
    }
}

impl Window {
    /// A window of no length: nobody before `start`, everybody from it on.
    pub fn instant(start: Timestamp) -> Self {
        Self {
            start,
            end: start,
            ramp: Ramp::Linear,
        }
    }

    /// One that reaches nobody. `start` is when it would begin if people let it go on.
    pub fn held(start: Timestamp) -> Self {
        Self {
            ramp: Ramp::Held,
            ..Self::instant(start)
        }
    }

    /// Whether it reaches nobody, whatever the time.
    pub fn is_held(&self) -> bool {
        self.ramp == Ramp::Held
    }

    /// Whether everybody sees the edge.
    pub fn is_over(&self, now: Timestamp) -> bool {
        now >= self.end && !self.is_held()
    }

    /// Whether somebody may see the edge.
    pub fn has_begun(&self, now: Timestamp) -> bool {
        self.start <= now && !self.is_held()
    }

    /// Whether it has begun and is not over.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.has_begun(now) && !self.is_over(now)
    }

    /// The share of the fleet that sees the edge.
    pub fn share(&self, now: Timestamp) -> Share {
        let (reached, whole) = self.reached(now);
        Share((reached << 64) / whole)
    }

    /// The same while it is open; none before and after.
    pub fn share_while_open(&self, now: Timestamp) -> Option<Share> {
        self.is_open(now).then(|| self.share(now))
    }

    /// Whether a cluster at this position sees the edge: `share(now).holds(position)`, without a division.
    pub fn admits(&self, position: Position, now: Timestamp) -> bool {
        let (reached, whole) = self.reached(now);
        (u128::from(position.0) + 1) * whole <= reached << 64
    }

    /// How many parts of the fleet are reached, of how many. Both are below 2^63, since a window is at most
    /// [`RolloutRule::MAX_DAYS`](super::RolloutRule::MAX_DAYS) long.
    fn reached(&self, now: Timestamp) -> (u128, u128) {
        if self.is_over(now) {
            return (1, 1);
        }
        if now < self.start || self.is_held() {
            return (0, 1);
        }
        let (length, elapsed) = (self.length(), nanoseconds(self.start, now));
        if let Ramp::Stages(stages) = self.ramp {
            return stages.reached(elapsed, length);
        }
        if self.ramp == Ramp::Linear {
            return (elapsed, length);
        }
        let stretches = self.ramp.doublings();
        let (stretch, rest) = (
            elapsed * u128::from(stretches) / length,
            elapsed * u128::from(stretches) % length,
        );
        // Each part is a fleet / (parts × length): those of the stretches that are over, and of this one.
        let reached = ((1 << stretch) - 1) * length + (rest << stretch);
        (reached, parts(stretches) * length)
    }

    /// The first instant at which a cluster at this position sees the edge.
    pub fn due(&self, position: Position) -> Timestamp {
        if self.is_held() {
            return Timestamp::MAX;
        }
        let (length, stretches) = (self.length(), self.ramp.doublings());
        if let Ramp::Stages(stages) = self.ramp {
            return later(self.start, stages.due(position, length));
        }
        // The share exceeds the position when this many parts are reached.
        let needed = ((u128::from(position.0) + 1) * parts(stretches) * length).div_ceil(1 << 64);
        let stretch = (0..stretches)
            .rev()
            .find(|s| parts(*s) * length < needed)
            .unwrap_or(0);
        let rest = (needed - parts(stretch) * length).div_ceil(1 << stretch);
        let elapsed = (u128::from(stretch) * length + rest).div_ceil(u128::from(stretches));
        later(self.start, elapsed)
    }

    /// The first instant at which so large a share sees the edge; the start for nobody.
    pub fn reaches(&self, share: Share) -> Timestamp {
        match u64::try_from(share.0.saturating_sub(1)) {
            // A share is reached when the last position in it is.
            Ok(last) if share > Share::NONE => self.due(Position(last)),
            Ok(_) => self.start,
            Err(_) if self.is_held() => Timestamp::MAX,
            Err(_) => self.end,
        }
    }

    /// Whether it has reached at least as large a share as another one, at every instant. Exact for windows of whole seconds.
    pub fn is_never_behind(&self, other: &Self) -> bool {
        let is_as_far = |at| {
            let ((own, whole), (others, of_others)) = (self.reached(at), other.reached(at));
            others * whole <= own * of_others
        };
        let just_before = |at: Timestamp| {
            let before = at.checked_sub(SignedDuration::from_nanos(1));
            before.unwrap_or(at)
        };
        // Between these instants both shares grow evenly.
        self.start <= other.start
            && self
                .bends()
                .chain(other.bends())
                .all(|at| is_as_far(just_before(at)) && is_as_far(at))
    }

    /// The ends of its stretches or stages, and its beginning.
    pub fn bends(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let (start, length) = (self.start, self.length());
        let stretches = match self.ramp {
            Ramp::Stages(stages) => stages.count(),
            ramp => ramp.doublings(),
        };
        let stretches = u128::from(stretches);
        (0..=stretches).map(move |n| later(start, (length * n).div_ceil(stretches)))
    }

    fn length(&self) -> u128 {
        nanoseconds(self.start, self.end)
    }
}

/// The parts of the fleet that a number of stretches reach: 1, 3, 7, …
fn parts(stretches: u32) -> u128 {
    (1 << stretches) - 1
}

fn nanoseconds(from: Timestamp, to: Timestamp) -> u128 {
    u128::try_from(to.as_nanosecond() - from.as_nanosecond()).unwrap_or(0)
}

fn later(from: Timestamp, nanoseconds: u128) -> Timestamp {
    let at = i128::try_from(nanoseconds)
        .ok()
        .and_then(|n| from.as_nanosecond().checked_add(n));
    at.and_then(|at| Timestamp::from_nanosecond(at).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;
    use proptest::prelude::*;

    fn window(seconds: i64, ramp: Ramp) -> Window {
        let start: Timestamp = "2020-05-12T00:00Z".parse().unwrap();
        Window {
            start,
            end: start + SignedDuration::from_secs(seconds),
            ramp,
        }
    }

    fn percent(window: &Window, seconds: i64) -> f64 {
        (window
            .share(window.start + SignedDuration::from_secs(seconds))
            .as_fraction()
            * 1000.0)
            .round()
            / 10.0
    }

    #[test]
    fn linear_is_even_and_both_ends_are_exact() {
        let w = window(100, Ramp::Linear);
        assert_eq!(
            [0, 1, 50, 99, 100].map(|s| percent(&w, s)),
            [0.0, 1.0, 50.0, 99.0, 100.0]
        );
        assert_eq!(w.share(w.start), Share::NONE);
        assert_eq!(w.share(w.end), Share::WHOLE);
    }

    #[test]
    fn exponential_doubles_its_pace_each_eighth() {
        let w = window(80, Ramp::Exponential);
        assert_eq!(
            [10, 20, 30, 40, 70, 80].map(|s| percent(&w, s)),
            [0.4, 1.2, 2.7, 5.9, 49.8, 100.0]
        );
    }

    #[test]
    fn a_window_of_no_length_is_a_step() {
        let w = Window::instant(window(1, Ramp::Linear).start);
        assert_eq!(w.share(w.start), Share::WHOLE);
        assert_eq!(
            w.share(w.start - SignedDuration::from_nanos(1)),
            Share::NONE
        );
        assert_eq!(w.due(Position(u64::MAX)), w.start);
        assert!(!w.is_open(w.start));
    }

    #[test]
    fn a_held_window_reaches_nobody_ever() {
        let start = window(1, Ramp::Linear).start;
        let held = Window::held(start);
        for now in [Timestamp::MIN, start, Timestamp::MAX] {
            assert_eq!(held.share(now), Share::NONE);
            assert!(!held.admits(Position(0), now));
            assert!(!held.is_over(now) && !held.has_begun(now) && !held.is_open(now));
        }
        assert_eq!(held.due(Position(0)), Timestamp::MAX);
        assert_eq!(held.reaches(Share::WHOLE), Timestamp::MAX);
    }

    #[test]
    fn shares_are_shown_in_percent_and_never_as_nobody_or_everybody_by_rounding() {
        let shown = [0, 1, 1 << 62, (1 << 64) / 6, (1 << 64) - 1, 1 << 64]
            .map(|parts| Share(parts).to_string());
        assert_eq!(
            shown,
            [
                "0.0 %",
                "less than 0.1 %",
                "25.0 %",
                "16.7 %",
                "more than 99.9 %",
                "100.0 %"
            ]
        );
        assert_eq!(Share::thousandths(500).to_string(), "50.0 %");
        assert_eq!(Share::thousandths(2000), Share::WHOLE);
    }

    #[test]
    fn a_stage_begins_for_all_of_it_at_once() {
        let w = window(100, Ramp::Stages(Stages::new(&[50, 140, 1200]).unwrap()));
        assert_eq!(
            [-1, 0, 33, 34, 66, 67, 99, 100].map(|s| percent(&w, s)),
            [0.0, 0.5, 0.5, 1.4, 1.4, 12.0, 12.0, 100.0]
        );
        let third = w.start + SignedDuration::from_nanos(33_333_333_334);
        assert_eq!(w.reaches(Share::thousandths(14)), third);
        assert_eq!(w.reaches(Share::thousandths(5)), w.start);
        assert_eq!(w.reaches(Share::thousandths(121)), w.end);
    }

    fn any_ramp() -> impl Strategy<Value = Ramp> {
        let stages = proptest::collection::btree_set(1..Stages::WHOLE, 1..=Stages::MAX)
            .prop_map(|shares| Stages::new(&Vec::from_iter(shares)).unwrap());
        prop_oneof![
            Just(Ramp::Linear),
            Just(Ramp::Exponential),
            stages.prop_map(Ramp::Stages)
        ]
    }

    /// In nanoseconds: each whole second, and each end of a stage, of windows that begin and end at multiples of 80 seconds.
    fn bends_on_the_grid() -> impl Iterator<Item = i64> {
        const SECOND: i64 = 1_000_000_000;
        let seconds = (0..=1280).map(|s| s * SECOND);
        let stages = (0..8 * 8 * 13).flat_map(|n| {
            let (start, length, count) = (n % 8, n / 8 % 8, n / 64 + 1);
            let bend = move |k: i64| {
                let after = u64::try_from(length * 80 * SECOND * k).expect("positive");
                start * 80 * SECOND + after.div_ceil(count.unsigned_abs()).cast_signed()
            };
            (0..=count).map(bend)
        });
        seconds.chain(stages)
    }

    #[test]
    fn a_window_may_be_behind_for_less_than_a_second() {
        let begin = window(0, Ramp::Linear).start;
        let (start, end) = (
            begin + SignedDuration::from_secs(240),
            begin + SignedDuration::from_secs(800),
        );
        let stages = Window {
            start,
            end,
            ramp: Ramp::Stages(Stages::new(&[9917]).unwrap()),
        };
        let start = begin + SignedDuration::from_secs(320);
        let other = Window {
            start,
            end,
            ramp: Ramp::Exponential,
        };
        let second = end - SignedDuration::from_secs(1);
        assert!(stages.share(second) > other.share(second));
        let last = end - SignedDuration::from_nanos(1);
        assert!(stages.share(last) < other.share(last));
        assert!(!stages.is_never_behind(&other));
    }

    proptest! {
        #[test]
        fn due_is_the_first_instant_of_visibility(
            nanoseconds in 1i64..366 * 86_400 * 1_000_000_000,
            position in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
            ramp in any_ramp(),
        ) {
            let start: Timestamp = "2020-05-12T00:00Z".parse().unwrap();
            let w = Window { start, end: start + SignedDuration::from_nanos(nanoseconds), ramp };
            let due = w.due(Position(position));
            prop_assert!(due <= w.end, "promoted by start + duration");
            prop_assert!(w.share(due).holds(Position(position)));
            prop_assert!(w.admits(Position(position), due));
            let before = due - SignedDuration::from_nanos(1);
            prop_assert!(!w.share(before).holds(Position(position)) && !w.admits(Position(position), before));
        }

        #[test]
        fn a_share_is_reached_at_that_instant_and_not_before(
            nanoseconds in 0i64..366 * 86_400 * 1_000_000_000,
            share in prop_oneof![1..=Share::WHOLE.0, Just(1), Just(Share::WHOLE.0)],
            ramp in any_ramp(),
        ) {
            let start: Timestamp = "2020-05-12T00:00Z".parse().unwrap();
            let w = Window { start, end: start + SignedDuration::from_nanos(nanoseconds), ramp };
            let at = w.reaches(Share(share));
            prop_assert!(w.start <= at && at <= w.end);
            prop_assert!(w.share(at) >= Share(share));
            prop_assert!(w.share(at - SignedDuration::from_nanos(1)) < Share(share));
            prop_assert_eq!(w.reaches(Share::NONE), w.start);
        }

        #[test]
        fn admitting_is_being_in_the_share(
            nanoseconds in 0i64..366 * 86_400 * 1_000_000_000, at in 0f64..1.1, position in any::<u64>(), ramp in any_ramp(),
        ) {
            let start: Timestamp = "2020-05-12T00:00Z".parse().unwrap();
            let w = Window { start, end: start + SignedDuration::from_nanos(nanoseconds), ramp };
            let now = start + SignedDuration::from_nanos((nanoseconds as f64 * at) as i64);
            prop_assert_eq!(w.admits(Position(position), now), w.share(now).holds(Position(position)));
        }

        /// On a grid of few lengths, so that windows often touch. A step may come between two seconds, and a window may be behind
        /// for less than one. So every instant at which any ramp of such a length can bend is looked at, and the nanosecond before.
        #[test]
        fn a_window_that_is_never_behind_is_ahead_at_every_instant(
            own in (0i64..8, 0i64..8, any_ramp()), other in (0i64..8, 0i64..8, any_ramp()),
        ) {
            let of = |(start, length, ramp): (i64, i64, Ramp)| {
                let w = window(length * 80, ramp);
                let shift = SignedDuration::from_secs(start * 80);
                Window { start: w.start + shift, end: w.end + shift, ramp }
            };
            let (own, other) = (of(own), of(other));
            let is_as_far = |at| {
                let ((own, whole), (others, of_others)) = (own.reached(at), other.reached(at));
                others * whole <= own * of_others
            };
            let begin = window(0, Ramp::Linear).start;
            let expected = bends_on_the_grid().all(|n| {
                let at = begin + SignedDuration::from_nanos(n);
                is_as_far(at) && is_as_far(at - SignedDuration::from_nanos(1))
            });
            prop_assert_eq!(own.is_never_behind(&other), expected);
            prop_assert!(own.is_never_behind(&own));
        }

        #[test]
        fn the_share_never_falls(length in 1i64..100_000, a in -10i64..100_010, b in -10i64..100_010, ramp in any_ramp()) {
            let w = window(length, ramp);
            let at = |s: i64| w.share(w.start + SignedDuration::from_secs(s));
            prop_assert!(at(a.min(b)) <= at(a.max(b)));
        }
    }
}
