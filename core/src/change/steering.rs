//! Steering: rollouts that go slower or faster from now on, while everybody keeps what they have been shown.
//!
//! A window's share depends only on which part of its length is over. So if the length is multiplied by a factor, and the
//! distance from the start to one instant (the pivot) by the same, the share at the pivot stays. Durations belong to
//! channels and starts to files. So all that is open in a file moves together, or other rollouts would jump.
//!
//! Nobody knows to the second when a change is served. A slower window is made about the last moment at which it may be
//! served: before the pivot it has reached more than the old one, never less. A faster one is made about the present:
//! after the pivot it has reached more. So nobody loses an edge, and what is gained at once is bounded by how long serving takes.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

use crate::finding::Place;
use crate::graph::{ChannelName, ChannelSpec, EdgeMatch, GraphData, Member, RolloutRule};
use crate::version::ReleaseName;

/// How much longer windows become, in thousandths: 2000 is twice as long, 500 half as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    times: u32,
    of: u32,
    /// The first instant at which it may be served.
    from: Timestamp,
    /// The instant at which everybody keeps their share.
    pivot: Timestamp,
}

/// By how much a rollout may be slowed down or sped up, in thousandths.
pub const STRETCHES: std::ops::RangeInclusive<u32> = 1_001..=100_000;

/// A release whose start moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedStart {
    pub release: ReleaseName,
    /// Where it is listed.
    pub origin: Place,
    pub old: Timestamp,
    pub new: Timestamp,
}

/// A rule, or a ring in a rule, of which a length of time changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedDuration {
    pub channel: ChannelName,
    pub edges: EdgeMatch,
    pub field: RuleLength,
    /// Of the rule or of the ring.
    pub origin: Place,
    pub old: SignedDuration,
    /// In whole seconds.
    pub new: SignedDuration,
}

/// A length of time that a rule has, for a ring or for everybody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleLength {
    After,
    Duration,
}

/// Everything that changes in one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StretchedFile {
    pub durations: Vec<ChangedDuration>,
    pub starts: Vec<MovedStart>,
    /// Releases that enter later. Their windows will be as long as the new durations say.
    pub later: Vec<ReleaseName>,
}

/// Why a rollout cannot be slowed down or sped up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSteerable {
    #[error("no rule of this channel phases its edges in, so there is no duration to change")]
    NoRule,
    #[error("a window would be longer than 366 days; choose a smaller factor")]
    TooLong,
    #[error("a window would be shorter than a second; choose a smaller factor")]
    TooShort,
    #[error("a start would be before the first time that there is; choose a smaller factor")]
    TooEarly,
}

impl Stretch {
    /// Windows become longer by this factor, in thousandths. That is served at some moment from now to `served_by`.
    pub fn slower(thousandths: u32, now: Timestamp, served_by: Timestamp) -> Self {
        Self {
            times: thousandths,
            of: 1_000,
            from: whole_second(now),
            pivot: whole_second(served_by),
        }
    }

    /// Windows become shorter by this factor, in thousandths.
    pub fn faster(thousandths: u32, now: Timestamp) -> Self {
        Self {
            times: 1_000,
            of: thousandths,
            from: whole_second(now),
            pivot: whole_second(now),
        }
    }

    pub fn pivot(&self) -> Timestamp {
        self.pivot
    }

    /// Where a start moves to, in whole seconds. It is rounded to the past, so that no share becomes smaller.
    fn start(&self, start: Timestamp) -> Option<Timestamp> {
        let second = i128::from(1_000_000_000_u32);
        let before = self.pivot.as_nanosecond() - start.as_nanosecond();
        let moved = (before * i128::from(self.times)).div_euclid(i128::from(self.of) * second);
        let is_exact = moved * second * i128::from(self.of) == before * i128::from(self.times);
        let seconds = i64::try_from(moved + i128::from(!is_exact)).ok()?;
        self.pivot
            .checked_sub(SignedDuration::from_secs(seconds))
            .ok()
    }

