//! On random graphs: the smallest set is as small as the smallest of all sets that were tried, and the best way as short. And whatever channels
//! hold, oc-mirror gets each release once, in a channel that holds it, and no channel twice in a document.

use std::collections::BTreeSet;

use proptest::prelude::*;
use towpath_core::cluster::Cluster;
use towpath_core::finding::Place;
use towpath_core::graph::{
    ChannelName, ChannelSpec, DeclaredEdge, Graph, GraphData, Member, ReleaseId, Releases,
};
use towpath_core::mirror::entries::documents;
use towpath_core::mirror::reachable_graph::{Limits, ReachableGraph};
use towpath_core::mirror::smallest::{SizeProof, smallest, smallest_within};
use towpath_core::mirror::{Need, Presence, Purpose};
use towpath_core::path::RiskPolicy;
use towpath_core::version::{Arch, Minors, ReleaseName, Version};

use towpath_testing_graphs::pieces::{channel, member, release};

use crate::dsl::now;

/// So few that all sets of them can be tried.
const RELEASES: u32 = 11;

#[derive(Debug)]
struct Case {
    ways: ReachableGraph,
    edges: BTreeSet<(u32, u32)>,
    sources: BTreeSet<ReleaseId>,
    target: ReleaseId,
    have: BTreeSet<ReleaseId>,
}

fn any_case() -> impl Strategy<Value = Case> {
    // Also edges back: nothing says that there are none. Mostly onward by a little, so that ways are long.
    let edge = prop_oneof![
        1 => (0..RELEASES, 0..RELEASES),
        4 => (0..RELEASES, 1u32..4).prop_map(|(from, by)| (from, (from + by).min(RELEASES - 1))),
    ];
    let edges = proptest::collection::btree_set(edge, 5..36);
    let some =
        |max: usize| proptest::collection::btree_set((0..RELEASES).prop_map(ReleaseId), 0..max);
    (edges, some(6), 6..RELEASES, some(3)).prop_map(|(edges, sources, target, have)| {
        let edges: BTreeSet<(u32, u32)> =
            edges.into_iter().filter(|(from, to)| from != to).collect();
        let ways = ways(&edges);
        Case {
            ways,
            edges,
            sources,
            target: ReleaseId(target),
            have,
        }
    })
}

fn ways(edges: &BTreeSet<(u32, u32)>) -> ReachableGraph {
    let versions: Vec<Version> = (0..RELEASES)
        .map(|patch| format!("4.9.{patch}").parse().unwrap())
        .collect();
    let (name, origin) = (ChannelName::new("c").unwrap(), Place::file("c"));
    let member = |version: &Version| Member {
        name: ReleaseName {
            version: version.clone(),
            arch: None,
        },
        start: None,
        locked: false,
        held: false,
        replaces: None,
        origin: origin.clone(),
    };
    let members = versions.iter().map(member).collect();
    let channels = vec![ChannelSpec {
        name: name.clone(),
        rings: Vec::new(),
        rollouts: vec![],
        members,
        origin: origin.clone(),
    }];
    let edges = edges
        .iter()
        .map(|(from, to)| DeclaredEdge {
            from: *from,
            to: *to,
            risks: None,
        })
        .collect();
    let releases = Releases {
        releases: versions.iter().map(release).collect(),
        edges,
    };
    let graph = Graph::build(
        GraphData {
            channels,
            ..GraphData::default()
        },
        releases,
    )
    .0;
    let cluster = Cluster::anonymous(name.clone(), Arch::default());
    ReachableGraph::of(
        &graph,
        &[name],
        &cluster,
        &RiskPolicy::Never,
        &Minors::default(),
        now(),
    )
}

impl Case {
    /// Whether one gets from a source to the target if only these are there. Written anew, to check the other.
    fn gets_there(&self, source: u32, there: u32) -> bool {
        let mut reached = 1u32 << source;
        loop {
            let steps = self
                .edges
                .iter()
                .filter(|(from, to)| reached & 1 << from != 0 && there & 1 << to != 0);
            let further = steps.fold(reached, |all, (_, to)| all | 1 << to);
            if further == reached {
                return reached & 1 << self.target.0 != 0;
            }
            reached = further;
        }
    }

    /// The fewest releases that are not there already, by trying all sets.
    fn fewest(&self) -> u32 {
        let (all, have) = ((1 << RELEASES) - 1, bits(&self.have));
        let sources = self.sources.iter().map(|id| id.0);
        let sources: Vec<u32> = sources
            .filter(|id| *id != self.target.0 && self.gets_there(*id, all))
            .collect();
        let serves = |there: &u32| {
            sources
                .iter()
                .all(|source| self.gets_there(*source, *there))
        };
        let target = 1 << self.target.0;
        let mut sets: Vec<u32> = (0..=all)
            .filter(|there| there & target != 0 || sources.is_empty())
            .collect();
        sets.sort_unstable_by_key(|there| (there & !have).count_ones());
        sets.iter()
            .find(|there| serves(there))
            .map(|there| (there & !have).count_ones())
            .unwrap()
    }
}

