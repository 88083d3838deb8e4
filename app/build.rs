//! Tells the program which commit it is built from, and of which day that is, for `towpath --version`.
//!
//! The same commit gives the same bytes: the day is the commit's, in UTC, and there is no name of a machine. Without git, packagers name
//! the commit in `TOWPATH_COMMIT` and the time in `SOURCE_DATE_EPOCH`. Without both, the plain version is printed.

// Cargo reads what a build script prints.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::Command;

fn main() {
    let (commit, day) = (commit(), day());
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let known: Vec<&str> = [&commit, &day]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let long = match (&commit, known.join(" ")) {
        // A day alone says nothing about the sources.
        (None, _) => version,
        (Some(_), known) => format!("{version} ({known})"),
    };
    println!("cargo:rustc-env=BUILT_VERSION={long}");
    println!(
        "cargo:rustc-env=BUILT_COMMIT={}",
        commit.unwrap_or_default()
    );
    println!("cargo:rustc-env=BUILT_DAY={}", day.unwrap_or_default());
}

fn commit() -> Option<String> {
    let Some(named) = variable("TOWPATH_COMMIT") else {
        return checked_out();
    };
    let is_commit =
        (7..=64).contains(&named.len()) && named.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_commit {
        println!(
            "cargo:error=TOWPATH_COMMIT={named} is not a commit; give 7 to 64 hexadecimal digits, or unset it"
        );
    }
    Some(named)
}

fn day() -> Option<String> {
    let Some(named) = variable("SOURCE_DATE_EPOCH") else {
        let seconds = is_repository().then(|| git(&["show", "-s", "--format=%ct", "HEAD"]))??;
        return seconds.parse().ok().map(day_of);
    };
    let seconds = named.parse().ok();
    if seconds.is_none() {
        println!(
            "cargo:error=SOURCE_DATE_EPOCH={named} is not a time; give seconds since 1970, or unset it"
        );
    }
    seconds.map(day_of)
}

/// A variable that packagers may set. An empty one is none.
fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={name}");
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first twelve digits of the commit that is checked out.
fn checked_out() -> Option<String> {
    if !is_repository() {
        return None;
    }
    // Only what names the commit is watched, so that a change of other files builds nothing again.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// Whether this workspace is a repository itself. An archive of it may have been unpacked inside another one.
fn is_repository() -> bool {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let workspace = Path::new(&folder)
        .parent()
        .and_then(|path| path.canonicalize().ok());
    let top = git(&["rev-parse", "--show-toplevel"])
        .and_then(|path| Path::new(&path).canonicalize().ok());
    workspace.is_some() && workspace == top
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// `2026-11-19`, in UTC. By the usual arithmetic of the Gregorian calendar, with years that begin in March.
fn day_of(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
