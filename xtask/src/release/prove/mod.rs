//! `cargo xtask prove …`: what ships is used as its users use it. It takes minutes, so CI does not run it; docs/install.md has its output.

mod chroot;
mod image;
mod package;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use clap::Subcommand;

use crate::Outcome;

#[derive(Debug, Subcommand)]
pub(crate) enum Proof {
    /// Install the Debian package into a fresh Debian 12, and run its service there as its user.
    Package {
        /// Use this program instead of building one.
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
    },
    /// Push the images to a registry, pull them, and run what is in them as their user.
    Image {
        /// Use this program instead of building one.
        #[arg(long, value_name = "FILE")]
        binary: Option<PathBuf>,
    },
}

pub(crate) fn run(proof: &Proof) -> anyhow::Result<Outcome> {
    match proof {
        Proof::Package { binary } => package::prove(binary.as_deref()),
        Proof::Image { binary } => image::prove(binary.as_deref()),
    }
}

/// Runs a program that must succeed.
fn done(command: &mut Command) -> anyhow::Result<Output> {
    let output = command
        .output()
        .with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    ensure!(
        output.status.success(),
        "{} failed: {}{}",
        command.get_program().display(),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output)
}

/// Both have the same bytes.
fn ensure_same(one: &Path, other: &Path) -> anyhow::Result<()> {
    let names = |folder: &Path| -> anyhow::Result<Vec<PathBuf>> {
        let files = super::dist::files(folder)?;
        files
            .iter()
            .map(|file| Ok(file.strip_prefix(folder)?.to_owned()))
            .collect()
    };
    ensure!(
        names(one)? == names(other)?,
        "two runs made different files"
    );
    for name in names(one)? {
        let is_same = super::read(&one.join(&name))? == super::read(&other.join(&name))?;
        ensure!(is_same, "two runs made different bytes: {}", name.display());
    }
    Ok(())
}