/// Releases in some of these channels each, and all of them needed.
fn held(names: &[&str], held: &[BTreeSet<usize>]) -> (Graph, Vec<Need>) {
    let version =
        |number: usize| -> Version { format!("4.{}.{number}", 13 + number % 3).parse().unwrap() };
    let named = |number: usize| {
        member(ReleaseName {
            version: version(number),
            arch: None,
        })
    };
    let channel = |(place, name): (usize, &&str)| {
        let holds = |number: &usize| held[*number].contains(&place);
        channel(name, (0..held.len()).filter(holds).map(named).collect())
    };
    let channels = names.iter().enumerate().map(channel).collect();
    let releases = (0..held.len())
        .map(|number| release(&version(number)))
        .collect();
    let graph = Graph::build(
        GraphData {
            channels,
            ..GraphData::default()
        },
        Releases {
            releases,
            edges: Vec::new(),
        },
    )
    .0;
    let need = |release: ReleaseId| Need {
        release,
        channel: graph.release(release).channels[0].0.clone(),
        purpose: Purpose::Way,
        place: Presence::Missing,
    };
    let needs = (0..graph.releases().len() as u32)
        .map(|id| need(ReleaseId(id)))
        .collect();
    (graph, needs)
}

fn bits(releases: &BTreeSet<ReleaseId>) -> u32 {
    releases.iter().fold(0, |bits, id| bits | 1 << id.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_smallest_set_is_as_small_as_brute_force_finds(case in any_case()) {
        let found = smallest(&case.ways, &case.sources, case.target, &case.have);
        let there = bits(&found.releases);
        for source in case.sources.iter().filter(|id| case.gets_there(id.0, u32::MAX)) {
            prop_assert!(case.gets_there(source.0, there), "{source:?} does not get there");
        }
        prop_assert_eq!(found.proof, SizeProof::Smallest);
        // The target is counted for nobody's sake where nobody has to go there.
        let somebody = case.sources.iter().any(|id| *id != case.target && case.gets_there(id.0, u32::MAX));
        if somebody {
            prop_assert_eq!((there & !bits(&case.have)).count_ones(), case.fewest());
        }
    }

    #[test]
    fn a_search_that_gives_up_says_so_and_still_serves_everybody(case in any_case(), looks in 0usize..4) {
        let found = smallest_within(&case.ways, &case.sources, case.target, &case.have, looks);
        let there = bits(&found.releases);
        for source in case.sources.iter().filter(|id| case.gets_there(id.0, u32::MAX)) {
            prop_assert!(case.gets_there(source.0, there), "{source:?} does not get there");
        }
        let size = (there & !bits(&case.have)).count_ones();
        match found.proof {
            SizeProof::Smallest => prop_assert!(size <= case.fewest().max(1)),
            SizeProof::GaveUp { at_least } => prop_assert!(at_least as u32 <= case.fewest() && case.fewest() <= size),
        }
    }

    #[test]
    fn oc_mirror_gets_each_release_once_and_no_channel_twice_in_a_document(
        memberships in proptest::collection::vec(proptest::collection::btree_set(0usize..6, 1..4), 1..8)
    ) {
        let names = ["eus-4.14", "stable-4.13", "stable-4.14", "fast-4.15", "candidate-4.15", "plain"];
        let (graph, needs) = held(&names, &memberships);
        let documents = documents(&graph, needs.iter(), now(), usize::MAX).unwrap();
        let single = towpath_core::mirror::entries::documents(&graph, needs.iter(), now(), 1).unwrap();
        prop_assert!(single.len() == needs.len() && single.iter().all(|entries| entries.len() == 1));
        let mut versions: Vec<&Version> = documents.iter().flatten().map(|entry| &entry.version).collect();
        versions.sort();
        let needed: Vec<&Version> = needs.iter().map(|need| &graph.release(need.release).version).collect();
        prop_assert_eq!(versions, needed);
        for entries in &documents {
            let channels: BTreeSet<&ChannelName> = entries.iter().map(|entry| &entry.channel).collect();
            prop_assert_eq!(channels.len(), entries.len());
        }
        for entry in documents.iter().flatten() {
            let id = graph.find(&entry.version, &Arch::default()).unwrap();
            prop_assert!(graph.channel(entry.channel.as_str()).unwrap().membership(id).is_some());
        }
    }

    #[test]
    fn the_best_way_has_the_fewest_hops(case in any_case()) {
        for source in 0..RELEASES {
            let (mut reached, mut hops) = (1u32 << source, 0usize);
            while reached & 1 << case.target.0 == 0 && hops < RELEASES as usize {
                let next = case.edges.iter().filter(|(from, _)| reached & 1 << from != 0);
                reached = next.fold(reached, |all, (_, to)| all | 1 << to);
                hops += 1;
            }
            let expected = (reached & 1 << case.target.0 != 0).then_some(hops);
            let best = case.ways.best(ReleaseId(source), case.target, Limits::default());
            prop_assert_eq!(best.as_ref().map(|plan| plan.hops.len()), expected);
            let Some(plan) = best else { continue };
            for hop in &plan.hops {
                prop_assert!(case.edges.contains(&(hop.from.0, hop.to.0)));
            }
            prop_assert!(plan.hops.windows(2).all(|hops| hops[0].to == hops[1].from));
        }
    }
}
