//! What ships: `cargo xtask dist` (a folder with the program and all that belongs to it), `image` (OCI images) and `package` (for Debian).
//!
//! The same commit gives the same bytes: times are the commit's, owners and orders are fixed, and the program knows no path of this machine.
//! docs/install.md says what is where. `--binary` takes a program that was built before, so that tests need no build of 15 minutes.

mod archive;
mod binary;
mod debian;
mod dist;
mod image;
mod layout;
mod package;
mod prove;
mod root;
mod sbom;
mod tag;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::workspace;
pub(crate) use dist::DistOptions;
pub(crate) use prove::Proof;
pub(crate) use tag::TagOptions;

/// What `image` and `package` take.
#[derive(Debug, Args)]
pub(crate) struct ReleaseOptions {
    /// Ship this program instead of building one. It is not for a release if it was not built by `dist`.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The folder to write to. It must be empty or not exist yet.
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
}

pub(crate) use dist::run as dist;
pub(crate) use image::run as image;
pub(crate) use package::run as package;
pub(crate) use prove::run as prove;
pub(crate) use tag::run as tag;

/// What a release is called, and when its sources were written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Release {
    version: String,
    /// Seconds since 1970.
    epoch: u64,
}

impl Release {
    fn of_workspace() -> anyhow::Result<Self> {
        let metadata = workspace::metadata()?;
        let packages = metadata["packages"].as_array();
        let version = packages
            .into_iter()
            .flatten()
            .find(|one| one["name"] == "towpath");
        let version = version.and_then(|one| one["version"].as_str());
        Ok(Self {
            version: version
                .context("the workspace has no package `towpath`")?
                .to_owned(),
            epoch: epoch()?,
        })
    }
}

/// The time of everything that is written: named in `SOURCE_DATE_EPOCH`, else the commit's.
fn epoch() -> anyhow::Result<u64> {
    const REMEDY: &str = "set SOURCE_DATE_EPOCH to the time of the sources, in seconds since 1970";
    if let Ok(named) = std::env::var("SOURCE_DATE_EPOCH") {
        return named
            .parse()
            .with_context(|| format!("SOURCE_DATE_EPOCH={named} is not a time; {REMEDY}"));
    }
    let mut git = std::process::Command::new("git");
    let output = git
        .args(["show", "-s", "--format=%ct", "HEAD"])
        .current_dir(workspace::root())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            text.parse()
                .with_context(|| format!("git says {text:?}; {REMEDY}"))
        }
        _ => bail!("this is not a git repository; {REMEDY}"),
    }
}

/// A folder for what is written. Nothing that lies there is overwritten.
fn new_folder(folder: &Path) -> anyhow::Result<()> {
    let is_free = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
    ensure!(
        is_free,
        "{} is not empty; name another folder with --into, or remove it",
        folder.display()
    );
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
}

fn write(file: &Path, bytes: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs::write(file, bytes).with_context(|| format!("{} cannot be written", file.display()))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// JSON as a file has it.
fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

#[cfg(test)]
mod tests;
