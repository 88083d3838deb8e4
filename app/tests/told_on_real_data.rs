//! What `explain` and `graph migrate` print about the real graph data, at a fixed clock. `UPDATE_EXPECT=1` writes it anew.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere they are listed
//! as ignored. Of an explanation the part before the risks is kept: what they are about is the data's to say.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

const NOW: &str = "2026-08-21T12:00Z";

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let ignored = data.is_none();
    let data = data.unwrap_or_default();
    let of = |name: &'static str, test: fn(&Path) -> Result<(), Failed>| {
        let data = data.clone();
        Trial::test(name, move || test(&data)).with_ignored_flag(ignored)
    };
    let trials = vec![
        of("explain_on_the_real_data", explain),
        of("migrate_tells_of_the_real_data", migrate),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn explain(data: &Path) -> Result<(), Failed> {
    let mut told = String::new();
    for question in [
        "--channel stable-4.14 --from 4.13.40",
        "--channel stable-4.9 --from 4.8.5 --to 4.9.0",
        "--channel eus-4.6 --from 4.6.1",
    ] {
        let mut command = towpath("explain", data);
        let text = printed(
            command
                .args(["--now", NOW, "--platform", "AWS"])
                .args(question.split(' ')),
        )?;
        let before_risks = text.split("\nThe risks").next().unwrap_or_default();
        told.push_str(&format!("$ towpath explain {question}\n{before_risks}\n"));
    }
    is_golden("explain-real-data.txt", &told)
}

fn migrate(data: &Path) -> Result<(), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command.args([
        "graph",
        "migrate",
        "--dry-run",
        "--now",
        "2026-08-21T12:00:00Z",
        "--rollout",
        "patch=P2D",
        "--out",
        "nowhere",
    ]);
    let text = printed(command.arg(data.join("graph-data")))?;
    // What follows depends on whether the data lies in a repository.
    is_golden(
        "migrate-real-data.txt",
        text.split("\nStarts:").next().unwrap_or_default(),
    )
}

fn towpath(command: &str, data: &Path) -> Command {
    let mut towpath = Command::new(env!("CARGO_BIN_EXE_towpath"));
    towpath
        .arg(command)
        .arg("--graph-data")
        .arg(data.join("graph-data"));
    towpath
        .arg("--releases")
        .arg(data.join("releases-amd64.json"));
    towpath
}

fn printed(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    match output.stderr.is_empty() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned().into()),
    }
}

fn is_golden(name: &str, told: &str) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, told)?;
    }
    match std::fs::read_to_string(&path)? == told {
        true => Ok(()),
        false => Err(format!(
            "{} says something else; this is what was told:\n{told}",
            path.display()
        )
        .into()),
    }
}
