//! `release-manifests/release-metadata`: a release image's own metadata, and where in its layers
//! it is.

use std::collections::BTreeMap;

use serde::Deserialize;
use towpath_core::version::ReleaseName;

use crate::read::Unique;
use crate::sources::oci::{EntryKind, LayerEntry};

const KIND: &str = "cincinnati-metadata-v0";
const FILE: &str = "release-manifests/release-metadata";
/// The largest such file. Real ones have some kilobytes.
pub const MAX_BYTES: u64 = 256 << 10;
/// The most releases that one release may name.
const MAX_NAMES: usize = 20_000;

/// What a release image says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseMetadata {
    pub version: ReleaseName,
    /// The releases it can be reached from.
    pub previous: Vec<ReleaseName>,
    /// The releases that can be reached from it.
    pub next: Vec<ReleaseName>,
    pub metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct MetadataBody {
    kind: String,
    version: String,
    #[serde(default)]
    previous: Option<Vec<String>>,
    #[serde(default)]
    next: Option<Vec<String>>,
    #[serde(default)]
    metadata: Option<Unique<String>>,
}

/// Reads the file. What is wrong with it, in a sentence that goes on from "the release metadata".
pub fn read(bytes: &[u8]) -> Result<ReleaseMetadata, String> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("has more than {MAX_BYTES} bytes"));
    }
    let wire: MetadataBody =
        serde_json::from_slice(bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if wire.kind != KIND {
        return Err(format!(
            "is of the kind {:?}, and not {KIND}",
            wire.kind.chars().take(100).collect::<String>()
        ));
    }
    let (previous, next) = (
        wire.previous.unwrap_or_default(),
        wire.next.unwrap_or_default(),
    );
    if previous.len() + next.len() > MAX_NAMES {
        return Err(format!("names more than {MAX_NAMES} releases"));
    }
    let name = |text: &str| {
        ReleaseName::parse(text).map_err(|error| format!("has a version that is none: {error}"))
    };
    let names = |texts: Vec<String>| {
        texts
            .iter()
            .map(|text| name(text))
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(ReleaseMetadata {
        version: name(&wire.version)?,
        previous: names(previous)?,
        next: names(next)?,
        metadata: wire.metadata.map(|metadata| metadata.0).unwrap_or_default(),
    })
}

/// What a layer has to say about the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InLayer {
    Here(Vec<u8>),
    /// It is not here; an older layer may have it.
    Older,
    /// It is not here, and what older layers have is taken away.
    TakenAway,
    /// Something stands in its place.
    Wrong(&'static str),
}

/// Whether a path in a layer is the file, stands in its place, or takes it away.
pub fn is_wanted(path: &str) -> bool {
    matches!(path, FILE | "release-manifests") || is_whiteout(path)
}

fn is_whiteout(path: &str) -> bool {
    matches!(
        path,
        ".wh..wh..opq"
            | ".wh.release-manifests"
            | "release-manifests/.wh..wh..opq"
            | "release-manifests/.wh.release-metadata"
    )
}

/// Looks for the file in what was wanted of a layer.
pub fn find(layer: Vec<LayerEntry>) -> InLayer {
    let mut found = InLayer::Older;
    for entry in layer {
        let here = match (entry.path.as_str(), entry.kind) {
            (FILE, EntryKind::File(bytes)) => InLayer::Here(bytes),
            (FILE, _) => InLayer::Wrong("release-manifests/release-metadata is not a file"),
            ("release-manifests", EntryKind::Folder) => continue,
            ("release-manifests", _) => InLayer::Wrong("release-manifests is not a folder"),
            _ => InLayer::TakenAway,
        };
        found = match (found, here) {
            (InLayer::Here(first), InLayer::Here(second)) if first != second => InLayer::Wrong(
                "release-manifests/release-metadata stands twice in one layer, and differs",
            ),
            // What is taken away is what older layers have.
            (kept @ (InLayer::Here(_) | InLayer::Wrong(_)), InLayer::TakenAway) => kept,
            (InLayer::Wrong(why), _) => InLayer::Wrong(why),
            (_, here) => here,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let read = |text: &str| {
            read(text.as_bytes())
                .map(|read| read.previous.len())
                .unwrap_or_else(|problem| panic!("{problem}"))
        };
        assert_eq!(
            read(
                r#"{"kind":"cincinnati-metadata-v0","version":"4.1.0","previous":null,"next":null,"metadata":null}"#
            ),
            0
        );
        assert_eq!(
            read(
                r#"{"kind":"cincinnati-metadata-v0","version":"4.1.0","previous":["4.0.0"],"unknown":1}"#
            ),
            1
        );
        for (text, expected) in [
            ("", "cannot be read"),
            ("{}", "missing field `kind`"),
            (r#"{"kind":"x","version":"4.1.0"}"#, "is of the kind \"x\""),
            (
                r#"{"kind":"cincinnati-metadata-v0","version":"4.1"}"#,
                "version that is none: \"4.1\"",
            ),
            (
                r#"{"kind":"cincinnati-metadata-v0","version":"4.1.0","previous":["x"]}"#,
                "\"x\"",
            ),
            (
                r#"{"kind":"cincinnati-metadata-v0","version":"4.1.0","metadata":{"a":1}}"#,
                "expected a string",
            ),
            (
                r#"{"kind":"cincinnati-metadata-v0","version":"4.1.0","metadata":{"a":"1","a":"2"}}"#,
                "stands twice",
            ),
        ] {
            let problem = super::read(text.as_bytes()).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn a_file_has_an_end() {
        let spaces = |bytes: usize| {
            let text = r#"{"kind":"cincinnati-metadata-v0","version":"4.1.0"}"#;
            super::read(format!("{text}{}", " ".repeat(bytes - text.len())).as_bytes())
                .map(|read| read.previous.len())
        };
        assert_eq!(spaces(256 << 10), Ok(0));
        assert_eq!(
            spaces((256 << 10) + 1),
            Err("has more than 262144 bytes".to_owned())
        );
    }

    #[test]
    fn the_newest_layer_that_speaks_of_it_counts() {
        let file = |content: &str| LayerEntry {
            path: FILE.into(),
            kind: EntryKind::File(content.into()),
        };
        let other = |path: &str, kind: EntryKind| LayerEntry {
            path: path.into(),
            kind,
        };
        let whiteout = || {
            other(
                "release-manifests/.wh.release-metadata",
                EntryKind::File(Vec::new()),
            )
        };
        for (layer, expected) in [
            (vec![], InLayer::Older),
            (
                vec![other("release-manifests", EntryKind::Folder)],
                InLayer::Older,
            ),
            (vec![file("a")], InLayer::Here(b"a".to_vec())),
            (vec![file("a"), file("a")], InLayer::Here(b"a".to_vec())),
            (vec![whiteout()], InLayer::TakenAway),
            (vec![whiteout(), file("a")], InLayer::Here(b"a".to_vec())),
            (vec![file("a"), whiteout()], InLayer::Here(b"a".to_vec())),
        ] {
            assert_eq!(find(layer.clone()), expected, "{layer:?}");
        }
        for layer in [
            vec![file("a"), file("b")],
            vec![other(FILE, EntryKind::Link)],
            vec![other("release-manifests", EntryKind::Link), file("a")],
            vec![other(FILE, EntryKind::Folder), whiteout()],
        ] {
            assert!(
                matches!(find(layer.clone()), InLayer::Wrong(_)),
                "{layer:?}"
            );
        }
    }
}