    /// What becomes of how long after the beginning a window begins, and of how long it is. Both ends are rounded alike, so what ends
    /// at one instant still does.
    fn lengths(
        &self,
        [after, duration]: [SignedDuration; 2],
    ) -> Result<[SignedDuration; 2], NotSteerable> {
        let (begins, ends) = (
            self.length(after),
            self.length(after.saturating_add(duration)),
        );
        let new = ends.saturating_sub(begins);
        if ends > SignedDuration::from_hours(24 * RolloutRule::MAX_DAYS) {
            return Err(NotSteerable::TooLong);
        }
        if new < SignedDuration::from_secs(1) && !duration.is_zero() {
            return Err(NotSteerable::TooShort);
        }
        Ok([begins, new])
    }

    /// What a length becomes, in whole seconds. It is rounded down, so that no share becomes smaller.
    fn length(&self, length: SignedDuration) -> SignedDuration {
        let stretched = length.as_nanos() * i128::from(self.times)
            / (i128::from(self.of) * i128::from(1_000_000_000_u32));
        SignedDuration::from_secs(i64::try_from(stretched).unwrap_or(i64::MAX))
    }
}

/// The changes to the file of a channel.
pub fn stretch_file(
    data: &GraphData,
    channel: &ChannelSpec,
    by: Stretch,
) -> Result<StretchedFile, NotSteerable> {
    if !channel.rollouts.iter().any(phases) {
        return Err(NotSteerable::NoRule);
    }
    let beside = || {
        let all = data.channels.iter();
        all.filter(|other| other.origin.file == channel.origin.file)
    };
    let mut changes = StretchedFile::default();
    let mut longest = SignedDuration::ZERO;
    for (channel, rule) in beside().flat_map(|one| one.rollouts.iter().map(move |rule| (one, rule)))
    {
        if !phases(rule) {
            continue;
        }
        let turns = rule.rings.turns.iter();
        let rest = (rule.rings.after, rule.duration, &rule.origin);
        let all = turns.map(|turn| (turn.after, turn.duration, &turn.origin));
        for (after, duration, origin) in all.chain([rest]) {
            let old = [after, duration].map(|span| length(span, by.pivot));
            let new = by.lengths(old)?;
            let ends = |[after, duration]: [SignedDuration; 2]| after.saturating_add(duration);
            longest = longest.max(ends(old)).max(ends(new));
            let fields = [RuleLength::After, RuleLength::Duration].into_iter();
            let lengths = fields.zip(old.into_iter().zip(new));
            // What is no length at all stays none, and may not be written.
            let lengths = lengths.filter(|(_, (old, _))| !old.is_zero());
            changes
                .durations
                .extend(lengths.map(|(field, (old, new))| ChangedDuration {
                    channel: channel.name.clone(),
                    edges: rule.edges.clone(),
                    field,
                    origin: origin.clone(),
                    old,
                    new,
                }));
        }
    }
    let listed: BTreeMap<&Place, &Member> = channel
        .members
        .iter()
        .map(|member| (&member.origin, member))
        .collect();
    let entries = listed
        .into_values()
        .filter_map(|member| Some((member.name.clone(), &member.origin, member.start?)));
    let rules = beside().flat_map(|one| &one.rollouts);
    let rules = rules.filter_map(|rule| {
        let release = rule.edges.releases().last()?.clone();
        let name = ReleaseName {
            version: release,
            arch: None,
        };
        Some((name, &rule.origin, rule.start?))
    });
    for (release, origin, start) in entries.chain(rules) {
        if start > by.pivot {
            changes.later.push(release);
        } else if by.from.duration_since(start) < longest {
            // It is open, or with a longer window it would be open again when the change is served.
            changes.starts.push(MovedStart {
                release,
                origin: origin.clone(),
                old: start,
                new: by.start(start).ok_or(NotSteerable::TooEarly)?,
            });
        }
    }
    Ok(changes)
}

/// Whether it delays anybody.
fn phases(rule: &RolloutRule) -> bool {
    let delays = !rule.duration.is_zero() || rule.has_rings();
    delays && !rule.is_held() && rule.edges.is_known()
}

