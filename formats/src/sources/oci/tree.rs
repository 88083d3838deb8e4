//! The files of an image after all its layers: each layer adds, replaces and removes files of
//! older ones.
//!
//! A removal is a file with a special name. `.wh.name` removes `name`, and `.wh..wh..opq` removes
//! all that older layers have in its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::layer::{EntryKind, LayerEntry};
use crate::SourceFile;
use crate::graph::data;

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";

/// The wanted files of an image, up to some layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// None for what is not a file: a link, a device.
    files: BTreeMap<String, Option<Arc<[u8]>>>,
}

impl Tree {
    /// Lays the next newer layer over what there is.
    pub fn lay(&mut self, layer: Vec<LayerEntry>) {
        // What a layer takes away is what older ones have, in whatever order it says so.
        for entry in &layer {
            let (folder, name) = split(&entry.path);
            match name.strip_prefix(WHITEOUT) {
                Some(_) if name == OPAQUE => self.remove_below(folder),
                Some(gone) => self.remove(&join(folder, gone)),
                None => {}
            }
        }
        for entry in layer {
            if split(&entry.path).1.starts_with(WHITEOUT) {
                continue;
            }
            match entry.kind {
                EntryKind::Folder => _ = self.files.remove(&entry.path),
                EntryKind::File(bytes) => self.put(entry.path, Some(bytes.into())),
                EntryKind::Link | EntryKind::Other => self.put(entry.path, None),
            }
        }
    }

    fn put(&mut self, path: String, content: Option<Arc<[u8]>>) {
        self.remove_below(&path);
        self.files.insert(path, content);
    }

    fn remove(&mut self, path: &str) {
        self.files.remove(path);
        self.remove_below(path);
    }

    /// Only what is below is looked at: of every file there may be a word of it, and of every layer.
    fn remove_below(&mut self, folder: &str) {
        let inside = join(folder, "");
        let below = self.files.range(inside.clone()..).map(|(path, _)| path);
        let gone: Vec<String> = below
            .take_while(|path| path.starts_with(&inside))
            .cloned()
            .collect();
        for path in gone {
            self.files.remove(&path);
        }
    }
}

/// Whether a layer's path may belong to graph data, wherever in the image that is, or takes something away.
pub fn is_graph_data(path: &str) -> bool {
    let (_, name) = split(path);
    let in_folder = |part: &str| matches!(part, "channels" | "blocked-edges" | "raw");
    name == "version" || name.starts_with(WHITEOUT) || path.split('/').any(in_folder)
}

/// The graph data of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphDataFiles {
    pub files: Vec<SourceFile>,
    /// What is there and is no file: a sentence for each.
    pub not_files: Vec<String>,
}

/// The graph data of an image: the one folder with `channels/` and `version` in it. What is wrong, in a sentence of its own.
pub fn find_graph_data(tree: &Tree) -> Result<GraphDataFiles, String> {
    let has_channels = |root: &str| {
        let channels = format!("{root}channels/");
        tree.files
            .range(channels.clone()..)
            .next()
            .is_some_and(|(path, _)| path.starts_with(&channels))
    };
    let roots: BTreeSet<&str> = tree
        .files
        .keys()
        .filter_map(|path| path.strip_suffix("version"))
        .filter(|root| is_root(root))
        .collect();
    let roots: Vec<&str> = roots
        .into_iter()
        .filter(|root| has_channels(root))
        .collect();
    let root = match roots.as_slice() {
        [root] => *root,
        [] => return Err("the image has no folder with channels/ and version in it".to_owned()),
        [first, second, ..] => {
            return Err(format!(
                "the image has graph data twice, in /{first} and in /{second}"
            ));
        }
    };
    let parts = tree.files.iter().filter_map(|(path, content)| {
        let path = path.strip_prefix(root).filter(|path| data::is_part(path))?;
        Some((path, content))
    });
    let mut found = GraphDataFiles::default();
    for (path, content) in parts {
        match content {
            Some(bytes) => found.files.push(SourceFile {
                path: path.to_owned(),
                bytes: bytes.clone(),
            }),
            None => found.not_files.push(format!(
                "/{root}{path} is a link or a device, and not a file"
            )),
        }
    }
    Ok(found)
}

