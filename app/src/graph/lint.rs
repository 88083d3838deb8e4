//! `towpath graph lint`: what is wrong with graph data, before it is merged.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use towpath_core::finding::Finding;
use towpath_formats::findings::{self, Shown};
use towpath_formats::graph_lint;
use towpath_sources::Contents;

use super::inputs::{Source, releases};
use super::presubmit::PresubmitArgs;
use crate::cli::print;

/// How many findings of one code are shown before the others are counted.
const SHOWN_OF_EACH_CODE: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The graph data. [default: the built-in example]
    directory: Option<PathBuf>,
    /// The releases that there are, as a Cincinnati graph; without them, nothing asks whether a release exists.
    #[arg(long, value_name = "FILE")]
    releases: Option<PathBuf>,
    #[command(flatten)]
    presubmit: PresubmitArgs,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Show every finding, and not only the first few of each code. (Only text leaves any out.)
    #[arg(long)]
    all: bool,
    /// Exit 1 also if there are warnings and no errors.
    #[arg(long)]
    warnings_as_errors: bool,
    /// The time, instead of now; the example's dates are around it.
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
}

/// How to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For machines; its fields are stable.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of a GitHub workflow run.
    Github,
}

pub(super) fn lint(args: LintArgs) -> anyhow::Result<ExitCode> {
    let root = args
        .directory
        .as_ref()
        .map_or_else(String::new, |directory| directory.display().to_string());
    let releases = match (&args.releases, &args.directory) {
        (None, Some(_)) => None,
        (file, _) => Some(releases(file.as_deref())?),
    };
    let now = args.now.unwrap_or_else(Timestamp::now);
    let directory = args
        .directory
        .clone()
        .unwrap_or_else(|| Path::new(".").to_owned());
    let source = args.directory.map_or(Source::Example, Source::Directory);
    let Contents { files, unread } = source
        .contents(now)
        .map_err(|finding| anyhow!("{finding}"))?;
    let mut linted = graph_lint::lint(&files, releases.clone());
    if unread.is_empty() {
        linted
            .findings
            .extend(args.presubmit.findings(&directory, &files, releases, now)?);
    }
    // What a change does cannot be said while part of it cannot be read.
    linted.findings.extend(unread);
    linted.findings.sort();
    let shown = match args.all {
        true => Shown::All,
        false => Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE),
    };
    match args.output {
        Format::Text => print(&graph_lint::text(&linted, shown))?,
        Format::Json => print(&format!("{:#}\n", graph_lint::json(&linted)))?,
        Format::Sarif => print(&format!("{:#}\n", findings::sarif(&linted.findings, &root)))?,
        Format::Github => print(&findings::annotations(&linted.findings, &root))?,
    }
    let refused = |finding: &Finding| finding.is_error() || args.warnings_as_errors;
    Ok(if linted.findings.iter().any(refused) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}
