//! Following small changes: a report, an upgrade, a pause, without numbering everything anew.
//!
//! Each change says which members have to be judged again. What cannot be followed (a version that has no number yet, a
//! new cluster, inherited data) says so, and the roster is built anew.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Roster, build};
use crate::fleet::{Approval, ClusterState, Pause, Upgrade, UpgradeState};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Followed {
    /// These members have to be judged again.
    Judge(BTreeSet<u32>),
    /// The roster has to be built anew.
    BuildAnew,
}

impl Followed {
    fn nobody() -> Self {
        Self::Judge(BTreeSet::new())
    }
}

impl Roster {
    /// A cluster was seen, and its time since the last report was worth so many seconds of soak on a version.
    pub fn seen(
        &mut self,
        state: ClusterState,
        credit: Option<(&crate::version::Version, i64)>,
    ) -> Followed {
        let Some(number) = self.find(state.id.as_str()) else {
            return self.seen_unmanaged(state);
        };
        let numbered = |version| self.version_number(version);
        let offers_are_known = state
            .offers
            .iter()
            .all(|offer| numbered(&offer.version).is_some());
        let (Some(version), true) = (numbered(&state.version), offers_are_known) else {
            return Followed::BuildAnew;
        };
        let (old, class) = (self.member(number), self.class_of(number));
        let moved = old.version != version;
        // Failures count for a whole sector, and a cluster that moves may have made its own good.
        let counts_anew =
            moved && (old.has_failed || self.organisations[class.organisation as usize].has_heirs);
        if is_another(&old.state, &state) || counts_anew {
            return Followed::BuildAnew;
        }
        let mut again = BTreeSet::from([number]);
        if let Some((on, seconds)) =
            credit.filter(|_| self.member(number).clash.is_none() && state.binding.is_bound())
        {
            let Some(on) = self.version_number(on) else {
                return Followed::BuildAnew;
            };
            for cell in self.class_of(number).cells.clone() {
                self.credit(cell, on, seconds, &mut again);
            }
        }
        if moved {
            self.leave_order(number);
        }
        let candidates = build::candidates(self, &state);
        self.count_soaking(number, false);
        let member = &mut self.members[number as usize];
        let before = std::mem::replace(&mut member.version, version);
        member.state = state;
        member.candidates = candidates;
        self.count_soaking(number, true);
        if moved {
            self.enter_order(number);
            self.move_in_crowds(number, before, version, &mut again);
        }
        Followed::Judge(again)
    }

    /// A cluster that no policy is about stays so, as long as it is called what it was.
    fn seen_unmanaged(&mut self, state: ClusterState) -> Followed {
        match self.unmanaged.get_mut(state.id.as_str()) {
            Some(known) if !is_another(known, &state) => {
                *known = state;
                Followed::nobody()
            }
            _ => Followed::BuildAnew,
        }
    }

    /// Adds soak to a cell and to those that inherit it. Members are judged again whose need is met by that.
    fn credit(&mut self, cell: u32, version: u32, seconds: i64, again: &mut BTreeSet<u32>) {
        let heirs = self.cells[cell as usize].heirs.clone();
        self.cells[cell as usize].own_seconds[version as usize] += seconds;
        for cell in heirs.into_iter().chain([cell]) {
            let have = &mut self.cells[cell as usize].seconds[version as usize];
            let before = std::mem::replace(have, *have + seconds);
            let after = *have;
            let met = |need: i64| before < need && need <= after;
            for class in &self.cells[cell as usize].classes {
                let class = &self.classes[*class as usize];
                if class.soak_seconds.is_some_and(met) {
                    again.extend(&class.members);
                }
            }
        }
    }

