//! Soak: how long releases have run, as spans of observed time.
//!
//! A cluster's time on a version is kept as spans, from one report to the next. The time between
//! two reports counts if it is within an allowance, and not at all otherwise. So an outage of ours
//! gives nobody soak, a clock that goes back takes nothing away, and a repeated report counts
//! once.

use jiff::{SignedDuration, Timestamp};

use super::{Health, Name};
use crate::cluster::ClusterId;
use crate::version::Version;

/// A span in which a cluster was seen on a version, always in the same health.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub cluster: ClusterId,
    pub version: Version,
    pub healthy: bool,
    /// From its first report of this span, …
    pub from: Timestamp,
    pub until: Timestamp,
}

/// What a report says about time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub cluster: ClusterId,
    pub version: Version,
    pub health: Health,
    pub at: Timestamp,
}

/// What becomes of a cluster's newest span when it is seen again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanChange {
    /// The span goes on to here.
    Extended(Span),
    /// A new span begins. The time since the last one is credited to nobody.
    Began(Span),
    /// Nothing new: it is not later than what is known.
    Nothing,
}

/// The days of one workload on one version in one organisation, own ones alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SoakSum {
    pub organisation: Name,
    pub workload: Name,
    pub version: Version,
    /// How long, over all clusters together, those that have left it included.
    pub seconds: i64,
}

/// Joins an observation to the cluster's newest span.
pub fn observe(newest: Option<&Span>, seen: &Observation, allowance: SignedDuration) -> SpanChange {
    let same = |newest: &&Span| {
        newest.version == seen.version && newest.healthy == seen.health.is_healthy()
    };
    match (newest.filter(same), observe_late(newest, seen)) {
        (Some(newest), SpanChange::Began(_))
            if newest.until.duration_until(seen.at) <= allowance =>
        {
            SpanChange::Extended(Span {
                until: seen.at,
                ..newest.clone()
            })
        }
        (_, observed) => observed,
    }
}

/// The same for an observation of a time that was long over when we were told of it. It says how the cluster was, if nobody knows better, and no time
/// counts for it: else a cluster could make up days of soak within a minute.
pub fn observe_late(newest: Option<&Span>, seen: &Observation) -> SpanChange {
    match newest {
        Some(newest) if seen.at <= newest.until => SpanChange::Nothing,
        _ => SpanChange::Began(Span {
            cluster: seen.cluster.clone(),
            version: seen.version.clone(),
            healthy: seen.health.is_healthy(),
            from: seen.at,
            until: seen.at,
        }),
    }
}

impl Span {
    /// How much soak it is worth.
    pub fn credit(&self) -> SignedDuration {
        match self.healthy {
            true => self.from.duration_until(self.until),
            false => SignedDuration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3600).unwrap()
    }

    fn seen(hour: i64, version: &str, healthy: bool) -> Observation {
        let health = if healthy {
            Health::Healthy
        } else {
            Health::Unhealthy { why: "etcd".into() }
        };
        Observation {
            cluster: ClusterId::new("a").unwrap(),
            version: version.parse().unwrap(),
            health,
            at: at(hour),
        }
    }

    /// The hours that a row of reports is worth, with an allowance of two hours.
    fn hours(reports: &[Observation]) -> i64 {
        let mut spans: Vec<Span> = Vec::new();
        for report in reports {
            match observe(spans.last(), report, SignedDuration::from_hours(2)) {
                SpanChange::Extended(span) => *spans.last_mut().unwrap() = span,
                SpanChange::Began(span) => spans.push(span),
                SpanChange::Nothing => {}
            }
        }
        spans.iter().map(|span| span.credit().as_hours()).sum()
    }

    #[test]
    fn what_counts() {
        let ok = |hour| seen(hour, "4.9.1", true);
        for (what, reports, expected) in [
            ("one report is worth nothing", vec![ok(0)], 0),
            ("from report to report", vec![ok(0), ok(1), ok(2)], 2),
            ("the allowance, to the hour", vec![ok(0), ok(2)], 2),
            ("no more than the allowance", vec![ok(0), ok(3), ok(4)], 1),
            ("the same report twice", vec![ok(0), ok(1), ok(1), ok(1)], 1),
            (
                "a clock that goes back",
                vec![ok(0), ok(2), ok(1), ok(3)],
                3,
            ),
            (
                "unhealthy time",
                vec![
                    ok(0),
                    ok(1),
                    seen(2, "4.9.1", false),
                    seen(3, "4.9.1", false),
                    ok(4),
                    ok(5),
                ],
                2,
            ),
            (
                "another version begins at nought",
                vec![ok(0), ok(1), seen(2, "4.9.2", true), seen(3, "4.9.2", true)],
                2,
            ),
        ] {
            assert_eq!(hours(&reports), expected, "{what}");
        }
    }

    #[test]
    fn what_comes_late_counts_for_nobody_and_takes_nothing_back() {
        let known = Span {
            cluster: ClusterId::new("a").unwrap(),
            version: "4.9.1".parse().unwrap(),
            healthy: true,
            from: at(0),
            until: at(5),
        };
        for hour in [0, 4, 5] {
            assert_eq!(
                observe_late(Some(&known), &seen(hour, "4.9.0", true)),
                SpanChange::Nothing
            );
        }
        for newest in [None, Some(&known)] {
            let SpanChange::Began(span) = observe_late(newest, &seen(6, "4.9.1", true)) else {
                panic!("it is newer")
            };
            assert_eq!((span.from, span.credit()), (at(6), SignedDuration::ZERO));
        }
    }
}
