//! The program before this one still fits: its agent with this service and the reverse, and its program on a store of this one.
//!
//! It builds the program of the release before from git, and runs the tests that need it (`app/tests/agent/previous.rs`). Before the first
//! release, a commit stands for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use clap::Args;

use crate::say::say;
use crate::{Outcome, kube_api, workspace};

/// Stands for the release before, until there is one: the last commit with schema 9 of the store, and without tokens that are renewed.
const BEFORE_RELEASES: &str = "1170e356";

/// What `previous` takes.
#[derive(Debug, Args)]
pub(crate) struct PreviousOptions {
    /// The commit or tag of the program before. [default: the newest tag v* before this commit]
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Take this program instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn run(options: &PreviousOptions) -> anyhow::Result<Outcome> {
    let binary = match &options.binary {
        Some(binary) => binary
            .canonicalize()
            .with_context(|| format!("{}: there is no such program", binary.display()))?,
        None => build(&commit(options.commit.as_deref())?)?,
    };
    let version = Command::new(&binary).arg("--version").output();
    let version = version.with_context(|| format!("{} cannot be run", binary.display()))?;
    let version = String::from_utf8_lossy(&version.stdout);
    say(format!("the program before is {}", version.trim()))?;
    kube_api::run()?;
    let mut tests = workspace::cargo(&["test", "-p", "towpath", "--test", "agent", "--"]);
    let tests = tests
        .args(["--ignored", "previous::", "--test-threads=1"])
        .env("TOWPATH_PREVIOUS", &binary);
    let passed = tests.status().context("cargo cannot be run")?;
    Ok(match passed.success() {
        true => Outcome::Good,
        false => Outcome::Bad,
    })
}

/// The whole name of the commit before.
fn commit(named: Option<&str>) -> anyhow::Result<String> {
    let tag = || git(&["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"]).ok();
    let named = match named {
        Some(named) => named.to_owned(),
        None => tag().unwrap_or_else(|| BEFORE_RELEASES.to_owned()),
    };
    git(&["rev-parse", "--verify", &format!("{named}^{{commit}}")])
        .with_context(|| format!("{named} is not in this repository; fetch its whole history"))
}

/// Builds the program of a commit, in a folder that is kept.
fn build(commit: &str) -> anyhow::Result<PathBuf> {
    let folder = workspace::target_folder()?.join("previous");
    let source = folder.join(commit);
    if !source.join("Cargo.toml").is_file() {
        fs::create_dir_all(&source)
            .with_context(|| format!("{} cannot be made", source.display()))?;
        unpack(commit, &source)?;
    }
    let target = folder.join("target");
    let built = Command::new("cargo")
        .args(["build", "--locked", "-p", "towpath", "--bin", "towpath"])
        .current_dir(&source)
        .env("CARGO_TARGET_DIR", &target)
        .env("TOWPATH_COMMIT", commit)
        .env(
            "SOURCE_DATE_EPOCH",
            git(&["show", "-s", "--format=%ct", commit])?,
        )
        .status();
    let built = built.context("cargo cannot be run")?;
    ensure!(built.success(), "{commit} cannot be built");
    let binary = target.join("debug/towpath");
    let kept = folder.join(format!("towpath-{commit}"));
    fs::copy(&binary, &kept).with_context(|| format!("{} cannot be copied", binary.display()))?;
    Ok(kept)
}

fn unpack(commit: &str, into: &Path) -> anyhow::Result<()> {
    let archive = Command::new("git")
        .args(["archive", "--format=tar", commit])
        .current_dir(workspace::root())
        .stdout(Stdio::piped())
        .spawn();
    let mut archive = archive.context("git cannot be run")?;
    let piped = archive.stdout.take().context("git has no output")?;
    let unpacked = Command::new("tar")
        .args(["--extract", "--directory"])
        .arg(into)
        .stdin(piped)
        .status();
    let unpacked = unpacked.context("tar cannot be run")?;
    let archived = archive.wait().context("git cannot be waited for")?;
    ensure!(
        unpacked.success() && archived.success(),
        "{commit} cannot be taken out of git"
    );
    Ok(())
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .context("git cannot be run")?;
    ensure!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
