//! Random graphs, clusters and instants: small, with many interesting cases.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{Cluster, ClusterId, Group, Platform};
use towpath_core::finding::Place;
use towpath_core::graph::{
    Audience, Block, ChannelName, ChannelSpec, DeclaredRelease, EdgeMatch, FromVersion, Graph,
    GraphData, MatchingRule, Member, Pattern, Ramp, Releases, Ring, RingId, RingName, RingTurn,
    Risk, RolloutRule, RuleRings, Stages,
};
use towpath_core::version::{Arch, ReleaseName};

use crate::pieces;

pub const CHANNELS: [&str; 2] = ["fast-4.9", "stable-4.9"];
pub const ARCHES: [&str; 2] = ["amd64", "s390x"];
pub const PLATFORMS: [&str; 3] = ["AWS", "Azure", "GCP"];
/// All times of the random graphs are within this many hours of `BEGINNING`.
pub const HOURS: i64 = 100;
pub const BEGINNING: &str = "2026-01-01T00:00Z";

pub fn at(minutes: i64) -> Timestamp {
    BEGINNING.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes)
}

pub fn any_release_name() -> impl Strategy<Value = ReleaseName> {
    let arch = prop_oneof![3 => Just(None), 1 => Just(Some("+amd64")), 1 => Just(Some("+s390x"))];
    (prop_oneof![Just("4.8"), Just("4.9")], 0u32..5, arch).prop_map(|(minor, patch, arch)| {
        ReleaseName::parse(&format!("{minor}.{patch}{}", arch.unwrap_or(""))).unwrap()
    })
}

/// Who is in the rings of a random channel that has any, and the groups of its clusters.
const RINGS: [&str; 2] = ["sector", "tier=dev"];
const GROUPS: [&str; 5] = [
    "sector",
    "tier=dev",
    "sector,tier=dev",
    "other,tier=test",
    "-",
];

fn rings() -> Vec<Ring> {
    let group = |text: &str| match text.split_once('=') {
        Some((name, value)) => Group::Label {
            name: name.into(),
            value: value.into(),
        },
        None => Group::Sector(text.into()),
    };
    let ring = |text: &&str| Ring {
        name: RingName::new(&text.replace('=', "-")).unwrap(),
        of: group(text),
        origin: Place::file("rings"),
    };
    RINGS.iter().map(ring).collect()
}

/// Turns of some of the rings in an order that readers take, and how long everybody else waits and takes.
fn any_turns() -> impl Strategy<Value = (Vec<(usize, [i64; 2])>, [i64; 2])> {
    let chosen = prop_oneof![Just(vec![0]), Just(vec![1]), Just(vec![0, 1])];
    let hours = || proptest::collection::vec(0i64..40, 3);
    (chosen, hours(), hours()).prop_map(|(chosen, mut begins, mut lasts)| {
        begins.sort_unstable();
        lasts.sort_unstable();
        // Both ends rise, and no window is of a negative length.
        let mut turn = begins.into_iter().zip(lasts);
        let turns: Vec<_> = chosen
            .into_iter()
            .zip(&mut turn)
            .map(|(ring, (after, length))| (ring, [after, length]))
            .collect();
        let rest = turn.next().unwrap();
        (turns, [rest.0, rest.1])
    })
}

/// The rule, with rings that go first.
fn with_rings(rule: RolloutRule, turns: Vec<(usize, [i64; 2])>, rest: [i64; 2]) -> RolloutRule {
    let hours = |hours: i64| jiff::Span::new().hours(hours);
    let turn = |(ring, [after, length]): (usize, [i64; 2])| RingTurn {
        ring: RingId::at(ring),
        after: hours(after),
        duration: hours(length),
        ramp: rule.ramp,
        origin: Place::file("turn"),
    };
    let turns = turns.into_iter().map(turn).collect();
    let after = hours(rest[0]);
    RolloutRule {
        duration: hours(rest[1]),
        rings: RuleRings { after, turns },
        ..rule
    }
}

