//! On random graphs: every certificate is right, and no smaller set of blocks would do.

use std::collections::BTreeMap;

use proptest::prelude::*;
use towpath_core::audit::{Scope, StrandingCause, audit};
use towpath_core::cluster::Platform;
use towpath_core::finding::Place;
use towpath_core::graph::{Audience, Block, Graph, GraphData, MatchingRule, Pattern, Releases};
use towpath_core::version::{ReleaseName, Version};

use towpath_testing_graphs::certificates::{Checker, Files, Steps, reaches};
use towpath_testing_graphs::pieces::{channel, edge, member, release, risk};

use crate::dsl::now;

/// So few that all sets of them can be tried.
const BLOCKS: usize = 7;
const VERSIONS: [&str; 8] = [
    "4.8.0",
    "4.8.1",
    "4.8.2",
    "4.9.0-rc.0",
    "4.9.0",
    "4.9.1",
    "4.9.2",
    "4.10.0-ec.0",
];

fn any_rules() -> impl Strategy<Value = Vec<MatchingRule>> {
    let rule = prop_oneof![
        Just(MatchingRule::Always),
        Just(MatchingRule::PromQl("x".into())),
        Just(MatchingRule::Other("{}".into()))
    ];
    proptest::collection::vec(rule, 0..3)
}

fn any_block() -> impl Strategy<
    Value = (
        usize,
        &'static str,
        Option<Audience>,
        Option<Vec<MatchingRule>>,
    ),
> {
    let platforms = |names: Vec<&str>| {
        Audience::Platforms(names.into_iter().filter_map(Platform::new).collect())
    };
    let audience = prop_oneof![
        Just(Audience::Everybody),
        Just(Audience::NotUnderstood("a test".into())),
        proptest::sample::subsequence(vec!["AWS", "GCP"], 1..3).prop_map(platforms),
    ];
    let from = prop_oneof![3 => Just(".*"), 1 => Just("4[.]8"), 1 => Just("[01][+]")];
    (
        0..VERSIONS.len(),
        from,
        proptest::option::of(audience),
        proptest::option::of(any_rules()),
    )
}

fn any_data() -> impl Strategy<Value = (GraphData, Releases)> {
    // Also edges back: nothing says that there are none.
    let edges =
        proptest::collection::vec((0..VERSIONS.len() as u32, 0..VERSIONS.len() as u32), 0..16);
    let members =
        proptest::sample::subsequence((0..VERSIONS.len()).collect::<Vec<_>>(), 2..=VERSIONS.len());
    (
        members,
        edges,
        proptest::collection::vec(any_block(), 0..=BLOCKS),
    )
        .prop_map(|(members, edges, blocks)| {
            let versions: Vec<Version> =
                VERSIONS.iter().map(|text| text.parse().unwrap()).collect();
            let name = |at: usize| ReleaseName {
                version: versions[at].clone(),
                arch: None,
            };
            let members = members.into_iter().map(|at| member(name(at))).collect();
            let block = |(number, (to, from, stops, rules)): (
                usize,
                (usize, &str, _, Option<Vec<MatchingRule>>),
            )| Block {
                to: name(to),
                from: Pattern::new(from).unwrap(),
                stops,
                risk: rules.map(|rules| risk(&format!("R{number}"), rules)),
                halt: None,
                origin: Place::file(format!("{number}.yaml")),
            };
            let blocks = blocks.into_iter().enumerate().map(block).collect();
            let data = GraphData {
                channels: vec![channel("stable-4.9", members)],
                blocks,
                metadata: vec![],
            };
            let edges = edges.into_iter().filter(|(from, to)| from != to);
            let edges = edges.map(|(from, to)| edge(from, to)).collect();
            (
                data,
                Releases {
                    releases: versions.iter().map(release).collect(),
                    edges,
                },
            )
        })
}

/// The fewest files without which one gets there, by trying all sets of them.
fn fewest(checker: &Checker, mut opens: impl FnMut(&Files) -> bool) -> Option<usize> {
    let files: Vec<String> = checker
        .data
        .blocks
        .iter()
        .map(|block| block.origin.file.to_string())
        .collect();
    let set = |bits: u32| -> Files {
        (0..files.len())
            .filter(|at| bits & 1 << at != 0)
            .map(|at| files[at].clone())
            .collect()
    };
    let sets = (0..1u32 << files.len()).map(set);
    sets.filter(|files| opens(files))
        .map(|files| files.len())
        .min()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn certificates_hold_and_no_smaller_set_would_do((data, releases) in any_data()) {
        let graph = Graph::build(data.clone(), releases.clone()).0;
        let audit = audit(&graph, &Scope::default(), now());
        let checker = Checker::new(data, releases, now());
        for section in &audit.sections {
            for class in &section.clients {
                checker.check(section, class);
                let mut known: BTreeMap<Files, Steps> = BTreeMap::new();
                for standing in &section.releases {
                    for (_, outlook) in standing.goals() {
                        let Some(cause) = outlook.outcome.cause() else { continue };
                        let told = if let StrandingCause::Blocks { blocks, .. } = cause { Some(blocks.len()) } else { None };
                        let opens = |files: &Files| {
                            let look = || checker.steps_without(files, section, class);
                            let steps = known.entry(files.clone()).or_insert_with(look);
                            reaches(steps, standing.release, outlook.goal)
                        };
                        prop_assert_eq!(fewest(&checker, opens), told);
                    }
                }
            }
        }
    }

    #[test]
    fn goals_are_never_older_and_pre_releases_come_second((data, releases) in any_data()) {
        let graph = Graph::build(data, releases).0;
        for section in &audit(&graph, &Scope::default(), now()).sections {
            for standing in &section.releases {
                let version = |id| &graph.release(id).version;
                let newer_finals = section.releases.iter().map(|one| one.release).filter(|id| {
                    *id >= standing.release && version(*id).pre_release().is_empty()
                });
                let head = newer_finals.max().or(section.releases.iter().map(|one| one.release).max());
                prop_assert_eq!(Some(standing.head.goal), head);
                prop_assert!(standing.minor.goal >= standing.release);
                prop_assert!(version(standing.minor.goal).same_minor(version(standing.release)));
            }
        }
    }
}
