//! The version history: how long each workload has run on each version, and who is on it now.

use std::collections::BTreeMap;

use crate::fleet::{Name, Roster};
use crate::version::Version;

/// One version with one workload in one organisation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryRow {
    pub organisation: Name,
    pub version: Version,
    pub workload: Name,
    /// How long it has run, over all clusters together; inherited time included.
    pub seconds: i64,
    /// The clusters that are on it now.
    pub clusters: Vec<Name>,
}

/// The whole history, by organisation, version and workload.
pub fn history(roster: &Roster) -> Vec<HistoryRow> {
    let mut rows: BTreeMap<(&Name, &Version, &Name), (i64, Vec<Name>)> = BTreeMap::new();
    for (organisation, workload, version, seconds) in roster.soak() {
        rows.entry((organisation, version, workload)).or_default().0 += seconds;
    }
    for (state, policy) in roster.clusters() {
        for workload in &policy.workloads {
            rows.entry((&state.organisation, &state.version, workload))
                .or_default()
                .1
                .push(state.name.clone());
        }
    }
    let row = |((organisation, version, workload), (seconds, mut clusters)): (
        (&Name, &Version, &Name),
        (i64, Vec<Name>),
    )| {
        clusters.sort();
        let (organisation, version, workload) =
            (organisation.clone(), version.clone(), workload.clone());
        HistoryRow {
            organisation,
            version,
            workload,
            seconds,
            clusters,
        }
    };
    rows.into_iter().map(row).collect()
}
