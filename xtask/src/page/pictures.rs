//! Pictures of every screen, for the docs: wide and narrow, light and dark.
//!
//! The browser test that knows the services takes them (`app/tests/page.rs`). pngquant makes them small.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::packages;
use crate::say::say;
use crate::{Outcome, workspace};

/// Where the test writes pictures.
const VARIABLE: &str = "PAGE_PICTURES";
/// How many colours a picture has.
const COLOURS: &str = "64";

pub(super) fn take() -> anyhow::Result<Outcome> {
    packages::install_missing(&[("pngquant", "pngquant")])?;
    let folder = workspace::root().join("docs/page");
    std::fs::create_dir_all(&folder).context("docs/page cannot be made")?;
    let test = ["test", "--package", "towpath", "--test", "page", "--"];
    let status = workspace::cargo(&test)
        .args(["--ignored", "--exact", "pictures"])
        .env(VARIABLE, &folder)
        .status()
        .context("cargo cannot be run")?;
    if !status.success() {
        return Ok(Outcome::Bad);
    }
    let entries = std::fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|end| end == "png");
    let mut pictures: Vec<PathBuf> = entries.iter().map(|entry| entry.path()).collect();
    pictures.retain(is_picture);
    ensure!(!pictures.is_empty(), "the test took no pictures");
    let mut pngquant = Command::new("pngquant");
    pngquant.args([
        "--force", "--ext", ".png", "--strip", "--nofs", COLOURS, "--",
    ]);
    let status = pngquant.args(&pictures).status();
    ensure!(
        status.context("pngquant cannot be run")?.success(),
        "pngquant failed; see above"
    );
    say(format!("{} pictures in docs/page", pictures.len()))?;
    Ok(Outcome::Good)
}
