//! From declarations to a graph: each name is resolved, each pattern matched, once.
//!
//! Everything is sorted on the way in, so that the order of files, nodes and edges cannot be seen from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::graph::{BlockSetId, KeptBlock};
use super::{
    Block, BlockId, Channel, ChannelSpec, DeclaredRelease, Edge, Graph, GraphData, Membership, Pattern, Release,
    ReleaseId, ReleaseName, Releases, Risk, RiskId, position,
};
use crate::finding::{Finding, Place};

/// Metadata by which releases add and remove edges of their own; comma lists, or a pattern.
const EDGES_KEY: &str = "io.openshift.upgrades.graph.";
/// Metadata that has become part of a release's identity and is not repeated.
const ARCH_KEY: &str = "io.openshift.upgrades.graph.release.arch";

pub(super) fn build(data: GraphData, declared: Releases) -> (Graph, Vec<Finding>) {
    let mut build = Build { graph: Graph::default(), findings: Vec::new(), edges: BTreeMap::new() };
    let numbers = build.add_releases(declared.releases, &data.metadata);
    build.add_declared_edges(&declared.edges, &numbers);
    build.edit_edges();
    build.add_channels(data.channels);
    build.add_blocks(data.blocks);
    (build.graph, build.findings)
}

struct Build {
    graph: Graph,
    findings: Vec<Finding>,
    /// Each edge, by (to, from), with the risks its source declares.
    edges: BTreeMap<(ReleaseId, ReleaseId), Option<Arc<[Risk]>>>,
}

impl Build {
    /// Numbers the releases by (architecture, version); returns the new number of each declared one.
    fn add_releases(
        &mut self,
        declared: Vec<DeclaredRelease>,
        extra: &[(ReleaseName, BTreeMap<String, String>)],
    ) -> Vec<ReleaseId> {
        let mut order: Vec<usize> = (0..declared.len()).collect();
        order.sort_by(|a, b| key(&declared[*a]).cmp(&key(&declared[*b])));
        let mut numbers = vec![ReleaseId(0); declared.len()];
        let mut names = Interned::default();
        let mut slots: Vec<Option<DeclaredRelease>> = declared.into_iter().map(Some).collect();
        for at in order {
            let release = slots[at].take().expect("each index stands in the order once");
            let known = self
                .graph
                .releases
                .last()
                .is_some_and(|last| (&last.arch, &last.version) == (&release.arch, &release.version));
            if !known {
                self.graph.releases.push(into_release(release, extra, &mut names));
            }
            numbers[at] = ReleaseId(self.graph.releases.len() as u32 - 1);
        }
        numbers
    }

    fn add_declared_edges(&mut self, edges: &[super::DeclaredEdge], numbers: &[ReleaseId]) {
        let mut across = 0;
        for edge in edges {
            let (from, to) = (numbers[edge.from as usize], numbers[edge.to as usize]);
            if self.graph.release(from).arch == self.graph.release(to).arch {
                let risks = self.edges.entry((to, from)).or_default();
                *risks = both(risks.take(), edge.risks.clone());
            } else {
                across += 1;
            }
        }
        if across > 0 {
            self.findings.push(Finding::warning(
                "edge-across-architectures",
                Place::file("releases"),
                format!("{across} edges lead from one architecture to another and were left out"),
                "a cluster changes architecture by changing its payload, not by an edge",
            ));
        }
    }

    /// Carries out `previous.add`, `previous.remove`, `previous.remove_regex`, `next.add` and `next.remove` of each
    /// release. What is removed by anyone stays removed.
    fn edit_edges(&mut self) {
        let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
        for number in 0..self.graph.releases.len() as u32 {
            let here = ReleaseId(number);
            let release = self.graph.release(here);
            for (name, value) in &release.metadata {
                let into = |other: ReleaseId| (here, other);
                let out_of = |other: ReleaseId| (other, here);
                match name.strip_prefix(EDGES_KEY) {
                    Some("previous.add") => added.extend(self.listed(release, value).map(into)),
                    Some("previous.remove") => removed.extend(self.listed(release, value).map(into)),
                    Some("next.add") => added.extend(self.listed(release, value).map(out_of)),
                    Some("next.remove") => removed.extend(self.listed(release, value).map(out_of)),
                    Some("previous.remove_regex") => match Pattern::new(value) {
                        Ok(pattern) => removed
                            .extend(self.sources_of(here).filter(|from| pattern.finds(&self.name(*from))).map(into)),
                        // Fails closed: a pattern that nobody understands removes every edge into the release.
                        Err(_) => removed.extend(self.sources_of(here).map(into)),
                    },
                    _ => {}
                }
            }
        }
        for edge in added {
            self.edges.entry(edge).or_default();
        }
        self.edges.retain(|edge, _| !removed.contains(edge) && edge.0 != edge.1);
    }

