//! The sheets are not a second truth: for random graphs, clusters and instants they say what `recommend` says.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::Value;
use towpath_core::cluster::{Cluster, Fact, Platform};
use towpath_core::finding::Place;
use towpath_core::graph::{ChannelName, Graph, Situation, StaleCause, StaleSource, recommend};
use towpath_core::rules::Policy;
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::graph::cincinnati;
use towpath_formats::graph::sheet::{self, Client, Encoding, Sheet};

use towpath_testing_graphs::random::{HOURS, any_cluster, any_graph, any_graphs, at};

fn known<T>(fact: &Fact<T>) -> Option<&T> {
    match fact {
        Fact::Known(value) => Some(value),
        Fact::Unknown => None,
    }
}

fn serve(sheet: &Sheet, cluster: &Cluster, now: Timestamp) -> (Vec<u8>, String) {
    let answers = sheet.answers(Client {
        id: known(&cluster.id),
        platform: known(&cluster.platform),
        groups: cluster.groups(),
        now,
    });
    let body = sheet.body(&answers);
    let bytes = body.chunks.concat();
    assert_eq!(bytes.len() as u64, body.length);
    (bytes, sheet.entity_tag(&answers))
}

fn unzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes)
        .read_to_end(&mut text)
        .expect("valid gzip, with the right checksum and length");
    text
}

/// Nodes, edges by name, and the edges of each set of risks.
type Normal = (
    Vec<Value>,
    BTreeSet<(String, String)>,
    BTreeMap<String, BTreeSet<String>>,
);

/// The graph with every list sorted, and edges by name instead of by number; and what clients rely on holds.
fn normal(text: &[u8]) -> Normal {
    let graph: Value = serde_json::from_slice(text).expect("valid JSON");
    assert_eq!(graph["version"], 1);
    let nodes = graph["nodes"].as_array().unwrap();
    let name = |index: &Value| {
        nodes[index.as_u64().unwrap() as usize]["version"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let edges = graph["edges"].as_array().unwrap();
    let plain: BTreeSet<_> = edges
        .iter()
        .map(|edge| (name(&edge[0]), name(&edge[1])))
        .collect();
    assert_eq!(plain.len(), edges.len(), "no edge stands twice");
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    for group in graph["conditionalEdges"].as_array().unwrap() {
        let edges = group["edges"].as_array().unwrap();
        assert!(!edges.is_empty(), "no empty groups");
        for edge in edges {
            let pair = (
                edge["from"].as_str().unwrap().to_owned(),
                edge["to"].as_str().unwrap().to_owned(),
            );
            assert!(
                !plain.contains(&pair) && pairs.insert(pair),
                "a pair stands in one place only"
            );
        }
        let names = edges.iter().map(Value::to_string).collect();
        assert!(
            groups.insert(group["risks"].to_string(), names).is_none(),
            "one group for a set of risks"
        );
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
        let last = plain.epoch.until.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX);
        let instants = [at(compiled), plain.epoch.from.max(at(0)), last.min(at(HOURS * 90)), at(asked)];
        for now in instants.into_iter().filter(|now| plain.covers(*now)) {
            let view = recommend(Policy::graph(), &Situation { graph: &graph, cluster: &cluster, now });
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
    fn a_sheet_of_a_graph_that_is_too_old_has_all_releases_and_no_edge(
        graph in any_graph(), cluster in any_cluster(), now in 0..HOURS * 90,
    ) {
        let stale = StaleSource { source: "graph-data".into(), last_good: at(0), cause: StaleCause::TooOld };
        let (closed, now) = (graph.clone().with_stale(vec![stale]), at(now));
        let served = |graph: &Graph| {
            let sheet = sheet::compile(graph, cluster.channel.as_str(), &cluster.arch, now, Encoding::Identity);
            normal(&serve(&sheet, &cluster, now).0)
        };
        let view = recommend(Policy::graph(), &Situation { graph: &closed, cluster: &cluster, now });
        prop_assert_eq!(served(&closed), normal(cincinnati::write(&closed, &view, now).as_bytes()));
        prop_assert_eq!(served(&closed), (served(&graph).0, BTreeSet::new(), BTreeMap::new()));
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
        let file = |path: &str, text: &str| SourceFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        };
        let targeted = |to: &str, platform: &str| {
            format!("to: {to}\nfrom: .*\nclusters: {{platforms: [{platform}]}}\n")
        };
        let risk = "url: https://u\nname: R\nmessage: m\nmatchingRules: [{type: Always}]\n";
        let files = [
            file("version", "1.1.0"),
            file(
                "channels/c.yaml",
                "name: c\nversions: [4.9.0, 4.9.1, 4.9.2, 4.9.3]",
            ),
            file("blocked-edges/1.yaml", &targeted("4.9.1", "AWS")),
            file("blocked-edges/2.yaml", &targeted("4.9.2", "Azure")),
            file("blocked-edges/3.yaml", &(targeted("4.9.3", third) + risk)),
        ];
        let node = |n: u32| format!("{{\"version\":\"4.9.{n}\",\"payload\":\"p{n}\"}}");
        let nodes = (0..4).map(node).collect::<Vec<_>>().join(",");
        let releases = format!("{{\"nodes\":[{nodes}],\"edges\":[[0,1],[0,2],[0,3]]}}");
        let (data, _) = towpath_formats::graph::data::read(&files).unwrap();
        let (releases, _) =
            towpath_formats::graph::releases::read(&Place::file("r"), releases.as_bytes()).unwrap();
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
