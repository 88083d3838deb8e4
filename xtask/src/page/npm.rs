//! The packages from npm: installed as the lock file says, and again only when it or node has changed.
//!
//! No package may run a script while it is installed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

use crate::say::say;

/// Beside the packages: for which lock file and node they were installed.
const MARK: &str = "node_modules/.installed-for";

/// Sees to it that `node_modules` is what the lock file says.
pub(super) fn install(folder: &Path) -> anyhow::Result<()> {
    let lock = folder.join("package-lock.json");
    let written = std::fs::read_to_string(&lock)
        .with_context(|| format!("{} cannot be read", lock.display()))?;
    ensure!(
        !written.contains("\"resolved\""),
        "{}: it names addresses of a registry (\"resolved\"); set omit-lockfile-registry-resolved=true in .npmrc beside it, and make it again",
        lock.display()
    );
    let wanted = format!("{} {}", digest(&written), node_version()?);
    let mark = folder.join(MARK);
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    say("npm ci")?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(folder);
    let status = npm
        .status()
        .context("npm cannot be run; install Debian's npm")?;
    ensure!(status.success(), "npm ci failed; see above");
    std::fs::write(&mark, wanted).with_context(|| format!("{} cannot be written", mark.display()))
}

/// Runs a program of the packages. False: it found something, which it has printed.
pub(super) fn run(folder: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<bool> {
    let path = folder.join("node_modules/.bin").join(program);
    let status = Command::new(&path)
        .args(arguments)
        .current_dir(folder)
        .status();
    let status = status.with_context(|| format!("{} cannot be run", path.display()))?;
    Ok(status.success())
}

fn node_version() -> anyhow::Result<String> {
    let output = Command::new("node").arg("--version").output();
    let output = output.context("node cannot be run; install Debian's nodejs")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text.as_bytes());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