    /// The releases of a comma list that exist for this release's architecture.
    fn listed<'a>(&'a self, release: &'a Release, list: &'a str) -> impl Iterator<Item = ReleaseId> + 'a {
        list.split(',').filter_map(|text| {
            let name = ReleaseName::parse(text.trim()).ok()?;
            name.means(&release.arch).then(|| self.graph.find(&name.version, &release.arch)).flatten()
        })
    }

    fn sources_of(&self, to: ReleaseId) -> impl Iterator<Item = ReleaseId> + '_ {
        self.edges.range((to, ReleaseId(0))..=(to, ReleaseId(u32::MAX))).map(|((_, from), _)| *from)
    }

    /// The version with its architecture, as patterns see it.
    fn name(&self, id: ReleaseId) -> String {
        let release = self.graph.release(id);
        format!("{}+{}", release.version, release.arch)
    }

    fn add_channels(&mut self, mut specs: Vec<ChannelSpec>) {
        specs.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
        let arches: Vec<_> = self.graph.arches().cloned().collect();
        for spec in specs {
            let mut members: BTreeMap<ReleaseId, Membership> = BTreeMap::new();
            for member in &spec.members {
                let rotated_as =
                    member.replaces.as_ref().map_or(&member.name.version, |_| first_replaced(&spec, member));
                let place = Membership {
                    start: member.start.unwrap_or(Timestamp::MIN),
                    locked: member.locked,
                    rotation: position::rotation(rotated_as),
                };
                for arch in arches.iter().filter(|arch| member.name.means(arch)) {
                    if let Some(id) = self.graph.find(&member.name.version, arch) {
                        members.insert(id, place);
                    }
                }
            }
            for (id, place) in &members {
                self.graph.releases[id.0 as usize].channels.push((spec.name.clone(), place.start));
            }
            let members = members.into_iter().collect();
            self.graph
                .channels
                .insert(spec.name.clone(), Channel { name: spec.name, rollouts: spec.rollouts, members });
        }
    }

    /// Finds the blocks on every edge. Edges with the same blocks share one set.
    fn add_blocks(&mut self, mut blocks: Vec<Block>) {
        blocks.sort_by(|a, b| a.origin.cmp(&b.origin));
        let declared = std::mem::take(&mut self.edges);
        let mut by_target: BTreeMap<ReleaseId, Vec<usize>> = BTreeMap::new();
        let arches: Vec<_> = self.graph.arches().cloned().collect();
        for (number, block) in blocks.iter().enumerate() {
            for arch in arches.iter().filter(|arch| block.to.means(arch)) {
                if let Some(to) = self.graph.find(&block.to.version, arch) {
                    by_target.entry(to).or_default().push(number);
                }
            }
        }
        let names: Vec<String> = (0..self.graph.releases.len() as u32).map(|n| self.name(ReleaseId(n))).collect();
        let any_release = Pattern::new(".*").expect("a valid pattern");
        let mut of_sources: BTreeMap<(ReleaseId, Risk), BlockId> = BTreeMap::new();
        let mut sets: BTreeMap<Box<[BlockId]>, BlockSetId> = [(Box::default(), BlockSetId::NONE)].into();
        for ((to, from), risks) in declared {
            let candidates = by_target.get(&to).map_or(&[][..], Vec::as_slice);
            let from_name = &names[from.0 as usize];
            let mut found: Vec<BlockId> =
                candidates.iter().filter(|n| blocks[**n].from.finds(from_name)).map(|n| BlockId(*n as u32)).collect();
            for risk in risks.iter().flat_map(|risks| risks.iter()) {
                let next = BlockId(blocks.len() as u32);
                let known = *of_sources.entry((to, risk.clone())).or_insert(next);
                if known == next {
                    blocks.push(risk_of_a_source(risk.clone(), self.graph.release(to), &any_release));
                }
                found.push(known);
            }
            found.sort_unstable();
            found.dedup();
            let next = BlockSetId(sets.len() as u32);
            let set = *sets.entry(found.into_boxed_slice()).or_insert(next);
            self.graph.edges.push(Edge { from, to, blocks: set });
        }
        self.graph.edges.sort_unstable();
        self.index_edges();
        self.number_risks(blocks);
        let mut sets: Vec<_> = sets.into_iter().collect();
        sets.sort_by_key(|(_, number)| *number);
        self.graph.block_sets = sets.into_iter().map(|(set, _)| set).collect();
    }

    fn index_edges(&mut self) {
        let mut edges_from = vec![0u32; self.graph.releases.len() + 1];
        self.graph.edges.iter().for_each(|edge| edges_from[edge.from.0 as usize + 1] += 1);
        (1..edges_from.len()).for_each(|at| edges_from[at] += edges_from[at - 1]);
        self.graph.edges_from = edges_from;
    }

    fn number_risks(&mut self, blocks: Vec<Block>) {
        let distinct: BTreeSet<&Risk> = blocks.iter().filter_map(|block| block.risk.as_ref()).collect();
        self.graph.risks = distinct.into_iter().cloned().collect();
        let number = |risk: &Risk| {
            let at = self.graph.risks.binary_search(risk).expect("every block's risk was numbered");
            RiskId(at as u32)
        };
        let kept = blocks.into_iter().map(|block| KeptBlock {
            risk: block.risk.as_ref().map(number),
            from: block.from.text(),
            to: block.to,
            stops: block.stops,
            origin: block.origin,
        });
        self.graph.blocks = kept.collect();
    }
}

