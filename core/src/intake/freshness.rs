//! How old the newest good copy of a source may get.
//!
//! An old copy may lack a block. Past one age Towpath warns. Past another it recommends nothing
//! from the source.

use jiff::{SignedDuration, Timestamp};

/// The ages at which something changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// From this age on it is said that the service is degraded.
    pub degraded_after: SignedDuration,
    /// From this age on nothing is recommended; none: whatever its age, it is.
    pub closed_after: Option<SignedDuration>,
}

/// How good a copy still is, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Freshness {
    Fresh,
    Degraded,
    /// Too old to recommend anything by.
    Closed,
}

impl Freshness {
    pub const ALL: [Self; 3] = [Self::Fresh, Self::Degraded, Self::Closed];

    /// That of a copy which was last found to be good then.
    pub fn of(last_good: Timestamp, now: Timestamp, ages: &Ages) -> Self {
        let age = now.duration_since(last_good);
        match (
            ages.closed_after.is_some_and(|limit| age >= limit),
            age >= ages.degraded_after,
        ) {
            (true, _) => Self::Closed,
            (false, true) => Self::Degraded,
            (false, false) => Self::Fresh,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Degraded => "degraded",
            Self::Closed => "closed",
        }
    }
}

/// When the freshness of such a copy changes next; none if it stays.
pub fn next_change(last_good: Timestamp, now: Timestamp, ages: &Ages) -> Option<Timestamp> {
    let limits = [Some(ages.degraded_after), ages.closed_after];
    let instants = limits
        .into_iter()
        .flatten()
        .filter_map(|limit| last_good.checked_add(limit).ok());
    instants.filter(|at| *at > now).min()
}
