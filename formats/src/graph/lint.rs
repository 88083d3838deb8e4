//! Lint of graph data: runs the reader, the query parser and the checks over the files.

use serde_json::{Value, json};
use towpath_core::finding::{Finding, Severity};
use towpath_core::graph::{Graph, Releases};
use towpath_core::lint::{self, Extent, Subject, catalogue};

use crate::SourceFile;
use crate::findings::{self, Shown};
use crate::graph::data;

/// What lint found, and in how much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linted {
    /// What is wrong: errors first, then by place.
    pub findings: Vec<Finding>,
    /// How many channels were read.
    pub channels: usize,
    /// How many blocks were read.
    pub blocks: usize,
    /// Why some checks could not be made.
    pub left_out: Vec<SkippedChecks>,
}

/// Checks that could not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedChecks {
    /// Those that compare files: not all of them could be read.
    AcrossFiles,
    /// Those that ask whether a release exists: no releases were given.
    Releases,
}

/// Everything that is wrong with these files; more is found if the releases are known.
pub fn lint(files: &[SourceFile], releases: Option<Releases>) -> Linted {
    let (data, mut findings) = data::read_partly(files);
    let extent = match findings.iter().any(Finding::is_error) {
        true => Extent::Part,
        false => Extent::Whole,
    };
    let (notes, noted) = data::notes(files);
    let mut left_out = Vec::new();
    if extent == Extent::Part {
        left_out.push(SkippedChecks::AcrossFiles);
    }
    if releases.is_none() {
        left_out.push(SkippedChecks::Releases);
    }
    let (graph, built) = match releases.map(|releases| Graph::build(data.clone(), releases)) {
        Some((graph, built)) => (Some(graph), built),
        None => (None, Vec::new()),
    };
    // The checks look at files. Of releases, only what clients trip over is told.
    let of_releases = built
        .into_iter()
        .filter(|finding| finding.code == "bad-release-url");
    findings.extend(of_releases);
    let subject = Subject {
        data: &data,
        notes: &notes,
        graph: graph.as_ref(),
        extent,
    };
    findings.extend(noted);
    findings.iter_mut().for_each(raise);
    findings.extend(lint::check(&subject));
    findings.sort();
    findings.dedup();
    Linted {
        findings,
        channels: data.channels.len(),
        blocks: data.blocks.len(),
        left_out,
    }
}

/// What the service warns of, because it blocks the edges concerned, should not be merged.
fn raise(finding: &mut Finding) {
    let level = catalogue::find(finding.code).map(|kind| kind.level);
    if level == Some(catalogue::Level::ErrorInLint) {
        finding.severity = Severity::Error;
    }
}

impl SkippedChecks {
    pub fn sentence(self) -> &'static str {
        match self {
            Self::AcrossFiles => {
                "files were not compared with each other, since not all of them could be read"
            }
            Self::Releases => {
                "whether releases exist was not checked; name them with --releases FILE"
            }
        }
    }
}

/// The findings, what was not checked, and how much was.
pub fn text(linted: &Linted, shown: Shown) -> String {
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
        grouped(linted.channels, "channel"),
        grouped(linted.blocks, "block"),
    );
    text + &format!(
        "{channels}, {blocks}: {}, {}\n",
        grouped(errors, "error"),
        grouped(warnings, "warning")
    )
}

pub fn json(linted: &Linted) -> Value {
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
fn grouped(number: usize, noun: &str) -> String {
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
    use super::grouped;

    #[test]
    fn large_numbers_are_grouped() {
        for (number, expected) in [
            (0, "0 blocks"),
            (1, "1 block"),
            (999, "999 blocks"),
            (1717, "1,717 blocks"),
        ] {
            assert_eq!(grouped(number, "block"), expected);
        }
        assert_eq!(grouped(1_234_567, "block"), "1,234,567 blocks");
    }
}
