//! `towpath graph lint`: what is wrong with graph data, before it is merged.

use clap::{Args, ValueEnum};
use towpath_core::finding::Finding;
use towpath_formats::findings::{self, Shown};
use towpath_formats::graph::lint;
use towpath_sources::Contents;

use super::presubmit::PresubmitArgs;
use crate::cli::{print, say};
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};

/// How many findings of one code are shown before the others are counted.
const SHOWN_OF_EACH_CODE: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The graph data, written as for --graph-data. Without --releases, lint does not check that releases exist. [default: the built-in example]
    #[arg(value_name = "WHERE")]
    named: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    presubmit: PresubmitArgs,
    #[command(flatten)]
    output: OutputArgs<LintOutput>,
    /// Show every finding, not only the first few of each code. JSON always has all.
    #[arg(long)]
    all: bool,
    /// Exit 1 on warnings too, not only on errors.
    #[arg(long)]
    warnings_as_errors: bool,
    #[command(flatten)]
    now: NowArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum LintOutput {
    /// For people.
    #[default]
    Text,
    /// For machines; its fields are stable.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// Annotations of a GitHub workflow run.
    Github,
}

pub(super) fn lint(args: LintArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let settings = args
        .sources
        .settings(Needs::GraphData, args.named.as_deref())?;
    let mut sources = Sources::read(settings, now)?;
    let root = sources
        .directory()
        .map_or_else(String::new, |directory| directory.display().to_string());
    let Contents { files, unread } = sources.contents()?;
    let mut linted = lint::lint(&files, sources.releases()?);
    if unread.is_empty() {
        linted
            .findings
            .extend(args.presubmit.findings(&mut sources, &files, now)?);
    }
    linted
        .findings
        .extend(args.presubmit.blind_windows(&files, now)?);
    // What a change does cannot be said while part of it cannot be read.
    linted.findings.extend(unread);
    linted.findings.sort();
    let shown = match args.all {
        true => Shown::All,
        false => Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE),
    };
    match args.output.form {
        LintOutput::Text => say(&lint::text(&linted, shown))?,
        LintOutput::Json => print(&sources.origin().mark(lint::json(&linted)))?,
        LintOutput::Sarif => print(&format!("{:#}\n", findings::sarif(&linted.findings, &root)))?,
        LintOutput::Github => print(&findings::annotations(&linted.findings, &root))?,
    }
    let refused = |finding: &Finding| finding.is_error() || args.warnings_as_errors;
    Ok(!linted.findings.iter().any(refused))
}
