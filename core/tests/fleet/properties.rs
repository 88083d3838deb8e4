//! What holds for every fleet.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use proptest::prelude::*;
use towpath_core::fleet::{ClusterIdx, dispatch, oldest_needed};
use towpath_core::version::Version;

use crate::dsl::{read, told};

/// A fleet that a seed describes: a few sectors, mutexes, workloads, versions, and clusters that use them.
pub(crate) fn any_fleet(seed: u64) -> String {
    let mut seed = Seed(seed);
    let mut lines = vec!["sector dev".to_owned()];
    let limit = seed.one_of(&["", " limit 2", " limit 50%", " stragglers 2", " failures 1"]);
    lines.push(format!("sector stage after dev{limit}"));
    let limit = seed.one_of(&["", " limit 1", " limit 34%"]);
    lines.push(format!("sector prod after stage,dev{limit}"));
    lines.push(
        seed.one_of(&[
            "org blocks -rc",
            "org blocks 4.9.3$",
            "org shares m1",
            "org disabled in o2",
        ])
        .to_owned(),
    );
    for version in VERSIONS {
        for workload in ["web", "db"] {
            let days = seed.one_of(&["0", "0.5", "1", "2", "3.5", "7"]);
            lines.push(format!("soak {workload} on {version} {days}"));
        }
    }
    if seed.below(3) == 0 {
        lines.push("gate g1 before 4.10".to_owned());
    }
    if seed.below(6) == 0 {
        lines.push("pause sector prod".to_owned());
    }
    if seed.below(3) == 0 {
        let is = seed.one_of(&["passed", "failed", "asked"]);
        lines.push(format!("preflight c0 of 4.9.2 is {is} from 4.9.1 ago 167"));
    }
    for number in 0..seed.below(9) + 1 {
        let at = seed.below(VERSIONS.len() as u64 - 1) as usize;
        let offers: Vec<&str> = VERSIONS[at + 1..]
            .iter()
            .filter(|_| seed.below(3) > 0)
            .copied()
            .collect();
        let mut line = format!("cluster c{number} at {}", VERSIONS[at]);
        if !offers.is_empty() {
            line += &format!(" offers {}", offers.join(","));
        }
        line += seed.one_of(&[
            "",
            " sector dev",
            " sector stage",
            " sector prod",
            " sector prod",
        ]);
        line += seed.one_of(&["", " mutexes m1", " mutexes m2", " mutexes m1,m2"]);
        line += seed.one_of(&[" soak none", " soak 0", " soak 1", " soak 3"]);
        line += seed.one_of(&["", " workloads web", " workloads web,db", " workloads db"]);
        line += seed.one_of(&[
            "",
            "",
            " schedule 0_20_*_*_*",
            " schedule 0_3_*_*_*",
            " schedule */10_*_*_*_1",
        ]);
        line += seed.one_of(&[
            "",
            "",
            "",
            " risk Bad=4.9.2 accepts Bad@2021-08-30T19:00:00Z",
            " risk Bad=4.9.2 accepts Bad@fixed",
            " preflight required",
        ]);
        let more = [
            "",
            "",
            "",
            " unhealthy",
            " pin 4.9.3",
            " blocks 4.9.2",
            " acks g1",
            " silent 2",
            " unbound",
        ];
        // The first keeps its name and its place, so that others can have the same.
        let others = [" in o2", " called c0 unbound", " called c0"];
        line += match number {
            0 => seed.one_of(&more),
            _ => seed.one_of(&[&more[..], &others].concat()),
        };
        line += seed.one_of(&["", "", "", " pools np0=4.9.1,np1=4.9.2", " since 3"]);
        lines.push(line);
        if seed.below(5) == 0 {
            let state = seed.one_of(&[
                "planned",
                "started",
                "failed",
                "planned by other",
                "failed failures 3",
            ]);
            lines.push(format!(
                "upgrade c{number} to 4.10.1 {state} hours-ago {}",
                seed.below(5)
            ));
        }
    }
    lines.join("\n")
}

const VERSIONS: [&str; 6] = ["4.9.1", "4.9.2", "4.9.3", "4.10.0-rc.1", "4.10.0", "4.10.1"];

struct Seed(u64);

