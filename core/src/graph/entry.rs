//! Entry: which releases have entered a channel by an instant, and until when that stays true.

use jiff::Timestamp;

use crate::graph::{ChannelName, Release};

/// Whether what enters at `start` is there. This is the one place that compares the two.
pub fn has_entered(start: Timestamp, now: Timestamp) -> bool {
    start <= now
}

/// The channels that a release has entered, in the order in which they are shown.
pub fn channels_entered(release: &Release, now: Timestamp) -> impl Iterator<Item = &ChannelName> {
    let entered = release
        .channels
        .iter()
        .filter(move |(_, start)| has_entered(*start, now));
    entered.map(|(name, _)| name)
}

/// A span of time in which nothing enters and nothing ends. It follows from the data alone, so replicas agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    pub from: Timestamp,
    /// The next change. This instant is not part of the span.
    pub until: Timestamp,
}

impl Epoch {
    pub const ALWAYS: Self = Self {
        from: Timestamp::MIN,
        until: Timestamp::MAX,
    };

    pub fn covers(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    /// Whether one ends where the other begins.
    pub fn is_next_to(&self, other: &Self) -> bool {
        self.until == other.from || self.from == other.until
    }

    /// Cuts the span around `now` at a change.
    pub fn cut(&mut self, change: Timestamp, now: Timestamp) {
        match has_entered(change, now) {
            true => self.from = self.from.max(change),
            false => self.until = self.until.min(change),
        }
    }
}
