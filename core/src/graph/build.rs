//! From declarations to a graph: each name is resolved and each pattern matched, once.
//!
//! All input is sorted first, so the order of files, nodes and edges cannot change the result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::NamedReleases;
use super::edge_edit::{EdgeEdit, EditAction, Side};
use super::model::{BlockSetId, KeptBlock};
use super::provenance::EdgeWitness;
use super::release_url;
use super::{
    Block, BlockId, Channel, ChannelSpec, DeclaredRelease, Declares, Edge, Graph, GraphData,
    Membership, Pattern, Provenance, Release, ReleaseId, Releases, Risk, RiskId, position,
    servable,
};
use crate::finding::{Finding, Place};
use crate::signatures::PayloadDigest;
use crate::version::ReleaseName;

/// Metadata by which a release is withdrawn altogether.
const REMOVE_KEY: &str = "io.openshift.upgrades.graph.release.remove";

pub(super) fn build(data: GraphData, declared: Releases) -> (Graph, Vec<Finding>) {
    let mut build = Build {
        graph: Graph::default(),
        findings: Vec::new(),
        edges: BTreeMap::new(),
        declares: Vec::new(),
    };
    let named = NamedReleases::of(
        &data.channels,
        declared.releases.iter().map(|release| &release.version),
        declared
            .releases
            .iter()
            .map(|release| release.arch.as_str()),
    );
    build.findings.extend(named.warnings(&data.blocks));
    let numbers = build.add_releases(declared.releases, &data.metadata);
    let urls = build.graph.releases.iter_mut();
    build
        .findings
        .extend(urls.filter_map(release_url::corrected));
    build.add_declared_edges(&declared.edges, &numbers);
    build.edit_edges();
    build.add_channels(data.channels, &data.blocks);
    build.add_blocks(data.blocks);
    build.add_provenance();
    (build.graph, build.findings)
}

struct Build {
    graph: Graph,
    findings: Vec<Finding>,
    /// Each edge, by (to, from), with the risks its source declares.
    edges: BTreeMap<(ReleaseId, ReleaseId), Option<Arc<[Risk]>>>,
    /// Of each release, what its image says about updates.
    declares: Vec<Option<Declares>>,
}

impl Build {
    /// Numbers the releases by (architecture, version); returns the new number of each declared one, if it stays.
    fn add_releases(
        &mut self,
        declared: Vec<DeclaredRelease>,
        extra: &[(ReleaseName, BTreeMap<String, String>)],
    ) -> Vec<Option<ReleaseId>> {
        let mut order: Vec<usize> = (0..declared.len()).collect();
        order.sort_by(|a, b| key(&declared[*a]).cmp(&key(&declared[*b])));
        let mut numbers = vec![None; declared.len()];
        let mut names = Interned::default();
        let mut extra_of: Extra<'_> = BTreeMap::new();
        extra.iter().for_each(|(name, more)| {
            extra_of
                .entry(&name.version)
                .or_default()
                .push((name, more))
        });
        let mut slots: Vec<Option<DeclaredRelease>> = declared.into_iter().map(Some).collect();
        for at in order {
            let mut release = slots[at]
                .take()
                .expect("each index stands in the order once");
            let declares = release.declares.take();
            let same =
                |last: &Release| (&last.arch, &last.version) == (&release.arch, &release.version);
            if !self.graph.releases.last().is_some_and(same) {
                let release = into_release(release, &extra_of, &mut names);
                if release
                    .metadata
                    .get(REMOVE_KEY)
                    .is_some_and(|value| &**value == "true")
                {
                    continue;
                }
                self.graph.releases.push(release);
                self.declares.push(declares);
            } else {
                self.add_witness(&release, declares);
            }
            numbers[at] = Some(ReleaseId(self.graph.releases.len() as u32 - 1));
        }
        numbers
    }

    /// Another source knows the same release. Of the same image, its word counts like the first one's.
    fn add_witness(&mut self, other: &DeclaredRelease, declares: Option<Declares>) {
        let (Some(release), Some(known)) =
            (self.graph.releases.last_mut(), self.declares.last_mut())
        else {
            return;
        };
        let digests = [&*release.payload, &*other.payload].map(PayloadDigest::of_pull_spec);
        if digests[0].is_some() && digests[0] == digests[1] {
            release.trust = release.trust.max(other.trust);
            *known = known.take().or(declares);
        }
    }

    fn add_declared_edges(&mut self, edges: &[super::DeclaredEdge], numbers: &[Option<ReleaseId>]) {
        let mut across = 0;
        for edge in edges {
            let (Some(from), Some(to)) = (numbers[edge.from as usize], numbers[edge.to as usize])
            else {
                continue;
            };
            if self.graph.release(from).arch == self.graph.release(to).arch {
                let risks = self.edges.entry((to, from)).or_default();
                *risks = both(risks.take(), edge.risks.clone());
            } else {
                across += 1;
            }
        }
        if across > 0 {
            self.warn(
                "edge-across-architectures",
                format!("{across} edges lead from one architecture to another and were left out"),
                "a cluster changes architecture by changing its payload, not by an edge",
            );
        }
    }

