//! Builds programs of Kubernetes from Debian's source.
//!
//! Two things differ from upstream. The vendored `reflect2` crashes with Go 1.19 at the first create, so Debian's newer one
//! replaces it. And the API server's `pkg/generated/openapi` is not in the archive, so it is generated as upstream's Makefile does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::packages;

const PACKAGES: [&str; 2] = ["golang-1.19-go", "golang-github-modern-go-reflect2-dev"];
const GO: &str = "/usr/lib/go-1.19/bin/go";
const REFLECT2: &str = "/usr/share/gocode/src/github.com/modern-go/reflect2";
const OPENAPI: &str = "k8s.io/kubernetes/pkg/generated/openapi";
/// Packages with this mark are described in the API that the server publishes.
const MARK: &str = "+k8s:openapi-gen=";
/// Deeper than any package of Kubernetes.
const MAX_DEPTH: usize = 24;

/// Installs the compiler, and makes the source one that it can build.
pub(super) fn prepare(source: &Path) -> anyhow::Result<()> {
    packages::install(&PACKAGES, &[Path::new(GO), Path::new(REFLECT2)])?;
    replace_reflect2(source)
}

/// Builds a program of `cmd/`; the answer is where it is. What several programs need is compiled once.
pub(super) fn program(name: &str, source: &Path, work: &Path) -> anyhow::Result<PathBuf> {
    if name == DESCRIBES_ITS_API {
        describe_api(source, work)?;
    }
    let (built, folder) = (work.join(name), format!("./cmd/{name}"));
    let version = "-s -w -X k8s.io/kubernetes/vendor/k8s.io/component-base/version.gitVersion=v1.20.2 \
                   -X k8s.io/kubernetes/vendor/k8s.io/component-base/version.gitMajor=1 -X k8s.io/kubernetes/vendor/k8s.io/component-base/version.gitMinor=20";
    let arguments = ["build", "-ldflags", version, "-o"];
    go(source, work, &arguments, &built, &folder)?;
    Ok(built)
}

/// The only program that contains the description of the API.
const DESCRIBES_ITS_API: &str = "kube-apiserver";

fn describe_api(source: &Path, work: &Path) -> anyhow::Result<()> {
    let generator = work.join("openapi-gen");
    let package = "./vendor/k8s.io/kube-openapi/cmd/openapi-gen";
    go(source, work, &["build", "-o"], &generator, package)?;
    generate(source, work, &generator)
}

fn replace_reflect2(source: &Path) -> anyhow::Result<()> {
    let vendored = source.join("vendor/github.com/modern-go/reflect2");
    let place = || format!("{}: cannot be replaced", vendored.display());
    fs::remove_dir_all(&vendored).with_context(place)?;
    fs::create_dir(&vendored).with_context(place)?;
    for entry in fs::read_dir(REFLECT2).with_context(|| format!("{REFLECT2}: cannot be read"))? {
        let entry = entry.with_context(place)?;
        fs::copy(entry.path(), vendored.join(entry.file_name())).with_context(place)?;
    }
    Ok(())
}

/// Generates the description of the API.
fn generate(source: &Path, work: &Path, generator: &Path) -> anyhow::Result<()> {
    let mut packages = Vec::new();
    for folder in ["pkg", "plugin", "cmd", "staging/src/k8s.io"] {
        marked(&source.join(folder), MAX_DEPTH, &mut packages)?;
    }
    let mut names: Vec<String> = packages
        .iter()
        .filter_map(|folder| package(folder, source))
        .collect();
    names.sort();
    ensure!(
        !names.is_empty(),
        "{}: no package asks for a description",
        source.display()
    );
    let mut command = Command::new(generator);
    command.args([
        "--logtostderr",
        "-i",
        &names.join(","),
        "-p",
        OPENAPI,
        "-O",
        "zz_generated.openapi",
    ]);
    command
        .args([
            "-h",
            "vendor/k8s.io/code-generator/hack/boilerplate.go.txt",
            "-r",
        ])
        .arg(work.join("violations"));
    run(command, source, work)
}

/// The folders with a file that has the mark.
fn marked(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    ensure!(depth > 0, "{}: nested too deeply", folder.display());
    let place = || format!("{}: cannot be read", folder.display());
    let mut is_marked = false;
    for entry in fs::read_dir(folder).with_context(place)? {
        let entry = entry.with_context(place)?;
        let (path, kind) = (entry.path(), entry.file_type().with_context(place)?);
        match (
            kind.is_dir(),
            path.extension().is_some_and(|end| end == "go"),
        ) {
            (true, _) => marked(&path, depth - 1, found)?,
            (false, true) => {
                is_marked |= fs::read_to_string(&path)
                    .with_context(place)?
                    .contains(MARK)
            }
            (false, false) => {}
        }
    }
    if is_marked {
        found.push(folder.to_owned());
    }
    Ok(())
}

/// The name of a package that belongs into the server's description. What is staged is seen as vendored.
fn package(folder: &Path, source: &Path) -> Option<String> {
    let path = folder.strip_prefix(source).ok()?.to_str()?;
    let path = path
        .strip_prefix("staging/src/")
        .map_or_else(|| path.to_owned(), |staged| format!("vendor/{staged}"));
    let is_example = ["vendor/k8s.io/code-generator/", "vendor/k8s.io/sample-"]
        .iter()
        .any(|head| path.starts_with(head));
    (!is_example).then(|| format!("k8s.io/kubernetes/{path}"))
}

fn go(
    source: &Path,
    work: &Path,
    arguments: &[&str],
    output: &Path,
    package: &str,
) -> anyhow::Result<()> {
    let mut command = Command::new(GO);
    command.args(arguments).arg(output).arg(package);
    run(command, source, work)
}

fn run(mut command: Command, source: &Path, work: &Path) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::iter::once(PathBuf::from("/usr/lib/go-1.19/bin")).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).context("PATH cannot be used")?;
    command.current_dir(source).env("PATH", path);
    command
        .env("GOPATH", work.join("go"))
        .env("GOCACHE", work.join("go-cache"));
    command.envs([
        ("GO111MODULE", "off"),
        ("CGO_ENABLED", "0"),
        ("GOFLAGS", ""),
        ("GOTOOLCHAIN", "local"),
    ]);
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("{name} cannot be run"))?;
    ensure!(status.success(), "{name} failed; see above");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staged_packages_are_vendored_and_examples_left_out() {
        let named = |path: &str| package(&Path::new("/s").join(path), Path::new("/s"));
        assert_eq!(
            named("pkg/apis/core").as_deref(),
            Some("k8s.io/kubernetes/pkg/apis/core")
        );
        let staged = named("staging/src/k8s.io/api/core/v1");
        assert_eq!(
            staged.as_deref(),
            Some("k8s.io/kubernetes/vendor/k8s.io/api/core/v1")
        );
        assert_eq!(named("staging/src/k8s.io/sample-apiserver/pkg/apis"), None);
    }
}
