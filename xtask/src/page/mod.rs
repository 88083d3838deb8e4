//! `cargo xtask page`: is `ui/dist` what `ui/src` builds, is it well typed, and is it small enough?
//!
//! `dist` is committed, so `cargo build` needs no node. Here it is built again, and compared byte for byte.
//! `cargo xtask page build` writes it. What browsers show is tested by `app/tests/page.rs`.

mod dist;
mod npm;
mod pictures;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Subcommand;

use crate::packages::{self, Package};
use crate::say::say;
use crate::{Outcome, workspace};

/// What builds the page and shows it.
const PACKAGES: [Package; 3] = [("chromium", "chromium"), ("node", "nodejs"), ("npm", "npm")];
/// Without any font Chromium draws no text.
const FONTS: (&str, &str) = (
    "fonts-liberation",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
);

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Page {
    /// Write ui/dist.
    Build,
    /// Take pictures of every screen into docs/page.
    Screenshots,
}

pub(crate) fn run(page: Option<Page>) -> anyhow::Result<Outcome> {
    match page {
        None => check(),
        Some(Page::Build) => {
            packages::install_missing(&PACKAGES[1..])?;
            npm::install(&folder())?;
            build_into(&folder().join("dist")).map(|()| Outcome::Good)
        }
        Some(Page::Screenshots) => {
            install_for_browser()?;
            pictures::take()
        }
    }
}

/// Sees to it that there is a browser, and what builds the page.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    packages::install_missing(&PACKAGES)?;
    packages::install(&[FONTS.0], &[Path::new(FONTS.1)])
}

/// The same, and the scripts that drive the browser.
pub(crate) fn install_for_browser() -> anyhow::Result<()> {
    install_missing()?;
    npm::install(&folder())?;
    npm::install(&provider())
}

fn check() -> anyhow::Result<Outcome> {
    packages::install_missing(&PACKAGES[1..])?;
    let folder = folder();
    npm::install(&folder)?;
    npm::install(&provider())?;
    if !npm::run(&folder, "tsc", &["--noEmit"])? {
        say("ui/src is not well typed; correct what is shown above")?;
        return Ok(Outcome::Bad);
    }
    let built = workspace::target_folder()?.join("page/dist");
    build_into(&built)?;
    let problems = [
        dist::differences(&folder.join("dist"), &built)?,
        dist::sizes(&built)?,
    ]
    .concat();
    for problem in &problems {
        say(problem)?;
    }
    Ok(match problems.is_empty() {
        true => Outcome::Good,
        false => Outcome::Bad,
    })
}

fn build_into(folder: &Path) -> anyhow::Result<()> {
    let mut node = Command::new("node");
    node.arg("build.mjs").arg(folder);
    let status = node.current_dir(self::folder()).status();
    let status = status.context("node cannot be run; install Debian's nodejs")?;
    ensure!(status.success(), "the page cannot be built; see above");
    Ok(())
}

/// The OIDC provider that people log in to in tests.
fn provider() -> PathBuf {
    workspace::root().join("testing/oidc")
}

/// The page's source.
pub(crate) fn folder() -> PathBuf {
    workspace::root().join("ui")
}
