//! One schedule for pools: what durations, readiness and tasks say of a plan fits together, on every cluster.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proptest::prelude::*;
use towpath_core::cluster::objects::{Facts, HistoryEntry, MachineConfigPool, Node, Progress};
use towpath_core::cluster::way::Workers;
use towpath_core::cluster::{Fact, Task, ready};
use towpath_core::duration::{Ground, MaxUnavailable, PoolShape, Rollout, Shape};
use towpath_core::graph::ChannelName;
use towpath_core::path::*;
use towpath_core::version::{Arch, Minor, Version};
use towpath_testing_graphs::{graph, minors};

const POOLS: [&str; 3] = ["infra", "storage", "worker"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn durations_readiness_and_tasks_fit_together(
        start in 6u64..20,
        kinds in proptest::collection::vec(any::<bool>(), 1..8),
        paused in proptest::collection::vec(any::<bool>(), 0..=3),
    ) {
        let versions = versions(start, &kinds);
        let names: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let edges: Vec<String> = names.windows(2).map(|ends| format!("edges {} -> {}", ends[0], ends[1])).collect();
        let graph = graph(&format!("channel c {}\n{}", names.join(" "), edges.join("\n")));
        let request = request(&versions);
        let pace = Pace { shape: shape(&paused), ..Pace::usual() };
        let plan = paths(&graph, &request, &pace.lasts(&graph)).unwrap().plans.remove(0);
        let timed = plan.timed(&graph, &request, &pace);
        let way = plan.way(&graph, &request.minors).unwrap();
        let readiness = ready(&way, &facts(&versions[0], &paused, start));

        let mut is_paused: BTreeSet<&str> = POOLS.into_iter().zip(&paused).filter(|(_, paused)| **paused).map(|(pool, _)| pool).collect();
        let nobody_was_paused = is_paused.is_empty();
        let pools: Vec<&str> = POOLS.into_iter().take(paused.len()).collect();
        let mut updates: Vec<usize> = vec![0; pools.len()];
        let mut is_behind: BTreeSet<&str> = BTreeSet::new();
        for (number, (step, hop)) in way.steps().zip(&readiness.hops).enumerate() {
            let is_held_back = step.workers() != Workers::AsTheyAre;
            prop_assert_eq!(is_held_back, timed.hops[number].pools != Pools::GoAlong);
            let waited = carried_out(&hop.tasks, &pools, &mut is_paused, &mut is_behind, &mut updates);
            for (pool, count) in pools.iter().zip(&mut updates) {
                prop_assert!(!is_held_back || is_paused.contains(pool), "{} is held back", pool);
                if is_paused.contains(pool) {
                    is_behind.insert(pool);
                } else {
                    *count += 1;
                }
            }
            if number > 0 {
                let (before, now) = (&timed.hops[number - 1], &timed.hops[number]);
                let until = if waited { before.settled } else { before.arrives };
                prop_assert!(!waited || before.settled > before.arrives, "whoever is waited for takes time");
                prop_assert!(now.taken == until || before.settled == before.arrives, "a task waits where the times do: {:?}", hop.tasks);
            }
            let mut codes = hop.reasons().map(|reason| reason.code().name);
            let is_of_kubelets = codes.any(|code| code.ends_with("TooOld") || code == "KubeletAhead");
            prop_assert!(!(nobody_was_paused && is_of_kubelets), "{:?}", hop.verdict);
        }
        carried_out(&readiness.after, &pools, &mut is_paused, &mut is_behind, &mut updates);
        prop_assert!(is_paused.is_empty() && is_behind.is_empty(), "at the end nobody is left behind");
        let counted: Vec<usize> = timed.rollouts.iter().map(|(_, count)| *count).collect();
        prop_assert_eq!(counted, updates);
    }
}

proptest! {
    /// Over graphs from 4.8 to 4.12, with two EUS versions to wait for: no way has fewer reboots, nor as few with fewer hops.
    #[test]
    fn the_fewest_reboots_are_found(edges in proptest::collection::vec(any::<bool>(), 45)) {
        let names: Vec<String> = (8..=12).flat_map(|minor| [1, 2].map(|patch| format!("4.{minor}.{patch}"))).collect();
        let pairs = (0..names.len()).flat_map(|from| (from + 1..names.len()).map(move |to| (from, to)));
        let taken = pairs.zip(&edges).filter(|(_, taken)| **taken).map(|((from, to), _)| format!("edges {} -> {}", names[from], names[to]));
        let text = format!("channel c {}\n{}", names.join(" "), taken.collect::<Vec<_>>().join("\n"));
        let graph = graph(&text);
        let ends = [names[0].parse().unwrap(), names[names.len() - 1].parse().unwrap()];
        let request = Request { prefer: Preference::FewestReboots, ..request(&ends) };
        let found = paths(&graph, &request, &|_, _| jiff::SignedDuration::from_mins(90));
        let cost = |plan: &Plan| (rollouts(&pools(&graph, plan, &request.minors), Rollout::Runs), plan.hops.len());
        let [start, goal] = ends.map(|version| graph.find(&version, &Arch::default()).unwrap());
        let mut best = None;
        let mut open = vec![Plan { from: start, hops: Vec::new() }];
        while let Some(plan) = open.pop() {
            let at = plan.hops.last().map_or(start, |hop| hop.to);
            if at == goal {
                let cost = cost(&plan);
                best = Some(best.map_or(cost, |best: (usize, usize)| best.min(cost)));
            }
            for edge in graph.edges_from(at) {
                let minor = |id| Minor::of(&graph.release(id).version);
                if request.minors.may_follow(minor(edge.from), minor(edge.to)) {
                    let hop = Hop { channel: request.via[0].clone(), from: edge.from, to: edge.to, risks: BTreeSet::new(), opens: request.now };
                    open.push(Plan { hops: [plan.hops.as_slice(), &[hop]].concat(), ..plan.clone() });
                }
            }
        }
        prop_assert_eq!(found.ok().map(|found| cost(&found.plans[0])), best);
    }
}