    fn warn(&mut self, code: &'static str, problem: String, remedy: &str) {
        self.findings.push(Finding::warning(
            code,
            Place::file("releases"),
            problem,
            remedy,
        ));
    }

    /// Carries out what releases' metadata says about edges: first all that is added, then all that is removed.
    fn edit_edges(&mut self) {
        let edits = self.edits();
        for (here, edit) in &edits {
            if let EditAction::Add(names) = &edit.change {
                let added: Vec<_> = self
                    .found(*here, names)
                    .map(|other| pair(edit.side, *here, other))
                    .collect();
                for edge in added {
                    self.edges.entry(edge).or_default();
                }
            }
        }
        let outgoing: BTreeSet<(ReleaseId, ReleaseId)> =
            match edits.iter().any(|(_, edit)| edit.side == Side::Next) {
                true => self.edges.keys().map(|(to, from)| (*from, *to)).collect(),
                false => BTreeSet::new(),
            };
        let mut removed: BTreeSet<(ReleaseId, ReleaseId)> = BTreeSet::new();
        for (here, edit) in &edits {
            let edge = |other: ReleaseId| pair(edit.side, *here, other);
            let neighbours = || -> Vec<ReleaseId> {
                match edit.side {
                    Side::Previous => self.sources_of(*here).collect(),
                    Side::Next => outgoing.range(all_of(*here)).map(|(_, to)| *to).collect(),
                }
            };
            match &edit.change {
                EditAction::Add(_) => {}
                EditAction::Remove(names) => removed.extend(self.found(*here, names).map(edge)),
                EditAction::RemoveAll => removed.extend(neighbours().into_iter().map(edge)),
                EditAction::RemoveMatching(pattern) => {
                    let matching = neighbours()
                        .into_iter()
                        .filter(|other| pattern.finds(&self.name(*other)));
                    removed.extend(matching.map(edge));
                }
            }
        }
        self.edges
            .retain(|edge, _| !removed.contains(edge) && edge.0 != edge.1);
    }

    fn edits(&mut self) -> Vec<(ReleaseId, EdgeEdit)> {
        let mut edits = Vec::new();
        let mut wrong = Vec::new();
        for (number, release) in (0..).zip(&self.graph.releases) {
            for (key, value) in &release.metadata {
                match EdgeEdit::read(key, value) {
                    None => {}
                    Some(Ok(edit)) => edits.push((ReleaseId(number), edit)),
                    Some(Err(not)) => {
                        wrong.push(format!(
                            "{key} of {}+{}: {}",
                            release.version, release.arch, not.problem
                        ));
                        edits.extend(not.instead.map(|edit| (ReleaseId(number), edit)));
                    }
                }
            }
        }
        for problem in wrong {
            self.warn(
                "bad-edge-edit",
                problem,
                "correct the metadata; until then it adds nothing and removes all such edges",
            );
        }
        edits
    }

