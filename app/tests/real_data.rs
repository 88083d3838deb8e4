//! Conformance with the public service, on real data: each production graph is reproduced, by the truth and by the sheets.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use towpath_core::cluster::Cluster;
use towpath_core::finding::Place;
use towpath_core::graph::{ChannelName, Graph, Situation, recommend};
use towpath_core::rules::Policy;
use towpath_core::version::Arch;
use towpath_formats::graph::sheet::{self, Client, Encoding};
use towpath_formats::graph::{cincinnati, data, releases};

/// What the public service answered on 2026-08-21.
const PRODUCTION: [&str; 12] = [
    "candidate-4.15",
    "candidate-4.20",
    "eus-4.10",
    "eus-4.16",
    "fast-4.13",
    "fast-4.18",
    "prerelease-4.1",
    "stable-4.12",
    "stable-4.14",
    "stable-4.2",
    "stable-4.5",
    "stable-4.9",
];
const CHANNELS: &str = "io.openshift.upgrades.graph.release.channels";

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: String, test: fn(&Path, &str) -> Result<(), Failed>, what: &str| {
        let (path, what) = (data.clone().unwrap_or_default(), what.to_owned());
        Trial::test(name, move || test(&path, &what)).with_ignored_flag(data.is_none())
    };
    let mut trials: Vec<Trial> = PRODUCTION
        .iter()
        .map(|channel| {
            trial(
                format!("production::{channel}"),
                reproduces_production,
                channel,
            )
        })
        .collect();
    for file in [
        "releases-five-archs.json",
        "releases-multiarch-2021-11-24.json",
    ] {
        trials.push(trial(
            format!("every_channel_and_architecture_of::{file}"),
            sheets_equal_the_truth,
            file,
        ));
    }
    for file in [
        "cluster-upgrade-policy-1.yml",
        "openshift-cluster-manager-1.yml",
    ] {
        trials.push(trial(
            format!("fields_of_aus::{file}"),
            every_field_of_aus_is_tried,
            file,
        ));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The file with which we try that AUS's fields hold nobody (`formats/tests/fleet_policy.rs`) has every field of AUS's schemas.
fn every_field_of_aus_is_tried(data: &Path, file: &str) -> Result<(), Failed> {
    let tried = include_str!("../../formats/tests/aus_organisation.yml");
    let schema = std::fs::read_to_string(data.join("aus-schema").join(file))?;
    let indent = |line: &str| line.len() - line.trim_start_matches(['-', ' ']).len();
    let (mut open, mut missing, mut fields): (Vec<usize>, _, _) = (Vec::new(), Vec::new(), 0);
    for line in schema.lines().filter(|line| !line.trim().is_empty()) {
        open.retain(|properties| indent(line) > *properties);
        let (key, _) = line
            .trim_start_matches(['-', ' '])
            .split_once(':')
            .unwrap_or_default();
        let is_field = open
            .last()
            .is_some_and(|properties| indent(line) == properties + 2);
        if is_field && !key.is_empty() {
            fields += 1;
            let key = key.trim_matches('"');
            missing.extend((!tried.contains(&format!("{key}:"))).then(|| key.to_owned()));
        }
        if key == "properties" && !is_field {
            open.push(indent(line));
        }
    }
    match missing.is_empty() && fields > 5 {
        true => Ok(()),
        false => Err(format!("{fields} fields; not tried: {missing:?}").into()),
    }
}

/// The graph that is served for a channel is the one that the public service served.
fn reproduces_production(data: &Path, channel: &str) -> Result<(), Failed> {
    let graph = load(data, "releases-amd64.json")?;
    let now: Timestamp = "2026-08-21T12:00Z".parse()?;
    let expected = read_json(&data.join(format!("production/{channel}.json")))?;
    let mut differences =
        Summary::of(&expected)?.differences(&Summary::of(&truth(&graph, channel, "amd64", now)?)?);
    differences.retain(|difference| !is_later_edit(difference));
    same(differences)
}

/// Edits to graph data made between the dump of a channel and the dump of the graph data; nothing else may differ.
fn is_later_edit(difference: &str) -> bool {
    // 4.18.53 was promoted to fast-4.19 after fast-4.18 was dumped, and before candidate-4.20 was.
    let promoted = difference == "node 4.18.53: channels differ by [\"fast-4.19\"]";
    // The messages of this risk named the release; they were reworded to say "the target release".
    let reworded = difference.starts_with("4.10.1")
        && difference.ends_with("message of ReleaseDataWithHyphenPrefix");
    promoted || reworded
}

/// With several architectures: every sheet, in both encodings, says what the truth says.
fn sheets_equal_the_truth(data: &Path, file: &str) -> Result<(), Failed> {
    let graph = load(data, file)?;
    let now: Timestamp = "2026-08-21T12:00Z".parse()?;
    for arch in graph.arches() {
        for channel in graph.channels().keys() {
            let truth = Summary::of(&truth(&graph, channel.as_str(), arch.as_str(), now)?)?;
            for encoding in [Encoding::Identity, Encoding::Gzip] {
                let sheet = sheet::compile(&graph, channel.as_str(), arch, now, encoding);
                let body = sheet.body(&sheet.answers(Client {
                    id: None,
                    platform: None,
                    groups: None,
                    now,
                }));
                let served = Summary::of(&serde_json::from_slice(&decoded(
                    &body.chunks.concat(),
                    encoding,
                )?)?)?;
                same(truth.differences(&served))?;
            }
        }
    }
    Ok(())
}

fn load(data: &Path, releases_file: &str) -> Result<Graph, Failed> {
    let files = towpath_sources::read_directory(&data.join("graph-data"), data::is_part)
        .map_err(|f| f.to_string())?;
    let (graph_data, warnings) = data::read(&files).map_err(|findings| format!("{findings:#?}"))?;
    if !warnings.is_empty() {
        return Err(format!("unexpected warnings: {warnings:#?}").into());
    }
    let bytes = std::fs::read(data.join(releases_file))?;
    let (releases, _) = releases::read(&Place::file(releases_file), &bytes)
        .map_err(|findings| format!("{findings:#?}"))?;
    Ok(Graph::build(graph_data, releases).0)
}

fn truth(graph: &Graph, channel: &str, arch: &str, now: Timestamp) -> Result<Value, Failed> {
    let cluster = Cluster::anonymous(
        ChannelName::new(channel).ok_or("a channel")?,
        Arch::new(arch),
    );
    let view = recommend(
        Policy::graph(),
        &Situation {
            graph,
            cluster: &cluster,
            now,
        },
    );
    Ok(serde_json::from_str(&cincinnati::write(graph, &view, now))?)
}

fn read_json(path: &Path) -> Result<Value, Failed> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

fn decoded(bytes: &[u8], encoding: Encoding) -> Result<Vec<u8>, Failed> {
    let mut text = Vec::new();
    match encoding {
        Encoding::Identity => text.extend_from_slice(bytes),
        Encoding::Gzip => drop(flate2::read::GzDecoder::new(bytes).read_to_end(&mut text)?),
    }
    Ok(text)
}

fn same(differences: Vec<String>) -> Result<(), Failed> {
    match differences.as_slice() {
        [] => Ok(()),
        [first, ..] => Err(format!("{} differences, the first: {first}", differences.len()).into()),
    }
}

/// What clients can tell apart; orders do not matter.
struct Summary {
    nodes: BTreeMap<String, (Value, Value, BTreeSet<String>)>,
    edges: BTreeSet<(String, String)>,
    conditional: BTreeMap<(String, String), BTreeMap<String, Value>>,
}

impl Summary {
    fn of(graph: &Value) -> Result<Self, Failed> {
        let list = |key: &str| graph[key].as_array().cloned().ok_or(format!("no {key}"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut summary = Self {
            nodes: BTreeMap::new(),
            edges: BTreeSet::new(),
            conditional: BTreeMap::new(),
        };
        let nodes = list("nodes")?;
        for node in &nodes {
            let channels = node["metadata"][CHANNELS]
                .as_str()
                .unwrap_or_default()
                .split(',')
                .map(str::to_owned)
                .collect();
            let seen = (
                node["payload"].clone(),
                // Production serves the blank before the url of 4.1.15, which clients cannot parse.
                Value::from(node["metadata"]["url"].as_str().map(str::trim)),
                channels,
            );
            if summary.nodes.insert(text(&node["version"]), seen).is_some() {
                return Err("a node stands twice".into());
            }
        }
        for edge in list("edges")? {
            let end = |at: usize| {
                edge[at]
                    .as_u64()
                    .and_then(|i| nodes.get(i as usize))
                    .map(|node| text(&node["version"]))
            };
            let ends = end(0).zip(end(1)).ok_or("an edge leads nowhere")?;
            if !summary.edges.insert(ends) {
                return Err("an edge stands twice".into());
            }
        }
        for group in list("conditionalEdges")? {
            let risks = group["risks"].as_array().ok_or("no risks")?;
            let risks: BTreeMap<String, Value> = risks
                .iter()
                .map(|risk| (text(&risk["name"]), risk.clone()))
                .collect();
            for edge in group["edges"].as_array().ok_or("no edges")? {
                let ends = (text(&edge["from"]), text(&edge["to"]));
                let nowhere =
                    !summary.nodes.contains_key(&ends.0) || !summary.nodes.contains_key(&ends.1);
                if nowhere
                    || summary.edges.contains(&ends)
                    || summary.conditional.insert(ends, risks.clone()).is_some()
                {
                    return Err("a conditional edge leads nowhere, or stands twice".into());
                }
            }
        }
        Ok(summary)
    }

    fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let versions: BTreeSet<&String> = self.nodes.keys().chain(other.nodes.keys()).collect();
        for version in versions {
            match (self.nodes.get(version), other.nodes.get(version)) {
                (
                    Some((payload, url, channels)),
                    Some((other_payload, other_url, other_channels)),
                ) => {
                    if (payload, url) != (other_payload, other_url) {
                        found.push(format!("node {version}: payload or url"));
                    }
                    let differing: Vec<&String> =
                        channels.symmetric_difference(other_channels).collect();
                    if !differing.is_empty() {
                        found.push(format!("node {version}: channels differ by {differing:?}"));
                    }
                }
                _ => found.push(format!("node {version} is in one of them only")),
            }
        }
        found.extend(
            self.edges
                .symmetric_difference(&other.edges)
                .map(|(from, to)| format!("edge {from} -> {to} is in one of them only")),
        );
        let ends: BTreeSet<_> = self
            .conditional
            .keys()
            .chain(other.conditional.keys())
            .collect();
        for (from, to) in ends {
            let key = (from.clone(), to.clone());
            let empty = BTreeMap::new();
            let (risks, other_risks) = (
                self.conditional.get(&key).unwrap_or(&empty),
                other.conditional.get(&key).unwrap_or(&empty),
            );
            if risks.keys().ne(other_risks.keys()) {
                found.push(format!(
                    "conditional edge {from} -> {to}: {:?} or {:?}",
                    risks.keys(),
                    other_risks.keys()
                ));
            }
            for (name, risk) in risks {
                let fields = ["url", "message", "matchingRules"].into_iter();
                let differing = fields.filter(|field| {
                    other_risks
                        .get(name)
                        .is_some_and(|other| other[*field] != risk[*field])
                });
                found.extend(differing.map(|field| format!("{to} from {from}: {field} of {name}")));
            }
        }
        found
    }
}
