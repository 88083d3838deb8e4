//! Stricter parts: the blocks of a refused copy, which hold all the same.
//!
//! A copy that is refused, or has a mistake in one file, can still bring an urgent block. Blocks
//! compose by union, so adding one never loosens anything. A copy that lacks releases, edges to
//! many releases, or places in channels is no block. The guards judge those.

use std::collections::{BTreeMap, BTreeSet};

use super::accept::few_releases;
use super::change::{is_as_strict, weighed};
use crate::finding::Place;
use crate::graph::{Audience, Block, Pattern, Releases, Risk};
use crate::signatures::PayloadDigest;
use crate::version::{Arch, ReleaseName, Version};

/// The blocks of a copy that is not taken, with their files, which are not in force already.
pub fn stricter_blocks<File>(
    in_force: &[&Block],
    mut refused: Vec<(Block, File)>,
) -> Vec<(Block, File)> {
    let mut known: BTreeMap<&ReleaseName, Vec<&Block>> = BTreeMap::new();
    in_force
        .iter()
        .for_each(|block| known.entry(&block.to).or_default().push(block));
    let holds = |block: &Block| {
        known.get(&block.to).is_some_and(|in_force| {
            in_force
                .iter()
                .any(|in_force| is_as_strict(in_force, block))
        })
    };
    refused.retain(|(block, _)| !holds(block));
    refused
}

/// The most releases in one pattern, which keeps it within a pattern's limits.
const MAX_RELEASES_IN_PATTERN: usize = 50;

/// Why an edge is under a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// The copy that is not taken has both releases and not the edge.
    Withdrawn,
    /// It has the edge with this risk.
    Risk(Risk),
}

/// What a copy of releases that is not taken says more strictly about edges of the copy in use, as blocks: risks that are new, and edges that it has withdrawn
/// although it has both their ends, as the same images. Edges to many releases are no block but an accident: of those it says nothing.
///
/// An edge that a source elsewhere declares too is not withdrawn: it counts if any source declares it.
pub fn stricter_edges(
    in_use: &Releases,
    refused: &Releases,
    elsewhere: &[&Releases],
    max_shrink_percent: u8,
) -> Vec<Block> {
    let (used, offered) = (Edges::of(in_use), Edges::of(refused));
    let elsewhere: Vec<Edges<'_>> = elsewhere
        .iter()
        .map(|releases| Edges::of(releases))
        .collect();
    let is_elsewhere =
        |edge: &(Name<'_>, &Version)| elsewhere.iter().any(|edges| edges.edges.contains_key(edge));
    // Of a version that has become another image, the edges are that image's.
    let is_same = |name: &Name<'_>| match (used.images.get(name), offered.images.get(name)) {
        (Some(used), Some(offered)) => used == offered,
        _ => false,
    };
    let mut causes: BTreeMap<(Name<'_>, Cause), BTreeSet<&Version>> = BTreeMap::new();
    let mut withdrawn: BTreeMap<Name<'_>, BTreeSet<&Version>> = BTreeMap::new();
    for (edge @ (to, from), risks) in &used.edges {
        match offered.edges.get(edge) {
            Some(now) => {
                let is_new =
                    |risk: &&&Risk| !risks.iter().any(|known| weighed(known) == weighed(risk));
                for risk in now.iter().filter(is_new) {
                    causes
                        .entry((*to, Cause::Risk((*risk).clone())))
                        .or_default()
                        .insert(from);
                }
            }
            None if is_elsewhere(edge) => {}
            None if is_same(to) && is_same(&(to.0, from)) => {
                withdrawn.entry(*to).or_default().insert(from);
            }
            None => {}
        }
    }
    if withdrawn.len() <= few_releases(in_use.releases.len(), max_shrink_percent) {
        causes.extend(
            withdrawn
                .into_iter()
                .map(|(to, from)| ((to, Cause::Withdrawn), from)),
        );
    }
    let mut blocks = Vec::new();
    for (((arch, to), cause), from) in causes {
        let from: Vec<&Version> = from.into_iter().collect();
        for (part, from) in from.chunks(MAX_RELEASES_IN_PATTERN).enumerate() {
            let name = match &cause {
                Cause::Withdrawn => "withdrawn",
                Cause::Risk(risk) => &risk.name,
            };
            let name: String = name
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                .collect();
            let origin = Place::file(format!(
                "blocked-edges/to-{to}-{arch}-{name}-{}.yaml",
                part + 1
            ));
            let (stops, risk) = match cause.clone() {
                Cause::Withdrawn => (Some(Audience::Everybody), None),
                Cause::Risk(risk) => (None, Some(risk)),
            };
            let to = ReleaseName {
                version: to.clone(),
                arch: Some(arch.clone()),
            };
            blocks.extend(exactly(from, arch).map(|from| Block {
                to,
                from,
                stops,
                risk,
                halt: None,
                origin,
            }));
        }
    }
    blocks
}

/// A pattern that finds these releases of an architecture, and no other.
fn exactly(versions: &[&Version], arch: &Arch) -> Option<Pattern> {
    let versions: Vec<String> = versions
        .iter()
        .map(|version| regex::escape(&version.to_string()))
        .collect();
    // An architecture with spaces in its name is no pattern, and no cluster's either.
    Pattern::new(&format!(
        "^({})[+]{}$",
        versions.join("|"),
        regex::escape(arch.as_str())
    ))
    .ok()
}

type Name<'a> = (&'a Arch, &'a Version);

struct Edges<'a> {
    /// The images of its releases, as far as they have digests.
    images: BTreeMap<Name<'a>, BTreeSet<PayloadDigest>>,
    /// By the release that they lead to, and that from which they come, with risks.
    edges: BTreeMap<(Name<'a>, &'a Version), BTreeSet<&'a Risk>>,
}

impl<'a> Edges<'a> {
    fn of(declared: &'a Releases) -> Self {
        let name = |at: u32| {
            declared
                .releases
                .get(at as usize)
                .map(|release| (&release.arch, &release.version))
        };
        let mut edges: BTreeMap<_, BTreeSet<&Risk>> = BTreeMap::new();
        for edge in &declared.edges {
            let (Some(from), Some(to)) = (name(edge.from), name(edge.to)) else {
                continue;
            };
            // An edge from one architecture to another is offered to nobody.
            if from.0 == to.0 {
                edges
                    .entry((to, from.1))
                    .or_default()
                    .extend(edge.risks.iter().flat_map(|risks| risks.iter()));
            }
        }
        let mut images: BTreeMap<Name<'a>, BTreeSet<PayloadDigest>> = BTreeMap::new();
        for release in &declared.releases {
            let known = images.entry((&release.arch, &release.version)).or_default();
            known.extend(PayloadDigest::of_pull_spec(&release.payload));
        }
        Self { images, edges }
    }
}
