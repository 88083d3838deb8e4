//! What several sources of releases say together.
//!
//! Releases and edges unite; an edge that one source offers with risks and another without keeps all the risks, because [`Graph::build`] never drops one.
//! Of metadata that differs, the first source's stays. Where two sources name different payloads for one release, nobody can say which is the right one:
//! the release stays, so that clusters that run it find themselves and their way on, and no edge leads to it.
//!
//! [`Graph::build`]: crate::domain::Graph::build

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Arch, Audience, Block, DeclaredEdge, DeclaredRelease, Pattern, ReleaseName, Releases, Version};
use crate::finding::{Finding, Place};

/// What one source has to give.
#[derive(Debug, Clone)]
pub struct Supply {
    /// The source's name.
    pub source: Arc<str>,
    /// What it says exists.
    pub releases: Releases,
}

/// What they say together.
#[derive(Debug, Clone, Default)]
pub struct United {
    /// Releases and edges of all of them.
    pub releases: Releases,
    /// No way leads to releases whose payload is disputed.
    pub blocks: Vec<Block>,
    /// Where they disagree.
    pub findings: Vec<Finding>,
}

/// Unites the sources; where they differ in words, the first has the say.
pub fn unite(supplies: Vec<Supply>) -> United {
    let mut uniting = Uniting::default();
    supplies.into_iter().for_each(|supply| uniting.add(supply));
    uniting.united.findings.sort();
    uniting.united
}

#[derive(Default)]
struct Uniting {
    united: United,
    numbers: BTreeMap<(Arch, Version), u32>,
    /// Who declared each release first.
    declared_by: Vec<Arc<str>>,
}

impl Uniting {
    fn add(&mut self, supply: Supply) {
        let Releases { releases, edges } = supply.releases;
        let numbers: Vec<u32> = releases.into_iter().map(|release| self.release(&supply.source, release)).collect();
        let renumbered = edges.into_iter().map(|edge| DeclaredEdge {
            from: numbers[edge.from as usize],
            to: numbers[edge.to as usize],
            ..edge
        });
        self.united.releases.edges.extend(renumbered);
    }

    fn release(&mut self, source: &Arc<str>, release: DeclaredRelease) -> u32 {
        let next = self.united.releases.releases.len() as u32;
        let number = *self.numbers.entry((release.arch.clone(), release.version.clone())).or_insert(next);
        match self.united.releases.releases.get_mut(number as usize) {
            None => {
                self.united.releases.releases.push(release);
                self.declared_by.push(source.clone());
            }
            Some(first) if digest(&first.payload) == digest(&release.payload) => {
                for (key, value) in release.metadata {
                    first.metadata.entry(key).or_insert(value);
                }
                // One digest is one image, which declares one thing, whoever has looked.
                first.declares = first.declares.take().or(release.declares);
            }
            Some(_) => self.dispute(number, source, &release),
        }
        number
    }

    fn dispute(&mut self, number: u32, source: &Arc<str>, other: &DeclaredRelease) {
        let first = &self.united.releases.releases[number as usize];
        let (version, arch, declared_by) = (&first.version, &first.arch, &self.declared_by[number as usize]);
        let what = format!("{declared_by} and {source} name different payloads for it");
        let problem = format!(
            "{version} for {arch} has the payload {} in {declared_by}, and {} in {source}; no update leads to it",
            first.payload, other.payload
        );
        let origin = Place::file(source.clone());
        let remedy = "find out which of them is right, and correct the other source or leave it out";
        self.united.findings.push(Finding::warning("payload-disputed", origin.clone(), problem, remedy));
        self.united.blocks.push(Block {
            to: ReleaseName { version: version.clone(), arch: Some(arch.clone()) },
            from: Pattern::new(".*").expect("a valid pattern"),
            stops: Some(Audience::Disputed(what)),
            risk: None,
            origin,
        });
    }
}

/// What names a payload wherever it is mirrored: its digest, or else the whole of it.
fn digest(payload: &str) -> &str {
    payload.rsplit_once('@').map_or(payload, |(_, digest)| digest)
}
