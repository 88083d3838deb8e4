//! The audit of the real data: every certificate is checked, and what is printed is what was looked at by hand.
//!
//! The data is not part of this repository. Where `TOWPATH_REAL_DATA` names it these tests run; elsewhere each
//! is listed as ignored. `UPDATE_EXPECT=1` writes down what is printed now.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use towpath_core::audit::{Scope, audit};
use towpath_core::finding::Place;
use towpath_core::graph::Graph;
use towpath_formats::graph::{data, releases};
use towpath_testing_graphs::Checker;

const NOW: &str = "2026-08-21T12:00Z";

fn main() {
    let data = std::env::var_os("TOWPATH_REAL_DATA").map(PathBuf::from);
    let trial = |name: String, test: fn(&Path, &str) -> Result<(), Failed>, file: &'static str| {
        let path = data.clone().unwrap_or_default();
        Trial::test(name, move || test(&path, file)).with_ignored_flag(data.is_none())
    };
    let mut trials = vec![trial(
        "audit::what_is_printed".to_owned(),
        prints_the_same,
        "releases-amd64.json",
    )];
    for file in ["releases-amd64.json", "releases-five-archs.json"] {
        trials.push(trial(
            format!("audit::every_certificate_of::{file}"),
            certificates_hold,
            file,
        ));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn certificates_hold(data: &Path, file: &str) -> Result<(), Failed> {
    let now: Timestamp = NOW.parse()?;
    let files = towpath_sources::read_directory(&data.join("graph-data"), data::is_part)
        .map_err(|f| f.to_string())?;
    let (graph_data, _) = data::read(&files).map_err(|findings| format!("{findings:#?}"))?;
    let bytes = std::fs::read(data.join(file))?;
    let (releases, _) =
        releases::read(&Place::file(file), &bytes).map_err(|findings| format!("{findings:#?}"))?;
    let graph = Graph::build(graph_data.clone(), releases.clone()).0;
    let audit = audit(&graph, &Scope::default(), now);
    let checker = Checker::new(graph_data, releases, now);
    let channels: std::collections::BTreeSet<_> =
        audit.sections.iter().map(|part| &part.channel).collect();
    assert_eq!(channels.len(), 76, "every channel is looked at");
    for section in &audit.sections {
        section
            .clients
            .iter()
            .for_each(|class| checker.check(section, class));
    }
    Ok(())
}

fn prints_the_same(data: &Path, file: &str) -> Result<(), Failed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_towpath"));
    command
        .args(["graph", "audit"])
        .arg(data.join("graph-data"))
        .arg("--releases")
        .arg(data.join(file));
    // The data may lie in somebody's git repository, which says nothing of when the data came.
    command.env("GIT_CEILING_DIRECTORIES", data.canonicalize()?);
    let done = command.args(["--now", NOW]).output()?;
    let (told, golden) = (
        String::from_utf8(done.stdout)?,
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/audit-amd64.txt"),
    );
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(golden.parent().ok_or("a folder")?)?;
        std::fs::write(&golden, &told)?;
    }
    let expected = std::fs::read_to_string(&golden)?;
    let different = expected
        .lines()
        .zip(told.lines())
        .find(|(then, now)| then != now);
    match told == expected {
        true => Ok(()),
        false => Err(format!("it comes out differently, first at {different:?}:\n{told}").into()),
    }
}
