//! The fleet's numbers under the names that AUS's dashboards use. Only served with `--aus-metrics`.
//!
//! They are the numbers of `towpath_fleet_…`. The label `integration` is `towpath` everywhere, so that a
//! dashboard can tell the two apart while both run.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use towpath_core::fleet::{ClusterRow, HistoryRow, Name, UpgradeState};
use towpath_core::version::Version;

use super::metrics::{Bounded, joined_names};
use crate::sources::gauges;

const SECONDS_PER_DAY: f64 = 86_400.0;
const INTEGRATION: (&str, &str) = ("integration", "towpath");

/// What AUS tells of a fleet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AusMetrics {
    pub organisations: Bounded<AusOrganisation>,
    pub clusters: Bounded<AusCluster>,
    pub remaining_soak: Bounded<AusSoak>,
    /// Passes over the fleet that failed since the process started.
    pub failed_passes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AusOrganisation {
    pub id: Name,
    pub environment: Name,
    /// Errors in its policies.
    pub errors: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AusCluster {
    pub environment: Name,
    pub organisation_name: Name,
    pub row: ClusterRow,
    pub is_hosted: bool,
    pub is_healthy: bool,
}

/// A version that a cluster could go to.
#[derive(Debug, Clone, PartialEq)]
pub struct AusSoak {
    pub environment: Name,
    pub cluster: Name,
    pub version: Version,
    pub remaining: AusRemaining,
}

/// Days that a version still has to soak, or the number by which AUS says something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AusRemaining {
    Seconds(i64),
    Scheduled,
    Started,
    /// It takes longer than it should.
    LongRunning,
    Blocked,
}

impl AusRemaining {
    /// What AUS says of the upgrade that is under way.
    pub fn of_upgrade(state: UpgradeState, is_overdue: bool) -> Self {
        match (state, is_overdue) {
            (UpgradeState::Planned, _) => Self::Scheduled,
            (_, false) => Self::Started,
            (_, true) => Self::LongRunning,
        }
    }

    fn value(self) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds as f64 / SECONDS_PER_DAY,
            Self::Scheduled => -1.0,
            Self::Started => -2.0,
            Self::LongRunning => -3.0,
            Self::Blocked => -4.0,
        }
    }
}

impl AusMetrics {
    /// All families. `passes` and `soak` are those of the fleet's own metrics.
    pub(super) fn encode(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        passes: u64,
        soak: &Bounded<HistoryRow>,
    ) -> fmt::Result {
        self.encode_clusters(encoder)?;
        let series = self.remaining_soak.first().iter().map(|soak| {
            let labels = [
                owned(INTEGRATION),
                ("ocm_env", soak.environment.to_string()),
                ("cluster_uuid", soak.cluster.to_string()),
                ("soaking_version", soak.version.to_string()),
            ];
            (labels, soak.remaining.value())
        });
        let help = "Days that a version has to soak for a cluster; -1 scheduled, -2 started, -3 started and late, -4 blocked";
        gauges(
            encoder,
            "aus_cluster_version_remaining_soak_days",
            help,
            series,
        )?;
        let series = soak.first().iter().map(|row| {
            let labels = [
                owned(INTEGRATION),
                ("ocm_env", self.environment_of(&row.organisation)),
                ("org_id", row.organisation.to_string()),
                ("version", row.version.to_string()),
                ("workload", row.workload.to_string()),
            ];
            (labels, row.seconds as f64 / SECONDS_PER_DAY)
        });
        let help = "Days that a workload has run on a version in an organisation";
        gauges(encoder, "aus_organization_version_data", help, series)?;
        self.encode_organisations(encoder, passes)
    }

    fn encode_clusters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let told = |text: Option<String>| text.unwrap_or_default();
        let series = self.clusters.first().iter().map(|cluster| {
            let row = &cluster.row;
            let labels = [
                owned(INTEGRATION),
                ("ocm_env", cluster.environment.to_string()),
                ("cluster_uuid", row.id.as_str().to_owned()),
                ("org_id", row.organisation.to_string()),
                ("org_name", cluster.organisation_name.to_string()),
                (
                    "channel",
                    told(row.channel.as_ref().map(ToString::to_string)),
                ),
                ("current_version", row.version.to_string()),
                ("cluster_name", row.name.to_string()),
                ("schedule", told(row.schedule.clone())),
                ("sector", told(row.sector.as_ref().map(ToString::to_string))),
                ("mutexes", joined_names(&row.mutexes)),
                (
                    "soak_days",
                    told(row.soak_days.map(|days| days.to_string())),
                ),
                ("workloads", joined_names(&row.workloads)),
                // Nobody tells us what was sold.
                ("product", String::new()),
                ("hypershift", python_bool(cluster.is_hosted).to_owned()),
            ];
            (labels, 1_u64)
        });
        let help = "1 for each managed cluster, with what its policy says";
        gauges(encoder, "aus_cluster_upgrade_policy_info", help, series)?;
        let series = self.clusters.first().iter().map(|cluster| {
            let labels = [
                owned(INTEGRATION),
                ("ocm_env", cluster.environment.to_string()),
                ("cluster_uuid", cluster.row.id.as_str().to_owned()),
                ("health_source", "towpath".to_owned()),
            ];
            (labels, u64::from(cluster.is_healthy))
        });
        let help = "1 if the cluster is healthy, 0 if not";
        gauges(encoder, "aus_cluster_health_state", help, series)
    }

    fn encode_organisations(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        passes: u64,
    ) -> fmt::Result {
        let labels = |organisation: &AusOrganisation| {
            [
                owned(INTEGRATION),
                ("ocm_env", organisation.environment.to_string()),
                ("org_id", organisation.id.to_string()),
            ]
        };
        let organisations = self.organisations.first();
        let series = organisations.iter().map(|one| (labels(one), one.errors));
        let help = "Errors in the policies of an organisation";
        gauges(encoder, "aus_organization_validation_errors", help, series)?;
        let counters = [
            (
                "aus_organization_reconciled",
                "Passes over the organisation",
                passes + self.failed_passes,
            ),
            (
                "aus_organization_reconcile_errors",
                "Passes over the organisation that failed",
                self.failed_passes,
            ),
        ];
        for (name, help, count) in counters {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for organisation in organisations {
                let counter = ConstCounter::new(count);
                counter.encode(family.encode_family(&labels(organisation))?)?;
            }
        }
        Ok(())
    }

    fn environment_of(&self, organisation: &Name) -> String {
        let mut known = self.organisations.first().iter();
        let found = known.find(|one| one.id == *organisation);
        found.map_or_else(String::new, |one| one.environment.to_string())
    }
}

fn owned((name, value): (&'static str, &str)) -> (&'static str, String) {
    (name, value.to_owned())
}

/// As AUS writes it.
fn python_bool(is_so: bool) -> &'static str {
    match is_so {
        true => "True",
        false => "False",
    }
}