    /// The releases of these names that exist for this release's architecture.
    fn found<'a>(
        &'a self,
        here: ReleaseId,
        names: &'a [ReleaseName],
    ) -> impl Iterator<Item = ReleaseId> + 'a {
        let arch = &self.graph.release(here).arch;
        names
            .iter()
            .filter(|name| name.means(arch))
            .filter_map(|name| self.graph.find(&name.version, arch))
    }

    fn sources_of(&self, to: ReleaseId) -> impl Iterator<Item = ReleaseId> + '_ {
        self.edges.range(all_of(to)).map(|((_, from), _)| *from)
    }

    /// The version with its architecture, as patterns see it.
    fn name(&self, id: ReleaseId) -> String {
        let release = self.graph.release(id);
        format!("{}+{}", release.version, release.arch)
    }

    fn add_channels(&mut self, mut specs: Vec<ChannelSpec>, blocks: &[Block]) {
        let halts = blocks.iter().filter(|block| block.halt.is_some());
        let halted: Vec<&ReleaseName> = halts.map(|halt| &halt.to).collect();
        specs.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
        let arches: Vec<_> = self.graph.arches().cloned().collect();
        for spec in specs {
            let mut members: BTreeMap<ReleaseId, (Membership, &Place)> = BTreeMap::new();
            let firsts = first_replaced(&spec);
            for member in &spec.members {
                let place = Membership {
                    start: member.start.unwrap_or(Timestamp::MIN),
                    locked: member.locked,
                    held: member.held,
                    rotation: position::rotation(
                        firsts
                            .get(&member.name.version)
                            .unwrap_or(&&member.name.version),
                    ),
                    halted: false,
                    replaces: member.replaces.is_some(),
                };
                for arch in arches.iter().filter(|arch| member.name.means(arch)) {
                    if let Some(id) = self.graph.find(&member.name.version, arch) {
                        let is_it = |halt: &&&ReleaseName| {
                            halt.version == member.name.version && halt.means(arch)
                        };
                        let halted = halted.iter().any(|halt| is_it(&halt));
                        let place = Membership { halted, ..place };
                        members.insert(id, (place, &member.origin));
                    }
                }
            }
            for (id, (place, _)) in &members {
                self.graph.releases[id.0 as usize]
                    .channels
                    .push((spec.name.clone(), place.start));
            }
            let origins = members
                .values()
                .map(|(_, origin)| (*origin).clone())
                .collect();
            let members = members
                .into_iter()
                .map(|(id, (place, _))| (id, place))
                .collect();
            let channel = Channel {
                name: spec.name.clone(),
                rings: spec.rings,
                rollouts: spec.rollouts,
                members,
                origins,
                origin: spec.origin,
            };
            self.graph.channels.insert(spec.name, channel);
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
        let names: Vec<String> = (0..self.graph.releases.len() as u32)
            .map(|n| self.name(ReleaseId(n)))
            .collect();
        let any_release = Pattern::new(".*").expect("a valid pattern");
        let mut of_sources: BTreeMap<(ReleaseId, Risk), BlockId> = BTreeMap::new();
        let mut sets: BTreeMap<Box<[BlockId]>, BlockSetId> =
            [(Box::default(), BlockSetId::NONE)].into();
        for ((to, from), risks) in declared {
            let candidates = by_target.get(&to).map_or(&[][..], Vec::as_slice);
            let from_name = &names[from.0 as usize];
            let mut found: Vec<BlockId> = candidates
                .iter()
                .filter(|n| blocks[**n].from.finds(from_name))
                .map(|n| BlockId(*n as u32))
                .collect();
            for risk in risks.iter().flat_map(|risks| risks.iter()) {
                let next = BlockId(blocks.len() as u32);
                let known = *of_sources.entry((to, risk.clone())).or_insert(next);
                if known == next {
                    blocks.push(risk_of_a_source(
                        risk.clone(),
                        self.graph.release(to),
                        &any_release,
                    ));
                }
                found.push(known);
            }
            found.sort_unstable();
            found.dedup();
            let next = BlockSetId(sets.len() as u32);
            let set = *sets.entry(found.into_boxed_slice()).or_insert(next);
            self.graph.edges.push(Edge {
                from,
                to,
                blocks: set,
            });
        }
        self.graph.edges.sort_unstable();
        self.index_edges();
        self.number_risks(blocks);
        let mut sets: Vec<_> = sets.into_iter().collect();
        sets.sort_by_key(|(_, number)| *number);
        self.graph.block_sets = sets.into_iter().map(|(set, _)| set).collect();
        self.check_risk_names();
        self.check_risks();
    }

    fn add_provenance(&mut self) {
        if self.declares.iter().all(Option::is_none) {
            return;
        }
        let witness = |id: ReleaseId| {
            let release = self.graph.release(id);
            let declares = self.declares[id.0 as usize].as_ref();
            EdgeWitness {
                version: &release.version,
                declares,
                trust: release.trust,
            }
        };
        let of = |edge: &Edge| Provenance::of(witness(edge.from), witness(edge.to));
        self.graph.provenance = self.graph.edges.iter().map(of).collect();
    }

    fn index_edges(&mut self) {
        let mut edges_from = vec![0u32; self.graph.releases.len() + 1];
        self.graph
            .edges
            .iter()
            .for_each(|edge| edges_from[edge.from.0 as usize + 1] += 1);
        (1..edges_from.len()).for_each(|at| edges_from[at] += edges_from[at - 1]);
        self.graph.edges_from = edges_from;
    }

    fn number_risks(&mut self, blocks: Vec<Block>) {
        let distinct: BTreeSet<&Risk> = blocks
            .iter()
            .filter_map(|block| block.risk.as_ref())
            .collect();
        self.graph.risks = distinct.into_iter().cloned().collect();
        let number = |risk: &Risk| {
            let at = self
                .graph
                .risks
                .binary_search(risk)
                .expect("every block's risk was numbered");
            RiskId(at as u32)
        };
        let kept = blocks.into_iter().map(|block| KeptBlock {
            risk: block.risk.as_ref().map(number),
            from: block.from.text(),
            to: block.to,
            stops: block.stops,
            halt: block.halt,
            origin: block.origin,
        });
        self.graph.blocks = kept.collect();
        self.graph.platforms = crate::graph::named_platforms(&self.graph.blocks);
    }
}

