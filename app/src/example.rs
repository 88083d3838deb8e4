//! The example that is served when nothing is configured. It is built in, with dates around today.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, bail};
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde_json::{Value, json};
use towpath_core::cluster::{Cluster, ClusterId, Fact};
use towpath_core::finding::Finding;
use towpath_core::graph::{ChannelName, Graph, Situation, recommend};
use towpath_core::rules::Policy;
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_web::Service;

use crate::cli;
use crate::terminal::aside;

const FLEET_POLICY: &str = include_str!("../../examples/fleet/organisation.yaml");
const CLUSTERS: &str = include_str!("../../examples/fleet/clusters.json");
const CLUSTER: &str = include_str!("../../examples/cluster/objects.yaml");
const NODES: &str = include_str!("../../examples/nodes/objects.yaml");
const RELEASES: &str = include_str!("../../examples/releases.json");
const GRAPH_DATA: [(&str, &str); 5] = [
    ("version", include_str!("../../examples/graph-data/version")),
    (
        "channels/4.20.yaml",
        include_str!("../../examples/graph-data/channels/4.20.yaml"),
    ),
    (
        "blocked-edges/4.20.2-etcd-data-loss.yaml",
        include_str!("../../examples/graph-data/blocked-edges/4.20.2-etcd-data-loss.yaml"),
    ),
    (
        "blocked-edges/4.20.3-aws-load-balancer.yaml",
        include_str!("../../examples/graph-data/blocked-edges/4.20.3-aws-load-balancer.yaml"),
    ),
    (
        "blocked-edges/4.20.4-ovn-slow-start.yaml",
        include_str!("../../examples/graph-data/blocked-edges/4.20.4-ovn-slow-start.yaml"),
    ),
];

/// Whose data an answer is about. Nobody must take the example's for their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Somebody named it.
    Named,
    Example,
}

impl Origin {
    /// Says so on the side, before anything else is said.
    pub(crate) fn tell(self) {
        self.tell_how("name your own with --graph-data and --releases");
    }

    /// Says so where other flags name one's own.
    pub(crate) fn tell_how(self, how: &str) {
        if self == Self::Example {
            aside(None, &format!("this uses the built-in example; {how}"));
        }
    }

    /// An answer for machines, with a mark if it is about the example. It is always an object: a list is its `entries`, as over HTTP.
    pub(crate) fn mark(self, answer: Value) -> String {
        let mut answer = match answer {
            Value::Array(entries) => json!({ "entries": entries }),
            other => other,
        };
        if let (Self::Example, Value::Object(fields)) = (self, &mut answer) {
            fields.insert("example".to_owned(), Value::Bool(true));
        }
        format!("{answer:#}\n")
    }
}

/// The example's graph data, with dates around that time.
pub(crate) fn graph_data(now: Timestamp) -> Result<Vec<SourceFile>, Finding> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let file = |(path, text): (&str, &str)| SourceFile::new(path, dated(text, today).into_bytes());
    Ok(GRAPH_DATA.into_iter().map(file).collect())
}

/// The example's fleet policy.
pub(crate) fn fleet_policy() -> SourceFile {
    SourceFile::new("organisation.yaml", FLEET_POLICY.as_bytes())
}

/// The example's clusters.
pub(crate) fn clusters() -> SourceFile {
    SourceFile::new("clusters.json", CLUSTERS.as_bytes())
}

/// The example's objects of one cluster.
pub(crate) fn cluster() -> Vec<SourceFile> {
    vec![SourceFile::new("objects.yaml", CLUSTER.as_bytes())]
}

/// The example's objects of a cluster with more nodes.
pub(crate) fn nodes() -> Vec<SourceFile> {
    vec![SourceFile::new("objects.yaml", NODES.as_bytes())]
}

/// The example's releases.
pub(crate) fn releases() -> SourceFile {
    SourceFile::new("releases.json", RELEASES.as_bytes())
}

/// Fills in `{day-1}` and its like.
fn dated(text: &str, today: Date) -> String {
    let mut parts = text.split("{day");
    let mut dated = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (days, rest) = part
            .split_once('}')
            .expect("the example's dates are closed");
        let days: i64 = days.parse().expect("the example's dates are whole days");
        dated.push_str(&today.saturating_add(days.days()).to_string());
        dated.push_str(rest);
    }
    dated
}

