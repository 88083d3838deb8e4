//! `cargo xtask supply-chain`: whether we are built only from what `deny.toml` allows.
//!
//! cargo-deny judges, at one version, which is built once and kept outside the repository. Licences, sources and duplicates need nothing but
//! the crates. Known vulnerabilities are in a database on the internet: where it cannot be reached, that check is left out, and the output says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::Value;

use crate::say::say;
use crate::{Outcome, kube_api, workspace};

const VERSION: &str = "0.20.2";
/// Where to look for the program first.
const VARIABLE: &str = "TOWPATH_CARGO_DENY";

#[derive(Debug, Default, Args)]
pub(crate) struct SupplyChain {
    /// Fail if the database of vulnerabilities cannot be reached, instead of leaving that check out.
    #[arg(long)]
    require_advisories: bool,
}

/// Checks everything that can be checked here.
pub(crate) fn run(options: &SupplyChain) -> anyhow::Result<Outcome> {
    let program = program()?;
    // An exception that is not needed any more is a warning.
    let allowed = deny(
        &program,
        &["check", "--deny=warnings", "licenses", "bans", "sources"],
    )
    .status();
    let is_allowed = allowed.context("cargo-deny cannot be run")?.success();
    let output = deny(&program, &["--format=json", "check", "advisories"]).output();
    let known = Advisories::of(&output.context("cargo-deny cannot be run")?);
    say(known.to_string())?;
    let is_known_good = match known {
        Advisories::None => true,
        Advisories::Found(_) => false,
        Advisories::LeftOut(_) => !options.require_advisories,
    };
    Ok(match is_allowed && is_known_good {
        true => Outcome::Good,
        false => Outcome::Bad,
    })
}

fn deny(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .arg("--locked")
        .args(arguments)
        .current_dir(workspace::root());
    command
}

/// What is known against the crates that we use.
#[derive(Debug, PartialEq, Eq)]
enum Advisories {
    None,
    /// Sentences about what was found.
    Found(Vec<String>),
    /// The check could not be made, and why.
    LeftOut(String),
}

impl Advisories {
    /// A run of `cargo deny --format=json check advisories`. A check that was made ends with a summary.
    fn of(output: &Output) -> Self {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let messages = |severity: &str| -> Vec<String> {
            let of_kind = lines.iter().filter(|line| {
                line["fields"]["severity"] == severity || line["fields"]["level"] == severity
            });
            of_kind
                .filter_map(|line| line["fields"]["message"].as_str().map(str::to_owned))
                .collect()
        };
        let is_whole = lines.iter().any(|line| line["type"] == "summary");
        match (is_whole, output.status.success()) {
            (true, true) => Self::None,
            (true, false) => Self::Found(messages("error")),
            (false, _) => {
                let why = messages("ERROR").pop().unwrap_or_else(|| text.into_owned());
                // What follows are git's own words.
                Self::LeftOut(
                    why.lines()
                        .next()
                        .unwrap_or("cargo-deny says nothing")
                        .to_owned(),
                )
            }
        }
    }
}

impl std::fmt::Display for Advisories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => write!(f, "advisories ok"),
            Self::Found(sentences) => write!(
                f,
                "advisories FAILED: {}\nrun `cargo deny check advisories` for more; update the crate, or add a reason to deny.toml",
                sentences.join("; ")
            ),
            Self::LeftOut(why) => write!(
                f,
                "advisories LEFT OUT: the database of vulnerabilities cannot be read here: {why}\nrun `cargo xtask supply-chain --require-advisories` where the internet can be reached"
            ),
        }
    }
}

/// The program: named, kept, or built.
fn program() -> anyhow::Result<PathBuf> {
    if let Some(program) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        let program = PathBuf::from(program);
        ensure!(
            works(&program),
            "{} is not cargo-deny {VERSION}; correct {VARIABLE}",
            program.display()
        );
        return Ok(program);
    }
    let folder = kube_api::cache_folder()?.join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if !works(&program) {
        build(&folder)?;
        ensure!(
            works(&program),
            "the cargo-deny that was built does not run"
        );
    }
    Ok(program)
}

fn works(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("cargo-deny {VERSION}")
    })
}

/// Builds it without optimisation: it runs for seconds.
fn build(folder: &Path) -> anyhow::Result<()> {
    say(format!(
        "building cargo-deny {VERSION} once, into {}",
        folder.display()
    ))?;
    let version = format!("={VERSION}");
    let status = workspace::cargo(&[
        "install",
        "cargo-deny",
        "--locked",
        "--debug",
        "--version",
        &version,
    ])
    .arg("--root")
    .arg(folder)
    .env("CARGO_PROFILE_DEV_DEBUG", "false")
    .stdin(Stdio::null())
    .status()
    .context("cargo cannot be run")?;
    ensure!(
        status.success(),
        "cargo-deny cannot be built, see above; build it elsewhere and name it in {VARIABLE}"
    );
    Ok(())
}

#[cfg(test)]
mod tests;
