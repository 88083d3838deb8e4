//! `graph diff`, `graph rollouts` and `graph lint --base` on the real graph data, as a release administrator would see them.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: &str, test: fn(&Path) -> Result<(), Failed>| {
        let path = data.clone().unwrap_or_default();
        Trial::test(name, move || test(&path)).with_ignored_flag(data.is_none())
    };
    let trials = vec![
        trial(
            "a_risk_fewer_and_a_release_more",
            a_risk_fewer_and_a_release_more,
        ),
        trial(
            "taking_the_release_away_again_is_refused",
            taking_the_release_away_again_is_refused,
        ),
        trial(
            "data_of_schema_1_has_no_windows",
            data_of_schema_1_has_no_windows,
        ),
        trial(
            "a_block_that_somebody_copied_by_hand_comes_out_the_same",
            a_block_that_somebody_copied_by_hand_comes_out_the_same,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn a_risk_fewer_and_a_release_more(data: &Path) -> Result<(), Failed> {
    let before = before(data)?;
    let (before, after) = (before.path().display().to_string(), data.join("graph-data"));
    let after = after.display().to_string();
    check(
        data,
        &["graph", "diff", &before, &after, "--details"],
        "\
5 channels change for clients, as of 2026-08-21 12:00Z.

 CHANNEL         ARCH   RELEASES  EDGES  OTHER RISKS
 candidate-4.18  amd64         -      -           16
 eus-4.18        amd64         -      -           15
 fast-4.18       amd64         -      -           15
 stable-4.18     amd64         -      -           15
 stable-4.20     amd64        +1    +58            -

candidate-4.18 (amd64)
  4.18.10: 16 edges (from 4.17.11 to 4.17.26) have other risks: now also KubeletStartFailingFromRestoreconTimeout

eus-4.18, fast-4.18, stable-4.18 (amd64)
  4.18.10: 15 edges (from 4.17.11 to 4.17.26) have other risks: now also KubeletStartFailingFromRestoreconTimeout

stable-4.20 (amd64)
  4.20.33 appears at once
  4.20.33: 58 edges (from 4.19.15 to 4.20.32) appear at once
",
    )
}

fn a_block_that_somebody_copied_by_hand_comes_out_the_same(data: &Path) -> Result<(), Failed> {
    let before = before(data)?;
    let folder = before.path().join("blocked-edges");
    // The last two of 47; the very last has `fixedIn`.
    let paths = ["4.15.47", "4.15.48"]
        .map(|release| folder.join(format!("{release}-OVNIPsecPausedMCPConnectivity.yaml")));
    let by_hand = std::fs::read_to_string(&paths[0])?;
    for path in &paths {
        std::fs::remove_file(path)?;
    }
    let graph_data = before.path().display().to_string();
    let extend = ["graph", "extend", "OVNIPsecPausedMCPConnectivity"];
    let (text, code) = run(
        data,
        &[&extend[..], &["--graph-data", &graph_data, "--write"]].concat(),
    )?;
    let copied = std::fs::read_to_string(&paths[0])?;
    match (
        code,
        copied == by_hand,
        text.contains("Nothing else changes"),
    ) {
        (Some(0), true, true) if paths[1].exists() => Ok(()),
        _ => Err(format!("exit {code:?}, {text}\n{copied}").into()),
    }
}

fn taking_the_release_away_again_is_refused(data: &Path) -> Result<(), Failed> {
    let before = before(data)?;
    let (new, base) = (
        before.path().display().to_string(),
        data.join("graph-data").display().to_string(),
    );
    let (text, code) = run(data, &["graph", "lint", &new, "--base", &base])?;
    let wanted = "4.20.33 is no longer in stable-4.20: clusters that run it would get VersionNotFound instead of updates, and \
        58 edges shown to 100.0 % of the fleet would go";
    match (
        text.matches(wanted).count(),
        text.matches("of the fleet").count(),
        code,
    ) {
        (1, 1, Some(1)) => Ok(()),
        _ => Err(format!("exit {code:?}, {text}").into()),
    }
}

fn data_of_schema_1_has_no_windows(data: &Path) -> Result<(), Failed> {
    let graph_data = data.join("graph-data").display().to_string();
    check(
        data,
        &["graph", "rollouts", "--graph-data", &graph_data],
        "\
0 windows running, 0 to come, as of 2026-08-21 12:00Z. Times are UTC.
",
    )
}

/// The real data without 4.20.33 in stable-4.20, and without one risk of 4.18.10.
fn before(data: &Path) -> Result<tempfile::TempDir, Failed> {
    let copy = tempfile::tempdir()?;
    for folder in ["", "channels", "blocked-edges", "raw"] {
        let from = data.join("graph-data").join(folder);
        std::fs::create_dir_all(copy.path().join(folder))?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                std::fs::copy(
                    entry.path(),
                    copy.path().join(folder).join(entry.file_name()),
                )?;
            }
        }
    }
    std::fs::remove_file(
        copy.path()
            .join("blocked-edges/4.18.10-KubeletStartFailingFromRestoreconTimeout.yaml"),
    )?;
    let channel = copy.path().join("channels/stable-4.20.yaml");
    let text = std::fs::read_to_string(&channel)?;
    std::fs::write(&channel, text.replace("- 4.20.33\n", ""))?;
    Ok(copy)
}

/// What a command prints at a fixed clock is what is expected.
fn check(data: &Path, arguments: &[&str], expected: &str) -> Result<(), Failed> {
    let (text, code) = run(data, arguments)?;
    if code == Some(0) && text == expected {
        Ok(())
    } else {
        Err(format!("exit {code:?}\n{text}").into())
    }
}

/// Runs a command on the real releases: what it prints, and its exit code.
fn run(data: &Path, arguments: &[&str]) -> Result<(String, Option<i32>), Failed> {
    let releases = data.join("releases-amd64.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command
        .args(arguments)
        .arg("--releases")
        .arg(releases)
        .args(["--now", "2026-08-21T12:00Z"]);
    let done = command.output()?;
    Ok((
        String::from_utf8(done.stdout)? + &String::from_utf8(done.stderr)?,
        done.status.code(),
    ))
}