pub fn any_rollouts() -> impl Strategy<Value = Vec<RolloutRule>> {
    let rule = || proptest::option::of((0i64..60, any_ramp()));
    let turns = proptest::option::weighted(0.4, any_turns());
    (rule(), rule(), rule(), turns).prop_map(|(any, patch, minor, turns)| {
        let rules = (any, patch, minor);
        let rule = |from_version: Option<FromVersion>, rule: Option<(i64, Ramp)>| {
            let (hours, ramp) = rule?;
            Some(RolloutRule {
                edges: from_version.map_or(EdgeMatch::Any, EdgeMatch::Kind),
                start: None,
                duration: jiff::Span::new().hours(hours),
                ramp,
                rings: RuleRings::default(),
                origin: Place::file("c"),
            })
        };
        let by_ring = |rule: RolloutRule| match turns.clone() {
            Some((turns, rest)) => with_rings(rule, turns, rest),
            None => rule,
        };
        let patch = rule(Some(FromVersion::Patch), rules.1).map(by_ring);
        let minor = rule(Some(FromVersion::Minor), rules.2);
        [rule(None, rules.0), patch, minor]
            .into_iter()
            .flatten()
            .collect()
    })
}

pub fn any_ramp() -> impl Strategy<Value = Ramp> {
    let stages = proptest::collection::btree_set(1..Stages::WHOLE, 1..=Stages::MAX)
        .prop_map(|shares| Stages::new(&Vec::from_iter(shares)).unwrap());
    prop_oneof![
        Just(Ramp::Linear),
        Just(Ramp::Exponential),
        stages.prop_map(Ramp::Stages)
    ]
}

/// Rules for single releases and edges: with starts of their own, and holds.
pub fn any_special_rule() -> impl Strategy<Value = RolloutRule> {
    let kind = prop_oneof![
        Just(None),
        Just(Some(FromVersion::Patch)),
        Just(Some(FromVersion::Minor))
    ];
    let edges = prop_oneof![
        (any_release_name(), kind).prop_map(|(to, kind)| EdgeMatch::To(to.version, kind)),
        (any_release_name(), any_release_name()).prop_map(|(from, to)| EdgeMatch::Edge {
            from: from.version,
            to: to.version
        }),
    ];
    let ramp = prop_oneof![
        3 => any_ramp(),
        1 => Just(Ramp::Held)
    ];
    (edges, proptest::option::of(0..HOURS), 0i64..60, ramp).prop_map(
        |(edges, hour, hours, ramp)| RolloutRule {
            edges,
            start: hour
                .filter(|_| ramp != Ramp::Held)
                .map(|hour| at(hour * 60)),
            duration: jiff::Span::new().hours(if ramp == Ramp::Held { 0 } else { hours }),
            ramp,
            rings: RuleRings::default(),
            origin: Place::file("special"),
        },
    )
}

pub fn any_channel(name: &'static str) -> impl Strategy<Value = ChannelSpec> {
    let member = (
        any_release_name(),
        proptest::option::of(0..HOURS),
        proptest::bool::weighted(0.1),
        proptest::bool::weighted(0.1),
    );
    let special = proptest::collection::vec(any_special_rule(), 0..4);
    let members = proptest::collection::vec(member, 0..10);
    (any_rollouts(), special, members).prop_map(move |(mut rollouts, special, members)| {
        let member = |(name, hour, locked, held): (_, Option<i64>, _, _)| Member {
            start: hour.map(|h| at(h * 60)),
            locked,
            held,
            ..pieces::member(name)
        };
        let members = members.into_iter().map(member).collect();
        for rule in special {
            // Readers take each criterion once.
            if rollouts.iter().all(|known| known.edges != rule.edges) {
                rollouts.push(rule);
            }
        }
        let has_rings = rollouts.iter().any(RolloutRule::has_rings);
        ChannelSpec {
            rings: if has_rings { rings() } else { Vec::new() },
            rollouts,
            origin: Place::file(name),
            ..pieces::channel(name, members)
        }
    })
}

pub fn any_risk() -> impl Strategy<Value = Risk> {
    let matching_rules = vec![MatchingRule::Always, MatchingRule::PromQl("1".into())];
    "[A-C]".prop_map(move |name| Risk {
        url: format!("https://{name}"),
        message: "\"quoted\"\n".into(),
        matching_rules: matching_rules.clone(),
        name,
    })
}

