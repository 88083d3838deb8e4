//! A fleet for proofs: clusters in two sectors that share mutexes, and a graph in which each release leads to the next alone, so that
//! there is always somebody to start.

use std::ffi::OsString;
use std::fmt::Write;

use super::ground::{self, Ground};
use crate::bench::fleet_service::token_by;

/// The names of replicas, for their logs.
pub(super) const NAMES: [&str; 3] = ["towpath-0", "towpath-1", "towpath-2"];
pub(super) const ORGANISATION: &str = "proof";
/// How many clusters of a sector may hold one mutex, which is `maxParallelUpgrades`.
pub(super) const LIMITS: [(&str, usize); 2] = [("stage", 2), ("production", 1)];
/// How many mutexes there are. Clusters with the same remainder share one.
const MUTEXES: usize = 20;
const RELEASES: u32 = 200;
const CHANNEL: &str = "stable-4.9";
const END: &str = "2099-01-01T00:00:00Z";
/// 2026-01-01T00:00:00Z, to which the numbers of reports are added, in seconds.
pub(super) const EPOCH: u64 = 1_767_225_600;

/// The clusters, with their tokens.
pub(super) struct Clusters {
    tokens: Vec<String>,
    /// Reads the fleet.
    pub(super) reader: String,
    /// May do everything.
    pub(super) administrator: String,
}

impl Clusters {
    pub(super) fn write(ground: &Ground, clusters: usize) -> anyhow::Result<Self> {
        let scratch = &ground.scratch;
        scratch.write("graph-data/version", "1.1.0\n")?;
        scratch.write("graph-data/channels/4.9.yaml", channel())?;
        scratch.write("releases.json", releases())?;
        scratch.write("fleet/organisation.yaml", organisation(clusters))?;
        let token = |number| {
            let (id, name) = (id(number), name(number));
            token_by(ground::CLUSTER_KEY, ORGANISATION, &name, &id, END)
        };
        Ok(Self {
            tokens: (0..clusters).map(token).collect(),
            reader: ground.person_token("reader", &["viewer"])?,
            administrator: ground.person_token("ada", &["operator", "fleet-administrator"])?,
        })
    }

    /// What `serve` is started with.
    pub(super) fn arguments(&self, ground: &Ground, store: &str) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        for (flag, file) in [
            ("--graph-data", "graph-data"),
            ("--releases", "releases.json"),
            ("--fleet", "fleet"),
        ] {
            arguments.extend([flag.into(), ground.path(file).into_os_string()]);
        }
        arguments.extend([OsString::from("--store"), store.into()]);
        let rest = [
            "--requests-per-minute",
            "0",
            "--reports-per-minute",
            "0",
            "--pass-every",
            "2s",
            "--log",
            "info",
        ];
        arguments.extend(rest.map(OsString::from));
        arguments
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Where a cluster asks for its graph.
    pub(super) fn graph(&self, cluster: usize) -> String {
        format!(
            "/api/upgrades_info/graph?channel={CHANNEL}&id={}",
            id(cluster)
        )
    }

    /// A report of a cluster that runs its first release.
    pub(super) fn report(&self, cluster: usize, number: u64) -> (String, String, String) {
        self.report_of(cluster, number, 0)
    }

    /// The target, the token and the body of a report. The number is told as the time of an update, which the store keeps.
    pub(super) fn report_of(
        &self,
        cluster: usize,
        number: u64,
        patch: u32,
    ) -> (String, String, String) {
        let target = format!("/api/v1/clusters/{}/report", id(cluster));
        let body = format!(
            r#"{{"id":"r{number}","name":"{}","organisation":"{ORGANISATION}","version":"{}","channel":"{CHANNEL}","updates":[{{"to":"4.9.0","outcome":"completed","startedAt":"{}"}}]}}"#,
            name(cluster),
            version(patch),
            time(number),
        );
        (target, self.tokens[cluster].clone(), body)
    }
}

pub(super) fn id(cluster: usize) -> String {
    format!("00000000-0000-4000-8000-{cluster:012}")
}

/// The cluster with that id.
pub(super) fn number_of(id: &str) -> Option<usize> {
    id.rsplit('-').next()?.parse().ok()
}

/// The patch level of a version.
pub(super) fn patch_of(version: &str) -> Option<u32> {
    version.rsplit('.').next()?.parse().ok()
}

/// In which of [`LIMITS`] a cluster is.
pub(super) fn sector_of(cluster: usize) -> usize {
    cluster % 2
}

/// Which mutex a cluster takes.
pub(super) fn mutex_of(cluster: usize) -> usize {
    cluster / 2 % MUTEXES
}

fn name(cluster: usize) -> String {
    format!("cluster-{cluster}")
}

pub(super) fn version(patch: u32) -> String {
    format!("4.9.{patch}")
}

/// A second of January 2026.
fn time(number: u64) -> String {
    let (day, rest) = (number / 86_400 + 1, number % 86_400);
    assert!(day <= 31, "more reports than a month has seconds");
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

fn channel() -> String {
    let versions = (0..RELEASES).map(|patch| format!("- {}\n", version(patch)));
    format!(
        "name: {CHANNEL}\nversions:\n{}",
        versions.collect::<String>()
    )
}

fn releases() -> String {
    let node = |patch: u32| {
        format!(
            r#"{{"version":"{}+amd64","payload":"example.com/release@sha256:{patch:064x}","metadata":{{"url":"https://example.com/{patch}"}}}}"#,
            version(patch)
        )
    };
    let nodes: Vec<String> = (0..RELEASES).map(node).collect();
    let edges: Vec<String> = (1..RELEASES)
        .map(|patch| format!("[{},{patch}]", patch - 1))
        .collect();
    let (nodes, edges) = (nodes.join(","), edges.join(","));
    format!("{{\"nodes\":[{nodes}],\"edges\":[{edges}]}}\n")
}

fn organisation(clusters: usize) -> String {
    let mut text =
        format!("name: {ORGANISATION}\norgId: {ORGANISATION}\nunknownClusters: hold\nsectors:\n");
    let mut line =
        |line: String| writeln!(text, "{line}").expect("writing to a string does not fail");
    for (sector, most) in LIMITS {
        line(format!("- {{name: {sector}, maxParallelUpgrades: {most}}}"));
    }
    line("upgradePolicyClusters:".to_owned());
    for cluster in 0..clusters {
        let (sector, _) = LIMITS[sector_of(cluster)];
        let mutex = mutex_of(cluster);
        line(format!(
            "- name: {}\n  id: {}\n  upgradePolicy:\n    workloads: [web]\n    schedule: \"* * * * *\"\n    \
             conditions: {{soakDays: 0, sector: {sector}, mutexes: [m{mutex}]}}",
            name(cluster),
            id(cluster),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_time_and_a_cluster_is_its_id() {
        assert_eq!(time(0), "2026-01-01T00:00:00Z");
        assert_eq!(time(86_400 + 3_661), "2026-01-02T01:01:01Z");
        assert_eq!(number_of(&id(17)), Some(17));
        assert_eq!(patch_of(&version(12)), Some(12));
    }

    #[test]
    fn each_release_leads_to_the_next_alone() {
        let graph: serde_json::Value = serde_json::from_str(&releases()).unwrap();
        let edges = graph["edges"].as_array().unwrap();
        assert_eq!(edges.len() as u32, RELEASES - 1);
        assert!(
            edges
                .iter()
                .all(|edge| edge[0].as_u64().unwrap() + 1 == edge[1].as_u64().unwrap())
        );
    }
}
