//! The configuration that oc-mirror gets, read back as oc-mirror would: strictly.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use expect_test::expect;
use serde::Deserialize;
use towpath_core::cluster::Fact;
use towpath_core::finding::Place;
use towpath_core::graph::{
    ChannelName, ChannelSpec, DeclaredEdge, DeclaredRelease, Graph, GraphData, Member, Releases,
    Trust,
};
use towpath_core::mirror::*;
use towpath_core::path::RiskPolicy;
use towpath_core::version::{Arch, ReleaseName};
use towpath_formats::minors::built_in;
use towpath_formats::mirror::image_set::{ImageSetFile, ImageSetVersion, NoImageSet, write};
use towpath_formats::mirror::{Completeness, MirrorReport, list};
use towpath_testing_graphs::oc_mirror;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ImageSetConfiguration {
    api_version: String,
    kind: String,
    storage_config: Option<StorageConfig>,
    mirror: MirrorPart,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StorageConfig {
    local: Local,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Local {
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MirrorPart {
    platform: PlatformPart,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformPart {
    architectures: Vec<String>,
    graph: bool,
    channels: Vec<ChannelPart>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChannelPart {
    name: String,
    r#type: String,
    min_version: String,
    max_version: String,
}

/// 4.14.0 -> 4.15.1 -> 4.16.2-rc.1, for both architectures; the channel's name is one that YAML takes for a number. Others hold some of them.
fn graph(digests: [&str; 2], others: &[(&str, &[&str])]) -> Graph {
    let (versions, mut releases) = (["4.14.0", "4.15.1", "4.16.2-rc.1"], Releases::default());
    for (arch, digest) in ["amd64", "arm64"].into_iter().zip(digests) {
        let first = releases.releases.len() as u32;
        releases
            .releases
            .extend(versions.iter().map(|version| DeclaredRelease {
                version: version.parse().unwrap(),
                arch: Arch::new(arch),
                payload: match digest.starts_with('@') {
                    true => format!("registry/release{digest}{:0>63}", version.len()),
                    false => format!("registry/release{digest}"),
                },
                metadata: [].into(),
                declares: None,
                trust: Trust::Unverified,
            }));
        releases
            .edges
            .extend((first..first + 2).map(|from| DeclaredEdge {
                from,
                to: from + 1,
                risks: None,
            }));
    }
    let member = |version: &&str| Member {
        name: ReleaseName::parse(version).unwrap(),
        start: None,
        locked: false,
        held: false,
        replaces: None,
        origin: Place::file("c"),
    };
    let channel = |(name, versions): (&str, &[&str])| ChannelSpec {
        name: ChannelName::new(name).unwrap(),
        rings: Vec::new(),
        rollouts: vec![],
        members: versions.iter().map(member).collect(),
        origin: Place::file("c"),
    };
    let channels = [("4.16", &versions[..])]
        .into_iter()
        .chain(others.iter().copied())
        .map(channel)
        .collect();
    Graph::build(
        GraphData {
            channels,
            ..GraphData::default()
        },
        releases,
    )
    .0
}

fn wish(from: &[(&str, &str)]) -> Wish {
    let traveller = |(version, arch): &(&str, &str)| Traveller {
        arch: Arch::new(*arch),
        version: version.parse().unwrap(),
        name: String::new(),
    };
    Wish {
        travellers: from.iter().map(traveller).collect(),
        target: "4.16.2-rc.1".parse().unwrap(),
        channels: ChannelName::new("4.16").into_iter().collect(),
        platform: Fact::Unknown,
        taken: RiskPolicy::Never,
        minors: built_in(),
        choice: MirrorChoice::Smallest,
        branching: Branching::Ways,
        start: MirrorStart::LeftOut,
        have: Have::default(),
    }
}

fn told<T>(graph: &Graph, wish: &Wish, tell: impl Fn(&MirrorReport<'_>) -> T) -> T {
    let now = "2026-11-16T03:00Z".parse().unwrap();
    let mirror = mirror(graph, wish, now).unwrap();
    tell(&MirrorReport {
        graph,
        wish,
        mirror: &mirror,
        graph_data: None,
        completeness: Completeness::Whole,
        now,
    })
}

fn entry(name: &str, version: &str) -> ChannelPart {
    ChannelPart {
        name: name.into(),
        r#type: "ocp".into(),
        min_version: version.into(),
        max_version: version.into(),
    }
}

/// The documents of all files, as oc-mirror reads them.
fn documents(files: &[ImageSetFile]) -> Vec<ImageSetConfiguration> {
    files
        .iter()
        .map(|file| serde_saphyr::from_str(&file.text).unwrap())
        .collect()
}

#[test]
fn what_is_written_is_read_back_with_one_entry_for_each_hop() {
    let graph = graph(
        ["@sha256:a", "@sha256:b"],
        &[("stable-4.15", &["4.14.0", "4.15.1"])],
    );
    let wish = wish(&[("4.14.0", "amd64"), ("4.14.0", "arm64")]);
    for (version, api_version, files) in [
        (ImageSetVersion::V1Alpha2, "mirror.openshift.io/v1alpha2", 1),
        (ImageSetVersion::V2Alpha1, "mirror.openshift.io/v2alpha1", 2),
    ] {
        let written = told(&graph, &wish, |told| write(told, version)).unwrap();
        assert_eq!(written.len(), files);
        let mut channels = Vec::new();
        for read in documents(&written) {
            assert_eq!(
                (read.api_version.as_str(), read.kind.as_str()),
                (api_version, "ImageSetConfiguration")
            );
            let state = read.storage_config.map(|config| config.local.path);
            assert_eq!(
                state.is_some(),
                version == ImageSetVersion::V1Alpha2,
                "{state:?}"
            );
            assert_eq!(read.mirror.platform.architectures, ["amd64", "arm64"]);
            assert!(read.mirror.platform.graph);
            channels.extend(read.mirror.platform.channels);
        }
        // v1 takes no channel twice in a file.
        let second = entry("4.16", "4.16.2-rc.1");
        let first = entry("stable-4.15", "4.15.1");
        assert_eq!(channels, [first, second]);
    }
}

#[test]
fn a_channel_is_named_once_in_a_file_of_v1_and_the_rest_is_in_another() {
    let graph = graph(["@sha256:a", "@sha256:b"], &[]);
    let files = told(&graph, &wish(&[("4.14.0", "amd64")]), |told| {
        write(told, ImageSetVersion::V1Alpha2)
    })
    .unwrap();
    let channels: Vec<Vec<ChannelPart>> = documents(&files)
        .into_iter()
        .map(|read| read.mirror.platform.channels)
        .collect();
    assert_eq!(
        channels,
        [[entry("4.16", "4.15.1")], [entry("4.16", "4.16.2-rc.1")]]
    );
    assert!(
        files[1]
            .text
            .contains("# File 2 of 2: run oc-mirror with each")
    );
}

/// The head of stable-4.14 is not in stable-4.15, so oc-mirror finds no way of its own between two entries.
#[test]
fn oc_mirror_brings_exactly_what_each_file_of_v2_says() {
    let (data, releases) = towpath_testing_graphs::read(
        "channel stable-4.14 4.14.0 4.14.1 4.14.2
         channel stable-4.15 4.14.0 4.14.1 4.15.0 4.15.1
         channel stable-4.16 4.15.0 4.15.1 4.16.0
         edges 4.14.0 -> 4.14.1 4.14.2
         edges 4.14.1 -> 4.15.0 4.15.1
         edges 4.15.1 -> 4.16.0",
    );
    let mut releases = releases;
    for (number, release) in releases.releases.iter_mut().enumerate() {
        release.payload = format!("registry/release@sha256:{number:0>64}");
    }
    let graph = Graph::build(data, releases).0;
    let wish = Wish {
        target: "4.16.0".parse().unwrap(),
        channels: ["stable-4.14", "stable-4.15", "stable-4.16"]
            .into_iter()
            .filter_map(ChannelName::new)
            .collect(),
        ..wish(&[("4.14.0", "amd64")])
    };
    let files = told(&graph, &wish, |told| write(told, ImageSetVersion::V2Alpha1)).unwrap();
    let entries: Vec<oc_mirror::Entry> = documents(&files)
        .into_iter()
        .flat_map(|read| read.mirror.platform.channels)
        .map(|part| (part.name, part.min_version.parse().unwrap()))
        .collect();
    let now = "2026-11-16T03:00Z".parse().unwrap();
    let brought =
        |entries: &[oc_mirror::Entry]| oc_mirror::brought(&graph, &Arch::default(), entries, now);
    assert_eq!(entries.len(), 3);
    for entry in &entries {
        assert_eq!(
            brought(std::slice::from_ref(entry)),
            Ok([entry.1.clone()].into())
        );
    }
    let together = brought(&entries);
    assert_ne!(
        together,
        Ok(entries.iter().map(|(_, version)| version.clone()).collect()),
        "in one file they would do"
    );
}

#[test]
fn it_looks_like_this() {
    let graph = graph(
        ["@sha256:a", "@sha256:b"],
        &[("stable-4.15", &["4.14.0", "4.15.1"])],
    );
    let files = told(&graph, &wish(&[("4.14.0", "amd64")]), |told| {
        write(told, ImageSetVersion::V2Alpha1)
    })
    .unwrap();
    assert_eq!(
        (files[0].name.as_str(), files[1].name.as_str()),
        ("imageset-001.yaml", "imageset-002.yaml")
    );
    expect![[r##"
        # 4.14.0 to 4.16.2-rc.1 on amd64: 2 hops
        #   4.14.0 -> 4.15.1 in 4.16
        #   4.15.1 -> 4.16.2-rc.1 in 4.16
        # 2 releases to mirror.
        # File 1 of 2: run oc-mirror with each, in this order.
        apiVersion: mirror.openshift.io/v2alpha1
        kind: ImageSetConfiguration
        mirror:
          platform:
            architectures:
            - amd64
            graph: true
            channels:
            - name: stable-4.15
              type: ocp
              minVersion: 4.15.1
              maxVersion: 4.15.1
    "##]]
    .assert_eq(&files[0].text);
}

#[test]
fn architectures_that_need_different_releases_need_files_of_their_own() {
    let graph = graph(["@sha256:a", "@sha256:b"], &[]);
    let wish = wish(&[("4.14.0", "amd64"), ("4.15.1", "arm64")]);
    let wrong = told(&graph, &wish, |told| write(told, ImageSetVersion::V2Alpha1)).unwrap_err();
    assert_eq!(
        wrong,
        NoImageSet::DifferentArches(vec![Arch::new("amd64"), Arch::new("arm64")])
    );
}

#[test]
fn a_release_without_a_digest_is_an_error() {
    let graph = graph([":tag", "@sha256:b"], &[]);
    let wrong = told(&graph, &wish(&[("4.14.0", "amd64")]), list)
        .unwrap_err()
        .to_string();
    assert!(
        wrong.starts_with("4.15.1 of amd64 has no digest: registry/release:tag; name it by digest"),
        "{wrong}"
    );
}
