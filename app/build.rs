//! Tells the program which commit it is built from, for `towpath --version`.
//!
//! The same commit gives the same bytes: there is no date, and no name of a machine. Without git, the plain version is printed.

// Cargo reads what a build script prints.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::Command;

fn main() {
    // Packagers who build without a repository can name the commit.
    println!("cargo:rerun-if-env-changed=TOWPATH_COMMIT");
    let named = std::env::var("TOWPATH_COMMIT").ok();
    let commit = named.or_else(commit).filter(|commit| is_commit(commit));
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let long = match commit {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo:rustc-env=BUILT_VERSION={long}");
}

/// The first twelve digits of the commit that is checked out.
fn commit() -> Option<String> {
    // Only what names the commit is watched, so that a change of other files builds nothing again.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn is_commit(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