/// Further metadata, by the version it is about.
type Extra<'a> =
    BTreeMap<&'a crate::version::Version, Vec<(&'a ReleaseName, &'a BTreeMap<String, String>)>>;

/// The risks of an edge that is declared twice.
fn both(a: Option<Arc<[Risk]>>, b: Option<Arc<[Risk]>>) -> Option<Arc<[Risk]>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.iter().chain(b.iter()).cloned().collect()),
        (a, b) => a.or(b),
    }
}

impl Build {
    /// Risks that no cluster can store block their edges.
    fn check_risks(&mut self) {
        let risks: Vec<Option<String>> = self.graph.risks.iter().map(servable::objection).collect();
        for block in &self.graph.blocks {
            let Some(risk) = block.risk else { continue };
            if let Some(what) = &risks[risk.0 as usize] {
                let name = &self.graph.risk(risk).name;
                let problem = format!(
                    "clusters cannot store the risk {name}: {what}; its edges are blocked for every cluster"
                );
                let remedy = "correct it; `towpath graph lint` names what is wrong";
                let place = block.origin.clone();
                self.findings.push(Finding::warning(
                    "risk-not-servable",
                    place,
                    problem,
                    remedy,
                ));
            }
        }
    }

    /// Clients tell risks by their names: two of one name on one edge, with different texts, are one too many.
    fn check_risk_names(&mut self) {
        let mut clashes: BTreeSet<&str> = BTreeSet::new();
        for set in &self.graph.block_sets {
            let risks: BTreeSet<RiskId> = set
                .iter()
                .filter_map(|block| self.graph.blocks[block.0 as usize].risk)
                .collect();
            let names: Vec<&str> = risks
                .iter()
                .map(|risk| self.graph.risk(*risk).name.as_str())
                .collect();
            // Risks are numbered by name, so equal names stand together.
            clashes.extend(
                names
                    .windows(2)
                    .filter(|pair| pair[0] == pair[1])
                    .map(|pair| pair[0]),
            );
        }
        let problems: Vec<String> = clashes
            .iter()
            .map(|name| format!("risk {name} is declared in several ways for one edge, which is blocked for every cluster"))
            .collect();
        for problem in problems {
            self.warn(
                "risk-name-clash",
                problem,
                "give both the same url, message and rules, or another name",
            );
        }
    }
}

fn key(release: &DeclaredRelease) -> (&crate::version::Arch, &crate::version::Version) {
    (&release.arch, &release.version)
}

fn into_release(release: DeclaredRelease, extra: &Extra<'_>, names: &mut Interned) -> Release {
    let mut metadata = release.metadata;
    for (name, more) in extra.get(&release.version).into_iter().flatten() {
        if name.means(&release.arch) {
            metadata.extend((*more).clone());
        }
    }
    // It has become part of the release's identity.
    metadata.remove(DeclaredRelease::ARCH_KEY);
    let metadata = metadata
        .into_iter()
        .map(|(key, value)| (names.get(key), Arc::from(value)))
        .collect();
    Release {
        version: release.version,
        arch: release.arch,
        payload: release.payload.into(),
        metadata,
        trust: release.trust,
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

/// For each release that replaces another, the one at the beginning of the chain. A release replaces an earlier one of
/// its file, so going by start, the chain before it is known already.
fn first_replaced(
    spec: &ChannelSpec,
) -> BTreeMap<&crate::version::Version, &crate::version::Version> {
    let mut replacing: Vec<_> = spec
        .members
        .iter()
        .filter_map(|m| Some((m.start, &m.name.version, m.replaces.as_ref()?)))
        .collect();
    replacing.sort();
    let mut firsts: BTreeMap<&crate::version::Version, &crate::version::Version> = BTreeMap::new();
    for (_, version, replaced) in replacing {
        let first = firsts.get(replaced).copied().unwrap_or(replaced);
        firsts.insert(version, first);
    }
    firsts
}

/// The range of all pairs that begin with this release.
fn all_of(first: ReleaseId) -> std::ops::RangeInclusive<(ReleaseId, ReleaseId)> {
    (first, ReleaseId(0))..=(first, ReleaseId(u32::MAX))
}

/// An edge as it is kept here: (to, from).
fn pair(side: Side, here: ReleaseId, other: ReleaseId) -> (ReleaseId, ReleaseId) {
    match side {
        Side::Previous => (here, other),
        Side::Next => (other, here),
    }
}

fn risk_of_a_source(risk: Risk, to: &Release, from: &Pattern) -> Block {
    let to = ReleaseName {
        version: to.version.clone(),
        arch: Some(to.arch.clone()),
    };
    Block {
        to,
        from: from.clone(),
        stops: None,
        risk: Some(risk),
        halt: None,
        origin: Place::file("releases"),
    }
}
