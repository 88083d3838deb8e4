//! Graphs of any size: channels of a constant size, so that only their number grows.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::clients::{self, PLATFORMS};
use super::scratch;

/// How many releases a channel has.
pub(super) const CHANNEL_RELEASES: usize = 100;
/// From how many releases before it a release can be reached.
const PREDECESSORS: usize = 10;

/// A graph, written to files.
#[derive(Debug)]
pub(super) struct Synthetic {
    pub(super) graph_data: PathBuf,
    pub(super) releases: PathBuf,
    pub(super) platforms: PathBuf,
    pub(super) channels: usize,
    pub(super) edges: usize,
}

impl Synthetic {
    /// Writes a graph of that many releases, and a lookup of as many clusters.
    pub(super) fn write(folder: &Path, releases: usize) -> anyhow::Result<Self> {
        let channels = releases.div_ceil(CHANNEL_RELEASES);
        let graph = Self {
            graph_data: folder.join("graph-data"),
            releases: folder.join("releases.json"),
            platforms: folder.join("platforms.csv"),
            channels,
            edges: channels
                * (0..CHANNEL_RELEASES)
                    .map(|patch| patch.min(PREDECESSORS))
                    .sum::<usize>(),
        };
        scratch::write(&graph.graph_data.join("version"), "1.1.0\n")?;
        for channel in 0..channels {
            let place = |room: &str| graph.graph_data.join(room).join(format!("{channel}.yaml"));
            scratch::write(&place("channels"), channel_file(channel))?;
            scratch::write(&place("blocked-edges"), block_file(channel))?;
        }
        scratch::write(&graph.releases, releases_file(channels))?;
        scratch::write(&graph.platforms, platforms_file(releases))?;
        Ok(graph)
    }
}

/// The name of a channel.
pub(super) fn channel_name(channel: usize) -> String {
    format!("stable-4.{channel}")
}

fn version(channel: usize, patch: usize) -> String {
    format!("4.{channel}.{patch}")
}

fn channel_file(channel: usize) -> String {
    let versions: String = (0..CHANNEL_RELEASES)
        .map(|patch| format!("- {}\n", version(channel, patch)))
        .collect();
    format!("name: {}\nversions:\n{versions}", channel_name(channel))
}

/// A block that makes a cluster's platform matter; without one there would be no need to look it up.
fn block_file(channel: usize) -> String {
    let to = version(channel, CHANNEL_RELEASES / 2);
    format!(
        "to: {to}\nfrom: .*\nclusters:\n  platforms: [{}]\n",
        PLATFORMS[0]
    )
}

fn releases_file(channels: usize) -> String {
    let (mut nodes, mut edges) = (String::new(), String::new());
    for to in 0..channels * CHANNEL_RELEASES {
        let (channel, patch) = (to / CHANNEL_RELEASES, to % CHANNEL_RELEASES);
        let comma = if to == 0 { "" } else { "," };
        let (version, url) = (
            version(channel, patch),
            "https://example.com/errata/RHBA-2026",
        );
        write!(
            nodes,
            r#"{comma}{{"version":"{version}+amd64","payload":"example.com/release@sha256:{to:064x}","metadata":{{"url":"{url}:{to}"}}}}"#
        )
        .expect("writing to a string does not fail");
        for from in to - patch.min(PREDECESSORS)..to {
            let comma = if edges.is_empty() { "" } else { "," };
            write!(edges, "{comma}[{from},{to}]").expect("writing to a string does not fail");
        }
    }
    format!("{{\"nodes\":[{nodes}],\"edges\":[{edges}]}}\n")
}

fn platforms_file(clusters: usize) -> String {
    let line = |number| {
        format!(
            "{},{}\n",
            clients::known_id(number),
            PLATFORMS[number % PLATFORMS.len()]
        )
    };
    (0..clusters).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_has_edges_from_ten_before_it_in_its_channel() {
        let graph: serde_json::Value = serde_json::from_str(&releases_file(2)).unwrap();
        let (nodes, edges) = (
            graph["nodes"].as_array().unwrap(),
            graph["edges"].as_array().unwrap(),
        );
        assert_eq!(nodes.len(), 2 * CHANNEL_RELEASES);
        assert_eq!(edges.len(), 2 * (45 + 90 * PREDECESSORS));
        assert_eq!(nodes[100]["version"], "4.1.0+amd64");
        let channel = |index: &serde_json::Value| index.as_u64().unwrap() / 100;
        assert!(
            edges
                .iter()
                .all(|edge| channel(&edge[0]) == channel(&edge[1]))
        );
    }

    #[test]
    fn files_are_as_a_person_would_write_them() {
        assert!(channel_file(7).starts_with("name: stable-4.7\nversions:\n- 4.7.0\n- 4.7.1\n"));
        assert_eq!(
            block_file(7),
            "to: 4.7.50\nfrom: .*\nclusters:\n  platforms: [AWS]\n"
        );
        assert_eq!(platforms_file(2).lines().count(), 2);
    }
}
