//! How far a forecast has come, in days.

use jiff::Timestamp;

use crate::progress::WorkBar;

pub(super) struct Progress {
    from: Timestamp,
    days: u32,
    bar: WorkBar,
}

impl Progress {
    pub(super) fn new(from: Timestamp, days: u32) -> Self {
        Self {
            from,
            days,
            bar: WorkBar::new(),
        }
    }

    pub(super) fn tell(&mut self, at: Timestamp) {
        let day = self.from.duration_until(at).as_hours() / 24;
        let day = u64::try_from(day).unwrap_or(0);
        self.bar.tell("days", day, u64::from(self.days));
    }

    /// The bar is gone before the answer comes.
    pub(super) fn end(self) {
        drop(self.bar);
    }
}
