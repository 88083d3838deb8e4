//! Rules that others use, for comparison: so many failures in all, a part of a group, or a test of the first clusters alone.
//!
//! They see the same outcomes as the watch, as soon as these are known, and halt at once.

use jiff::Timestamp;
use towpath_core::feedback::{Attempt, Outcome};

use crate::at_least;

/// A rule that counts failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountRule {
    /// So many failures in all.
    Failures(u64),
    /// So many failures in one of the groups of this size, in the order of starts.
    InGroup { failures: u64, size: usize },
    /// So many failures among this many who begin first; the others are not looked at.
    AmongFirst { failures: u64, size: usize },
}

impl CountRule {
    /// When it halts a rollout. Attempts are in the order of their starts.
    pub fn halts(self, attempts: &[Attempt]) -> Option<Timestamp> {
        match self {
            Self::Failures(count) => nth_failure(attempts, count),
            Self::InGroup { failures, size } => attempts
                .chunks(size)
                .filter_map(|group| nth_failure(group, failures))
                .min(),
            Self::AmongFirst { failures, size } => {
                nth_failure(&attempts[..size.min(attempts.len())], failures)
            }
        }
    }

    /// The probability that it halts a release whose `clusters` fail at the base rate.
    pub fn false_halts(self, clusters: usize, rate: f64) -> f64 {
        match self {
            Self::Failures(count) => at_least(count, clusters as u64, rate),
            Self::InGroup { failures, size } => {
                let one = at_least(failures, size as u64, rate);
                1.0 - (1.0 - one).powf(clusters as f64 / size as f64)
            }
            Self::AmongFirst { failures, size } => at_least(failures, size as u64, rate),
        }
    }

    /// The rule of this kind with the fewest failures whose false halts are at most α.
    pub fn at(self, alpha: f64, clusters: usize, rate: f64) -> Self {
        let with = |count: u64| match self {
            Self::Failures(_) => Self::Failures(count),
            Self::InGroup { size, .. } => Self::InGroup {
                failures: count,
                size,
            },
            Self::AmongFirst { size, .. } => Self::AmongFirst {
                failures: count,
                size,
            },
        };
        (1..=clusters as u64)
            .map(with)
            .find(|rule| rule.false_halts(clusters, rate) <= alpha)
            .unwrap_or(self)
    }

    /// The rule that looks at the first clusters alone and is made for one failure rate: with false halts of at most α, the smallest
    /// first group in which it sees that rate so surely.
    pub fn made_for(failing: f64, surely: f64, alpha: f64, rate: f64) -> Self {
        let of = |size: usize| {
            let rule = Self::AmongFirst { failures: 1, size };
            rule.at(alpha, size, rate)
        };
        let sees = |rule: &Self| match rule {
            Self::AmongFirst { failures, size } => {
                at_least(*failures, *size as u64, failing) >= surely
            }
            _ => false,
        };
        (1..=100_000)
            .map(of)
            .find(sees)
            .unwrap_or(Self::Failures(u64::MAX))
    }
}

fn nth_failure(attempts: &[Attempt], count: u64) -> Option<Timestamp> {
    let failed = attempts.iter().filter_map(|attempt| attempt.ending);
    let failed = failed.filter(|ending| ending.outcome == Outcome::Failed);
    let mut known: Vec<Timestamp> = failed.map(|ending| ending.known_at).collect();
    known.sort_unstable();
    known
        .get(usize::try_from(count).ok()?.checked_sub(1)?)
        .copied()
}
