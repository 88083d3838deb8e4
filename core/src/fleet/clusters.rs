//! The clusters with their policies: one row for each managed cluster, for tables and metrics.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{ClusterIdx, Filter, FleetPlanner};
use crate::cluster::ClusterId;
use crate::fleet::Name;
use crate::graph::ChannelName;
use crate::version::Version;

/// A cluster, and what its policy says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterRow {
    pub organisation: Name,
    pub name: Name,
    pub id: ClusterId,
    pub version: Version,
    /// None: nobody has told.
    pub channel: Option<ChannelName>,
    /// As it is written. None if it cannot be read; then the cluster never starts.
    pub schedule: Option<String>,
    pub sector: Option<Name>,
    pub mutexes: BTreeSet<Name>,
    pub soak_days: Option<u32>,
    pub workloads: BTreeSet<Name>,
    /// Versions that it waits for to soak.
    pub soaking: BTreeSet<Version>,
}

impl ClusterRow {
    fn new(desk: &FleetPlanner, member: ClusterIdx) -> Self {
        let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
        let soaking = policy.workloads.iter();
        let soaking = soaking.flat_map(|workload| desk.soak_of(member, workload));
        Self {
            organisation: state.organisation.clone(),
            name: state.name.clone(),
            id: state.id.clone(),
            version: state.version.clone(),
            channel: state.channel.clone(),
            schedule: policy
                .schedule
                .as_ref()
                .map(|cron| cron.as_str().to_owned()),
            sector: policy.sector.clone(),
            mutexes: policy.mutexes.clone(),
            soak_days: policy.soak_days,
            workloads: policy.workloads.clone(),
            soaking: soaking.map(|(version, ..)| version).collect(),
        }
    }
}

impl Filter {
    /// The clusters that are asked about, by organisation, name and id.
    pub fn clusters(&self, desk: &FleetPlanner, now: Timestamp) -> Vec<ClusterRow> {
        let members = desk.roster().in_order().iter().copied();
        let meant = members.filter(|member| self.is_meant(desk, *member, now));
        let mut rows: Vec<ClusterRow> = meant.map(|member| ClusterRow::new(desk, member)).collect();
        rows.sort();
        rows
    }
}
