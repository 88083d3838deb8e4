//! The most that a source had lately: one that loses a little each day loses much in a week.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Measure, Summary};

/// How many days count, today among them.
const DAYS: i64 = 7;

/// The largest counts of the copies in use, by day (UTC, counted from 1970).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Highs {
    days: BTreeMap<i64, BTreeMap<Measure, usize>>,
}

impl Highs {
    /// What was written down before.
    pub fn of(counts: impl IntoIterator<Item = (i64, Measure, usize)>) -> Self {
        let mut highs = Self::default();
        counts.into_iter().for_each(|(day, measure, count)| highs.raise(day, measure, count));
        highs
    }

    /// To be written down: day, what is counted, the largest count.
    pub fn counts(&self) -> impl Iterator<Item = (i64, Measure, usize)> {
        self.days.iter().flat_map(|(day, counts)| counts.iter().map(|(measure, count)| (*day, *measure, *count)))
    }

    /// Such a copy is in use now.
    pub fn note(&mut self, copy: &Summary, now: Timestamp) {
        let today = day(now);
        // A day that has not been is of a clock that was wrong.
        self.days.retain(|day, _| (today - DAYS + 1..=today).contains(day));
        copy.counts.iter().for_each(|(measure, count)| self.raise(today, *measure, *count));
    }

    /// That there is less of these was meant.
    pub fn forget(&mut self, measures: &BTreeSet<Measure>) {
        self.days.values_mut().for_each(|counts| counts.retain(|measure, _| !measures.contains(measure)));
    }

    /// The largest counts of the last days.
    pub fn largest(&self, now: Timestamp) -> BTreeMap<Measure, usize> {
        let mut largest = BTreeMap::new();
        let today = day(now);
        for counts in self.days.range(today - DAYS + 1..=today).map(|(_, counts)| counts) {
            for (measure, count) in counts {
                let known = largest.entry(*measure).or_insert(0);
                *known = (*known).max(*count);
            }
        }
        largest
    }

    fn raise(&mut self, day: i64, measure: Measure, count: usize) {
        let known = self.days.entry(day).or_default().entry(measure).or_insert(0);
        *known = (*known).max(count);
    }
}

fn day(now: Timestamp) -> i64 {
    now.as_second().div_euclid(86_400)
}
