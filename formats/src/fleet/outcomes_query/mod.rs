//! Attempts at updates from a Prometheus, for clusters that do not report: what the metric `cluster_version` tells.
//!
//! Each cluster's version operator writes that metric, and the value of a series is a time. Telemetry adds the cluster's id.
//!
//! ```text
//! cluster_version{_id="…", type="updating",  version="4.20.4", from_version="4.20.3"}  when the update started
//! cluster_version{_id="…", type="completed", version="4.20.4", from_version="4.20.3"}  when it was complete
//! cluster_version{_id="…", type="failure",   version="4.20.4", from_version="4.20.3"}  since when the cluster fails
//! ```
//!
//! This room says which query to ask, whether one can be asked at all, and what follows from an answer. [`series`] reads the
//! answer, [`events`] says what the series of one cluster mean. Nothing here sends anything.

mod events;
mod series;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::feedback::{Testimony, TimeLimits};
use towpath_core::finding::{Finding, Place};

use self::events::ClusterEvents;
use self::series::{Answer, Series};
use super::wrong_entries::WrongEntries;
use crate::graph::promql;

pub use self::events::SEEN_WITHIN;

/// The largest answer.
pub const MAX_BYTES: usize = 32 << 20;
/// The most series of an answer.
pub const MAX_SERIES: usize = 200_000;
/// The longest query. It goes into an address.
const MAX_QUERY_BYTES: usize = 4 << 10;
/// How many warnings of Prometheus are shown.
const MAX_WARNINGS: usize = 3;

/// What is asked unless somebody names another query. It looks back a day for starts and failures, because their series end with
/// the update. Platforms are asked for clusters that updated in that day alone.
pub const DEFAULT_QUERY: &str = r#"min by (_id, clusterID, type, version, from_version) (
  min_over_time(cluster_version{type=~"updating|failure"}[1d])
  or min_over_time(cluster_version{type="completed"}[1h]) > time() - 604800
)
or max by (_id, clusterID, platform) (
  label_replace(cluster_infrastructure_provider, "platform", "$1", "type", "(.+)")
  and on (_id, clusterID) last_over_time(cluster_version{type="updating"}[1d])
)"#;

/// What an answer tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomesAnswer {
    pub told: Vec<Testimony>,
    pub findings: Vec<Finding>,
    pub series: usize,
}

/// What is wrong with a query, if anything: nobody should find out from a log line an hour later.
pub fn check(query: &str) -> Result<(), String> {
    if query.len() > MAX_QUERY_BYTES {
        return Err(format!("it is longer than {MAX_QUERY_BYTES} bytes"));
    }
    promql::problem_of_vector(query).map_or(Ok(()), Err)
}

/// What follows from an answer of Prometheus, or why it is none.
pub fn read(
    place: &Place,
    status: u16,
    body: &[u8],
    limits: &Arc<TimeLimits>,
    now: Timestamp,
) -> Result<OutcomesAnswer, Finding> {
    let answer = Answer::read(status, body).map_err(|(problem, remedy)| {
        Finding::error("outcomes-query", place.clone(), problem, remedy)
    })?;
    let mut findings = warnings(place, &answer);
    let remedy = "correct the query; docs/rollouts.md has the labels that count";
    let mut wrong = WrongEntries::new("bad-series", remedy);
    let mut clusters: BTreeMap<&str, ClusterEvents> = BTreeMap::new();
    for series in &answer.series {
        if let Err(problem) = add(&mut clusters, series, now) {
            wrong.add(|| place.clone(), problem);
        }
    }
    let told = clusters.into_values();
    let told = told.filter_map(|events| events.testimony(limits, now));
    let told = told.collect();
    findings.extend(wrong.findings(place, "series"));
    Ok(OutcomesAnswer {
        told,
        findings,
        series: answer.series.len(),
    })
}

fn add<'a>(
    clusters: &mut BTreeMap<&'a str, ClusterEvents>,
    series: &'a Series<'a>,
    now: Timestamp,
) -> Result<(), String> {
    let id = series.cluster()?;
    let known = match clusters.entry(id) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(ClusterEvents::of(id)?),
    };
    known.add(series, now)
}

fn warnings(place: &Place, answer: &Answer<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in answer.warnings.iter().take(MAX_WARNINGS) {
        let problem = format!("Prometheus warns: {}", series::clip(text));
        let remedy = "look at that Prometheus; what it answered counts";
        let finding = Finding::warning("outcomes-query", place.clone(), problem, remedy);
        findings.push(finding);
    }
    if answer.is_full {
        let problem = format!("there are more than {MAX_SERIES} series; the rest is left out");
        let remedy = "ask for fewer clusters, or for a shorter time";
        findings.push(crate::read::too_large(place, problem, remedy));
    }
    if answer.series.is_empty() {
        let problem = "the query has no series: nobody updates, or the metric does not arrive";
        let remedy = "look at cluster_version in that Prometheus, and at the query";
        let finding = Finding::warning("no-outcomes", place.clone(), problem.to_owned(), remedy);
        findings.push(finding);
    }
    findings
}