#[test]
fn a_longer_way_with_fewer_reboots_can_be_preferred() {
    let graph = graph(
        "channel c 4.9.1 4.9.2 4.10.1 4.10.2 4.10.3 4.11.1 4.11.2 4.12.1
         edges 4.9.1 -> 4.9.2 4.10.1
         edges 4.9.2 -> 4.10.2
         edges 4.10.1 -> 4.10.3
         edges 4.10.2 -> 4.11.2
         edges 4.10.3 -> 4.11.1
         edges 4.11.1 -> 4.11.2
         edges 4.11.2 -> 4.12.1",
    );
    let ends = ["4.9.1", "4.12.1"].map(|version| version.parse::<Version>().unwrap());
    let counted = |prefer: Preference| {
        let request = Request {
            prefer,
            ..request(&ends)
        };
        let found = paths(&graph, &request, &|_, _| {
            jiff::SignedDuration::from_mins(90)
        });
        let plan = found.unwrap().plans.remove(0);
        let schedule = pools(&graph, &plan, &request.minors);
        (plan.hops.len(), rollouts(&schedule, Rollout::Runs))
    };
    // Through 4.9.2, workers go along to it and to 4.10.2; then they wait for 4.12.1.
    assert_eq!(counted(Preference::FewestHops), (4, 3));
    // To 4.10.1 at once, and all further patches are part of the wait.
    assert_eq!(counted(Preference::FewestReboots), (5, 2));
}

/// Does what tasks say with pools. Returns whether they say to wait.
fn carried_out<'a>(
    tasks: &[Task],
    pools: &[&'a str],
    is_paused: &mut BTreeSet<&'a str>,
    is_behind: &mut BTreeSet<&'a str>,
    updates: &mut [usize],
) -> bool {
    let mut waits = false;
    for task in tasks {
        let command = task.command.as_deref().unwrap_or_default();
        let Some((at, pool)) = pools
            .iter()
            .enumerate()
            .find(|(_, pool)| command.contains(&format!("machineconfigpool {pool} ")))
        else {
            continue;
        };
        // A pool that a person paused longer than kubelets allow: that is refused, and not part of the schedule.
        if task.text.ends_with("pause it again if it shall skip more") {
            assert!(is_paused.contains(pool), "{pool} was not paused");
        } else if command.starts_with("oc wait") {
            assert!(!is_paused.contains(pool), "nobody waits for a paused pool");
            waits = true;
        } else if command.contains("\"paused\":true") {
            assert!(is_paused.insert(pool), "{pool} was paused already");
        } else {
            assert!(is_paused.remove(pool), "{pool} was not paused");
            is_behind.remove(pool);
            updates[at] += 1;
        }
    }
    waits
}

/// From the first patch of a minor version, one hop for each kind: to the next minor version, or a patch.
fn versions(start: u64, kinds: &[bool]) -> Vec<Version> {
    let (mut minor, mut patch) = (start, 1);
    let mut all = vec![format!("4.{minor}.{patch}").parse().unwrap()];
    for is_minor in kinds {
        let goes_on = *is_minor && minor < 22;
        (minor, patch) = if goes_on {
            (minor + 1, 1)
        } else {
            (minor, patch + 1)
        };
        all.push(format!("4.{minor}.{patch}").parse().unwrap());
    }
    all
}

fn request(versions: &[Version]) -> Request {
    Request {
        from: versions[0].clone(),
        goal: Goal::Version(versions[versions.len() - 1].clone()),
        via: ChannelName::new("c").into_iter().collect(),
        risks: RiskPolicy::Never,
        prefer: Preference::FewestHops,
        ways: 1,
        asker: Asker {
            id: Fact::Unknown,
            platform: Fact::Unknown,
            groups: Fact::Unknown,
            arch: Arch::default(),
        },
        minors: minors(),
        now: "2026-01-05T00:00Z".parse::<Timestamp>().unwrap(),
    }
}

fn shape(paused: &[bool]) -> Shape {
    let plain = Shape::plain(5, MaxUnavailable::Count(1), Ground::Cloud);
    let pool = |(name, paused): (&str, &bool)| PoolShape {
        name: name.to_owned(),
        rollout: if *paused {
            Rollout::Paused
        } else {
            Rollout::Runs
        },
        ..plain.pools[0].clone()
    };
    let pools = POOLS.into_iter().zip(paused).map(pool).collect();
    Shape { pools, ..plain }
}

fn facts(version: &Version, paused: &[bool], minor: u64) -> Facts {
    let node = |pool: &str| Node {
        name: format!("{pool}-0").into(),
        pool: Fact::Known(pool.into()),
        kubelet: Fact::Known(Minor::new(1, minor + 13)),
    };
    let pools: Vec<&str> = POOLS.into_iter().take(paused.len()).collect();
    let of_workers = pools
        .iter()
        .zip(paused)
        .map(|(pool, paused)| MachineConfigPool::new((*pool).into(), *paused));
    let master = MachineConfigPool::new("master".into(), false);
    let entry = HistoryEntry {
        version: version.clone(),
        progress: Progress::Completed,
    };
    Facts {
        history: Fact::Known(vec![entry]),
        nodes: Fact::Known(
            pools
                .iter()
                .chain([&"master"])
                .map(|pool| node(pool))
                .collect(),
        ),
        pools: Fact::Known(of_workers.chain([master]).collect()),
        ..Facts::default()
    }
}
