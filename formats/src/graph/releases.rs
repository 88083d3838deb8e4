//! Releases from a Cincinnati graph file: nodes and edges, versions with or without an
//! architecture.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{
    DeclaredEdge, DeclaredRelease, Declares, MatchingRule, Member, Releases, Risk, Trust,
};
use towpath_core::version::{Arch, ReleaseName, Version};

use crate::graph::cincinnati;
use crate::graph::promql::CheckedQueries;
use crate::read::{Unique, json};

/// The most releases that one file may have.
pub const MAX_RELEASES: usize = 1_000_000;
/// What helps where a machine wrote the file.
const ANEW: &str = "write the graph again from its source";
const REMEDIES: json::Remedies = json::Remedies {
    form: "give a graph in JSON, with nodes and edges: `towpath releases scrape` writes one, and update services answer with one",
    other: &[
        "missing field `nodes`",
        "missing field `edges`",
        "expected a graph",
    ],
    part: ANEW,
};
/// How many problems of one file are shown; a thousand say no more than the first few.
const MAX_SHOWN: usize = 20;

#[derive(Deserialize)]
#[serde(expecting = "a graph: an object with nodes and edges")]
struct GraphFile {
    nodes: Vec<NodeEntry>,
    edges: Vec<(u32, u32)>,
    #[serde(default, rename = "conditionalEdges")]
    conditional_edges: Vec<ConditionalEdges>,
}

#[derive(Deserialize)]
#[serde(expecting = "a node: an object with version, payload and metadata")]
struct NodeEntry {
    version: String,
    payload: Option<String>,
    #[serde(default)]
    metadata: Unique<String>,
    /// What the release's own image says; a scrape of a registry writes it.
    declared: Option<DeclaredUpdates>,
}

#[derive(Deserialize)]
#[serde(expecting = "what an image declares: an object with previous and next")]
struct DeclaredUpdates {
    #[serde(default)]
    previous: Vec<String>,
    #[serde(default)]
    next: Vec<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "a group of conditional edges: an object with edges and risks")]
struct ConditionalEdges {
    edges: Vec<FromTo>,
    risks: Vec<RiskEntry>,
}

#[derive(Deserialize)]
#[serde(expecting = "an edge: an object with from and to")]
struct FromTo {
    from: String,
    to: String,
}

#[derive(Deserialize)]
#[serde(expecting = "a risk: an object with name, url, message and matchingRules")]
struct RiskEntry {
    name: String,
    url: String,
    message: String,
    #[serde(rename = "matchingRules")]
    matching_rules: Vec<serde_json::Value>,
}

/// Reads a graph file. Either the releases, with warnings, or what is wrong with them.
pub fn read(place: &Place, bytes: &[u8]) -> Result<(Releases, Vec<Finding>), Vec<Finding>> {
    let file: GraphFile = json::read(place, bytes, &REMEDIES).map_err(|finding| vec![finding])?;
    let mut reader = GraphFileReader {
        place,
        findings: Vec::new(),
        releases: Releases::default(),
    };
    if file.nodes.len() > MAX_RELEASES {
        let problem = format!(
            "there are {} releases; at most {MAX_RELEASES} are allowed",
            file.nodes.len()
        );
        reader.error("too-large", problem, "split the file");
        return Err(reader.findings);
    }
    let numbers = reader.nodes(file.nodes);
    reader.edges(&file.edges, &numbers);
    reader.conditional_edges(file.conditional_edges);
    reader.findings.sort();
    reader.findings.truncate(MAX_SHOWN);
    match reader.findings.iter().any(Finding::is_error) {
        true => Err(reader.findings),
        false => Ok((reader.releases, reader.findings)),
    }
}

struct GraphFileReader<'a> {
    place: &'a Place,
    findings: Vec<Finding>,
    releases: Releases,
}

