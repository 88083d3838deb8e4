//! A desk that follows changes decides what a desk that is made anew decides.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::fleet::{
    CancelledUpgrade, ClusterIdx, Decision, FleetInput, FleetPlanner, Health, Owner, Upgrade,
    UpgradeId, UpgradeState, dispatch,
};

use crate::dsl::read;
use crate::properties::any_fleet;

/// A change of the fleet: what, where, how much.
type Change = (u8, usize, u64);

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, ..ProptestConfig::default() })]

    #[test]
    fn following_equals_deciding_anew(seed: u64, changes in proptest::collection::vec((0u8..9, 0usize..9, 0u64..200), 1..12)) {
        let story = read(&any_fleet(seed));
        let (mut input, mut now) = (story.input, story.now);
        let mut desk = FleetPlanner::new(input.clone());
        for change in changes {
            desk = follow(desk, &mut input, &mut now, change);
            let decision = desk.pass(now);
            let (anew, expected) = dispatch(input.clone(), now);
            prop_assert_eq!(sorted(decision.clone()), sorted(expected), "{:?}", change);
            prop_assert_eq!(desk.digest(now), anew.digest(now), "{:?}", change);
        }
    }
}

/// Upgrades are followed in the order in which they became known.
fn sorted(mut decision: Decision) -> Decision {
    decision.cancels.sort_by_key(|cancel| cancel.upgrade);
    decision.begins.sort();
    decision.ended.sort_by_key(|ended| ended.upgrade);
    decision.overdue.sort_by_key(|overdue| overdue.upgrade);
    decision
}

/// Applies a change to the input and to the desk; a desk that cannot follow is made anew.
fn follow(
    mut desk: FleetPlanner,
    input: &mut FleetInput,
    now: &mut Timestamp,
    (what, which, how): Change,
) -> FleetPlanner {
    let which = which % input.clusters.len();
    let followed = match what {
        0 => {
            *now += SignedDuration::from_mins(how as i64);
            true
        }
        1 => {
            // A clock that goes back.
            *now -= SignedDuration::from_mins(how as i64 / 4);
            true
        }
        2 | 3 => {
            let state = &mut input.clusters[which];
            if let Some(offer) = state
                .offers
                .get(how as usize % 7)
                .filter(|offer| offer.version > state.version)
            {
                state.version = offer.version.clone();
                state.version_since = *now;
            }
            state.last_seen = *now;
            state.health = if how % 5 == 0 {
                Health::Unhealthy { why: "x".into() }
            } else {
                Health::Healthy
            };
            let (state, version) = (state.clone(), state.version.clone());
            let credit = (what == 3).then_some((&version, how as i64 * 3_600));
            if let Some((version, seconds)) = credit {
                let counts = |member: &ClusterIdx| {
                    state.binding.is_bound() && desk.roster().name_clash(*member).is_none()
                };
                let member = desk.roster().find(state.id.as_str()).filter(counts);
                let policy = member.map(|member| desk.roster().policy(member).clone());
                for workload in policy.into_iter().flat_map(|policy| policy.workloads) {
                    input.soak.push(towpath_core::fleet::SoakSum {
                        organisation: state.organisation.clone(),
                        workload,
                        version: version.clone(),
                        seconds,
                    });
                }
            }
            desk.seen(state, credit)
        }
        4 => {
            let state = &input.clusters[which];
            let busy = input
                .upgrades
                .iter()
                .any(|u| u.cluster == state.id && u.state.is_active());
            match state
                .offers
                .first()
                .filter(|offer| !busy && offer.version > state.version)
            {
                None => true,
                Some(offer) => {
                    let upgrade = Upgrade {
                        id: UpgradeId(input.upgrades.len() as i64 + 1),
                        cluster: state.id.clone(),
                        pool: None,
                        from: state.version.clone(),
                        to: offer.version.clone(),
                        channel: offer.channel.clone(),
                        state: UpgradeState::Planned,
                        owner: if how % 2 == 0 {
                            Owner::Towpath
                        } else {
                            Owner::Other
                        },
                        start_at: *now + SignedDuration::from_mins(how as i64),
                        changed_at: *now,
                        failures: 0,
                        note: None,
                    };
                    input.upgrades.push(upgrade.clone());
                    desk.upgrade_changed(upgrade)
                }
            }
        }
        5 => match input
            .upgrades
            .iter_mut()
            .find(|upgrade| upgrade.state.is_active())
        {
            None => true,
            Some(upgrade) => {
                let states = [
                    UpgradeState::Started,
                    UpgradeState::Finished,
                    UpgradeState::Failed,
                    UpgradeState::Cancelled,
                ];
                upgrade.state = states[how as usize % 4];
                upgrade.changed_at = *now;
                let upgrade = upgrade.clone();
                desk.upgrade_changed(upgrade)
            }
        },
        6 => {
            match how % 2 {
                0 => input.pauses.clear(),
                _ => input.pauses = read("pause sector stage").input.pauses,
            }
            desk.pauses_changed(input.pauses.clone())
        }
        7 => {
            let state = &input.clusters[which];
            let cancelled = state.offers.first().map(|offer| CancelledUpgrade {
                cluster: state.id.clone(),
                pool: None,
                version: offer.version.clone(),
                by: "bob".into(),
                at: *now,
                why: "x".into(),
            });
            input.taken_back.upgrades = cancelled.filter(|_| how % 3 > 0).into_iter().collect();
            desk.taken_back_changed(input.taken_back.clone())
        }
        _ => {
            input.approvals = read("approve 4.9.2").input.approvals;
            desk.approvals_changed(input.approvals.clone())
        }
    };
    match followed {
        true => desk,
        false => FleetPlanner::new(input.clone()),
    }
}
