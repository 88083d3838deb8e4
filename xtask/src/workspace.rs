//! The workspace: its folder, and its cargo metadata.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace")
}

/// A cargo command in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// `cargo metadata` of the members, without their dependencies.
pub(crate) fn metadata() -> anyhow::Result<Value> {
    let mut command = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(output.status.success(), "cargo metadata failed; see above");
    serde_json::from_slice(&output.stdout)
        .context("cargo metadata is not the JSON that it should be")
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names no target folder")?;
    Ok(PathBuf::from(folder))
}
