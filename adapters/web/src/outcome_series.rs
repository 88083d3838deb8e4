//! The series of `towpath_rollout_clusters`: what became of the updates to the releases that are rolled out.
//!
//! A release has series of its own while it has a recent window, the newest first, at most [`MAX_RELEASES`]. All others are
//! counted together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use towpath_core::feedback::{FleetOutcomes, OutcomeCount};
use towpath_core::graph::RolloutWindow;
use towpath_core::version::Version;

/// The most releases with series of their own.
const MAX_RELEASES: usize = 32;
/// The label of the rest.
const OTHERS: &str = "_others";

/// Collects the outcomes of releases during a scrape.
#[derive(Debug)]
pub(crate) struct OutcomesCollector {
    outcomes: Arc<FleetOutcomes>,
    shown: BTreeSet<Version>,
}

impl OutcomesCollector {
    pub(crate) fn new(
        outcomes: Arc<FleetOutcomes>,
        windows: &[RolloutWindow],
        now: Timestamp,
    ) -> Self {
        let mut begun: BTreeMap<&Version, Timestamp> = BTreeMap::new();
        for row in windows.iter().filter(|row| row.window.has_begun(now)) {
            let last = begun.entry(&row.to).or_insert(row.window.start);
            *last = row.window.start.max(*last);
        }
        let mut newest: Vec<(Timestamp, &Version)> =
            begun.into_iter().map(|(to, at)| (at, to)).collect();
        newest.sort();
        let shown = newest.into_iter().rev().take(MAX_RELEASES);
        Self {
            outcomes,
            shown: shown.map(|(_, to)| to.clone()).collect(),
        }
    }

    /// Each release that is shown, and the rest.
    fn series(&self) -> BTreeMap<String, OutcomeCount> {
        let shown = self.shown.iter().map(ToString::to_string);
        let mut series: BTreeMap<String, OutcomeCount> = shown
            .chain([OTHERS.to_owned()])
            .map(|release| (release, OutcomeCount::default()))
            .collect();
        for (release, counted) in &self.outcomes.releases {
            let label = match self.shown.contains(release) {
                true => release.to_string(),
                false => OTHERS.to_owned(),
            };
            let known = series.entry(label).or_default();
            known.offered += counted.all.offered;
            known.tally = known.tally.plus(counted.all.tally);
        }
        series
    }
}

impl Collector for OutcomesCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Clusters by release and by what became of their updates to it, each once for each release";
        let name = "towpath_rollout_clusters";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (release, counted) in self.series() {
            let tally = counted.tally;
            for (outcome, count) in [
                ("offered", counted.offered),
                ("started", tally.started),
                ("under_way", tally.under_way()),
                ("done", tally.done),
                ("failed", tally.failed),
                ("degraded", tally.degraded),
            ] {
                let labels = [("release", release.as_str()), ("outcome", outcome)];
                ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::feedback::{OutcomeTally, ReleaseOutcomes};
    use towpath_core::graph::recent_rollouts;
    use towpath_testing_graphs::{day, graph};

    #[test]
    fn releases_that_began_last_have_series_and_the_rest_is_counted_together() {
        let mut text = "channel stable\nrule any P1D\nrelease 4.8.1 day 1\n".to_owned();
        for patch in 0..40 {
            let day = if patch < 20 { 10 } else { 11 };
            text += &format!("release 4.9.{patch} day {day}\nedges 4.8.1 -> 4.9.{patch}\n");
        }
        let now = day("12");
        let windows = recent_rollouts(&graph(&text), now);
        let counted = OutcomeCount {
            offered: 1,
            tally: OutcomeTally {
                started: 3,
                done: 1,
                failed: 1,
                degraded: 0,
            },
        };
        let of_release = ReleaseOutcomes {
            all: counted,
            ..ReleaseOutcomes::default()
        };
        let releases = (0..40).map(|patch| format!("4.9.{patch}"));
        let releases = releases.chain(["4.7.5".to_owned()]);
        let outcomes = FleetOutcomes {
            at: now,
            clusters: 9,
            releases: releases
                .map(|release| (release.parse().unwrap(), of_release.clone()))
                .collect(),
        };
        let series = OutcomesCollector::new(Arc::new(outcomes), &windows, now).series();
        assert_eq!(series.len(), MAX_RELEASES + 1);
        let newer = (20..40).all(|patch| series.contains_key(&format!("4.9.{patch}")));
        assert!(newer && !series.contains_key("4.7.5"), "{series:?}");
        let others = series[OTHERS];
        assert_eq!((others.offered, others.tally.under_way()), (9, 9));
    }
}