pub fn any_audience() -> impl Strategy<Value = Audience> {
    let platforms = |names: Vec<&str>| {
        Audience::Platforms(names.into_iter().filter_map(Platform::new).collect())
    };
    prop_oneof![
        1 => Just(Audience::Everybody),
        4 => proptest::sample::subsequence(PLATFORMS.to_vec(), 1..3).prop_map(platforms),
        1 => Just(Audience::NotUnderstood("a test".into())),
        1 => Just(Audience::Disputed("a test".into())),
    ]
}

pub fn any_block() -> impl Strategy<Value = Block> {
    let effect = prop_oneof![
        any_audience().prop_map(|audience| (Some(audience), None)),
        any_risk().prop_map(|risk| (None, Some(risk))),
        (any_audience(), any_risk()).prop_map(|(audience, risk)| (Some(audience), Some(risk))),
    ];
    let from = prop_oneof![Just(".*"), Just("4[.]8"), Just("[13][+]"), Just("s390x")];
    let halt = proptest::bool::weighted(0.3);
    (any_release_name(), from, effect, halt, "[a-z]{4}").prop_map(
        |(to, from, (stops, risk), is_halt, file)| {
            Block {
                to,
                from: Pattern::new(from).unwrap(),
                // A halt always stops somebody.
                halt: (is_halt && stops.is_some()).then(|| pieces::halt("watch").into()),
                stops,
                risk,
                origin: Place::file(file),
            }
        },
    )
}

pub fn any_graph() -> impl Strategy<Value = Graph> {
    any_graphs().prop_map(|(graph, _)| graph)
}

/// A graph, and one that differs from it in whom one block stops.
pub fn any_graphs() -> impl Strategy<Value = (Graph, Graph)> {
    let releases = proptest::collection::btree_set((0usize..2, 8u32..10, 0u32..5), 1..20);
    let edges = proptest::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        0..60,
    );
    let channels = (any_channel(CHANNELS[0]), any_channel(CHANNELS[1]));
    let blocks = (proptest::collection::vec(any_block(), 0..8), any_audience());
    (releases, edges, channels, blocks).prop_map(
        |(releases, edges, channels, (blocks, audience))| {
            let release = |(arch, minor, patch): (usize, u32, u32)| DeclaredRelease {
                arch: Arch::new(ARCHES[arch]),
                payload: format!("registry/{minor}/{patch}/{arch}"),
                metadata: BTreeMap::from([("url".into(), "https://\"errata\"".into())]),
                ..pieces::release(&format!("4.{minor}.{patch}").parse().unwrap())
            };
            let releases: Vec<_> = releases.into_iter().map(release).collect();
            let index = |at: &prop::sample::Index| at.index(releases.len()) as u32;
            let edge = |(from, to): &(_, _)| pieces::edge(index(from), index(to));
            let edges: Vec<_> = edges.iter().map(edge).collect();
            let mut changed = blocks.clone();
            changed
                .first_mut()
                .into_iter()
                .for_each(|block| block.stops = Some(audience.clone()));
            let build = |blocks| {
                let data = GraphData {
                    channels: vec![channels.0.clone(), channels.1.clone()],
                    blocks,
                    metadata: vec![],
                };
                Graph::build(
                    data,
                    Releases {
                        releases: releases.clone(),
                        edges: edges.clone(),
                    },
                )
                .0
            };
            (build(blocks), build(changed))
        },
    )
}

pub fn any_cluster() -> impl Strategy<Value = Cluster> {
    let platforms = prop_oneof![
        Just("AWS"),
        Just("azure"),
        Just("GCP"),
        Just("Nutanix"),
        Just("other-0")
    ];
    let channel = prop_oneof![Just("fast-4.9"), Just("stable-4.9"), Just("nope")];
    let facts = (
        proptest::option::of(platforms),
        proptest::option::of("[a-f0-9]{8}"),
        proptest::option::of(proptest::sample::select(GROUPS.to_vec())),
    );
    (channel, 0usize..2, facts).prop_map(|(channel, arch, (platform, id, groups))| Cluster {
        id: id.and_then(|id| ClusterId::new(&id)).into(),
        platform: platform.and_then(Platform::new).into(),
        groups: crate::groups(groups),
        channel: ChannelName::new(channel).unwrap(),
        arch: Arch::new(ARCHES[arch]),
    })
}
