//! The sheets are not a second truth: for random graphs, clusters and instants they say what `recommend` says.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::Value;
use towpath_core::decide::recommend;
use towpath_core::domain::*;
use towpath_core::finding::Place;
use towpath_core::rules::Policy;
use towpath_formats::sheet::{self, Client, Encoding, Sheet};
use towpath_formats::{SourceFile, cincinnati};

const CHANNELS: [&str; 2] = ["fast-4.9", "stable-4.9"];
const ARCHES: [&str; 2] = ["amd64", "s390x"];
const PLATFORMS: [&str; 3] = ["AWS", "Azure", "GCP"];
/// All times of the random graphs are within this many hours of `BEGINNING`.
const HOURS: i64 = 100;
const BEGINNING: &str = "2026-01-01T00:00Z";

fn at(minutes: i64) -> Timestamp {
    BEGINNING.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes)
}

fn any_release_name() -> impl Strategy<Value = ReleaseName> {
    let arch = prop_oneof![3 => Just(None), 1 => Just(Some("+amd64")), 1 => Just(Some("+s390x"))];
    (prop_oneof![Just("4.8"), Just("4.9")], 0u32..5, arch)
        .prop_map(|(minor, patch, arch)| ReleaseName::parse(&format!("{minor}.{patch}{}", arch.unwrap_or(""))).unwrap())
}

fn any_rollouts() -> impl Strategy<Value = Vec<RolloutRule>> {
    let rule = || proptest::option::of((0i64..60, prop_oneof![Just(Ramp::Linear), Just(Ramp::Exponential)]));
    (rule(), rule(), rule()).prop_map(|rules| {
        let rule = |from_version, rule: Option<(i64, Ramp)>| {
            let (hours, ramp) = rule?;
            Some(RolloutRule { from_version, duration: jiff::Span::new().hours(hours), ramp, origin: Place::file("c") })
        };
        let patch = rule(Some(FromVersion::Patch), rules.1);
        let minor = rule(Some(FromVersion::Minor), rules.2);
        [rule(None, rules.0), patch, minor].into_iter().flatten().collect()
    })
}

fn any_channel(name: &'static str) -> impl Strategy<Value = ChannelSpec> {
    let member = (any_release_name(), proptest::option::of(0..HOURS), proptest::bool::weighted(0.1));
    (any_rollouts(), proptest::collection::vec(member, 0..10)).prop_map(move |(rollouts, members)| {
        let member = |(name, hour, locked): (_, Option<i64>, _)| Member {
            name,
            start: hour.map(|h| at(h * 60)),
            locked,
            replaces: None,
            origin: Place::file("c"),
        };
        let members = members.into_iter().map(member).collect();
        ChannelSpec { name: ChannelName::new(name).unwrap(), rollouts, members, origin: Place::file(name) }
    })
}

fn any_risk() -> impl Strategy<Value = Risk> {
    let matching_rules = vec![MatchingRule::Always, MatchingRule::PromQl("1".into())];
    "[A-C]".prop_map(move |name| Risk {
        url: format!("https://{name}"),
        message: "\"quoted\"\n".into(),
        matching_rules: matching_rules.clone(),
        name,
    })
}

fn any_audience() -> impl Strategy<Value = Audience> {
    let platforms = |names: Vec<&str>| Audience::Platforms(names.into_iter().filter_map(Platform::new).collect());
    prop_oneof![
        1 => Just(Audience::Everybody),
        4 => proptest::sample::subsequence(PLATFORMS.to_vec(), 1..3).prop_map(platforms),
        1 => Just(Audience::NotUnderstood("a test".into())),
    ]
}

fn any_block() -> impl Strategy<Value = Block> {
    let effect = prop_oneof![
        any_audience().prop_map(|audience| (Some(audience), None)),
        any_risk().prop_map(|risk| (None, Some(risk))),
        (any_audience(), any_risk()).prop_map(|(audience, risk)| (Some(audience), Some(risk))),
    ];
    let from = prop_oneof![Just(".*"), Just("4[.]8"), Just("[13][+]"), Just("s390x")];
    (any_release_name(), from, effect, "[a-z]{4}").prop_map(|(to, from, (stops, risk), file)| Block {
        to,
        from: Pattern::new(from).unwrap(),
        stops,
        risk,
        origin: Place::file(file),
    })
}

fn any_graph() -> impl Strategy<Value = Graph> {
    any_graphs().prop_map(|(graph, _)| graph)
}

