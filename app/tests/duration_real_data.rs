//! Durations from the ClusterVersions of real clusters. There are few, and none of them has completed an update; that is what must be said.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it this test runs; elsewhere it is listed as ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let path = data.clone().unwrap_or_default();
    let trial = Trial::test(
        "duration::real_histories_are_read_and_told_to_be_too_few",
        move || told(&path),
    );
    libtest_mimic::run(
        &Arguments::from_args(),
        vec![trial.with_ignored_flag(data.is_none())],
    )
    .exit();
}

fn told(data: &Path) -> Result<(), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    let done = command
        .args(["duration", "fit"])
        .arg(data.join("clusters"))
        .output()?;
    let told = String::from_utf8(done.stdout)?;
    let expected = "0 completed updates in 6 ClusterVersions; left out: 6 installations, 4 unfinished updates.\nThere is nothing to learn from.\n";
    match (done.status.code(), told == expected) {
        (Some(1), true) => Ok(()),
        (code, _) => Err(format!(
            "exit {code:?}, and it says:\n{told}{}",
            String::from_utf8_lossy(&done.stderr)
        )
        .into()),
    }
}
