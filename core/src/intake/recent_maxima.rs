//! The most that a source had lately. A source that loses a little each day loses much in a week.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use jiff::Timestamp;

use super::{Measure, Summary};

/// How many days count, today among them.
const DAYS: i64 = 7;

/// The largest counts of the copies in use, by day (UTC, counted from 1970).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecentMaxima {
    days: BTreeMap<i64, BTreeMap<Measure, usize>>,
}

impl RecentMaxima {
    /// What was written down before.
    pub fn of(counts: impl IntoIterator<Item = (i64, Measure, usize)>) -> Self {
        let mut highs = Self::default();
        counts
            .into_iter()
            .for_each(|(day, measure, count)| highs.raise(day, measure, count));
        highs
    }

    /// To be written down: day, what is counted, the largest count.
    pub fn counts(&self) -> impl Iterator<Item = (i64, Measure, usize)> {
        self.days.iter().flat_map(|(day, counts)| {
            counts
                .iter()
                .map(|(measure, count)| (*day, *measure, *count))
        })
    }

    /// Such a copy is in use now.
    pub fn note(&mut self, copy: &Summary, now: Timestamp) {
        self.days.retain(|day, _| recent_days(now).contains(day));
        copy.counts
            .iter()
            .for_each(|(measure, count)| self.raise(day(now), *measure, *count));
    }

    /// That there is less of these was meant.
    pub fn forget(&mut self, measures: &BTreeSet<Measure>) {
        self.days
            .values_mut()
            .for_each(|counts| counts.retain(|measure, _| !measures.contains(measure)));
    }

    /// The same copy counts otherwise now, because what it is counted on has changed: so would those of the days before.
    pub fn rescale(&mut self, measure: Measure, before: usize, now: usize) {
        let counts = self
            .days
            .values_mut()
            .filter_map(|counts| counts.get_mut(&measure));
        counts
            .filter(|_| before > 0)
            .for_each(|count| *count = count.saturating_mul(now) / before);
    }

    /// The largest counts of the last days.
    pub fn largest(&self, now: Timestamp) -> BTreeMap<Measure, usize> {
        let mut largest = BTreeMap::new();
        for counts in self.days.range(recent_days(now)).map(|(_, counts)| counts) {
            for (measure, count) in counts {
                let known = largest.entry(*measure).or_insert(0);
                *known = (*known).max(*count);
            }
        }
        largest
    }

    fn raise(&mut self, day: i64, measure: Measure, count: usize) {
        let known = self
            .days
            .entry(day)
            .or_default()
            .entry(measure)
            .or_insert(0);
        *known = (*known).max(count);
    }
}

/// The days that count. One that has not been is of a clock that was wrong.
pub(super) fn recent_days(now: Timestamp) -> RangeInclusive<i64> {
    day(now) - DAYS + 1..=day(now)
}

pub(super) fn day(now: Timestamp) -> i64 {
    now.as_second().div_euclid(86_400)
}
