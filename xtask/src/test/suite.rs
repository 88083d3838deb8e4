//! Runs the test binaries one by one, as `cargo test --no-fail-fast` does, and names the slowest tests at the end.
//!
//! Their output is passed on at once.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use super::build::{self, Scope, TestBinary};
use super::tally::Tally;
use crate::Outcome;
use crate::say::say;

/// Rust's harness reports times only with unstable options. It reads this variable at run time, so nothing is built again.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");
const TIMES: [&str; 2] = ["-Zunstable-options", "--report-time"];

pub(super) fn run(scope: &Scope, variables: &[(&str, &OsStr)]) -> anyhow::Result<Outcome> {
    let mut tally = Tally::default();
    for binary in build::test_binaries(scope)? {
        say(format!("\n     Running {}", binary.name))?;
        run_binary(&binary, variables, &mut tally)
            .with_context(|| format!("{} cannot be run", binary.program.display()))?;
    }
    say(tally.to_string())?;
    Ok(match tally.is_good() {
        true => Outcome::Good,
        false => Outcome::Bad,
    })
}

fn run_binary(
    binary: &TestBinary,
    variables: &[(&str, &OsStr)],
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let command = || {
        let mut command = Command::new(&binary.program);
        command
            .current_dir(&binary.folder)
            .env("CARGO_MANIFEST_DIR", &binary.folder)
            .envs(variables.iter().copied());
        command
    };
    let help = command().arg("--help").output()?;
    let tells_times = String::from_utf8_lossy(&help.stdout).contains("--report-time");
    let mut command = command();
    if tells_times {
        command.env(UNSTABLE.0, UNSTABLE.1).args(TIMES);
    }
    let (began, mut child) = (Instant::now(), command.stdout(Stdio::piped()).spawn()?);
    let lines = BufReader::new(child.stdout.take().context("its output is ours")?);
    for line in lines.split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        say(&line)?;
        tally.hear(&binary.name, &line);
    }
    let status = child.wait()?;
    let whole = (!tells_times).then(|| began.elapsed());
    tally.ended(&binary.name, status.success(), whole);
    Ok(())
}
