//! Installs programs that tests and benches need, from Debian's packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::say::say;

/// A program, and the Debian package that has it.
pub(crate) type Package = (&'static str, &'static str);

/// Installs these programs if needed.
pub(crate) fn install_missing(packages: &[Package]) -> anyhow::Result<()> {
    let missing: Vec<&str> = packages
        .iter()
        .filter(|(name, _)| find(name).is_none())
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    get(&missing)?;
    for (name, _) in packages {
        program(name)?;
    }
    Ok(())
}

/// Installs the packages of these files if needed. They are not in the PATH.
pub(crate) fn install(packages: &[&str], files: &[&Path]) -> anyhow::Result<()> {
    if files.iter().all(|file| file.exists()) {
        return Ok(());
    }
    get(packages)?;
    let missing: Vec<_> = files
        .iter()
        .filter(|file| !file.exists())
        .map(|file| file.display().to_string())
        .collect();
    ensure!(
        missing.is_empty(),
        "{} did not bring {}",
        packages.join(" "),
        missing.join(", ")
    );
    Ok(())
}

/// The path of a program that must be there.
pub(crate) fn program(name: &str) -> anyhow::Result<PathBuf> {
    find(name).with_context(|| format!("{name} is not installed; install it, or correct PATH"))
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Servers are often not in the PATH of people.
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

fn get(packages: &[&str]) -> anyhow::Result<()> {
    let remedy = format!("install by hand: {}", packages.join(" "));
    say(format!("installing {}", packages.join(", ")))?;
    apt_get(&["update", "--quiet"]).with_context(|| remedy.clone())?;
    let install = ["install", "--quiet", "--yes", "--no-install-recommends"];
    apt_get(&[&install[..], packages].concat()).with_context(|| remedy)
}

pub(crate) fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    // Run level 1 keeps Debian from starting a server just because it was installed.
    let environment = [("DEBIAN_FRONTEND", "noninteractive"), ("RUNLEVEL", "1")];
    let status = Command::new("apt-get")
        .args(arguments)
        .envs(environment)
        .status();
    let status = status.context("apt-get cannot be run: this is not Debian")?;
    ensure!(
        status.success(),
        "apt-get {} failed; see above",
        arguments.join(" ")
    );
    Ok(())
}
