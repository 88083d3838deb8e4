//! `towpath graph lint`: what is wrong with graph data, before it is merged.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::json;
use towpath_core::finding::Finding;
use towpath_formats::findings::{self, Shown};
use towpath_formats::graph_lint::{self, Linted};
use towpath_sources::Contents;

use super::presubmit::PresubmitArgs;
use crate::cli::print;
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::OutputArgs;
use crate::sources::{Needs, Sources};

/// How many findings of one code are shown before the others are counted.
const SHOWN_OF_EACH_CODE: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// The graph data, as --graph-data names it. Without --releases, nothing asks whether a release exists. [default: the built-in example]
    #[arg(value_name = "WHERE")]
    named: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    presubmit: PresubmitArgs,
    #[command(flatten)]
    output: OutputArgs<LintOutput>,
    /// Show every finding, and not only the first few of each code. (Only text leaves any out.)
    #[arg(long)]
    all: bool,
    /// Exit 1 also if there are warnings and no errors.
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

pub(super) fn lint(args: LintArgs) -> anyhow::Result<ExitCode> {
    let now = args.now.at();
    let settings = args
        .sources
        .settings(Needs::GraphData, args.named.as_deref())?;
    let mut sources = Sources::read(settings, now)?;
    let root = sources
        .directory()
        .map_or_else(String::new, |directory| directory.display().to_string());
    let Contents { files, unread } = sources.contents()?;
    let mut linted = graph_lint::lint(&files, sources.releases()?);
    if unread.is_empty() {
        linted
            .findings
            .extend(args.presubmit.findings(&mut sources, &files, now)?);
    }
    // What a change does cannot be said while part of it cannot be read.
    linted.findings.extend(unread);
    linted.findings.sort();
    let shown = match args.all {
        true => Shown::All,
        false => Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE),
    };
    match args.output.form {
        LintOutput::Text => print(&text(&linted, shown))?,
        LintOutput::Json => print(&sources.origin().mark(as_json(&linted)))?,
        LintOutput::Sarif => print(&format!("{:#}\n", findings::sarif(&linted.findings, &root)))?,
        LintOutput::Github => print(&findings::annotations(&linted.findings, &root))?,
    }
    let refused = |finding: &Finding| finding.is_error() || args.warnings_as_errors;
    Ok(if linted.findings.iter().any(refused) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// The findings, what was not checked, and how much was.
fn text(linted: &Linted, shown: Shown) -> String {
    let mut text = findings::text(&linted.findings, shown);
    if shown != Shown::All && text.contains("\n… ") {
        text.push_str("--all shows all of them\n");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.extend(
        linted
            .left_out
            .iter()
            .map(|left| format!("note: {}\n", left.sentence())),
    );
    let (errors, warnings) = counts(linted);
    let (channels, blocks) = (
        count(linted.channels, "channel"),
        count(linted.blocks, "block"),
    );
    text + &format!(
        "{channels}, {blocks}: {}, {}\n",
        count(errors, "error"),
        count(warnings, "warning")
    )
}

fn as_json(linted: &Linted) -> serde_json::Value {
    let (errors, warnings) = counts(linted);
    json!({
        "channels": linted.channels,
        "blocks": linted.blocks,
        "errors": errors,
        "warnings": warnings,
        "notChecked": linted.left_out.iter().map(|left| left.sentence()).collect::<Vec<_>>(),
        "findings": findings::json(&linted.findings),
    })
}

fn counts(linted: &Linted) -> (usize, usize) {
    let errors = linted
        .findings
        .iter()
        .filter(|finding| finding.is_error())
        .count();
    (errors, linted.findings.len() - errors)
}

/// `1 block`, `1,717 blocks`.
fn count(number: usize, noun: &str) -> String {
    let digits = number.to_string();
    let grouped: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{} {noun}s", grouped.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn large_numbers_are_grouped() {
        for (number, expected) in [
            (0, "0 blocks"),
            (1, "1 block"),
            (999, "999 blocks"),
            (1717, "1,717 blocks"),
        ] {
            assert_eq!(count(number, "block"), expected);
        }
        assert_eq!(count(1_234_567, "block"), "1,234,567 blocks");
    }
}
