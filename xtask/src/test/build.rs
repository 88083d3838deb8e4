//! Lints and compiles together, so that dependencies are compiled once.
//!
//! `cargo clippy` only checks dependencies, and `cargo test` then compiles all of them again. Clippy's compiler can do both:
//! cargo uses it for the members of the workspace, and the normal compiler for the rest.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::outcome;
use crate::{Outcome, workspace};

/// Clippy's arguments, in the variable and the form in which `cargo clippy` passes them on.
const CLIPPY_ARGUMENTS: (&str, &str) = (
    "CLIPPY_ARGS",
    "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
);

/// Which crates are built and tested.
pub(super) enum Scope {
    Workspace,
    CoreAndFormats,
}

impl Scope {
    fn arguments(&self) -> &'static [&'static str] {
        match self {
            Self::Workspace => &["--workspace"],
            Self::CoreAndFormats => &["--package=towpath-core", "--package=towpath-formats"],
        }
    }
}

/// A program that cargo built from tests.
pub(super) struct TestBinary {
    /// `towpath-core/audit`
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// The folder of its crate, where cargo would run it.
    pub(super) folder: PathBuf,
}

/// Lints and compiles everything, even what no test needs.
pub(super) fn all_targets(scope: &Scope) -> anyhow::Result<Outcome> {
    outcome(cargo("build", scope)?.arg("--all-targets"))
}

/// The tests, compiled.
pub(super) fn test_binaries(scope: &Scope) -> anyhow::Result<Vec<TestBinary>> {
    let format = "--message-format=json-render-diagnostics";
    let output = cargo("test", scope)?
        .args(["--quiet", "--no-run", format])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo cannot be run")?;
    ensure!(
        output.status.success(),
        "the tests do not compile; see above"
    );
    let text = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    let messages = text.lines().map(serde_json::from_str::<Value>);
    let messages: Vec<Value> = messages.collect::<Result<_, _>>()?;
    let binaries: Vec<TestBinary> = messages.iter().filter_map(test_binary).collect();
    ensure!(
        !binaries.is_empty(),
        "cargo names no test binary; its messages may have changed: see `cargo test --no-run {format}`"
    );
    Ok(binaries)
}

fn test_binary(message: &Value) -> Option<TestBinary> {
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = PathBuf::from(message["manifest_path"].as_str()?)
        .parent()?
        .to_owned();
    // `path+file:///…/core#towpath-core@0.1.0`, or `…/app#0.1.0` where the folder has the crate's name.
    let package = message["package_id"].as_str()?.rsplit(['#', '/']).next()?;
    let package = package.split('@').next()?;
    Some(TestBinary {
        name: format!("{package}/{}", message["target"]["name"].as_str()?),
        program: message["executable"].as_str()?.into(),
        folder,
    })
}

/// A cargo command whose compiler for our crates is clippy's.
fn cargo(command: &str, scope: &Scope) -> anyhow::Result<Command> {
    let mut command = workspace::cargo(&[command]);
    let (name, value) = CLIPPY_ARGUMENTS;
    command
        .args(scope.arguments())
        .env("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?)
        .env(name, value);
    Ok(command)
}

/// Clippy's compiler, which lies beside cargo.
fn clippy_driver() -> anyhow::Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .context("rustc cannot be run")?;
    let folder = String::from_utf8(output.stdout).context("the toolchain's folder is not UTF-8")?;
    let driver = PathBuf::from(folder.trim_end()).join("bin/clippy-driver");
    ensure!(
        driver.exists(),
        "{} is missing; run `rustup component add clippy`",
        driver.display()
    );
    Ok(driver)
}
