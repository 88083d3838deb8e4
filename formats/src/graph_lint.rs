//! Lint of graph data: the reader, the parser of queries, and the checks, over files as an adapter found them.

use towpath_core::finding::Finding;
use towpath_core::graph::{Graph, Releases};
use towpath_core::lint::{self, Extent, Subject};

use crate::{SourceFile, graph_data};

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
    let (data, mut findings) = graph_data::read_partly(files);
    let extent = match findings.iter().any(Finding::is_error) {
        true => Extent::Part,
        false => Extent::Whole,
    };
    let (notes, noted) = graph_data::notes(files);
    let mut left_out = Vec::new();
    if extent == Extent::Part {
        left_out.push(SkippedChecks::AcrossFiles);
    }
    if releases.is_none() {
        left_out.push(SkippedChecks::Releases);
    }
    let graph = releases.map(|releases| Graph::build(data.clone(), releases).0);
    let subject = Subject {
        data: &data,
        notes: &notes,
        graph: graph.as_ref(),
        extent,
    };
    findings.extend(noted);
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