/// Writes the example to a directory.
pub(crate) fn write(directory: &Path, now: Timestamp) -> anyhow::Result<()> {
    if directory.is_file() {
        bail!(
            "{} is a file; name a directory that does not exist yet",
            directory.display()
        );
    }
    if directory
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some())
    {
        bail!(
            "{} is not empty; name a directory that does not exist yet",
            directory.display()
        );
    }
    let fleet = SourceFile {
        path: "fleet/organisation.yaml".to_owned(),
        ..fleet_policy()
    };
    let cluster = cluster().into_iter().map(|file| SourceFile {
        path: format!("cluster/{}", file.path),
        ..file
    });
    let others = [releases(), fleet, clusters()].into_iter().chain(cluster);
    let graph_data = graph_data(now)?;
    let graph_data = graph_data.into_iter().map(|file| SourceFile {
        path: format!("graph-data/{}", file.path),
        ..file
    });
    for file in others.chain(graph_data) {
        let path = directory.join(&file.path);
        let folder = path.parent().expect("below the directory");
        fs::create_dir_all(folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        fs::write(&path, &file.bytes)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let shown = directory.display();
    cli::print(&format!(
        "The example is in {shown}. Serve it, and change it while it is served:\n\n  towpath serve --graph-data {shown}/graph-data --releases {shown}/releases.json\n\n\
         Its fleet:\n\n  towpath fleet plan --fleet {shown}/fleet --clusters {shown}/clusters.json\n\n\
         One cluster's objects:\n\n  towpath ready {shown}/cluster\n"
    ))
}

/// What is printed when the example is served: the address, and what is worth trying.
pub(crate) fn welcome(address: SocketAddr, service: &Service) -> String {
    let Some(snapshot) = service.snapshot() else {
        return "The example could not be loaded; the log says why.\n".to_owned();
    };
    let scheme = service.scheme();
    let graph = format!("{scheme}://{address}/api/upgrades_info/graph?channel=stable-4.20");
    let (reached, waiting) = rollout_examples(snapshot.graph(), service.now());
    format!(
        "\nThe page: {scheme}://{address}/\n\n\
         Towpath serves its example. In stable-4.20, 4.20.4 is being rolled out.\n\n\
         \x20 # The rollout has reached this cluster: its edges include [5,6] (4.20.3 to 4.20.4).\n\
         \x20 curl -s '{graph}&platform=GCP&id={reached}'\n\n\
         \x20 # The rollout has not reached this one, and 4.20.3 is blocked on AWS: no edge leads to 5 or 6.\n\
         \x20 curl -s '{graph}&platform=AWS&id={waiting}'\n\n\
         \x20 # The progress of each rollout\n\
         \x20 curl -s {scheme}://{address}/metrics | grep phased_update_rollout\n\n\
         Press Ctrl-C to stop. To serve your own data: towpath serve --graph-data DIR --releases FILE\n\n"
    )
}

/// The first made-up cluster that has been offered 4.20.4, and the first that has not.
fn rollout_examples(graph: &Graph, now: Timestamp) -> (String, String) {
    let offered = |id: &str| {
        let cluster = Cluster {
            id: ClusterId::new(id).into(),
            platform: Fact::Unknown,
            channel: ChannelName::new("stable-4.20").expect("a valid name"),
            groups: Fact::Unknown,
            arch: Arch::default(),
        };
        let view = recommend(
            Policy::graph(),
            &Situation {
                graph,
                cluster: &cluster,
                now,
            },
        );
        view.offered().any(|(edge, _)| {
            let version = |id| graph.release(id).version.to_string();
            (version(edge.from), version(edge.to)) == ("4.20.3".to_owned(), "4.20.4".to_owned())
        })
    };
    let ids = (0..1000).map(|n| format!("{n:08}-0000-4000-8000-000000000000"));
    let (reached, waiting): (Vec<String>, Vec<String>) = ids.partition(|id| offered(id));
    let first = |ids: Vec<String>| ids.into_iter().next().unwrap_or_default();
    (first(reached), first(waiting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::finding::Place;
    use towpath_formats::graph::{data as format, releases as releases_format};

    #[test]
    fn the_example_is_without_findings_and_always_in_the_middle_of_a_rollout() {
        for now in [
            "2026-11-15T00:00Z",
            "2026-11-15T23:59:59Z",
            "2028-02-29T12:00Z",
        ] {
            let now: Timestamp = now.parse().unwrap();
            let (data, warnings) = format::read(&graph_data(now).unwrap()).unwrap();
            assert_eq!(warnings, []);
            let (releases, warnings) =
                releases_format::read(&Place::file("r"), &releases().bytes).unwrap();
            assert_eq!(warnings, []);
            let (graph, warnings) = Graph::build(data, releases);
            assert_eq!(warnings, []);
            let (reached, waiting) = rollout_examples(&graph, now);
            assert!(!reached.is_empty() && !waiting.is_empty(), "at {now}");
        }
    }

    #[test]
    fn what_is_written_can_be_read_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        write(
            &folder.path().join("demo"),
            "2026-11-15T00:00Z".parse().unwrap(),
        )
        .unwrap();
        let text =
            fs::read_to_string(folder.path().join("demo/graph-data/channels/4.20.yaml")).unwrap();
        assert!(text.contains("start: 2026-11-14T00:00Z") && !text.contains('{'));
        assert!(
            write(&folder.path().join("demo"), Timestamp::UNIX_EPOCH)
                .unwrap_err()
                .to_string()
                .contains("is not empty")
        );
    }
}