/// The risks of an edge that is declared twice.
fn both(a: Option<Arc<[Risk]>>, b: Option<Arc<[Risk]>>) -> Option<Arc<[Risk]>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.iter().chain(b.iter()).cloned().collect()),
        (a, b) => a.or(b),
    }
}

fn key(release: &DeclaredRelease) -> (&super::Arch, &super::Version) {
    (&release.arch, &release.version)
}

fn into_release(
    release: DeclaredRelease,
    extra: &[(ReleaseName, BTreeMap<String, String>)],
    names: &mut Interned,
) -> Release {
    let mut metadata = release.metadata;
    for (name, more) in extra {
        if name.version == release.version && name.means(&release.arch) {
            metadata.extend(more.clone());
        }
    }
    metadata.remove(ARCH_KEY);
    let metadata = metadata.into_iter().map(|(key, value)| (names.get(key), Arc::from(value))).collect();
    Release {
        version: release.version,
        arch: release.arch,
        payload: release.payload.into(),
        metadata,
        channels: Vec::new(),
    }
}

/// Few texts that stand on many releases.
#[derive(Default)]
struct Interned(BTreeSet<Arc<str>>);

impl Interned {
    fn get(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.0.get(text.as_str()) {
            return known.clone();
        }
        let text: Arc<str> = text.into();
        self.0.insert(text.clone());
        text
    }
}

/// The release at the beginning of a chain of replacements. The reader has made sure that there is no loop.
fn first_replaced<'a>(spec: &'a ChannelSpec, member: &'a super::Member) -> &'a super::Version {
    let mut version = &member.name.version;
    let mut replaced = member.replaces.as_ref();
    for _ in 0..spec.members.len() {
        let Some(earlier) = replaced else { break };
        version = earlier;
        replaced = spec.members.iter().find(|m| m.name.version == *earlier).and_then(|m| m.replaces.as_ref());
    }
    version
}

fn risk_of_a_source(risk: Risk, to: &Release, from: &Pattern) -> Block {
    let to = ReleaseName { version: to.version.clone(), arch: Some(to.arch.clone()) };
    Block { to, from: from.clone(), stops: None, risk: Some(risk), origin: Place::file("releases") }
}
