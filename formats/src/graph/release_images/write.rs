//! The release file: a Cincinnati graph, which `formats::releases` reads, made from the images'
//! own declarations.
//!
//! Each node carries its image's declaration (`declared`), even without an edge to show for it.
//! The signature covers this declaration, not the edges of a graph. Readers that do not know the
//! field skip it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use towpath_core::version::{Arch, ReleaseName, Version};

use super::{ReleaseImage, Union};
use crate::sources::oci::Repository;

const MANIFEST_KEY: &str = "io.openshift.upgrades.graph.release.manifestref";

#[derive(Serialize)]
struct File<'a> {
    version: u32,
    nodes: Vec<NodeObject<'a>>,
    edges: BTreeSet<(u32, u32)>,
}

#[derive(Serialize)]
struct NodeObject<'a> {
    version: String,
    payload: String,
    metadata: BTreeMap<&'a str, &'a str>,
    declared: DeclaredEdges,
}

#[derive(Serialize)]
struct DeclaredEdges {
    previous: Vec<String>,
    next: Vec<String>,
}

/// The file of what is in this repository. The same releases give the same bytes, in whatever order they come.
pub fn write(repository: &Repository, union: &Union) -> Vec<u8> {
    let mut releases: Vec<&ReleaseImage> =
        union.releases.iter().map(|release| &**release).collect();
    releases.sort_by_key(|release| (&release.arch, &release.version));
    let numbers: Numbers = releases
        .iter()
        .zip(0..)
        .map(|(release, at)| ((&release.arch, &release.version), at))
        .collect();
    let disputed: BTreeSet<u32> = union
        .disputed
        .iter()
        .filter_map(|(arch, version)| numbers.get(&(arch, version)).copied())
        .collect();
    let edges = releases
        .iter()
        .zip(0..)
        .flat_map(|(release, at)| edges(release, at, &numbers));
    let edges = edges.filter(|(_, to)| !disputed.contains(to)).collect();
    let nodes = releases
        .iter()
        .map(|release| node(repository, release))
        .collect();
    let mut bytes = serde_json::to_vec(&File {
        version: 1,
        nodes,
        edges,
    })
    .expect("maps with text keys can be written");
    bytes.push(b'\n');
    bytes
}

type Numbers<'a> = BTreeMap<(&'a Arch, &'a Version), u32>;

/// The edges that a release declares and that have both ends. One to itself is none.
fn edges(release: &ReleaseImage, at: u32, numbers: &Numbers<'_>) -> Vec<(u32, u32)> {
    let number = |name: &ReleaseName| {
        let there = name
            .means(&release.arch)
            .then(|| numbers.get(&(&release.arch, &name.version)).copied())
            .flatten();
        there.filter(|there| *there != at)
    };
    let into = release
        .previous
        .iter()
        .filter_map(number)
        .map(|from| (from, at));
    into.chain(release.next.iter().filter_map(number).map(|to| (at, to)))
        .collect()
}

fn node<'a>(repository: &Repository, release: &'a ReleaseImage) -> NodeObject<'a> {
    let mut metadata: BTreeMap<&str, &str> = release
        .metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    metadata.insert(MANIFEST_KEY, release.digest.as_str());
    let texts = |names: &[ReleaseName]| names.iter().map(ToString::to_string).collect();
    NodeObject {
        version: format!("{}+{}", release.version, release.arch),
        payload: format!("{repository}@{}", release.digest),
        metadata,
        declared: DeclaredEdges {
            previous: texts(&release.previous),
            next: texts(&release.next),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sources::oci::Digest;
    use towpath_core::finding::Place;

    fn release(name: &str, previous: &str, next: &str) -> Arc<ReleaseImage> {
        let name = ReleaseName::parse(name).unwrap();
        let names = |texts: &str| {
            texts
                .split_whitespace()
                .map(|text| ReleaseName::parse(text).unwrap())
                .collect()
        };
        Arc::new(ReleaseImage {
            digest: Digest::of(name.to_string().as_bytes()),
            version: name.version,
            arch: name.arch.unwrap(),
            previous: names(previous),
            next: names(next),
            metadata: BTreeMap::from([("url".to_owned(), "https://example.com/1".to_owned())]),
        })
    }

    /// The edges of a file as they are read.
    fn edges_in(bytes: &[u8]) -> Vec<String> {
        let (read, _) = crate::graph::releases::read(&Place::file("x"), bytes).unwrap();
        let name = |at: u32| {
            format!(
                "{}+{}",
                read.releases[at as usize].version, read.releases[at as usize].arch
            )
        };
        read.edges
            .iter()
            .map(|edge| format!("{} {}", name(edge.from), name(edge.to)))
            .collect()
    }

    #[test]
    fn no_edge_leads_to_what_is_disputed_and_edges_lead_on_from_it() {
        let releases = vec![
            release("4.1.0+amd64", "", "4.1.1"),
            release("4.1.1+amd64", "4.1.0", ""),
            release("4.1.2+amd64", "4.1.1", ""),
        ];
        let disputed = BTreeSet::from([(Arch::new("amd64"), "4.1.1".parse().unwrap())]);
        let bytes = write(
            &Repository::parse("r.io/x").unwrap(),
            &Union {
                releases,
                disputed,
                findings: vec![],
            },
        );
        assert_eq!(edges_in(&bytes), ["4.1.1+amd64 4.1.2+amd64"]);
    }

    #[test]
    fn what_is_written_is_what_the_reader_of_release_files_sees() {
        let repository = Repository::parse("r.io/x").unwrap();
        let mut releases = vec![
            release("4.1.0+amd64", "", "4.1.1 4.1.2"),
            release("4.1.1+amd64", "4.1.0 4.0.9 4.1.1", ""),
            release("4.1.2+amd64", "4.1.1+amd64 4.1.0+s390x", ""),
            release("4.1.1+s390x", "4.1.0", ""),
        ];
        let union = |releases: &[Arc<ReleaseImage>]| Union {
            releases: releases.to_vec(),
            ..Union::default()
        };
        let bytes = write(&repository, &union(&releases));
        releases.reverse();
        assert_eq!(
            bytes,
            write(&repository, &union(&releases)),
            "the order does not matter"
        );

        let (read, findings) = crate::graph::releases::read(&Place::file("x"), &bytes).unwrap();
        assert_eq!(findings, []);
        assert_eq!(
            edges_in(&bytes),
            [
                "4.1.0+amd64 4.1.1+amd64",
                "4.1.0+amd64 4.1.2+amd64",
                "4.1.1+amd64 4.1.2+amd64"
            ]
        );
        let first = &read.releases[0];
        let digest = Digest::of(b"4.1.0+amd64");
        assert_eq!(first.payload, format!("r.io/x@{digest}"));
        assert_eq!(first.metadata[MANIFEST_KEY], digest.as_str());
        assert_eq!(first.metadata["url"], "https://example.com/1");
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(
            json["nodes"][1]["declared"]["previous"],
            serde_json::json!(["4.1.0", "4.0.9", "4.1.1"])
        );
    }
}
