//! oc-mirror's `ImageSetConfiguration`: one entry for each release, its least and greatest version both that release.
//!
//! oc-mirror takes all of `channels` for all of `architectures`, so one file is for architectures that need the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use towpath_core::domain::{Arch, ChannelName, Version};

use crate::mirror::{Told, comments};

/// Which of oc-mirror's forms.
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

/// The configuration. Nothing but comments if there is nothing to mirror.
pub fn write(told: &Told<'_>, version: ImageSetVersion) -> Result<String, NoImageSet> {
    let mut entries: BTreeMap<&Arch, BTreeSet<(&Version, &ChannelName)>> = BTreeMap::new();
    for item in told.items().map_err(NoImageSet::NoDigest)? {
        entries.entry(&item.release.arch).or_default().insert((&item.release.version, &item.need.channel));
    }
    let mut text = comments(told);
    let Some(releases) = entries.values().next() else { return Ok(text) };
    if entries.values().any(|other| other != releases) {
        return Err(NoImageSet::DifferentArches(entries.into_keys().cloned().collect()));
    }
    let channels: BTreeSet<&ChannelName> = releases.iter().map(|(_, channel)| *channel).collect();
    // v1 looks for a way from its least entry to its greatest; v2 does so between the last entries of its channels.
    let searches = match version {
        ImageSetVersion::V1Alpha2 => releases.len() > 1,
        ImageSetVersion::V2Alpha1 => channels.len() > 1,
    };
    if searches {
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
    for arch in entries.keys() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    - {}", scalar(arch.as_str()));
    }
    text.push_str("    graph: true\n    channels:\n");
    for (version, channel) in releases {
        let _ = writeln!(text, "    - name: {}", scalar(channel.as_str()));
        let _ = writeln!(text, "      type: ocp\n      minVersion: {version}\n      maxVersion: {version}");
    }
    Ok(text)
}

/// A text as YAML reads it back: as it is where that is safe, else in quotes.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b))
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(&text);
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
