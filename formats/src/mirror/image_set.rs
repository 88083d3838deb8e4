//! oc-mirror's `ImageSetConfiguration`: one entry per release, which is both its lowest and its
//! highest version.
//!
//! Between two entries of one file, oc-mirror looks for a way of its own. v2 ends the whole run if
//! it finds none, so a file of v2 has one entry. v1 refuses a channel that is named twice, so each
//! entry of its file has a channel of its own. oc-mirror takes all `channels` for all
//! `architectures`, so one file is for architectures that need the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use towpath_core::mirror::entries::{self, Entry};
use towpath_core::version::{Arch, Version};

use crate::mirror::{MirrorReport, comments};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageSetVersion {
    /// `v1alpha2`, which keeps its state in `storageConfig`.
    V1Alpha2,
    /// `v2alpha1`.
    V2Alpha1,
}

/// Why there is no configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoImageSet {
    /// A release has no digest.
    NoDigest(crate::mirror::NoDigest),
    /// These architectures need different releases.
    DifferentArches(Vec<Arch>),
}

impl std::fmt::Display for NoImageSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoDigest(problem) => problem.fmt(f),
            Self::DifferentArches(arches) => {
                let arches: Vec<&str> = arches.iter().map(Arch::as_str).collect();
                let arches = arches.join(", ");
                write!(
                    f,
                    "{arches} need different releases, and oc-mirror takes all for all; write one file for each, with --arch"
                )
            }
        }
    }
}

impl std::error::Error for NoImageSet {}

/// A file for one run of oc-mirror.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSetFile {
    /// Its name says in which order the files are used, and what is in it.
    pub name: String,
    pub text: String,
}

/// The files, to be used one after the other. None if there is nothing to mirror: oc-mirror takes no file without entries.
pub fn write(
    told: &MirrorReport<'_>,
    version: ImageSetVersion,
) -> Result<Vec<ImageSetFile>, NoImageSet> {
    let items = told.items().map_err(NoImageSet::NoDigest)?;
    let mut releases: BTreeMap<&Arch, BTreeSet<&Version>> = BTreeMap::new();
    for item in &items {
        releases
            .entry(&item.release.arch)
            .or_default()
            .insert(&item.release.version);
    }
    let arches: Vec<&Arch> = releases.keys().copied().collect();
    let different = || NoImageSet::DifferentArches(arches.iter().copied().cloned().collect());
    let is_same = releases
        .values()
        .all(|other| Some(other) == releases.values().next());
    let needs = items.iter().map(|item| item.need);
    // A release that architectures have in different channels only cannot be one entry for all of them.
    let documents = entries::documents(told.graph, needs, told.now, version.most_entries())
        .ok()
        .filter(|_| is_same)
        .ok_or_else(different)?;
    let count = documents.len();
    let file = |(number, entries): (usize, &Vec<Entry>)| {
        let number = number + 1;
        let mut text = comments(told);
        if count > 1 {
            let _ = writeln!(
                text,
                "# File {number} of {count}: run oc-mirror with each, in this order."
            );
        }
        text.push_str(&document(entries, &arches, version));
        ImageSetFile {
            name: format!("imageset-{number:03}.yaml"),
            text,
        }
    };
    Ok(documents.iter().enumerate().map(file).collect())
}

impl ImageSetVersion {
    /// How many entries a file may have so that oc-mirror brings what they say.
    fn most_entries(self) -> usize {
        match self {
            Self::V1Alpha2 => usize::MAX,
            Self::V2Alpha1 => 1,
        }
    }
}

fn document(entries: &[Entry], arches: &[&Arch], version: ImageSetVersion) -> String {
    let mut text = String::new();
    // v1 looks for a way from its least entry to its greatest.
    if entries.len() > 1 {
        text.push_str("# oc-mirror also looks for a way of its own between these entries: it may add releases, and leaves none of these out.\n");
    }
    text.push_str(match version {
        ImageSetVersion::V1Alpha2 => "apiVersion: mirror.openshift.io/v1alpha2\n",
        ImageSetVersion::V2Alpha1 => "apiVersion: mirror.openshift.io/v2alpha1\n",
    });
    text.push_str("kind: ImageSetConfiguration\n");
    if version == ImageSetVersion::V1Alpha2 {
        text.push_str("storageConfig:\n  local:\n    path: ./oc-mirror-state\n");
    }
    text.push_str("mirror:\n  platform:\n    architectures:\n");
    for arch in arches {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    - {}", scalar(arch.as_str()));
    }
    text.push_str("    graph: true\n    channels:\n");
    for Entry { version, channel } in entries {
        let _ = writeln!(text, "    - name: {}", scalar(channel.as_str()));
        let _ = writeln!(
            text,
            "      type: ocp\n      minVersion: {version}\n      maxVersion: {version}"
        );
    }
    text
}

/// A text as YAML reads it back: as it is where that is safe, else in quotes.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&text);
    if is_plain {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}
