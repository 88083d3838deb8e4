//! The real data, and what the bench makes of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::clients::{self, PLATFORMS};
use super::convert::{self, Channel};
use super::http::Encoding;
use super::scratch::{self, Scratch};
use super::towpath::{Inputs, Towpath};
use crate::workspace;

/// How many clients are asked about before we say that a platform makes no difference.
const MAX_SAMPLES: usize = 500;

/// The folder of the real data.
pub(super) fn find() -> anyhow::Result<PathBuf> {
    let folder = match std::env::var_os("TOWPATH_REAL_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => workspace::root().join("../shared/data"),
    };
    let folder = folder.canonicalize().unwrap_or(folder);
    for needed in [
        "graph-data/channels",
        "releases-amd64.json",
        "releases-five-archs.json",
    ] {
        let place = folder.join(needed);
        ensure!(
            place.exists(),
            "{}: there is no real data here; set TOWPATH_REAL_DATA to its folder",
            place.display()
        );
    }
    Ok(folder)
}

/// Graph data to serve, and the channels to ask for.
#[derive(Debug)]
pub(super) struct RealData {
    /// As it was published: schema 1.1.0.
    pub(super) original: PathBuf,
    /// Converted to 2.0.0, with windows open and blocks for each platform.
    pub(super) phased: PathBuf,
    pub(super) releases: PathBuf,
    pub(super) releases_of_five_archs: PathBuf,
    pub(super) channels: Vec<String>,
    /// The channel with the shortest body.
    pub(super) smallest: String,
    /// The channel with the longest body.
    pub(super) biggest: String,
}

impl RealData {
    /// Copies and converts the real data of a folder, and finds out which channels are smallest and biggest.
    pub(super) fn prepare(source: &Path, binary: &Path, scratch: &Scratch) -> anyhow::Result<Self> {
        let original = scratch.folder().join("original");
        let phased = scratch.folder().join("phased");
        convert::copy(&source.join("graph-data"), &original)?;
        let channels = convert::read_channels(&original)?;
        let releases = source.join("releases-amd64.json");
        let towpath = Towpath::start(binary, &Inputs::new(&original, &releases), scratch)?;
        let lengths: Vec<(usize, &Channel)> = channels
            .iter()
            .map(|channel| {
                Ok((
                    towpath
                        .graph(&asked_by_nobody(channel), Encoding::Identity)?
                        .len(),
                    channel,
                ))
            })
            .collect::<anyhow::Result<_>>()?;
        let by_length = |pair: &&(usize, &Channel)| (pair.0, pair.1.name.clone());
        let (_, smallest) = lengths
            .iter()
            .min_by_key(by_length)
            .context("there are no channels")?;
        let (_, biggest) = lengths
            .iter()
            .max_by_key(by_length)
            .context("there are no channels")?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        convert::convert(&original, &phased, &channels, now)?;
        block_platforms(
            &phased,
            biggest,
            &towpath.graph(&asked_by_nobody(biggest), Encoding::Identity)?,
        )?;
        Ok(Self {
            releases,
            releases_of_five_archs: source.join("releases-five-archs.json"),
            smallest: smallest.name.clone(),
            biggest: biggest.name.clone(),
            channels: channels
                .iter()
                .map(|channel| channel.name.clone())
                .collect(),
            original,
            phased,
        })
    }

    /// An error if there is a platform on which no cluster is answered differently in the biggest channel.
    pub(super) fn ensure_platforms_matter(&self, towpath: &Towpath) -> anyhow::Result<()> {
        for platform in PLATFORMS {
            let body = |id: &str, platform: &str| {
                let query = format!("channel={}&id={id}&platform={platform}", self.biggest);
                towpath.graph(&query, Encoding::Gzip)
            };
            let mut matters = false;
            for id in (0..MAX_SAMPLES).map(clients::known_id) {
                matters = body(&id, platform)? != body(&id, clients::ANOTHER_PLATFORM)?;
                if matters {
                    break;
                }
            }
            ensure!(
                matters,
                "{platform} makes no difference in {}; choose other releases to block",
                self.biggest
            );
        }
        Ok(())
    }
}

fn asked_by_nobody(channel: &Channel) -> String {
    format!("channel={}", channel.name)
}

/// Blocks one release for each platform: of those being rolled out, the ones that most edges lead to.
fn block_platforms(phased: &Path, channel: &Channel, body: &[u8]) -> anyhow::Result<()> {
    let sources = sources(body).context("the graph of the biggest channel")?;
    let mut targets: Vec<&String> = channel.newest().iter().collect();
    targets.sort_by_key(|version| std::cmp::Reverse(sources.get(*version).copied().unwrap_or(0)));
    for (platform, to) in PLATFORMS.iter().zip(targets) {
        let place = phased
            .join("blocked-edges")
            .join(format!("bench-{platform}.yaml"));
        scratch::write(&place, convert::targeted_block(to, platform))?;
    }
    Ok(())
}

/// How many edges, conditional or not, lead to each release of a graph.
fn sources(body: &[u8]) -> anyhow::Result<BTreeMap<String, usize>> {
    let graph: Value = serde_json::from_slice(body)?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let nodes = list(&graph["nodes"]);
    let mut counts = BTreeMap::new();
    let mut count = |to: &Value| {
        if let Some(version) = to.as_str() {
            *counts.entry(version.to_owned()).or_insert(0) += 1;
        }
    };
    for edge in list(&graph["edges"]) {
        let to = edge[1]
            .as_u64()
            .and_then(|index| nodes.get(usize::try_from(index).ok()?));
        count(&to.context("an edge to nowhere")?["version"]);
    }
    for group in list(&graph["conditionalEdges"]) {
        list(&group["edges"])
            .iter()
            .for_each(|edge| count(&edge["to"]));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_both_kinds_are_counted() {
        let body = r#"{"nodes":[{"version":"4.9.0"},{"version":"4.9.1"},{"version":"4.9.2"}],"edges":[[0,1],[0,2]],
            "conditionalEdges":[{"edges":[{"from":"4.9.1","to":"4.9.2"}],"risks":[]}]}"#;
        let expected = [("4.9.1".to_owned(), 1), ("4.9.2".to_owned(), 2)];
        assert_eq!(sources(body.as_bytes()).unwrap(), BTreeMap::from(expected));
        assert!(sources(br#"{"nodes":[],"edges":[[0,1]]}"#).is_err());
    }
}