impl GraphFileReader<'_> {
    fn error(&mut self, code: &'static str, problem: String, remedy: &str) {
        self.findings
            .push(Finding::error(code, self.place.clone(), problem, remedy));
    }

    /// Takes in the nodes; returns the index of each among the releases, or none for what is left out.
    fn nodes(&mut self, nodes: Vec<NodeEntry>) -> Vec<Option<u32>> {
        let mut seen: BTreeMap<(Arch, Version), u32> = BTreeMap::new();
        let (mut without_payload, mut bad_names) = (0, 0);
        let mut numbers = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.into_iter().enumerate() {
            let name = match ReleaseName::parse(&node.version) {
                Ok(name) => name,
                Err(error) => {
                    self.error(
                        "bad-version",
                        format!("nodes[{index}]: {error}"),
                        "write it as in 4.9.7 or 4.9.7+amd64",
                    );
                    numbers.push(None);
                    continue;
                }
            };
            let Some(payload) = node.payload.filter(|payload| !payload.is_empty()) else {
                without_payload += 1;
                numbers.push(None);
                continue;
            };
            let arch = name
                .arch
                .or_else(|| {
                    node.metadata
                        .0
                        .get(DeclaredRelease::ARCH_KEY)
                        .map(|arch| Arch::new(arch.as_str()))
                })
                .unwrap_or_default();
            let number = *seen
                .entry((arch.clone(), name.version.clone()))
                .or_insert(self.releases.releases.len() as u32);
            numbers.push(Some(number));
            match self.releases.releases.get(number as usize) {
                None => self.releases.releases.push(DeclaredRelease {
                    version: name.version,
                    payload,
                    metadata: node.metadata.0,
                    declares: node
                        .declared
                        .map(|declared| into_declares(&declared, &arch, &mut bad_names)),
                    arch,
                    trust: Trust::Unverified,
                }),
                Some(first) if first.payload == payload => {}
                Some(_) => {
                    let problem = format!(
                        "nodes[{index}]: {} of {arch} stands here twice, with different payloads",
                        name.version
                    );
                    self.error("duplicate-release", problem, "keep the right one");
                }
            }
        }
        if without_payload > 0 {
            let releases = if without_payload == 1 {
                "release has"
            } else {
                "releases have"
            };
            let problem =
                format!("{without_payload} {releases} no payload: left out, with all edges");
            let remedy = "they are names that other releases mention; scrape them if they exist";
            self.findings.push(Finding::warning(
                "no-payload",
                self.place.clone(),
                problem,
                remedy,
            ));
        }
        if bad_names > 0 {
            let names = if bad_names == 1 {
                "declared name is not a version"
            } else {
                "declared names are not versions"
            };
            let problem = format!("{bad_names} {names}; such updates count as unsigned");
            self.findings.push(Finding::warning(
                "bad-declared",
                self.place.clone(),
                problem,
                ANEW,
            ));
        }
        numbers
    }

    fn edges(&mut self, edges: &[(u32, u32)], numbers: &[Option<u32>]) {
        for (index, (from, to)) in edges.iter().enumerate() {
            match (numbers.get(*from as usize), numbers.get(*to as usize)) {
                (Some(Some(from)), Some(Some(to))) => {
                    self.releases.edges.push(DeclaredEdge {
                        from: *from,
                        to: *to,
                        risks: None,
                    });
                }
                (Some(_), Some(_)) => {}
                _ => {
                    let problem = format!(
                        "edges[{index}]: [{from}, {to}] names a node that does not exist ({} do)",
                        numbers.len()
                    );
                    self.error("bad-edge", problem, ANEW);
                }
            }
        }
    }

    /// Edges that the source itself offers with risks only: edges like any other, with those risks on them.
    fn conditional_edges(&mut self, groups: Vec<ConditionalEdges>) {
        let numbers: BTreeMap<(Arch, Version), u32> = {
            let key = |release: &DeclaredRelease| (release.arch.clone(), release.version.clone());
            (0..)
                .zip(&self.releases.releases)
                .map(|(number, release)| (key(release), number))
                .collect()
        };
        let arches: BTreeSet<&Arch> = numbers.keys().map(|(arch, _)| arch).collect();
        let mut queries = CheckedQueries::default();
        for group in groups {
            let risks = group.risks.into_iter();
            let risks: Arc<[Risk]> = risks.map(|risk| into_risk(risk, &mut queries)).collect();
            if risks.is_empty() {
                self.error(
                    "no-risks",
                    "a group of conditionalEdges has no risks".into(),
                    ANEW,
                );
            }
            for FromTo { from, to } in &group.edges {
                let (from, to) = match (ReleaseName::parse(from), ReleaseName::parse(to)) {
                    (Ok(from), Ok(to)) => (from, to),
                    (Err(error), _) | (_, Err(error)) => {
                        self.error("bad-version", format!("conditionalEdges: {error}"), ANEW);
                        continue;
                    }
                };
                let number = |name: &ReleaseName, arch: &Arch| {
                    let key = (arch.clone(), name.version.clone());
                    name.means(arch)
                        .then(|| numbers.get(&key).copied())
                        .flatten()
                };
                let found = arches
                    .iter()
                    .filter_map(|arch| number(&from, arch).zip(number(&to, arch)));
                let edges = found.map(|(from, to)| DeclaredEdge {
                    from,
                    to,
                    risks: Some(risks.clone()),
                });
                self.releases.edges.extend(edges);
            }
        }
    }
}

/// What an image of that architecture says. A name that is no version says nothing: an edge that is not declared is trusted less.
fn into_declares(declared: &DeclaredUpdates, arch: &Arch, bad_names: &mut usize) -> Declares {
    let mut versions = |names: &[String]| {
        let read: Vec<Option<ReleaseName>> = names
            .iter()
            .map(|name| ReleaseName::parse(name).ok())
            .collect();
        *bad_names += read.iter().filter(|name| name.is_none()).count();
        let own = read.into_iter().flatten().filter(|name| name.means(arch));
        own.map(|name| name.version).collect::<BTreeSet<Version>>()
    };
    Declares {
        previous: versions(&declared.previous),
        next: versions(&declared.next),
    }
}

fn into_risk(entry: RiskEntry, queries: &mut CheckedQueries) -> Risk {
    // A rule that no client could understand is carried on all the same: clients then do not recommend the edge.
    let rule = |rule: &serde_json::Value| {
        cincinnati::read_matching_rule(rule, queries)
            .unwrap_or_else(|_| MatchingRule::Other(rule.to_string()))
    };
    let matching_rules = entry.matching_rules.iter().map(rule).collect();
    Risk {
        matching_rules,
        name: entry.name,
        url: entry.url,
        message: entry.message,
    }
}
/// The releases as members of the channel that a service was asked for.
pub(crate) fn members(releases: &Releases, origin: &Place) -> impl Iterator<Item = Member> {
    releases.releases.iter().map(|release| Member {
        name: ReleaseName {
            version: release.version.clone(),
            arch: Some(release.arch.clone()),
        },
        start: None,
        locked: false,
        held: false,
        replaces: None,
        origin: origin.clone(),
    })
}
