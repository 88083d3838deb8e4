//! `cargo xtask kube-apiserver`: a real Kubernetes API server for tests, built from Debian's source.
//!
//! Debian has the source of Kubernetes 1.20 and of everything in it, but no package of the server. It is built once (eight minutes of CPU) and kept outside the
//! repository; tests find it there, or where [`VARIABLE`] says.

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

/// Where tests look for the server first.
pub(crate) const VARIABLE: &str = "TOWPATH_KUBE_APISERVER";
/// Its name in the cache; the tests know it too (`testing/kube/src/binaries.rs`).
const NAME: &str = "kube-apiserver-1.20.2";

/// The other programs that tests run. Any installed kubectl will do.
const BESIDE: [Package; 2] = [("etcd", "etcd-server"), ("kubectl", "kubernetes-client")];

/// Installs or builds the server and its tools, if needed.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    packages::install_missing(&BESIDE)?;
    let server = cached()?;
    match works(&server) {
        true => say(format!("{} is there", server.display()))?,
        false => make(&server)?,
    }
    Ok(Outcome::Good)
}

/// Where the server is, or would be: outside the repository, so that no checkout builds it again.
pub(crate) fn cached() -> anyhow::Result<PathBuf> {
    if let Some(server) = given(VARIABLE) {
        return Ok(server.into());
    }
    cache_folder().map(|folder| folder.join(NAME))
}

/// Where programs are kept that were built once for development.
pub(crate) fn cache_folder() -> anyhow::Result<PathBuf> {
    folder(given("XDG_CACHE_HOME"), given("HOME"))
}

fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn folder(cache: Option<OsString>, home: Option<OsString>) -> anyhow::Result<PathBuf> {
    let cache = cache
        .map(PathBuf::from)
        .or_else(|| home.map(|home| Path::new(&home).join(".cache")));
    Ok(cache
        .context("neither XDG_CACHE_HOME nor HOME is set; set one of them")?
        .join("towpath"))
}

/// Whether this is the server, whole.
fn works(server: &Path) -> bool {
    let version = Command::new(server).arg("--version").output();
    version.is_ok_and(|output| {
        output.status.success() && output.stdout.starts_with(b"Kubernetes v1.20.2")
    })
}

/// Builds it in a folder beside its place, and moves it there whole.
fn make(server: &Path) -> anyhow::Result<()> {
    let cache = server.parent().context("the server has no folder")?;
    fs::create_dir_all(cache).with_context(|| format!("{}: cannot be made", cache.display()))?;
    let work = cache.join(format!("building-{}", std::process::id()));
    say(format!(
        "building {} once: eight minutes of CPU, 2 GB of disk meanwhile",
        server.display()
    ))?;
    let built = source::fetch(&work).and_then(|source| build::server(&source, &work));
    let moved = built.and_then(|built| {
        ensure!(works(&built), "the server that was built does not run");
        fs::rename(&built, server)
            .with_context(|| format!("{}: cannot be put there", server.display()))
    });
    // Go leaves nothing read-only here: its cache is in the folder, modules are off.
    let removed =
        fs::remove_dir_all(&work).with_context(|| format!("{}: cannot be removed", work.display()));
    moved.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_people_have_theirs() {
        let of = |cache: Option<&str>, home: Option<&str>| {
            folder(cache.map(Into::into), home.map(Into::into))
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