/// A graph, and one that differs from it in whom one block stops.
fn any_graphs() -> impl Strategy<Value = (Graph, Graph)> {
    let releases = proptest::collection::btree_set((0usize..2, 8u32..10, 0u32..5), 1..20);
    let edges = proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..60);
    let channels = (any_channel(CHANNELS[0]), any_channel(CHANNELS[1]));
    let blocks = (proptest::collection::vec(any_block(), 0..8), any_audience());
    (releases, edges, channels, blocks).prop_map(|(releases, edges, channels, (blocks, audience))| {
        let release = |(arch, minor, patch): (usize, u32, u32)| DeclaredRelease {
            version: format!("4.{minor}.{patch}").parse().unwrap(),
            arch: Arch::new(ARCHES[arch]),
            payload: format!("registry/{minor}/{patch}/{arch}"),
            metadata: BTreeMap::from([("url".into(), "https://\"errata\"".into())]),
        };
        let releases: Vec<_> = releases.into_iter().map(release).collect();
        let index = |at: &prop::sample::Index| at.index(releases.len()) as u32;
        let edge = |(from, to): &(_, _)| DeclaredEdge { from: index(from), to: index(to), risks: None };
        let edges: Vec<_> = edges.iter().map(edge).collect();
        let mut changed = blocks.clone();
        changed.first_mut().into_iter().for_each(|block| block.stops = Some(audience.clone()));
        let build = |blocks| {
            let data = GraphData { channels: vec![channels.0.clone(), channels.1.clone()], blocks, metadata: vec![] };
            Graph::build(data, Releases { releases: releases.clone(), edges: edges.clone() }).0
        };
        (build(blocks), build(changed))
    })
}

fn any_cluster() -> impl Strategy<Value = Cluster> {
    let platforms = prop_oneof![Just("AWS"), Just("azure"), Just("GCP"), Just("Nutanix"), Just("other-0")];
    let channel = prop_oneof![Just("fast-4.9"), Just("stable-4.9"), Just("nope")];
    let facts = (proptest::option::of(platforms), proptest::option::of("[a-f0-9]{8}"));
    (channel, 0usize..2, facts).prop_map(|(channel, arch, (platform, id))| Cluster {
        id: id.and_then(|id| ClusterId::new(&id)).into(),
        platform: platform.and_then(Platform::new).into(),
        channel: ChannelName::new(channel).unwrap(),
        arch: Arch::new(ARCHES[arch]),
    })
}

fn known<T>(fact: &Fact<T>) -> Option<&T> {
    match fact {
        Fact::Known(value) => Some(value),
        Fact::Unknown => None,
    }
}

fn serve(sheet: &Sheet, cluster: &Cluster, now: Timestamp) -> (Vec<u8>, String) {
    let answers = sheet.answers(Client { id: known(&cluster.id), platform: known(&cluster.platform), now });
    let body = sheet.body(&answers);
    let bytes = body.chunks.concat();
    assert_eq!(bytes.len() as u64, body.length);
    (bytes, sheet.entity_tag(&answers))
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).expect("valid gzip, with the right checksum and length");
    text
}

/// Nodes, edges by name, and the edges of each set of risks.
type Normal = (Vec<Value>, BTreeSet<(String, String)>, BTreeMap<String, BTreeSet<String>>);

