//! Rollout rules on a command line: `patch=P2D`, `minor=P14D,exponential`, `P1D` for all other
//! edges.

use std::str::FromStr;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan};
use towpath_core::finding::Place;
use towpath_core::graph::{EdgeMatch, Ramp, RolloutRule, RuleRings};

use crate::graph::data::time::parse_duration;

/// A rollout rule to be written.
#[derive(Debug, Clone)]
pub struct Rollout {
    /// `patch` or `minor`; none means all edges that no other rule matches.
    pub criterion: Option<&'static str>,
    pub duration: String,
    /// How fast at first.
    pub ramp: Ramp,
    span: Span,
}

impl FromStr for Rollout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (criterion, rest) = text.split_once('=').unwrap_or(("default", text));
        let criterion = match criterion.trim() {
            "patch" => Some("patch"),
            "minor" => Some("minor"),
            "default" => None,
            other => {
                return Err(format!(
                    "{other:?} matches no edges; write patch=P2D, minor=P14D or default=P1D"
                ));
            }
        };
        let (duration, ramp) = rest.split_once(',').unwrap_or((rest, "linear"));
        let ramp = match ramp.trim() {
            "linear" => Ramp::Linear,
            "exponential" => Ramp::Exponential,
            other => {
                return Err(format!(
                    "{other:?} is not a ramp; use linear or exponential"
                ));
            }
        };
        let duration = duration.trim().to_owned();
        let span = parse_duration(&duration)?;
        Ok(Self {
            criterion,
            duration,
            ramp,
            span,
        })
    }
}

impl Rollout {
    /// The latest start of a window that is over now.
    pub(super) fn latest_finished_start(&self, now: Timestamp) -> Timestamp {
        let rule = RolloutRule {
            edges: EdgeMatch::Any,
            start: None,
            duration: self.span,
            ramp: self.ramp,
            rings: RuleRings::default(),
            origin: Place::file("--rollout"),
        };
        // Months differ in length, so what is taken off may be less than what is added.
        let earlier = |days: i64| {
            let now = now.to_zoned(TimeZone::UTC);
            now.checked_sub(self.span)
                .and_then(|start| start.checked_sub(days.days()))
                .map(|start| start.timestamp())
        };
        let fitting = (0..=4)
            .filter_map(|days| earlier(days).ok())
            .find(|start| rule.window(*start).is_over(now));
        let start = fitting.unwrap_or(Timestamp::UNIX_EPOCH);
        Timestamp::from_second(start.as_second()).unwrap_or(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_and_what_cannot() {
        for good in [
            "patch=P2D",
            "minor=P14D,exponential",
            "P1D",
            "default=PT12H,linear",
            " minor = P0S ",
        ] {
            assert!(good.parse::<Rollout>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "major=P1D",
            "patch",
            "patch=",
            "patch=2 days",
            "patch=P2D,slow",
            "patch=P2D,exponential,x",
        ] {
            assert!(bad.parse::<Rollout>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_latest_finished_start_is_exact_also_over_a_short_month() {
        for (duration, now, start) in [
            ("P2D", "2026-11-16T04:00Z", "2026-11-14T04:00Z"),
            ("P1M", "2026-03-31T00:00Z", "2026-02-28T00:00Z"),
            ("P1M", "2026-03-30T00:00Z", "2026-02-28T00:00Z"),
            ("P0S", "2026-03-30T00:00Z", "2026-03-30T00:00Z"),
        ] {
            let [now, start] = [now, start].map(|time| time.parse::<Timestamp>().unwrap());
            let found = duration
                .parse::<Rollout>()
                .unwrap()
                .latest_finished_start(now);
            assert_eq!(found, start, "{duration} before {now}");
        }
    }
}
