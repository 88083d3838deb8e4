//! Rate limits: one event per interval, and a burst after a rest.
//!
//! The table is bounded. When it is full, the entry that has rested longest goes first, because
//! forgetting a rested one changes nothing. Times are durations since an arbitrary start.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Rested entries that one call forgets, so that the table shrinks again after a rush.
const FORGOTTEN_AT_ONCE: usize = 2;

/// One event per interval, and a burst after a rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The interval between two events.
    pub every: Duration,
    /// The most events at once after a rest.
    pub burst: u32,
}

impl Rate {
    /// A number of events a minute, and as many at once after a minute of rest. Zero means no
    /// limit.
    pub fn per_minute(count: u32) -> Option<Self> {
        (count > 0).then(|| Self {
            every: Duration::from_secs(60) / count,
            burst: count,
        })
    }
}

/// Who did how much lately.
#[derive(Debug)]
pub struct Rates<K> {
    rate: Rate,
    most: usize,
    /// When each has rested fully.
    rested: BTreeMap<K, Duration>,
    /// The same, in the order of time.
    order: BTreeSet<(Duration, K)>,
}

impl<K: Ord + Clone> Rates<K> {
    /// A table of at most `most` entries.
    pub fn new(rate: Rate, most: usize) -> Self {
        Self {
            rate,
            most: most.max(1),
            rested: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    /// Counts one. If that is too often, nothing is counted, and the answer is how long to wait.
    pub fn take(&mut self, who: &K, now: Duration) -> Result<(), Duration> {
        let rested = self.rested.get(who).copied().unwrap_or(now).max(now);
        let early = self
            .rate
            .every
            .saturating_mul(self.rate.burst.saturating_sub(1));
        let allowed_at = rested.saturating_sub(early);
        if allowed_at > now {
            return Err(allowed_at - now);
        }
        self.forget(who);
        self.make_room(now);
        let rested = rested.saturating_add(self.rate.every);
        self.rested.insert(who.clone(), rested);
        self.order.insert((rested, who.clone()));
        Ok(())
    }

    fn forget(&mut self, who: &K) {
        if let Some(rested) = self.rested.remove(who) {
            self.order.remove(&(rested, who.clone()));
        }
    }

    fn make_room(&mut self, now: Duration) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            let Some((rested, who)) = self.order.first().cloned() else {
                return;
            };
            if rested > now && self.rested.len() < self.most {
                return;
            }
            self.forget(&who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn rates(most: usize) -> Rates<&'static str> {
        Rates::new(Rate::per_minute(6).unwrap(), most)
    }

    #[test]
    fn a_burst_and_then_one_every_so_long() {
        let mut rates = rates(10);
        let now = 100 * SECOND;
        for _ in 0..6 {
            assert_eq!(rates.take(&"a", now), Ok(()));
        }
        assert_eq!(rates.take(&"a", now), Err(10 * SECOND));
        assert_eq!(rates.take(&"b", now), Ok(()), "another has its own");
        assert_eq!(rates.take(&"a", now + 9 * SECOND), Err(SECOND));
        assert_eq!(rates.take(&"a", now + 10 * SECOND), Ok(()));
        assert_eq!(rates.take(&"a", now + 10 * SECOND), Err(10 * SECOND));
        for _ in 0..6 {
            assert_eq!(
                rates.take(&"a", now + 1_000 * SECOND),
                Ok(()),
                "a long rest gives the whole burst back"
            );
        }
    }

    #[test]
    fn refused_ones_cost_nothing() {
        let mut rates = rates(10);
        for _ in 0..6 {
            assert_eq!(rates.take(&"a", SECOND), Ok(()));
        }
        for _ in 0..100 {
            assert_eq!(rates.take(&"a", SECOND), Err(10 * SECOND));
        }
        assert_eq!(rates.take(&"a", 11 * SECOND), Ok(()));
    }

    #[test]
    fn the_table_has_a_bound_and_those_who_rested_longest_go_first() {
        let mut rates = rates(2);
        for _ in 0..6 {
            assert_eq!(rates.take(&"busy", SECOND), Ok(()));
        }
        assert_eq!(rates.take(&"b", SECOND), Ok(()));
        assert_eq!(rates.take(&"c", SECOND), Ok(()));
        assert_eq!(
            rates.rested.keys().copied().collect::<Vec<_>>(),
            ["busy", "c"]
        );
        assert!(
            rates.take(&"busy", SECOND).is_err(),
            "who is busy is remembered"
        );
        assert_eq!(rates.take(&"d", 1_000 * SECOND), Ok(()));
        assert_eq!(
            (rates.rested.len(), rates.order.len()),
            (1, 1),
            "who has rested is forgotten"
        );
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(Rate::per_minute(0), None);
        assert_eq!(
            Rate::per_minute(60),
            Some(Rate {
                every: SECOND,
                burst: 60
            })
        );
    }
}
