//! `towpath ready` on the objects of real clusters, and our table of removed APIs beside a list that others have made.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each is listed as ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use towpath_core::cluster::rules::REMOVALS;

/// Clusters by the start of their files' names, where they shall go, and what stands in the way: each hop, whether it is ready, and the codes.
const CLUSTERS: [(&str, &str, &[&str]); 7] = [
    // Only the version was given, and it says itself what is missing.
    (
        "4.12.16-longest-not-recommended",
        "4.13",
        &[
            "4.12.16 -> 4.13 refused LifecyclesNotGiven NotUpgradeable ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven",
        ],
    ),
    // 4.14.0 → 4.14.1 is under way, the workers are paused, and the nodes do not say what kubelets they have.
    (
        "4.14.1-paused-worker-pool",
        "4.15",
        &[
            "4.14.1 -> 4.15 refused KubeletUnknown LifecyclesNotGiven NodeStateUnknown ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven UpdateInProgress",
        ],
    ),
    (
        "4.14.1-paused-worker-pool",
        "4.14.11",
        &["4.14.1 -> 4.14.11 ready"],
    ),
    // Two ClusterOperators object; the ClusterVersion only repeats them.
    (
        "4.14.1-degraded",
        "4.15",
        &[
            "4.14.1 -> 4.15 refused ClusterFailing ClusterFailing ClusterFailing ClusterFailing ClusterFailing KubeletUnknown LifecyclesNotGiven NodeStateUnknown NotUpgradeable NotUpgradeable ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven UpdateInProgress",
        ],
    ),
    // Its etcd is degraded. A patch may be the cure, so it is ready, with notes.
    (
        "4.14.1-degraded",
        "4.14.11",
        &[
            "4.14.1 -> 4.14.11 ready PatchWhileFailing PatchWhileFailing PatchWhileFailing PatchWhileFailing PatchWhileFailing",
        ],
    ),
    // On its way to 4.17, with a kubelet of 4.16: two behind 4.18, which allows them.
    (
        "4.16.0-single-node",
        "4.19",
        &[
            "4.17.0-ec.0 -> 4.18 refused ClusterFailing LifecyclesNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven UpdateInProgress",
            "4.18 -> 4.19 refused AdminAckAhead AdminAckAhead AdminAckAhead ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven",
        ],
    ),
    (
        "4.16.27-degraded-monitoring",
        "4.17",
        &[
            "4.16.27 -> 4.17 refused ClusterFailing LifecyclesNotGiven NotUpgradeable ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven ObjectsNotGiven",
        ],
    ),
];

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let ignored = data.is_none();
    let path = data.unwrap_or_default();
    let mut trials: Vec<Trial> = CLUSTERS
        .into_iter()
        .map(|(cluster, to, expected)| {
            let path = path.clone();
            Trial::test(format!("{cluster}_to_{to}"), move || {
                judges(&path, cluster, to, expected)
            })
        })
        .collect();
    let whole = path.clone();
    trials.push(Trial::test(
        "objects_of_several_clusters_are_refused",
        move || refuses_several(&whole),
    ));
    trials.push(Trial::test("our_removals_are_others_too", move || {
        removals(&path)
    }));
    let trials = trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(ignored))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn judges(data: &Path, cluster: &str, to: &str, expected: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for entry in std::fs::read_dir(data.join("clusters"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(cluster) {
            std::fs::copy(entry.path(), folder.path().join(name))?;
        }
    }
    let (code, text) = ready(folder.path(), &["--to", to, "--output", "json"])?;
    let told: Value = serde_json::from_str(&text)?;
    let hops: Vec<String> = told["hops"]
        .as_array()
        .ok_or("no hops")?
        .iter()
        .map(hop)
        .collect();
    let is_ready = told["ready"] == true;
    match hops == expected && code == i32::from(!is_ready) {
        true => Ok(()),
        false => Err(format!("exit {code}: {hops:#?}").into()),
    }
}

fn hop(hop: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let answer = if hop["ready"] == true {
        "ready"
    } else {
        "refused"
    };
    let reasons = hop["reasons"].as_array().cloned().unwrap_or_default();
    let codes: String = reasons
        .iter()
        .map(|reason| format!(" {}", text(&reason["code"])))
        .collect();
    format!(
        "{} -> {} {answer}{codes}",
        text(&hop["from"]),
        text(&hop["to"])
    )
}

fn refuses_several(data: &Path) -> Result<(), Failed> {
    let (code, text) = ready(&data.join("clusters"), &[])?;
    match code == 2 && text.contains("ClusterVersion version is given twice") {
        true => Ok(()),
        false => Err(format!("exit {code}: {text}").into()),
    }
}

fn ready(folder: &Path, arguments: &[&str]) -> Result<(i32, String), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    let done = command
        .arg("ready")
        .arg(folder)
        .args(arguments)
        .args(["--now", "2026-08-21T12:00Z"])
        .output()?;
    let text = String::from_utf8(done.stdout)? + &String::from_utf8(done.stderr)?;
    Ok((done.status.code().ok_or("it was killed")?, text))
}

/// Every removal in our table stands in theirs, in the same minor version; and what theirs has more by now is only what nobody sends requests to.
fn removals(data: &Path) -> Result<(), Failed> {
    /// Kinds that are no resources: bodies of requests, files, and sub-resources.
    const NO_RESOURCES: [&str; 9] = [
        "admissionreviews",
        "apigroupdiscoveries",
        "conversionreviews",
        "deploymentrollbacks",
        "evictions",
        "events",
        "jobtemplates",
        "policies",
        "scales",
    ];
    let listed: Value =
        serde_json::from_slice(&std::fs::read(data.join("kubernetes-api-removals.json"))?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let key = |one: &Value| {
        [
            text(&one["group"]),
            text(&one["version"]),
            text(&one["resource"]),
        ]
    };
    let theirs: BTreeMap<[String; 3], String> = listed
        .as_array()
        .ok_or("a list")?
        .iter()
        .map(|one| (key(one), text(&one["removed"])))
        .collect();
    let ours: BTreeMap<[String; 3], String> = REMOVALS
        .iter()
        .map(|one| {
            (
                [one.group, one.version, one.resource].map(str::to_owned),
                one.removed_in.to_string(),
            )
        })
        .collect();
    let minor = |removed: &str| {
        removed
            .strip_prefix("1.")
            .and_then(|minor| minor.parse::<u32>().ok())
    };
    let matters = |key: &[String; 3], removed: &str| {
        let is_resource = !NO_RESOURCES.contains(&key[2].as_str());
        // What is announced for later than 4.22's Kubernetes may still move.
        is_resource && minor(removed).is_some_and(|minor| minor <= 35)
    };
    let differing = ours
        .iter()
        .filter(|(key, removed)| theirs.get(*key) != Some(removed));
    let missing = theirs
        .iter()
        .filter(|(key, removed)| !ours.contains_key(*key) && matters(key, removed));
    let wrong: Vec<String> = differing
        .chain(missing)
        .map(|(key, removed)| format!("{key:?} {removed}"))
        .collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n").into()),
    }
}