fn is_root(prefix: &str) -> bool {
    prefix.is_empty() || prefix.ends_with('/')
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers as text: `path=content` is a file, `path/` a folder, `path@` a link.
    fn tree(layers: &[&str]) -> Tree {
        let mut tree = Tree::default();
        for layer in layers {
            let entry = |word: &str| match (
                word.split_once('='),
                word.strip_suffix('/'),
                word.strip_suffix('@'),
            ) {
                (Some((path, content)), ..) => LayerEntry {
                    path: path.into(),
                    kind: EntryKind::File(content.into()),
                },
                (_, Some(path), _) => LayerEntry {
                    path: path.into(),
                    kind: EntryKind::Folder,
                },
                (.., Some(path)) => LayerEntry {
                    path: path.into(),
                    kind: EntryKind::Link,
                },
                _ => LayerEntry {
                    path: word.into(),
                    kind: EntryKind::File(Vec::new()),
                },
            };
            tree.lay(layer.split_whitespace().map(entry).collect());
        }
        tree
    }

    fn shown(layers: &[&str]) -> String {
        match find_graph_data(&tree(layers)) {
            Ok(found) => {
                let line = |file: &SourceFile| {
                    format!("{}={}", file.path, String::from_utf8_lossy(&file.bytes))
                };
                found
                    .files
                    .iter()
                    .map(line)
                    .chain(found.not_files.clone())
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            Err(problem) => problem,
        }
    }

    #[test]
    fn graph_data_is_found_wherever_it_is() {
        for root in ["", "var/lib/cincinnati-graph-data/", "a/b/c/"] {
            let layer = format!(
                "etc/version=0 {root}version=1 {root}channels/a.yaml=a {root}raw/metadata.json=m {root}LICENSE=x"
            );
            assert_eq!(
                shown(&[&layer]),
                "channels/a.yaml=a raw/metadata.json=m version=1",
                "{root}"
            );
        }
        assert_eq!(
            shown(&["etc/version=0"]),
            "the image has no folder with channels/ and version in it"
        );
        let twice = shown(&["a/version=1 a/channels/x=x b/version=1 b/channels/x=x"]);
        assert_eq!(twice, "the image has graph data twice, in /a/ and in /b/");
    }

    #[test]
    fn fifty_thousand_files_in_five_layers_are_laid() {
        const FILES: usize = 10_000;
        let mut tree = Tree::default();
        for layer in 0..5 {
            let file = |number: usize| LayerEntry {
                path: format!("channels/{layer}/{number:05}"),
                kind: EntryKind::File(vec![b'0' + layer]),
            };
            // Of the files of the layer before, all but the first are taken away, each by a word of its own.
            let gone = |number: usize| LayerEntry {
                path: format!("channels/{}/.wh.{number:05}", layer - 1),
                kind: EntryKind::File(Vec::new()),
            };
            let whiteouts = (1..if layer == 0 { 1 } else { FILES }).map(gone);
            tree.lay((0..FILES).map(file).chain(whiteouts).collect());
        }
        tree.lay(vec![LayerEntry {
            path: "version".into(),
            kind: EntryKind::File(b"1".to_vec()),
        }]);
        let paths: Vec<String> = find_graph_data(&tree)
            .unwrap()
            .files
            .into_iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(
            (paths.len(), tree.files.len()),
            (4 + FILES + 1, 4 + FILES + 1)
        );
        assert_eq!(
            paths[..5],
            [
                "channels/0/00000",
                "channels/1/00000",
                "channels/2/00000",
                "channels/3/00000",
                "channels/4/00000"
            ]
        );
    }

    #[test]
    fn newer_layers_replace_and_take_away() {
        let base = "version=1 channels/a=1 channels/b=1 blocked-edges/x=1";
        for (newer, expected) in [
            (
                "channels/a=2",
                "blocked-edges/x=1 channels/a=2 channels/b=1 version=1",
            ),
            ("channels/.wh.a", "blocked-edges/x=1 channels/b=1 version=1"),
            (".wh.blocked-edges", "channels/a=1 channels/b=1 version=1"),
            (
                "channels/c=2 channels/.wh..wh..opq",
                "blocked-edges/x=1 channels/c=2 version=1",
            ),
            (
                ".wh..wh..opq version=2 channels/z=2",
                "channels/z=2 version=2",
            ),
            (
                ".wh.channels",
                "the image has no folder with channels/ and version in it",
            ),
            (
                "channels/b@",
                "blocked-edges/x=1 channels/a=1 version=1 /channels/b is a link or a device, and not a file",
            ),
            (
                "blocked-edges@",
                "channels/a=1 channels/b=1 version=1 /blocked-edges is a link or a device, and not a file",
            ),
            (
                "channels=2",
                "the image has no folder with channels/ and version in it",
            ),
            (
                "blocked-edges/x/ blocked-edges/x/y=2",
                "blocked-edges/x/y=2 channels/a=1 channels/b=1 version=1",
            ),
        ] {
            assert_eq!(shown(&[base, newer]), expected, "{newer}");
        }
    }
}
