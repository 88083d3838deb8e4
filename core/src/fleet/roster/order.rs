//! The order in which clusters are looked at: by version, soak days, organisation, id.

use super::{ClusterIdx, OrganisationIdx, Roster, VersionIdx};

/// What decides almost always, before the id.
type Turn = (VersionIdx, u32, OrganisationIdx);

impl Roster {
    /// All clusters by their turn. The numbers decide almost always, so ids are looked at last.
    pub(super) fn sorted_by_turn(&self) -> Vec<ClusterIdx> {
        let numbers = self.members.numbers();
        let mut turns: Vec<(Turn, ClusterIdx)> =
            numbers.map(|member| (self.turn(member), member)).collect();
        turns.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.id(a.1).cmp(self.id(b.1))));
        turns.into_iter().map(|(_, member)| member).collect()
    }

    pub(super) fn leave_order(&mut self, member: ClusterIdx) {
        let at = self.place_in_order(member);
        self.order.remove(at.expect("every member has its turn"));
    }

    pub(super) fn enter_order(&mut self, member: ClusterIdx) {
        let at = self.place_in_order(member);
        self.order.insert(at.unwrap_or_else(|at| at), member);
    }

    fn place_in_order(&self, member: ClusterIdx) -> Result<usize, usize> {
        let turn = (self.turn(member), self.id(member));
        self.order
            .binary_search_by(|other| (self.turn(*other), self.id(*other)).cmp(&turn))
    }

    fn turn(&self, member: ClusterIdx) -> Turn {
        let (of, class) = (self.member(member), self.class_of(member));
        let soak_days = class.policy.soak_days.unwrap_or(0);
        (of.version, soak_days, class.organisation)
    }

    fn id(&self, member: ClusterIdx) -> &str {
        self.member(member).state.id.as_str()
    }
}
