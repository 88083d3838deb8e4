//! Files: a fleet as people and other systems write it, and how long `towpath fleet plan` takes on it as a whole.
//!
//! There is no bar here: the bars are for passes, and what it costs to read the files is stated beside them.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use super::clients;
use super::scratch::Scratch;
use super::table::Table;
use crate::say::say;

const SIZES: [usize; 2] = [10_000, 100_000];
const CANDIDATES: usize = 20;
const NOW: &str = "2026-01-05T12:00:00Z";
const SECTORS: [&str; 5] = ["dev", "stage", "canary", "prod", "late"];
const WORKLOADS: [&str; 8] = ["web", "db", "batch", "ai", "edge", "mail", "log", "etl"];
/// How many policies there are, each by a label.
pub(super) const POLICIES: usize = 200;
/// The organisation's id.
pub(super) const ORGANISATION: &str = "bench";

/// Measures each size.
pub(super) fn measure(binary: &Path, scratch: &Scratch) -> anyhow::Result<()> {
    let mut table = Table::new(["clusters", "list", "`towpath fleet plan`"]);
    for clusters in SIZES {
        let fleet = scratch.folder().join(format!("fleet-{clusters}"));
        super::scratch::write(&fleet.join("organisation.yaml"), organisation())?;
        let list = cluster_list(clusters);
        let file = scratch.write(&format!("clusters-{clusters}.json"), &list)?;
        let mut command = Command::new(binary);
        command
            .args(["fleet", "plan", "--now", NOW, "--fleet"])
            .arg(&fleet)
            .arg("--clusters")
            .arg(&file);
        let begun = Instant::now();
        let output = command
            .current_dir(scratch.folder())
            .stdin(Stdio::null())
            .output();
        let output = output.context("towpath cannot be run")?;
        let seconds = begun.elapsed().as_secs_f64();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() && errors.is_empty(),
            "towpath fleet plan: {}\n{errors}",
            output.status
        );
        let size = format!("{:.1} MiB", list.len() as f64 / f64::from(1 << 20));
        table.row([clusters.to_string(), size, format!("{seconds:.2} s")]);
    }
    say(format!(
        "\nfiles: one organisation file and a list of clusters, {CANDIDATES} candidates each, read, decided and shown\n{table}"
    ))
}

/// An organisation of five sectors in a row, with policies by label. Nothing has soaked, so nothing starts.
pub(super) fn organisation() -> String {
    let mut text = format!(
        "name: {ORGANISATION}\norgId: {ORGANISATION}\nunknownClusters: serve\nblockedVersions:\n- ^.*-rc\\..*$\nsectors:\n"
    );
    for (at, sector) in SECTORS.iter().enumerate() {
        let after = SECTORS[..at]
            .last()
            .map(|name| format!(", dependencies: [{{name: {name}}}]"))
            .unwrap_or_default();
        line(&mut text, format_args!("- {{name: {sector}{after}}}"));
    }
    line(
        &mut text,
        format_args!("upgradePolicyAllowedWorkloads: [{}]", WORKLOADS.join(", ")),
    );
    let mutexes: Vec<String> = (0..25).map(|number| format!("m{number}")).collect();
    line(
        &mut text,
        format_args!("upgradePolicyAllowedMutexes: [{}]", mutexes.join(", ")),
    );
    line(&mut text, format_args!("upgradePolicyDefaults:"));
    for number in 0..POLICIES {
        let (at, workload) = (
            number % SECTORS.len(),
            number / SECTORS.len() % WORKLOADS.len(),
        );
        let (first, second) = (
            WORKLOADS[workload],
            WORKLOADS[(workload + 1) % WORKLOADS.len()],
        );
        let (soak_days, sector, mutex) = (at + 1, SECTORS[at], number % 25);
        line(
            &mut text,
            format_args!(
                "- name: p{number}\n  matchLabels: {{policy: \"{number}\"}}\n  upgradePolicy:"
            ),
        );
        line(
            &mut text,
            format_args!(
                "    workloads: [{first}, {second}]\n    schedule: \"{} * * * *\"",
                number % 60
            ),
        );
        line(
            &mut text,
            format_args!(
                "    conditions: {{soakDays: {soak_days}, sector: {sector}, mutexes: [m{mutex}]}}"
            ),
        );
    }
    text
}

/// A list of clusters, each with its own twenty candidates, as the core's bench has them.
pub(super) fn cluster_list(clusters: usize) -> String {
    let versions: Vec<String> = (0..120)
        .map(|n| format!("4.{}.{}", 12 + n / 30, n % 30))
        .collect();
    let mut text = String::from("{\"clusters\":[");
    for number in 0..clusters {
        let at = number * 7 % (versions.len() - CANDIDATES - 1);
        let step = 1 + number % ((versions.len() - at - 1) / CANDIDATES).max(1);
        let offers: Vec<String> = (1..=CANDIDATES)
            .map(|n| format!("\"{}\"", versions[at + n * step]))
            .collect();
        let (comma, id) = (
            if number == 0 { "" } else { ",\n" },
            clients::known_id(number),
        );
        write!(
            text,
            r#"{comma}{{"id":"{id}","name":"cluster-{number}","organisation":"{ORGANISATION}","version":"{}","labels":{{"policy":"{}"}},"availableUpgrades":[{}]}}"#,
            versions[at],
            number % POLICIES,
            offers.join(",")
        )
        .expect("writing to a string does not fail");
    }
    text.push_str("]}\n");
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_json_with_twenty_candidates_for_each_cluster() {
        let list: serde_json::Value = serde_json::from_str(&cluster_list(300)).unwrap();
        let clusters = list["clusters"].as_array().unwrap();
        assert_eq!(clusters.len(), 300);
        assert!(
            clusters.iter().all(
                |cluster| cluster["availableUpgrades"].as_array().unwrap().len() == CANDIDATES
            )
        );
        assert_eq!(clusters[201]["labels"]["policy"], "1");
    }

    #[test]
    fn an_organisation_has_its_sectors_in_a_row() {
        let text = organisation();
        assert!(
            text.contains(
                "sectors:\n- {name: dev}\n- {name: stage, dependencies: [{name: dev}]}\n"
            )
        );
        assert_eq!(text.matches("matchLabels").count(), POLICIES);
    }
}
