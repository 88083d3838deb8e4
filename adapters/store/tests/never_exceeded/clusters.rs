//! The clusters themselves: they go where they are told to, or do not, and report when and as they like.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Upgrade, UpgradeId, UpgradeState};
use towpath_store::ClusterReport;

use crate::chance::Chance;
use crate::fleet::{Fleet, patch, release};
use towpath_testing_store::{seen, unwell};

/// How a cluster really is, whatever is known of it.
struct Cluster {
    organisation: &'static str,
    patch: u64,
    going_to: Option<u64>,
    healthy: bool,
    /// How wrong its clock is.
    skew: SignedDuration,
}

/// All of them, and what they have said so far.
pub(crate) struct Clusters {
    clusters: BTreeMap<ClusterId, Cluster>,
    /// Reports that may come again.
    said: Vec<ClusterReport>,
    /// Upgrades that their clusters will never begin.
    ignored: BTreeSet<UpgradeId>,
    met: BTreeSet<UpgradeId>,
}

impl Clusters {
    pub(crate) fn new(fleet: &Fleet, chance: &mut Chance) -> Self {
        let cluster = |chance: &mut Chance, organisation| Cluster {
            organisation,
            patch: chance.below(2),
            going_to: None,
            healthy: true,
            skew: SignedDuration::from_mins(chance.between(-60, 60)),
        };
        let members = fleet.members.iter();
        let clusters = members
            .map(|(id, member)| (id.clone(), cluster(chance, member.organisation)))
            .collect();
        Self {
            clusters,
            said: Vec::new(),
            ignored: BTreeSet::new(),
            met: BTreeSet::new(),
        }
    }

    /// What is under way moves on, or not; some fall ill; now and then somebody upgrades one by hand.
    pub(crate) fn live(&mut self, active: &[Upgrade], chance: &mut Chance) {
        for upgrade in active
            .iter()
            .filter(|upgrade| upgrade.state == UpgradeState::Started)
        {
            if self.met.insert(upgrade.id) && chance.percent(15) {
                self.ignored.insert(upgrade.id);
            }
            let to = patch(&upgrade.to);
            let cluster = self.clusters.get_mut(&upgrade.cluster).unwrap();
            match (self.ignored.contains(&upgrade.id), cluster.going_to) {
                (false, None) if cluster.patch < to && chance.percent(60) => {
                    cluster.going_to = Some(to)
                }
                (_, Some(to)) if chance.percent(40) => {
                    (cluster.patch, cluster.going_to) = (to, None)
                }
                _ => {}
            }
        }
        for cluster in self.clusters.values_mut() {
            if chance.percent(1) {
                cluster.healthy = !cluster.healthy;
            }
            if chance.below(500) == 0 {
                (cluster.patch, cluster.going_to) = (cluster.patch + 1, None);
            }
        }
    }

    pub(crate) fn all(&mut self, now: Timestamp) -> Vec<ClusterReport> {
        let ids: Vec<ClusterId> = self.clusters.keys().cloned().collect();
        ids.iter().map(|id| self.say(id, now)).collect()
    }

    /// Some report: most of them now, some with a clock that has gone back or ahead, some what they have said before.
    pub(crate) fn some(&mut self, now: Timestamp, chance: &mut Chance) -> Vec<ClusterReport> {
        let ids: Vec<ClusterId> = self.clusters.keys().cloned().collect();
        let mut reports = Vec::new();
        for _ in 0..chance.between(1, 8) {
            let id = chance.one_of(&ids);
            let error = match chance.below(100) {
                0..10 => SignedDuration::from_mins(chance.between(-300, 0)),
                10..12 => SignedDuration::from_mins(chance.between(0, 60)),
                _ => SignedDuration::ZERO,
            };
            reports.push(match chance.percent(15) {
                true => chance.one_of(&self.said).clone(),
                false => self.say(id, now + error),
            });
            if chance.percent(10) {
                reports.extend(reports.last().cloned());
            }
        }
        if chance.percent(30) {
            reports.reverse();
        }
        reports
    }

    fn say(&mut self, id: &ClusterId, now: Timestamp) -> ClusterReport {
        let cluster = &self.clusters[id];
        let mut report = seen(id.as_str(), &release(cluster.patch).to_string(), 0);
        report.state.organisation = cluster.organisation.into();
        report.state.going_to = cluster.going_to.map(release);
        // Said once each: by its nanosecond a report is known again.
        report.state.last_seen =
            now + cluster.skew + SignedDuration::from_nanos(self.said.len() as i64);
        report.state.version_since = report.state.last_seen;
        if !cluster.healthy {
            report = unwell(report);
        }
        self.said.push(report.clone());
        report
    }
}