/// The graph with every list sorted, and edges by name instead of by number; and what clients rely on holds.
fn normal(text: &[u8]) -> Normal {
    let graph: Value = serde_json::from_slice(text).expect("valid JSON");
    assert_eq!(graph["version"], 1);
    let nodes = graph["nodes"].as_array().unwrap();
    let name = |index: &Value| nodes[index.as_u64().unwrap() as usize]["version"].as_str().unwrap().to_owned();
    let edges = graph["edges"].as_array().unwrap();
    let plain: BTreeSet<_> = edges.iter().map(|edge| (name(&edge[0]), name(&edge[1]))).collect();
    assert_eq!(plain.len(), edges.len(), "no edge stands twice");
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    for group in graph["conditionalEdges"].as_array().unwrap() {
        let edges = group["edges"].as_array().unwrap();
        assert!(!edges.is_empty(), "no empty groups");
        for edge in edges {
            let pair = (edge["from"].as_str().unwrap().to_owned(), edge["to"].as_str().unwrap().to_owned());
            assert!(!plain.contains(&pair) && pairs.insert(pair), "a pair stands in one place only");
        }
        let names = edges.iter().map(Value::to_string).collect();
        assert!(groups.insert(group["risks"].to_string(), names).is_none(), "one group for a set of risks");
    }
    let mut nodes = nodes.clone();
    nodes.sort_by_key(Value::to_string);
    (nodes, plain, groups)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_sheet_says_what_recommend_says(
        graph in any_graph(), cluster in any_cluster(), compiled in 0..HOURS * 90, asked in 0..HOURS * 90,
    ) {
        let sheet = |now, encoding| sheet::compile(&graph, cluster.channel.as_str(), &cluster.arch, now, encoding);
        let plain = sheet(at(compiled), Encoding::Identity);
        // When it was compiled, at both ends of its epoch, and at another instant if it claims to be good for it.
        let last = plain.until.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX);
        let instants = [at(compiled), plain.from.max(at(0)), last.min(at(HOURS * 90)), at(asked)];
        for now in instants.into_iter().filter(|now| plain.covers(*now)) {
            let view = recommend(&Policy::graph(), &Situation { graph: &graph, cluster: &cluster, now });
            let (body, tag) = serve(&plain, &cluster, now);
            prop_assert_eq!(normal(&body), normal(cincinnati::write(&graph, &view, now).as_bytes()));
            // A replica that compiles its sheet now gives the same bytes, in each encoding.
            prop_assert_eq!(serve(&sheet(now, Encoding::Identity), &cluster, now), (body.clone(), tag));
            let (zipped, _) = serve(&sheet(now, Encoding::Gzip), &cluster, now);
            prop_assert_eq!(unzip(&zipped), body);
            prop_assert_eq!(serve(&sheet(at(compiled), Encoding::Gzip), &cluster, now).0, zipped);
        }
    }

    #[test]
    fn equal_tags_mean_equal_bodies(
        graphs in any_graphs(), clusters in proptest::collection::vec(any_cluster(), 2..6),
        instants in proptest::collection::vec(0..HOURS * 90, 2),
    ) {
        let mut bodies: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (graph, now) in [&graphs.0, &graphs.1].into_iter().flat_map(|graph| instants.iter().map(move |now| (graph, at(*now)))) {
            for cluster in &clusters {
                let sheet = sheet::compile(graph, cluster.channel.as_str(), &cluster.arch, now, Encoding::Identity);
                let (body, tag) = serve(&sheet, cluster, now);
                let known = bodies.entry(tag).or_insert_with(|| body.clone());
                prop_assert_eq!(&*known, &body);
            }
        }
    }
}

/// A regression: the tag named the gates that were open, and not what stood behind them, so a block that moved from one
/// platform to another left the tag as it was, and clients were told that nothing had changed.
#[test]
fn a_block_that_moves_to_another_platform_changes_the_tag() {
    let serve_with = |third: &str| {
        let file = |path: &str, text: &str| SourceFile { path: path.into(), bytes: text.as_bytes().into() };
        let targeted =
            |to: &str, platform: &str| format!("to: {to}\nfrom: .*\nclusters: {{platforms: [{platform}]}}\n");
        let risk = "url: u\nname: R\nmessage: m\nmatchingRules: [{type: Always}]\n";
        let files = [
            file("version", "1.1.0"),
            file("channels/c.yaml", "name: c\nversions: [4.9.0, 4.9.1, 4.9.2, 4.9.3]"),
            file("blocked-edges/1.yaml", &targeted("4.9.1", "AWS")),
            file("blocked-edges/2.yaml", &targeted("4.9.2", "Azure")),
            file("blocked-edges/3.yaml", &(targeted("4.9.3", third) + risk)),
        ];
        let node = |n: u32| format!("{{\"version\":\"4.9.{n}\",\"payload\":\"p{n}\"}}");
        let nodes = (0..4).map(node).collect::<Vec<_>>().join(",");
        let releases = format!("{{\"nodes\":[{nodes}],\"edges\":[[0,1],[0,2],[0,3]]}}");
        let (data, _) = towpath_formats::graph_data::read(&files).unwrap();
        let (releases, _) = towpath_formats::releases::read(&Place::file("r"), releases.as_bytes()).unwrap();
        let (graph, _) = Graph::build(data, releases);
        let sheet = sheet::compile(&graph, "c", &Arch::default(), at(0), Encoding::Identity);
        let platform = Platform::new("Azure");
        let cluster = Cluster {
            platform: platform.into(),
            ..Cluster::anonymous(ChannelName::new("c").unwrap(), Arch::default())
        };
        serve(&sheet, &cluster, at(0))
    };
    let ((before, tag_before), (after, tag_after)) = (serve_with("AWS"), serve_with("Azure"));
    assert_ne!(before, after);
    assert_ne!(tag_before, tag_after);
}
