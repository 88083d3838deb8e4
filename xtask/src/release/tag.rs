//! `cargo xtask tag`: a signed tag for this commit, with the notes of the release; and what `dist` asks of it.
//!
//! The notes are the version's part of CHANGELOG.md. What ships with a signature is built from a tag that the same person could sign.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use clap::Args;

use super::Release;
use crate::say::say;
use crate::{Outcome, workspace};

const CHANGELOG: &str = "CHANGELOG.md";

#[derive(Debug, Args)]
pub(crate) struct TagOptions {
    /// Sign the tag with this key of gpg.
    #[arg(long, value_name = "KEY")]
    key: String,
}

pub(crate) fn run(options: &TagOptions) -> anyhow::Result<Outcome> {
    let release = Release::of_workspace()?;
    make(workspace::root(), &release, &options.key)?;
    say(format!(
        "the tag is {}; push it: git push origin {0}",
        release.tag()
    ))?;
    Ok(Outcome::Good)
}

impl Release {
    fn tag(&self) -> String {
        format!("v{}", self.version)
    }

    /// What CHANGELOG.md says about it, or about what is not released yet.
    pub(super) fn notes<'a>(&self, changelog: &'a str) -> anyhow::Result<&'a str> {
        let notes = section(changelog, &self.version);
        notes
            .or_else(|| section(changelog, "Unreleased"))
            .with_context(|| {
                format!(
                    "{CHANGELOG} has no part \"## {}\"; write what is new",
                    self.version
                )
            })
    }
}

/// Tags the commit that is checked out.
pub(super) fn make(root: &Path, release: &Release, key: &str) -> anyhow::Result<()> {
    let changed = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    ensure!(
        changed.is_empty(),
        "there are changes that are not committed; commit them first:\n{changed}"
    );
    let changelog = super::read(&root.join(CHANGELOG))?;
    let changelog = String::from_utf8(changelog).context("CHANGELOG.md is not UTF-8")?;
    let notes = section(&changelog, &release.version).with_context(|| {
        format!(
            "{CHANGELOG} has no part \"## {}\"; give the name to what is under \"## Unreleased\"",
            release.version
        )
    })?;
    // The signature begins a line of its own.
    let message = format!("Towpath {}\n\n{notes}\n", release.version);
    // Headings of the notes begin with #, which git would take for comments.
    let tag = release.tag();
    let arguments = [
        "tag",
        "--cleanup=verbatim",
        "--local-user",
        key,
        "--message",
        &message,
        &tag,
    ];
    git(root, &arguments).map(drop)
}

/// This commit has the tag of the release, and somebody in the keyring of gpg signed it.
pub(super) fn check(root: &Path, release: &Release) -> anyhow::Result<()> {
    let tag = release.tag();
    let remedy = "`cargo xtask tag --key KEY` makes it; --unsigned makes what is not for a release";
    let tagged = git(root, &["rev-parse", &format!("{tag}^{{commit}}")])
        .with_context(|| format!("there is no tag {tag}; {remedy}"))?;
    let here = git(root, &["rev-parse", "HEAD"])?;
    ensure!(
        tagged == here,
        "the tag {tag} is at another commit; check that out, or give the workspace another version"
    );
    let changed = git(root, &["status", "--porcelain", "--untracked-files=no"])?;
    ensure!(
        changed.is_empty(),
        "there are changes that are not in the tag {tag}:\n{changed}"
    );
    let verified = git(root, &["verify-tag", &tag]);
    verified
        .with_context(|| format!("the signature of the tag {tag} is not right; {remedy}"))
        .map(drop)
}

/// What stands under `## NAME`, up to the next heading of that kind.
fn section<'a>(changelog: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |line: &str| {
        let rest = line
            .strip_prefix("## ")
            .and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let mut at = 0;
    let mut begins = None;
    for line in changelog.split_inclusive('\n') {
        match begins {
            None if is_it(line.trim_end()) => begins = Some(at + line.len()),
            Some(begins) if line.starts_with("## ") => return Some(changelog[begins..at].trim()),
            _ => {}
        }
        at += line.len();
    }
    begins.map(|begins| changelog[begins..].trim())
}

fn git(root: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output: Output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .context("git cannot be run")?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments[0],
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_the_part_of_the_version() {
        let changelog = "# Changelog\n\n## Unreleased\n\nnew\n\n## 1.2.3 (2026-01-05)\n\n### A\n\nolder\n\n## 1.2\n\noldest\n";
        assert_eq!(section(changelog, "1.2.3"), Some("### A\n\nolder"));
        assert_eq!(section(changelog, "1.2"), Some("oldest"));
        assert_eq!(section(changelog, "Unreleased"), Some("new"));
        assert_eq!(section(changelog, "1.2.4"), None);
    }
}
