//! What people take back: it holds whom it concerns, says who did it, and makes nothing easier.

use expect_test::expect;
use proptest::prelude::*;
use towpath_core::fleet::{CancelledUpgrade, dispatch};

use crate::dsl::{check, read};
use crate::properties::any_fleet;

#[test]
fn a_withdrawn_approval_holds_and_says_who_withdrew_it() {
    check(
        "
        approve 4.9.2 for a
        withdrawn 4.9.2
        cluster a at 4.9.1 offers 4.9.2 approval
        cluster b at 4.9.1 offers 4.9.2 approval
        cluster c at 4.9.1 offers 4.9.2
    ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  yes
                 4.9.2: no: bob withdrew its approval at 2021-08-30 18:00Z: an incident
            c  start 4.9.2 at 18:07
        "#]],
    );
}

#[test]
fn a_plan_whose_approval_was_withdrawn_is_cancelled_and_what_runs_goes_on() {
    check(
        "
        withdrawn 4.9.2
        cluster a at 4.9.1 offers 4.9.2 approval
        cluster b at 4.9.1 offers 4.9.2 approval
        upgrade a to 4.9.2 planned
        upgrade b to 4.9.2 started
    ",
        expect![[r#"
            a  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:30Z
                 4.9.2: no: bob withdrew its approval at 2021-08-30 18:00Z: an incident
            b  wait: its upgrade to 4.9.2 has been under way since 2021-08-30 18:30Z
                 4.9.2: no: bob withdrew its approval at 2021-08-30 18:00Z: an incident
            cancel 1: no: bob withdrew its approval at 2021-08-30 18:00Z: an incident
        "#]],
    );
}

#[test]
fn a_gate_says_who_withdrew_its_acknowledgement() {
    check(
        "
        gate g1 before 4.10
        withdrawn-gate g1 of a
        cluster a at 4.9.1 offers 4.10.1
        cluster b at 4.9.1 offers 4.10.1 acks g1
        cluster c at 4.9.1 offers 4.10.1
    ",
        expect![[r#"
            a  yes
                 4.10.1: no: gate g1 (api.openshift.com/gate-ocp) has not been acknowledged; bob withdrew it at 2021-08-30 18:00Z: an incident
            b  start 4.10.1 at 18:07
            c  yes
                 4.10.1: no: gate g1 (api.openshift.com/gate-ocp) has not been acknowledged
        "#]],
    );
}

#[test]
fn a_cancelled_upgrade_is_not_planned_again_and_another_version_is() {
    check(
        "
        cancelled 4.9.3 of a
        cancelled 4.9.2 of b
        cluster a at 4.9.1 offers 4.9.2,4.9.3
        cluster b at 4.9.1 offers 4.9.2
        cluster c at 4.9.1 offers 4.9.3
        upgrade b to 4.9.2 planned
    ",
        expect![[r#"
            a  start 4.9.2 at 18:07
            b  wait: its upgrade to 4.9.2 is planned for 2021-08-30 18:30Z
                 4.9.2: wait: bob cancelled this upgrade at 2021-08-30 18:00Z: an incident
            c  start 4.9.3 at 18:07
            cancel 1: wait: bob cancelled this upgrade at 2021-08-30 18:00Z: an incident
        "#]],
    );
}

#[test]
fn a_cancelled_node_pool_waits_and_its_control_plane_with_it() {
    check(
        "
        cancelled 4.9.2 of a pool np0
        cluster a at 4.9.2 offers 4.9.3 pools np0=4.9.1,np1=4.9.1
        cluster b at 4.9.2 offers 4.9.3 pools np0=4.9.1
    ",
        expect![[r#"
            a  wait: node pool np0 is on 4.9.1 and comes first; bob cancelled this upgrade of node pool np0 at 2021-08-30 18:00Z: an incident
                 4.9.3: yes
            b  start np0 4.9.2 at 18:06
        "#]],
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Taking an approval or an acknowledgement back frees no cluster and no version that was held, and what needs it does not start.
    #[test]
    fn withdrawing_only_makes_answers_stricter(seed: u64, which in 0usize..3, who in 0usize..9) {
        let fleet = any_fleet(seed).replace(" soak 0", " soak 0 approval");
        let approvals = "approve 4.9.2\napprove 4.9.3\napprove 4.10.1 for c0";
        let story = read(&format!("{fleet}\n{approvals}"));
        let mut input = story.input.clone();
        let taken = input.approvals.remove(which);
        let whose = taken.cluster.as_ref();
        let whose = whose.map_or_else(String::new, |name| format!(" for {name}"));
        input.taken_back = read(&format!("withdrawn {}{whose}", taken.version)).input.taken_back;
        let cluster = who % input.clusters.len();
        input.clusters[cluster].acknowledged_gates.clear();
        let (before, _) = dispatch(story.input, story.now);
        let (after, decision) = dispatch(input, story.now);
        for member in before.roster().numbers() {
            for candidate in before.why(member, story.now).candidates {
                let id = before.roster().cluster(member).id.as_str();
                let same = after.roster().find(id).unwrap();
                let now = after.why_not(same, &candidate.to, story.now);
                let is_free = now.candidates[0].own.is_offered();
                prop_assert!(!is_free || candidate.own.is_offered(), "{id} {}", candidate.to);
            }
        }
        for start in decision.starts {
            let member = after.roster().find(start.cluster.as_str()).unwrap();
            let needs = after.roster().policy(member).needs_approval && start.pool().is_none();
            let is_its = taken.organisation == start.organisation
                && taken.cluster.as_ref().is_none_or(|name| *name == start.name);
            prop_assert!(!(needs && is_its && start.to == taken.version), "{start:?}");
        }
    }

    #[test]
    fn what_was_cancelled_does_not_start(seed: u64) {
        let story = read(&any_fleet(seed));
        let (_, before) = dispatch(story.input.clone(), story.now);
        for start in &before.starts {
            let mut input = story.input.clone();
            input.taken_back.upgrades.push(CancelledUpgrade {
                cluster: start.cluster.clone(),
                pool: start.pool().cloned(),
                version: start.to.clone(),
                by: "bob".into(),
                at: story.now,
                why: "an incident".into(),
            });
            let (_, after) = dispatch(input, story.now);
            let same = after.starts.iter().find(|other| {
                (&other.cluster, other.pool(), &other.to) == (&start.cluster, start.pool(), &start.to)
            });
            prop_assert!(same.is_none(), "{same:?}");
        }
    }
}
