//! What has to be mirrored, on the real data.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use towpath_core::cluster::Cluster;
use towpath_core::finding::Place;
use towpath_core::graph::{ChannelName, Graph, ReleaseId, Situation, recommend};
use towpath_core::mirror::reachable_graph::{Limits, ReachableGraph};
use towpath_core::mirror::smallest::{SizeProof, smallest};
use towpath_core::path::RiskPolicy;
use towpath_core::rules::Policy;
use towpath_core::version::Arch;
use towpath_formats::graph::{data, releases};
use towpath_formats::minors::built_in;
use towpath_testing_graphs::oc_mirror;

const NOW: &str = "2026-08-21T12:00Z";

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: &str, test: fn(&Path) -> Result<(), Failed>| {
        let path = data.clone().unwrap_or_default();
        Trial::test(format!("mirror::{name}"), move || test(&path))
            .with_ignored_flag(data.is_none())
    };
    let trials = vec![
        trial("eus_to_eus_from_4_12_28", eus_to_eus),
        trial(
            "two_eus_channels_do_not_lose_4_15",
            nothing_is_lost_between_channels,
        ),
        trial(
            "the_smallest_set_for_every_release_of_the_eus_channels",
            smallest_for_a_fleet,
        ),
        trial(
            "oc_mirror_brings_exactly_what_its_files_say",
            oc_mirror_follows,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn eus_to_eus(data: &Path) -> Result<(), Failed> {
    let found = asked(data, &["4.12.28", "4.14", "--via", "eus-4.14"])?;
    let versions = listed(&found);
    let minors: Vec<&str> = versions
        .iter()
        .filter_map(|version| version.rsplit_once('.'))
        .map(|(minor, _)| minor)
        .collect();
    assert_eq!(minors.last(), Some(&"4.14"), "{versions:?}");
    assert!(
        minors.contains(&"4.13") && versions.len() <= 4,
        "{versions:?}"
    );
    every_hop_is_recommended(data, &found)
}

/// oc-mirror loses 4.15 here, because the head of eus-4.14 is not in eus-4.16.
fn nothing_is_lost_between_channels(data: &Path) -> Result<(), Failed> {
    let found = asked(data, &["4.12.0", "4.16", "--via", "eus-4.14,eus-4.16"])?;
    let versions = listed(&found);
    for minor in ["4.13.", "4.14.", "4.15.", "4.16."] {
        assert!(
            versions.iter().any(|version| version.starts_with(minor)),
            "no {minor} in {versions:?}"
        );
    }
    every_hop_is_recommended(data, &found)
}

/// Each file of v2 brings its release and nothing else, by oc-mirror's own rules.
fn oc_mirror_follows(data: &Path) -> Result<(), Failed> {
    let (graph, now) = (load(data)?, NOW.parse::<Timestamp>()?);
    let (mut entries_seen, mut together_exact) = (0, 0);
    let typical = [
        ["4.12.28", "4.16", "eus"],
        ["4.12.0", "4.16", "eus-4.14,eus-4.16"],
        ["4.14.10", "4.18", "eus"],
        ["4.14.0", "4.16.68", "eus-4.16"],
        ["4.15.0", "4.17", "stable"],
        ["4.16.0", "4.20", "stable"],
    ];
    for [from, to, via] in typical {
        let found = asked(data, &[from, to, "--via", via])?;
        let into = tempfile::tempdir()?;
        let folder = into.path().display().to_string();
        let arguments = [from, to, "--via", via, "--into", &folder];
        command(data, &arguments, "oc-mirror-v2").status()?;
        let mut entries = Vec::new();
        for file in std::fs::read_dir(into.path())? {
            let text = std::fs::read_to_string(file?.path())?;
            let field = |name: &str| {
                let found: Vec<&str> = text
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix(name))
                    .collect();
                assert_eq!(found.len(), 1, "{name} in {text}");
                found[0].to_owned()
            };
            let entry: oc_mirror::Entry = (field("- name: "), field("maxVersion: ").parse()?);
            assert_eq!(field("minVersion: "), entry.1.to_string());
            let brought =
                oc_mirror::brought(&graph, &Arch::default(), std::slice::from_ref(&entry), now);
            assert_eq!(brought, Ok([entry.1.clone()].into()), "{entry:?}");
            entries.push(entry);
        }
        let mut versions: Vec<String> = entries
            .iter()
            .map(|(_, version)| version.to_string())
            .collect();
        let mut expected = listed(&found);
        versions.sort();
        expected.sort();
        assert_eq!(versions, expected, "{from} to {to} by {via}");
        entries_seen += entries.len();
        let together = oc_mirror::brought(&graph, &Arch::default(), &entries, now);
        let all = entries.into_iter().map(|(_, version)| version).collect();
        together_exact += usize::from(together == Ok(all));
    }
    assert!(entries_seen >= typical.len() * 2, "{entries_seen}");
    assert!(together_exact < typical.len(), "one file would do as well");
    Ok(())
}

/// Everybody on any release of three EUS channels, to each 4.16 in turn: always exact, never larger than the best ways together.
fn smallest_for_a_fleet(data: &Path) -> Result<(), Failed> {
    let (graph, now) = (load(data)?, NOW.parse::<Timestamp>()?);
    let channels: Vec<ChannelName> = ["eus-4.12", "eus-4.14", "eus-4.16"]
        .iter()
        .filter_map(|name| ChannelName::new(name))
        .collect();
    let cluster = Cluster::anonymous(channels[0].clone(), Arch::default());
    let ways = ReachableGraph::of(
        &graph,
        &channels,
        &cluster,
        &RiskPolicy::Never,
        &built_in(),
        now,
    );
    let is_target = |id: &&ReleaseId| graph.release(**id).version.minor() == 16;
    let (mut targets, mut most_sources, mut sizes) = (0, 0, Vec::new());
    for target in ways.members().iter().filter(is_target) {
        let towards = ways.towards(*target, Limits::default());
        let sources: BTreeSet<ReleaseId> = ways
            .members()
            .iter()
            .filter(|id| towards.has(**id))
            .copied()
            .collect();
        let found = smallest(&ways, &sources, *target, &BTreeSet::new());
        assert_eq!(found.proof, SizeProof::Smallest, "{target:?}");
        let inside = ways.towards(
            *target,
            Limits {
                within: Some(&found.releases),
                without: None,
            },
        );
        assert!(
            sources.iter().all(|source| inside.has(*source)),
            "somebody does not get to {target:?}"
        );
        let together = sources
            .iter()
            .filter_map(|id| towards.from(*id))
            .flat_map(|plan| plan.hops)
            .map(|hop| hop.to);
        sizes.push((
            found.releases.len(),
            together.collect::<BTreeSet<ReleaseId>>().len(),
        ));
        (targets, most_sources) = (targets + 1, most_sources.max(sources.len()));
    }
    assert!(
        targets > 40 && most_sources > 200,
        "{targets} targets, {most_sources} sources"
    );
    assert!(
        sizes
            .iter()
            .all(|(smallest, together)| smallest <= together),
        "{sizes:?}"
    );
    assert!(
        sizes.iter().any(|(smallest, together)| smallest < together),
        "it never helps: {sizes:?}"
    );
    Ok(())
}

/// Each hop is what the service itself offers in its channel, without any condition.
fn every_hop_is_recommended(data: &Path, found: &Value) -> Result<(), Failed> {
    let (graph, now) = (load(data)?, NOW.parse::<Timestamp>()?);
    let hops = found["ways"][0]["hops"].as_array().ok_or("hops")?;
    assert!(!hops.is_empty());
    for hop in hops {
        let channel = hop["channel"]
            .as_str()
            .and_then(ChannelName::new)
            .ok_or("a channel")?;
        let cluster = Cluster::anonymous(channel, Arch::default());
        let view = recommend(
            Policy::graph(),
            &Situation {
                graph: &graph,
                cluster: &cluster,
                now,
            },
        );
        let version = |id: ReleaseId| Value::from(graph.release(id).version.to_string());
        let mut offered = view
            .offered()
            .filter(|(_, verdict)| verdict.reasons.is_empty());
        assert!(offered.any(|(edge, _)| version(edge.from) == hop["from"] && version(edge.to) == hop["to"]), "{hop}");
    }
    Ok(())
}

fn asked(data: &Path, arguments: &[&str]) -> Result<Value, Failed> {
    let done = command(data, arguments, "json").output()?;
    if !done.status.success() {
        return Err(format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        )
        .into());
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}

fn command(data: &Path, arguments: &[&str], output: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command
        .arg("mirror")
        .args(arguments)
        .args(["--output", output, "--now", NOW]);
    command
        .arg("--graph-data")
        .arg(data.join("graph-data"))
        .arg("--releases")
        .arg(data.join("releases-amd64.json"));
    command
}

fn listed(found: &Value) -> Vec<String> {
    let releases = found["releases"].as_array().into_iter().flatten();
    releases
        .filter_map(|release| Some(release["version"].as_str()?.to_owned()))
        .collect()
}

fn load(data: &Path) -> Result<Graph, Failed> {
    let files = towpath_sources::read_directory(&data.join("graph-data"), data::is_part)
        .map_err(|f| f.to_string())?;
    let (graph_data, _) = data::read(&files).map_err(|findings| format!("{findings:#?}"))?;
    let bytes = std::fs::read(data.join("releases-amd64.json"))?;
    let (releases, _) = releases::read(&Place::file("releases"), &bytes)
        .map_err(|findings| format!("{findings:#?}"))?;
    Ok(Graph::build(graph_data, releases).0)
}