impl Seed {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_of(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_the_input_does_not_matter(seed: u64, turn in 0usize..9) {
        let story = read(&any_fleet(seed));
        let (desk, decision) = dispatch(story.input.clone(), story.now);
        let mut other = story.input;
        other.soak.reverse();
        let length = other.clusters.len();
        other.clusters.rotate_left(turn % length);
        other.upgrades.reverse();
        for organisation in other.policy.organisations.values_mut() {
            organisation.clusters.reverse();
        }
        let (other, again) = dispatch(other, story.now);
        prop_assert_eq!(&decision.starts, &again.starts);
        let cancelled = |d: &towpath_core::fleet::Decision| d.cancels.iter().map(|c| c.upgrade).collect::<BTreeSet<_>>();
        prop_assert_eq!(cancelled(&decision), cancelled(&again));
        prop_assert_eq!(desk.digest(story.now), other.digest(story.now));
    }

    #[test]
    fn why_agrees_with_plan_for_every_cluster(seed: u64) {
        let story = read(&any_fleet(seed));
        let (desk, decision) = dispatch(story.input, story.now);
        for member in desk.roster().in_order() {
            let state = desk.roster().cluster(*member);
            let why = desk.why(*member, story.now);
            let best = why.candidates.iter().find(|candidate| candidate.verdict.is_offered()).map(|c| &c.to);
            let start = decision.starts.iter().find(|start| start.cluster == state.id && start.pool().is_none());
            prop_assert_eq!(best, start.map(|start| &start.to), "{}", state.name);
        }
    }

    #[test]
    fn a_blocked_version_is_never_started(seed: u64) {
        let story = read(&any_fleet(seed));
        let blocked = |org: &str, version: &Version| {
            let patterns = &story.input.policy.organisations[org].blocked_versions;
            patterns.iter().any(|pattern| pattern.finds(&version.to_string()))
        };
        let (_, decision) = dispatch(story.input.clone(), story.now);
        for start in decision.starts.iter().filter(|start| start.pool().is_none()) {
            prop_assert!(!blocked(&start.organisation, &start.to), "{start:?}");
        }
    }

    /// The store prunes the soak of versions below every cluster's. Nobody needs it.
    #[test]
    fn soak_below_every_cluster_changes_nothing(seed: u64) {
        let story = read(&any_fleet(seed));
        let mut pruned = story.input.clone();
        let oldest = oldest_needed(&story.input.clusters).cloned();
        pruned.soak.retain(|sum| Some(&sum.version) >= oldest.as_ref());
        let (before, after) = (dispatch(story.input, story.now), dispatch(pruned, story.now));
        prop_assert_eq!(told(&before.0, &before.1), told(&after.0, &after.1));
    }

    /// More soak can send a cluster higher, and then it takes its mutexes from others; alone, it never waits longer.
    #[test]
    fn more_soak_never_delays(seed: u64, more in 1i64..1_000_000) {
        let mut story = read(&any_fleet(seed));
        for organisation in story.input.policy.organisations.values_mut() {
            organisation.clusters.iter_mut().for_each(|cluster| cluster.policy.mutexes.clear());
        }
        let (_, before) = dispatch(story.input.clone(), story.now);
        story.input.soak.iter_mut().for_each(|sum| sum.seconds += more);
        let (_, after) = dispatch(story.input, story.now);
        for start in &before.starts {
            let now = after.starts.iter().find(|other| other.cluster == start.cluster);
            prop_assert!(now.is_some_and(|now| now.to >= start.to && now.at <= start.at), "{start:?}: {now:?}");
        }
    }

    #[test]
    fn no_mutex_is_taken_twice_and_no_limit_exceeded(seed: u64) {
        let story = read(&any_fleet(seed));
        let (desk, decision) = dispatch(story.input.clone(), story.now);
        let active = story.input.upgrades.iter().filter(|upgrade| upgrade.state.is_active()).map(|u| &u.cluster);
        let mut busy: Vec<ClusterIdx> = active.filter_map(|id| desk.roster().find(id.as_str())).collect();
        for start in &decision.starts {
            let member = desk.roster().find(start.cluster.as_str()).unwrap();
            prop_assert!(!busy.contains(&member), "one upgrade at a time");
            for lock in &start.locks {
                let name = lock.mutex.rsplit('/').next().unwrap();
                let holds = |other: &&ClusterIdx| {
                    let (policy, of) = (desk.roster().policy(**other), desk.roster().cluster(**other));
                    let here = of.organisation == start.organisation;
                    let shares = &story.input.policy.organisations[&of.organisation].shared_mutexes;
                    let same = here || (lock.mutex.starts_with("*/") && shares.contains(name));
                    let within = lock.within_sector.is_none() || (here && policy.sector == start.sector);
                    same && within && (policy.mutexes.contains(name) || of.id.as_str() == name)
                };
                let others = busy.iter().filter(holds).count();
                prop_assert!(others <= lock.at_most as usize, "{start:?}: {others} hold {name}");
            }
            busy.push(member);
        }
    }

    /// With all else frozen, the schedule that `why` promises is the one that comes.
    #[test]
    fn a_promised_opening_is_kept(seed: u64) {
        let story = read(&any_fleet(seed));
        let (desk, _) = dispatch(story.input, story.now);
        for member in desk.roster().in_order() {
            let why = desk.why(*member, story.now);
            let schedule = |reason: &towpath_core::verdict::Reason| {
                (reason.code().name == "Schedule").then(|| reason.ends())?
            };
            if let Some(opens) = why.cluster.reasons.iter().find_map(schedule) {
                let then = desk.why(*member, opens - SignedDuration::from_hours(2));
                prop_assert!(then.cluster.reasons.iter().all(|reason| reason.code().name != "Schedule"), "{then:?}");
            }
        }
    }
}