/// How long a span is that ends about then. Months differ, so they become days.
fn length(span: Span, about: Timestamp) -> SignedDuration {
    let start = about
        .to_zoned(TimeZone::UTC)
        .checked_sub(span)
        .map_or(about, |start| start.timestamp());
    about.duration_since(start)
}

fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Ramp, Share, Stages, Window};
    use proptest::prelude::*;

    const WITHIN: i64 = 3_600;

    fn windows(
        (length, elapsed): (i64, i64),
        ramp: Ramp,
        by: impl Fn(Timestamp, Timestamp) -> Stretch,
    ) -> (Timestamp, Window, Window) {
        let now: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        let by = by(now, now + SignedDuration::from_secs(WITHIN));
        let start = now - SignedDuration::from_secs(elapsed);
        let length = SignedDuration::from_secs(length);
        let old = Window {
            start,
            end: start + length,
            ramp,
        };
        let start = by.start(start).unwrap();
        let new = Window {
            start,
            end: start + by.length(length),
            ramp,
        };
        (now, old, new)
    }

    fn any_ramp() -> impl Strategy<Value = Ramp> {
        let stages = Stages::new(&[50, 500, 4_000]).unwrap();
        let stages = Just(Ramp::Stages(stages));
        prop_oneof![Just(Ramp::Linear), Just(Ramp::Exponential), stages]
    }

    proptest! {
        /// Whenever it is served within the time, nobody loses anything.
        #[test]
        fn nobody_loses_an_edge(
            length in 60i64..300 * 86_400,
            part in 0f64..2.0,
            thousandths in STRETCHES,
            is_slower: bool,
            served in 0..=WITHIN,
            ramp in any_ramp(),
        ) {
            let elapsed = (length as f64 * part) as i64;
            // What is longer than the longest window is refused.
            let most = RolloutRule::MAX_DAYS * 86_400 * 1_000 / length;
            let thousandths = thousandths.min(u32::try_from(most).unwrap_or(u32::MAX));
            let (now, old, new) = windows((length, elapsed), ramp, |now, by| match is_slower {
                true => Stretch::slower(thousandths, now, by),
                false => Stretch::faster(thousandths, now),
            });
            prop_assume!(new.end.duration_since(new.start) >= SignedDuration::from_secs(1));
            let at = now + SignedDuration::from_secs(served);
            prop_assert!(new.share(at) >= old.share(at));
        }

        /// At the pivot everybody keeps their share, but for the rounding to seconds.
        #[test]
        fn the_share_at_the_pivot_stays(
            length in 86_400i64..300 * 86_400,
            part in 0f64..1.0,
            thousandths in 1_001u32..=10_000,
            is_slower: bool,
        ) {
            let elapsed = (length as f64 * part) as i64;
            let most = RolloutRule::MAX_DAYS * 86_400 * 1_000 / length;
            let thousandths = thousandths.min(u32::try_from(most).unwrap_or(u32::MAX));
            let (now, old, new) = windows((length, elapsed), Ramp::Linear, |now, by| match is_slower {
                true => Stretch::slower(thousandths, now, by),
                false => Stretch::faster(thousandths, now),
            });
            let pivot = if is_slower { now + SignedDuration::from_secs(WITHIN) } else { now };
            let gained = new.share(pivot).parts() - old.share(pivot).parts();
            prop_assert!(gained < Share::thousandths(1).parts(), "{gained}");
        }
    }

    #[test]
    fn twice_as_long_from_a_quarter_on() {
        let day = 86_400;
        let (now, old, new) = windows((4 * day, day), Ramp::Linear, |now, _| {
            Stretch::slower(2_000, now, now)
        });
        assert_eq!(
            new.end.duration_since(new.start),
            SignedDuration::from_secs(8 * day)
        );
        assert_eq!(
            now.duration_since(new.start),
            SignedDuration::from_secs(2 * day)
        );
        assert_eq!(old.share(now), new.share(now));
        assert_eq!(old.share(now), Share::thousandths(250));
    }
}
