//! Upgrades: active ones hold their cluster's mutexes, failed ones count against the version,
//! refused ones wait before a retry.

use super::{ClusterIdx, FollowUp, Roster, UpgradeIdx, VersionIdx};
use crate::fleet::{Upgrade, UpgradeState};

impl Roster {
    pub(super) fn add_upgrade(&mut self, upgrade: Upgrade) {
        let member = self.find(upgrade.cluster.as_str());
        let at = self.upgrades.push(upgrade);
        let Some(member) = member else {
            return;
        };
        let upgrade = &self.upgrades[at];
        if upgrade.state.is_active() {
            let first = self.members[member].upgrade.is_none();
            self.members[member].upgrade = Some(at);
            if first {
                self.take_mutexes(member);
            }
        } else if upgrade.state == UpgradeState::Failed {
            let of = &mut self.members[member];
            of.has_failed = true;
            // A cluster that somebody brought there all the same is no failure any more.
            if of.state.version < upgrade.to {
                of.failed = Some(at);
                let to = self.version_number(&self.upgrades[at].to);
                if let (Some(sector), Some(to)) = (self.class_of(member).sector, to) {
                    *self.failures.entry((sector, to)).or_default() += 1;
                }
            }
        } else if upgrade.state == UpgradeState::Refused
            && let Some(to) = self.version_number(&upgrade.to)
        {
            self.add_refusal(member, to, at);
        }
    }

    /// Keeps the newest refusal of a version.
    fn add_refusal(&mut self, member: ClusterIdx, to: VersionIdx, at: UpgradeIdx) {
        let upgrades = &self.upgrades;
        let changed_at = |at: UpgradeIdx| (upgrades[at].changed_at, upgrades[at].id);
        let refused = &mut self.members[member].refused;
        match refused.iter_mut().find(|(version, _)| *version == to) {
            Some((_, known)) if changed_at(*known) > changed_at(at) => {}
            Some((_, known)) => *known = at,
            None => refused.push((to, at)),
        }
    }

    /// An upgrade was planned, started or ended.
    pub fn upgrade_changed(&mut self, upgrade: Upgrade) -> FollowUp {
        let Some(member) = self.find(upgrade.cluster.as_str()) else {
            return FollowUp::nobody();
        };
        if self.version_number(&upgrade.to).is_none() {
            return FollowUp::BuildAnew;
        }
        let is_it = |known: &Upgrade| known.id == upgrade.id && known.cluster == upgrade.cluster;
        let known = self.upgrades.numbered().find(|(_, known)| is_it(known));
        let known = known.map(|(at, _)| at);
        if matches!(upgrade.state, UpgradeState::Failed | UpgradeState::Refused)
            || self.member(member).has_failed
        {
            // Failures count for a whole sector, and a refusal for as long as it is remembered.
            return FollowUp::BuildAnew;
        }
        match (known, upgrade.state.is_active()) {
            (Some(at), true) => self.upgrades[at] = upgrade,
            (Some(at), false) => {
                if self.member(member).upgrade == Some(at) {
                    self.give_mutexes_back(member);
                    self.members[member].upgrade = None;
                }
                self.upgrades[at] = upgrade;
            }
            (None, true) => self.add_upgrade(upgrade),
            (None, false) => {}
        }
        FollowUp::Judge([member].into())
    }
}
