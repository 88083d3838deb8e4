//! Shows the progress of long work at a terminal.

use std::io::{IsTerminal, Write};

use jiff::Timestamp;

/// How far a forecast has come, on a terminal.
pub(super) struct Progress {
    from: Timestamp,
    days: u32,
    shown: Option<i64>,
    on_terminal: bool,
}

impl Progress {
    pub(super) fn new(from: Timestamp, days: u32) -> Self {
        Self {
            from,
            days,
            shown: None,
            on_terminal: std::io::stderr().is_terminal(),
        }
    }

    pub(super) fn tell(&mut self, at: Timestamp) {
        let day = self.from.duration_until(at).as_hours() / 24;
        if self.on_terminal && self.shown.replace(day) != Some(day) {
            // A terminal that takes nothing is no reason to stop.
            let _ = write!(std::io::stderr(), "\rday {} of {}", day + 1, self.days);
        }
    }

    pub(super) fn end(&self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
