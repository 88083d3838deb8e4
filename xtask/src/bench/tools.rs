//! The programs that a bench needs: towpath as it ships, wrk, nginx.

use std::path::PathBuf;

use anyhow::{Context, ensure};

pub(super) use crate::packages::program;
use crate::packages::{self, Package};
use crate::say::say;
use crate::workspace;

/// Each program, and the Debian package that has it.
const PACKAGES: [Package; 2] = [("wrk", "wrk"), ("nginx", "nginx-light")];

/// Builds towpath with a profile; returns the binary.
pub(crate) fn build_towpath(profile: &str) -> anyhow::Result<PathBuf> {
    say(format!("building towpath, profile {profile}"))?;
    let status = workspace::cargo(&[
        "build",
        "--quiet",
        "--package",
        "towpath",
        "--profile",
        profile,
    ])
    .status();
    ensure!(
        status.context("cargo cannot be run")?.success(),
        "towpath cannot be built; see above"
    );
    // cargo's one profile whose folder has another name
    let folder = if profile == "dev" { "debug" } else { profile };
    let binary = workspace::target_folder()?.join(folder).join("towpath");
    ensure!(
        binary.is_file(),
        "{}: there is no binary; check --profile",
        binary.display()
    );
    Ok(binary)
}

/// Sees to it that wrk and nginx are there.
pub(super) fn install_missing() -> anyhow::Result<()> {
    packages::install_missing(&PACKAGES)
}
