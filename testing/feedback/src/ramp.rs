//! Ramps of graph data beside others that it cannot say, to find out what they would do.

use jiff::{SignedDuration, Timestamp};
use towpath_core::graph::{Position, Ramp, Window};

/// How a window shows a release.
#[derive(Debug, Clone)]
pub enum SimulatedRamp {
    /// In so many stretches of time, each twice as steep as the one before. One is the linear ramp, eight the exponential one.
    Doublings(u32),
    /// As graph data says.
    Real(Ramp),
}

impl SimulatedRamp {
    /// When a window that begins then and has this length shows it to a position.
    pub fn due(&self, start: Timestamp, length: SignedDuration, position: Position) -> Timestamp {
        let end = start + length;
        match *self {
            Self::Doublings(stretches) => start + doublings(length, stretches, position),
            Self::Real(ramp) => Window { start, end, ramp }.due(position),
        }
    }
}

fn doublings(length: SignedDuration, stretches: u32, position: Position) -> SignedDuration {
    let parts = |stretches: u32| f64::from(stretches).exp2() - 1.0;
    let needed = position.0 as f64 / 2f64.powi(64) * parts(stretches);
    let stretch = (0..stretches).rev().find(|s| parts(*s) <= needed);
    let stretch = stretch.unwrap_or(0);
    let rest = (needed - parts(stretch)) / f64::from(stretch).exp2();
    length.mul_f64((f64::from(stretch) + rest) / f64::from(stretches))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn eight_doublings_are_the_exponential_ramp_and_one_is_the_linear_one() {
        let start: Timestamp = "2026-01-05T00:00:00Z".parse().unwrap();
        let length = SignedDuration::from_hours(24);
        for (ramp, stretches) in [(Ramp::Linear, 1), (Ramp::Exponential, 8)] {
            let window = Window {
                start,
                end: start + length,
                ramp,
            };
            for position in [0, 1 << 40, 1 << 56, 1 << 60, 1 << 63, u64::MAX - 1] {
                let position = Position(position);
                let due = SimulatedRamp::Doublings(stretches).due(start, length, position);
                let apart = window.due(position).duration_since(due).abs();
                assert!(
                    apart < SignedDuration::from_millis(1),
                    "{position:?}: {apart}"
                );
            }
        }
    }
}
