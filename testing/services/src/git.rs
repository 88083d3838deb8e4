//! Commits at a time that a test chooses.

use std::path::Path;
use std::process::Command;

/// Runs git in a folder, as the same author on every machine, at this time: `@1700000000 +0000`, or any other form that git reads.
pub fn git(folder: &Path, date: &str, arguments: &[&str]) {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    for (name, value) in [("NAME", "t"), ("EMAIL", "t@example.com"), ("DATE", date)] {
        command
            .env(format!("GIT_AUTHOR_{name}"), value)
            .env(format!("GIT_COMMITTER_{name}"), value);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
