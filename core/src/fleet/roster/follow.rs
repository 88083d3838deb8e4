//! Following small changes (a report, an upgrade, a pause) without numbering everything again.
//!
//! Each change returns the members that must be judged again. A change that cannot be followed
//! says so, and the roster is rebuilt: a version without a number, a new cluster, inherited data.

use std::collections::BTreeSet;

use super::{ClusterIdx, Roster, build};
use crate::cluster::ClusterId;
use crate::fleet::taken_back::TakenBackIndex;
use crate::fleet::{Approval, ClusterState, Pause, Preflight, PreflightDemand, TakenBack};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowUp {
    /// These members have to be judged again.
    Judge(BTreeSet<ClusterIdx>),
    /// The roster must be rebuilt.
    BuildAnew,
}

impl FollowUp {
    pub(super) fn nobody() -> Self {
        Self::Judge(BTreeSet::new())
    }
}

impl Roster {
    /// A cluster reported. Its time since the last report gives this many seconds of soak on a
    /// version.
    pub fn seen(
        &mut self,
        state: ClusterState,
        credit: Option<(&crate::version::Version, i64)>,
    ) -> FollowUp {
        let Some(number) = self.find(state.id.as_str()) else {
            return self.seen_unmanaged(state);
        };
        let numbered = |version| self.version_number(version);
        let offers_are_known = state
            .offers
            .iter()
            .all(|offer| numbered(&offer.version).is_some());
        let (Some(version), true) = (numbered(&state.version), offers_are_known) else {
            return FollowUp::BuildAnew;
        };
        let (old, class) = (self.member(number), self.class_of(number));
        let moved = old.version != version;
        // Failures count for a whole sector, and a cluster that moves may have made its own good.
        // One with a mistake in its policy counts in every sector.
        let counts_anew = moved
            && (old.has_failed
                || self.organisations[class.organisation].has_heirs
                || !class.problems.is_empty());
        if is_another(&old.state, &state) || counts_anew {
            return FollowUp::BuildAnew;
        }
        let mut again = BTreeSet::from([number]);
        if let Some((on, seconds)) =
            credit.filter(|_| self.member(number).clash.is_none() && state.binding.is_bound())
        {
            let Some(on) = self.version_number(on) else {
                return FollowUp::BuildAnew;
            };
            for cell in self.class_of(number).cells.clone() {
                self.credit(cell, on, seconds, &mut again);
            }
        }
        if moved {
            self.leave_order(number);
        }
        let candidates = self.candidates(&state, self.policy(number));
        self.count_soaking(number, false);
        let member = &mut self.members[number];
        let before = std::mem::replace(&mut member.version, version);
        member.state = state;
        member.candidates = candidates;
        self.count_soaking(number, true);
        if moved {
            self.enter_order(number);
            self.move_in_crowds(number, before, version, &mut again);
        }
        FollowUp::Judge(again)
    }

    /// A cluster without a policy stays without one, as long as it keeps its name.
    fn seen_unmanaged(&mut self, state: ClusterState) -> FollowUp {
        match self.unmanaged.get_mut(state.id.as_str()) {
            Some(known) if !is_another(known, &state) => {
                *known = state;
                FollowUp::nobody()
            }
            _ => FollowUp::BuildAnew,
        }
    }

    /// People stop or allow new starts.
    pub fn pauses_changed(&mut self, pauses: Vec<Pause>) -> FollowUp {
        self.pauses = pauses;
        FollowUp::nobody()
    }

    pub fn approvals_changed(&mut self, approvals: Vec<Approval>) -> FollowUp {
        self.approvals = build::keyed(approvals);
        let concerned = self
            .classes
            .iter()
            .filter(|class| class.policy.needs_approval);
        FollowUp::Judge(
            concerned
                .flat_map(|class| &class.members)
                .copied()
                .collect(),
        )
    }
}

impl Roster {
    /// People took something back, or lifted what they had cancelled. Who withdrew an approval changes only what is said.
    pub fn taken_back_changed(&mut self, taken_back: TakenBack) -> FollowUp {
        let new = TakenBackIndex::from(taken_back);
        let old = std::mem::replace(&mut self.taken_back, new);
        let of = |index: &TakenBackIndex| -> BTreeSet<ClusterIdx> {
            let ids = index.with_cancelled().into_iter().map(ClusterId::as_str);
            ids.filter_map(|id| self.find(id)).collect()
        };
        let mut concerned = of(&old);
        concerned.extend(of(&self.taken_back));
        FollowUp::Judge(concerned)
    }

    /// Clusters were asked for preflights, or have told what became of them.
    pub fn preflights_changed(&mut self, preflights: Vec<Preflight>) -> FollowUp {
        self.preflights = build::preflights_keyed(preflights);
        let concerned = self
            .classes
            .iter()
            .filter(|class| class.policy.preflight != PreflightDemand::None);
        let members = concerned.flat_map(|class| &class.members).copied();
        FollowUp::Judge(members.collect())
    }
}

/// Whether another policy may select it now, or the name means another cluster.
fn is_another(known: &ClusterState, seen: &ClusterState) -> bool {
    known.organisation != seen.organisation
        || known.name != seen.name
        || known.binding != seen.binding
        || known.labels != seen.labels
}
