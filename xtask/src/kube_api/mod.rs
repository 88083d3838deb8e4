//! `cargo xtask kube-apiserver`: a real Kubernetes API server, scheduler and controller manager for tests, built from Debian's source.
//!
//! Debian has the source of Kubernetes 1.20 and of everything in it, but no package of the servers. They are built once and kept
//! outside the repository; tests find them there, or where each one's variable says. Only those that are missing are built, from one
//! unpacked source.

mod build;
mod source;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::Outcome;
use crate::packages::{self, Package};
use crate::say::say;

/// A program of Kubernetes that tests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its folder below `cmd/`.
    name: &'static str,
    /// Its name in the cache; the tests know it too (`testing/kube/src/binaries.rs`).
    cached_as: &'static str,
    /// Where tests look for it first.
    variable: &'static str,
}

const PROGRAMS: [Program; 3] = [
    Program {
        name: "kube-apiserver",
        cached_as: "kube-apiserver-1.20.2",
        variable: "TOWPATH_KUBE_APISERVER",
    },
    Program {
        name: "kube-scheduler",
        cached_as: "kube-scheduler-1.20.2",
        variable: "TOWPATH_KUBE_SCHEDULER",
    },
    Program {
        name: "kube-controller-manager",
        cached_as: "kube-controller-manager-1.20.2",
        variable: "TOWPATH_KUBE_CONTROLLER_MANAGER",
    },
];

/// The other programs that tests run. Any installed kubectl will do.
const BESIDE: [Package; 2] = [("etcd", "etcd-server"), ("kubectl", "kubernetes-client")];

/// Installs or builds the servers and their tools, if needed.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    packages::install_missing(&BESIDE)?;
    let mut missing = Vec::new();
    for program in PROGRAMS {
        let place = program.place()?;
        match works(&place) {
            true => say(format!("{} is there", place.display()))?,
            false => missing.push((program, place)),
        }
    }
    if !missing.is_empty() {
        make(&missing)?;
    }
    Ok(Outcome::Good)
}

/// Where the programs are, each with the variable that tells tests so.
pub(crate) fn places() -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let places = PROGRAMS.map(|program| Ok((program.variable, program.place()?)));
    places.into_iter().collect()
}

impl Program {
    /// Where it is, or would be: outside the repository, so that no checkout builds it again.
    fn place(self) -> anyhow::Result<PathBuf> {
        match given(self.variable) {
            Some(program) => Ok(program.into()),
            None => Ok(cache_folder()?.join(self.cached_as)),
        }
    }
}

/// Where programs are kept that were built once for development.
pub(crate) fn cache_folder() -> anyhow::Result<PathBuf> {
    cache(given("XDG_CACHE_HOME"), given("HOME"))
}

fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn cache(cache: Option<OsString>, home: Option<OsString>) -> anyhow::Result<PathBuf> {
    let cache = cache
        .map(PathBuf::from)
        .or_else(|| home.map(|home| Path::new(&home).join(".cache")));
    Ok(cache
        .context("neither XDG_CACHE_HOME nor HOME is set; set one of them")?
        .join("towpath"))
}

/// Whether this is a program of our Kubernetes, whole.
fn works(program: &Path) -> bool {
    let version = Command::new(program).arg("--version").output();
    version.is_ok_and(|output| {
        output.status.success() && output.stdout.starts_with(b"Kubernetes v1.20.2")
    })
}

/// Builds them in a folder of the cache, and moves each to its place whole.
fn make(missing: &[(Program, PathBuf)]) -> anyhow::Result<()> {
    let cache = missing[0].1.parent().context("the server has no folder")?;
    fs::create_dir_all(cache).with_context(|| format!("{}: cannot be made", cache.display()))?;
    let work = cache.join(format!("building-{}", std::process::id()));
    let names: Vec<&str> = missing.iter().map(|(program, _)| program.name).collect();
    say(format!(
        "building {} once, into {}: about seven minutes of CPU, 2 GB of disk meanwhile",
        names.join(", "),
        cache.display()
    ))?;
    let moved = source::fetch(&work).and_then(|source| {
        build::prepare(&source)?;
        let mut missing = missing.iter();
        missing.try_for_each(|(program, place)| make_one(program.name, place, &source, &work))
    });
    // Go leaves nothing read-only here: its cache is in the folder, modules are off.
    let removed =
        fs::remove_dir_all(&work).with_context(|| format!("{}: cannot be removed", work.display()));
    moved.and(removed)
}

fn make_one(name: &str, place: &Path, source: &Path, work: &Path) -> anyhow::Result<()> {
    say(format!("building {name}"))?;
    let built = build::program(name, source, work)?;
    ensure!(works(&built), "the {name} that was built does not run");
    let cannot = || format!("{}: cannot be put there", place.display());
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::rename(&built, place).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_people_have_theirs() {
        let of = |given: Option<&str>, home: Option<&str>| {
            cache(given.map(Into::into), home.map(Into::into))
        };
        assert_eq!(of(Some("/c"), Some("/h")).unwrap(), Path::new("/c/towpath"));
        assert_eq!(
            of(None, Some("/h")).unwrap(),
            Path::new("/h/.cache/towpath")
        );
        assert!(
            of(None, None)
                .unwrap_err()
                .to_string()
                .contains("set one of them")
        );
    }

    #[test]
    fn something_else_is_not_the_server() {
        assert!(!works(Path::new("/bin/true")));
        assert!(!works(Path::new("/nowhere/kube-apiserver")));
    }
}
