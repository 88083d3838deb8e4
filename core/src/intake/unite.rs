//! What several sources of releases say together.
//!
//! Releases and edges unite. If one source offers an edge with risks and another without, all the
//! risks stay, because [`Graph::build`] never drops one. If metadata differs, the first source
//! wins. If a release has several payloads, signed ones overrule unsigned ones. If more than one
//! payload remains, the release is disputed. It stays, so that clusters that run it can move on,
//! but no edge leads to it. The same holds for one payload under two versions.
//!
//! [`Graph::build`]: crate::graph::Graph::build

use std::collections::BTreeMap;
use std::sync::Arc;

use super::disputes;
use crate::finding::Finding;
use crate::graph::{Block, DeclaredEdge, DeclaredRelease, Releases, Trust};
use crate::version::{Arch, Version};

/// What one source has to give.
#[derive(Debug, Clone)]
pub struct Supply {
    pub source: Arc<str>,
    /// What it says exists. What is known of signatures has been marked.
    pub releases: Releases,
}

#[derive(Debug, Clone, Default)]
pub struct UnitedReleases {
    /// Releases and edges of all of them.
    pub releases: Releases,
    /// No way leads to releases whose payload is disputed.
    pub blocks: Vec<Block>,
    pub findings: Vec<Finding>,
}

/// Unites the sources; where they differ in words, the first has the say.
pub fn unite(supplies: Vec<Supply>) -> UnitedReleases {
    let (mut numbers, mut claims) = (
        BTreeMap::<(Arch, Version), u32>::new(),
        Vec::<Vec<Claim>>::new(),
    );
    let mut united = UnitedReleases::default();
    for Supply {
        source,
        releases: Releases { releases, edges },
    } in supplies
    {
        let renumbered: Vec<u32> = releases
            .into_iter()
            .map(|release| {
                let next = claims.len() as u32;
                let number = *numbers
                    .entry((release.arch.clone(), release.version.clone()))
                    .or_insert(next);
                match claims.get_mut(number as usize) {
                    Some(others) => others.push(Claim {
                        source: source.clone(),
                        release,
                    }),
                    None => claims.push(vec![Claim {
                        source: source.clone(),
                        release,
                    }]),
                }
                number
            })
            .collect();
        united
            .releases
            .edges
            .extend(edges.into_iter().map(|edge| DeclaredEdge {
                from: renumbered[edge.from as usize],
                to: renumbered[edge.to as usize],
                ..edge
            }));
    }
    let mut payloads = BTreeMap::new();
    for claims in claims {
        united.settle(claims, &mut payloads);
    }
    for versions in payloads.into_values().filter(|versions| versions.len() > 1) {
        disputes::shared_payload(&versions, &mut united);
    }
    united.findings.sort();
    united
}

/// What one source says of a release.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) source: Arc<str>,
    pub(super) release: DeclaredRelease,
}

/// The sources that say that a payload is this version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedPayload {
    pub(super) version: Version,
    pub(super) arch: Arch,
    pub(super) digest: String,
    pub(super) source: Arc<str>,
}

/// The versions by which each digest goes, each with who said so first.
type Payloads = BTreeMap<(Arch, String), BTreeMap<Version, NamedPayload>>;

impl UnitedReleases {
    /// Makes one release of what is claimed of it.
    fn settle(&mut self, claims: Vec<Claim>, payloads: &mut Payloads) {
        let is_signed = |claim: &Claim| claim.release.trust == Trust::Verified;
        let has_signed = claims.iter().any(is_signed);
        // One of them is signed and another is not: that one does not count.
        let (counting, overruled): (Vec<Claim>, Vec<Claim>) = claims
            .into_iter()
            .partition(|claim| is_signed(claim) || !has_signed);
        let mut counting = counting.into_iter();
        let Some(Claim {
            source,
            release: mut first,
        }) = counting.next()
        else {
            return;
        };
        let mut others = Vec::new();
        name(payloads, &source, &first);
        for claim in counting {
            name(payloads, &claim.source, &claim.release);
            match digest(&first.payload) == digest(&claim.release.payload) {
                true => join(&mut first, claim.release),
                false => others.push(claim),
            }
        }
        for claim in overruled {
            match digest(&first.payload) == digest(&claim.release.payload) {
                true => join(&mut first, claim.release),
                false => self
                    .findings
                    .push(disputes::overruled(&source, &first, &claim)),
            }
        }
        others
            .iter()
            .for_each(|other| disputes::two_payloads(&source, &first, other, self));
        self.releases.releases.push(first);
    }
}

/// One digest is one image, which declares one thing, whichever source read it.
fn join(first: &mut DeclaredRelease, other: DeclaredRelease) {
    for (key, value) in other.metadata {
        first.metadata.entry(key).or_insert(value);
    }
    first.declares = first.declares.take().or(other.declares);
}

fn name(payloads: &mut Payloads, source: &Arc<str>, release: &DeclaredRelease) {
    // What has no digest can be another image tomorrow, and is no proof of anything.
    let Some((_, digest)) = release.payload.rsplit_once('@') else {
        return;
    };
    let (arch, version) = (release.arch.clone(), release.version.clone());
    let named = NamedPayload {
        version: version.clone(),
        arch: arch.clone(),
        digest: digest.to_owned(),
        source: source.clone(),
    };
    payloads
        .entry((arch, digest.to_owned()))
        .or_default()
        .entry(version)
        .or_insert(named);
}

/// What names a payload wherever it is mirrored: its digest, or else the whole of it.
pub(super) fn digest(payload: &str) -> &str {
    payload
        .rsplit_once('@')
        .map_or(payload, |(_, digest)| digest)
}
