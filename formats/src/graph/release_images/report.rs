//! The result of reading a registry's releases, as text and as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use towpath_core::finding::Finding;
use towpath_core::graph::Releases;

use crate::findings::{self, Shown};
use crate::sources::oci::Repository;
use crate::words::counted;

pub struct ScrapeReport<'a> {
    pub repository: &'a Repository,
    pub out: &'a Path,
    pub releases: &'a Releases,
    pub findings: &'a [Finding],
    pub requests: Requests,
    pub is_written: bool,
}

/// How much was asked of registries so far, attempts included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requests {
    pub tags: u64,
    /// Manifests, whole or only their digest.
    pub manifests: u64,
    pub blobs: u64,
    pub blob_bytes: u64,
}

impl ScrapeReport<'_> {
    pub fn text(&self, shown: Shown) -> String {
        let mut text = findings::text(self.findings, shown);
        if !text.is_empty() {
            text.push('\n');
        }
        let size = |(releases, edges)| {
            let (releases, edges) = (counted(releases, "release"), counted(edges, "edge"));
            format!("{releases}, {edges}\n")
        };
        let whole = (self.releases.releases.len(), self.releases.edges.len());
        text += &format!("{}: {}", self.repository, size(whole));
        for (arch, of_arch) in self.arches() {
            text += &format!("  {arch:<8} {}", size(of_arch));
        }
        for (code, number) in self.codes() {
            text += &format!("  {code}: {number}\n");
        }
        let asked = &self.requests;
        text += &format!(
            "asked for {} of tags, {}, {} ({} KiB)\n",
            counted(asked.tags as usize, "page"),
            counted(asked.manifests as usize, "manifest"),
            counted(asked.blobs as usize, "blob"),
            asked.blob_bytes.div_ceil(1024)
        );
        let out = self.out.display();
        text + &match self.is_written {
            true => format!("written to {out}\n"),
            false => format!(
                "{out} is not written: see the errors above; --partial writes without the images that cannot be read\n"
            ),
        }
    }

    pub fn json(&self) -> Value {
        let arches: BTreeMap<String, Value> = self
            .arches()
            .into_iter()
            .map(|(arch, (releases, edges))| (arch, json!({"releases": releases, "edges": edges})))
            .collect();
        let asked = &self.requests;
        json!({
            "repository": self.repository.to_string(),
            "out": self.out.display().to_string(),
            "written": self.is_written,
            "releases": self.releases.releases.len(),
            "edges": self.releases.edges.len(),
            "architectures": arches,
            "requests": {
                "tags": asked.tags, "manifests": asked.manifests, "blobs": asked.blobs, "blobBytes": asked.blob_bytes,
            },
            "findings": findings::json(self.findings),
        })
    }

    /// Releases and edges of each architecture.
    fn arches(&self) -> BTreeMap<String, (usize, usize)> {
        let mut arches: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for release in &self.releases.releases {
            arches.entry(release.arch.to_string()).or_default().0 += 1;
        }
        for edge in &self.releases.edges {
            let arch = &self.releases.releases[edge.to as usize].arch;
            arches.entry(arch.to_string()).or_default().1 += 1;
        }
        arches
    }

    fn codes(&self) -> BTreeMap<&'static str, usize> {
        let mut codes = BTreeMap::new();
        self.findings
            .iter()
            .for_each(|finding| *codes.entry(finding.code).or_default() += 1);
        codes
    }
}