    /// Every healthy cluster has run for so many seconds more on its version, and was seen to.
    pub fn time_passes(&mut self, seconds: i64, now: Timestamp) -> Followed {
        let mut credits: BTreeMap<(u32, u32), i64> = BTreeMap::new();
        for member in &mut self.members {
            member.state.last_seen = now;
            if member.adds_soak() {
                for cell in &self.classes[member.class as usize].cells {
                    *credits.entry((*cell, member.version)).or_default() += seconds;
                }
            }
        }
        let mut again = BTreeSet::new();
        for ((cell, version), seconds) in credits {
            self.credit(cell, version, seconds, &mut again);
        }
        Followed::Judge(again)
    }

    fn leave_order(&mut self, member: u32) {
        let at = self
            .order
            .binary_search_by(|other| self.turn(*other).cmp(&self.turn(member)));
        self.order.remove(at.expect("every member has its turn"));
    }

    fn enter_order(&mut self, member: u32) {
        let at = self
            .order
            .binary_search_by(|other| self.turn(*other).cmp(&self.turn(member)));
        self.order.insert(at.unwrap_or_else(|at| at), member);
    }

    fn move_in_crowds(&mut self, member: u32, before: u32, after: u32, again: &mut BTreeSet<u32>) {
        let class = self.class_of(member);
        let (Some(sector), cells) = (class.sector, class.cells.clone()) else {
            return;
        };
        for crowd in self
            .crowds
            .iter_mut()
            .filter(|crowd| crowd.sector == sector && cells.contains(&crowd.cell))
        {
            if !crowd.members.remove(&(before, member)) {
                continue;
            }
            crowd.members.insert((after, member));
            let lowest = *crowd.members.first().expect("it has at least this one");
            let risen = std::mem::replace(&mut crowd.lowest, lowest).0 != lowest.0;
            if risen {
                for follower in &crowd.followers {
                    again.extend(&self.classes[*follower as usize].members);
                }
            }
        }
    }

    /// An upgrade was planned, started or ended.
    pub fn upgrade_changed(&mut self, upgrade: Upgrade) -> Followed {
        let Some(member) = self.find(upgrade.cluster.as_str()) else {
            return Followed::nobody();
        };
        if self.version_number(&upgrade.to).is_none() {
            return Followed::BuildAnew;
        }
        let known = self
            .upgrades
            .iter()
            .position(|known| known.id == upgrade.id && known.cluster == upgrade.cluster);
        if matches!(upgrade.state, UpgradeState::Failed | UpgradeState::Refused)
            || self.member(member).has_failed
        {
            // Failures count for a whole sector, and a refusal for as long as it is remembered.
            return Followed::BuildAnew;
        }
        match (known, upgrade.state.is_active()) {
            (Some(at), true) => self.upgrades[at] = upgrade,
            (Some(at), false) => {
                if self.member(member).upgrade == Some(at as u32) {
                    self.give_mutexes_back(member);
                    self.members[member as usize].upgrade = None;
                }
                self.upgrades[at] = upgrade;
            }
            (None, true) => self.add_upgrade(upgrade),
            (None, false) => {}
        }
        Followed::Judge([member].into())
    }

    /// People stop or allow new starts.
    pub fn pauses_changed(&mut self, pauses: Vec<Pause>) -> Followed {
        self.pauses = pauses;
        Followed::nobody()
    }

    pub fn approvals_changed(&mut self, approvals: Vec<Approval>) -> Followed {
        let keyed = |a: Approval| {
            (
                (a.organisation.clone(), a.cluster.clone(), a.version.clone()),
                a,
            )
        };
        self.approvals = approvals.into_iter().map(keyed).collect();
        let concerned = self
            .classes
            .iter()
            .filter(|class| class.policy.needs_approval);
        Followed::Judge(
            concerned
                .flat_map(|class| &class.members)
                .copied()
                .collect(),
        )
    }
}

/// Whether another policy may be about it now, or the name means another cluster.
fn is_another(known: &ClusterState, seen: &ClusterState) -> bool {
    known.organisation != seen.organisation
        || known.name != seen.name
        || known.binding != seen.binding
        || known.labels != seen.labels
}
