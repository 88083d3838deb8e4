//! Lint of the real graph data: what is found there, counted by code. Every kind was looked at by hand, with the files.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it this test runs; elsewhere it is listed
//! as ignored.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

const SUMMARY: &str = "76 channels, 1,717 blocks: 0 errors, 48 warnings";

/// What is there, and true:
const COUNTS: [(&str, u64); 7] = [
    // The url of 4.1.15 begins with a blank.
    ("bad-release-url", 1),
    // Tombstones for 4.3.16, which no channel has.
    ("idle-tombstone", 2),
    // Risks whose last file has no fixedIn; among them a gap at 4.15.7, between 4.15.6 and 4.15.8.
    ("risk-ends", 15),
    // DTK_4_16_58_KernelMismatch
    ("risk-name-style", 1),
    // 4.3.5, 4.3.8, 4.3.9 and 4.3.10 in fast-4.4, against their tombstones in candidate-4.4.
    ("tombstone-promoted", 4),
    // 4.14.47, 4.16.31 and 4.18.0 were blocked and never published; 4.2.10-s390x and its like are not of amd64.
    ("unknown-release", 17),
    // Lists of 4.3 to 4.5 that were written backwards, and 4.14.70 before 4.14.69 in fast-4.15.
    ("versions-out-of-order", 8),
];

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let ignored = data.is_none();
    let test = move || lint(&data.unwrap_or_default());
    let trial = Trial::test("lint_of_the_real_graph_data", test).with_ignored_flag(ignored);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
}

fn lint(data: &std::path::Path) -> Result<(), Failed> {
    let run = |output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
        command.args([
            "graph",
            "lint",
            "--now",
            "2026-08-21T12:00Z",
            "--output",
            output,
            "--releases",
        ]);
        command
            .arg(data.join("releases-amd64.json"))
            .arg(data.join("graph-data"))
            .output()
    };
    let report: Value = serde_json::from_slice(&run("json")?.stdout)?;
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for finding in report["findings"].as_array().ok_or("no findings")? {
        *counts
            .entry(finding["code"].as_str().unwrap_or_default())
            .or_default() += 1;
    }
    if counts != BTreeMap::from(COUNTS) {
        return Err(format!("the findings are others now: {counts:?}").into());
    }
    let text = run("text")?;
    match String::from_utf8(text.stdout)?.lines().last() {
        Some(SUMMARY) if text.status.success() => Ok(()),
        other => Err(format!("the summary is another now: {other:?}, {}", text.status).into()),
    }
}
