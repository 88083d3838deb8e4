//! The programs that a bench needs: towpath as it ships, wrk, nginx.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::say::say;
use crate::workspace;

/// Each program, and the Debian package that has it.
const PACKAGES: [(&str, &str); 2] = [("wrk", "wrk"), ("nginx", "nginx-light")];

/// Builds towpath with a profile; returns the binary.
pub(super) fn build_towpath(profile: &str) -> anyhow::Result<PathBuf> {
    say(format!("building towpath, profile {profile}"))?;
    let status = workspace::cargo(&["build", "--quiet", "--package", "towpath", "--profile", profile]).status();
    ensure!(status.context("cargo cannot be run")?.success(), "towpath cannot be built; see above");
    // cargo's one profile whose folder has another name
    let folder = if profile == "dev" { "debug" } else { profile };
    let binary = workspace::target_folder()?.join(folder).join("towpath");
    ensure!(binary.is_file(), "{}: there is no binary; check --profile", binary.display());
    Ok(binary)
}

/// Sees to it that wrk and nginx are there.
pub(super) fn install_missing() -> anyhow::Result<()> {
    let missing: Vec<&str> =
        PACKAGES.iter().filter(|(name, _)| find(name).is_none()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let remedy = format!("install by hand: {}", missing.join(" "));
    say(format!("installing {}", missing.join(", ")))?;
    apt_get(&["update", "--quiet"]).with_context(|| remedy.clone())?;
    let install = ["install", "--quiet", "--yes", "--no-install-recommends"];
    apt_get(&[&install[..], &missing[..]].concat()).with_context(|| remedy.clone())?;
    for (name, _) in PACKAGES {
        program(name)?;
    }
    Ok(())
}

/// The path of a program that must be there.
pub(super) fn program(name: &str) -> anyhow::Result<PathBuf> {
    find(name).with_context(|| format!("{name} is not installed; install it, or correct PATH"))
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Servers are often not in the PATH of people.
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn apt_get(arguments: &[&str]) -> anyhow::Result<()> {
    // Run level 1 keeps Debian from starting a web server just because it was installed.
    let environment = [("DEBIAN_FRONTEND", "noninteractive"), ("RUNLEVEL", "1")];
    let status = Command::new("apt-get").args(arguments).envs(environment).status();
    let status = status.context("apt-get cannot be run: this is not Debian")?;
    ensure!(status.success(), "apt-get {} failed; see above", arguments.join(" "));
    Ok(())
}
