//! `cargo xtask layers`: checks the dependencies between layers, and that type names are unique within a crate.
//!
//! This file collects the facts; [`rules`] and [`names`] judge them.

mod names;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use crate::say::say;
use crate::{Outcome, workspace};
use names::Source;
use rules::{Crate, Dependency, Kind, Room, Violation};

/// Prints the violations.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    let crates = crates(&workspace::metadata()?, workspace::root())?;
    let mut violations = rules::violations(&crates);
    violations.extend(pinned_toolchains(workspace::root(), &crates));
    for one in &crates {
        violations.extend(names::violations(&sources(workspace::root(), one)?));
    }
    for violation in &violations {
        say(violation.to_string())?;
    }
    if !violations.is_empty() {
        return Ok(Outcome::Bad);
    }
    say(format!("{} crates, each in its layer", crates.len()))?;
    Ok(Outcome::Good)
}

fn crates(metadata: &Value, root: &Path) -> anyhow::Result<Vec<Crate>> {
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata names no packages")?;
    packages
        .iter()
        .map(|package| read_crate(package, root))
        .collect()
}

fn read_crate(package: &Value, root: &Path) -> anyhow::Result<Crate> {
    let name = package["name"]
        .as_str()
        .context("a package without a name")?;
    let manifest = Path::new(
        package["manifest_path"]
            .as_str()
            .context("a package without a manifest")?,
    );
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("{}: cannot be read", manifest.display()))?;
    let place = manifest
        .strip_prefix(root)
        .unwrap_or(manifest)
        .display()
        .to_string();
    let dependencies = package["dependencies"]
        .as_array()
        .context("a package without a list of dependencies")?;
    Ok(Crate {
        name: name.to_owned(),
        room: Room::of(&place),
        inherits_lints: rules::inherits_lints(&text),
        dependencies: dependencies
            .iter()
            .map(read_dependency)
            .collect::<anyhow::Result<_>>()?,
        manifest: place,
    })
}

fn read_dependency(dependency: &Value) -> anyhow::Result<Dependency> {
    let name = dependency["name"]
        .as_str()
        .context("a dependency without a name")?
        .to_owned();
    let kind = match dependency["kind"].as_str() {
        Some("dev") => Kind::Dev,
        // What builds a crate is as much a part of it as what it links.
        _ => Kind::Normal,
    };
    Ok(Dependency { name, kind })
}

/// The files below a crate's `src`, in order.
fn sources(root: &Path, one: &Crate) -> anyhow::Result<Vec<Source>> {
    let folder = Path::new(&one.manifest).with_file_name("src");
    let (mut sources, mut open) = (Vec::new(), vec![folder]);
    while let Some(path) = open.pop() {
        let place = || format!("{}: cannot be read", path.display());
        if root.join(&path).is_dir() {
            let entries = fs::read_dir(root.join(&path)).with_context(place)?;
            let names: Result<Vec<PathBuf>, _> = entries
                .map(|entry| entry.map(|entry| path.join(entry.file_name())))
                .collect();
            open.extend(names.with_context(place)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push(Source {
                text: fs::read_to_string(root.join(&path)).with_context(place)?,
                path: path.display().to_string(),
            });
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

/// Refuses a pinned toolchain, which rustup would download silently. `rust-version` and the builder choose the compiler.
fn pinned_toolchains(root: &Path, crates: &[Crate]) -> Vec<Violation> {
    let folders = crates
        .iter()
        .filter_map(|one| Path::new(&one.manifest).parent())
        .chain([Path::new("")]);
    let files = folders
        .flat_map(|folder| ["rust-toolchain", "rust-toolchain.toml"].map(|name| folder.join(name)));
    files
        .filter(|file| root.join(file).exists())
        .map(|file| Violation {
            place: file.display().to_string(),
            problem: "this pins a toolchain".into(),
            remedy: "remove it; `rust-version` in Cargo.toml says what is needed".into(),
        })
        .collect()
}
