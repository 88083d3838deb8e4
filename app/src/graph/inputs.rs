//! Where graph data and releases are: a directory, a revision of its repository, or the built-in example.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use jiff::Timestamp;
use towpath_core::domain::{Graph, GraphData, Releases};
use towpath_core::finding::{Finding, Place};
use towpath_formats::{SourceFile, graph_data, releases};
use towpath_sources::{Git, read_directory, read_file};

use crate::example;

/// The largest file of releases that we read.
const MAX_RELEASES_BYTES: u64 = 512 << 20;

/// Where graph data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In a directory.
    Directory(PathBuf),
    /// In a revision of the repository that a directory is in.
    Revision { directory: PathBuf, revision: String },
    /// In the binary.
    Example,
}

impl Source {
    /// A directory that exists; else a revision of the repository that `beside` is in.
    pub(crate) fn named(text: &str, beside: &Path) -> Self {
        match Path::new(text).is_dir() {
            true => Self::Directory(text.into()),
            false => Self::Revision { directory: beside.to_owned(), revision: text.to_owned() },
        }
    }

    /// Its files.
    pub(crate) fn files(&self, now: Timestamp) -> Result<Vec<SourceFile>, Finding> {
        match self {
            Self::Directory(directory) => read_directory(directory, graph_data::is_part),
            Self::Revision { directory, revision } => Git::at(directory)?.read(revision, graph_data::is_part),
            Self::Example => example::graph_data(now),
        }
    }
}

/// The releases in that file, or the example's.
pub(crate) fn releases(file: Option<&Path>) -> anyhow::Result<Releases> {
    let file = match file {
        Some(path) => {
            let bytes = read_file(path, MAX_RELEASES_BYTES).map_err(|finding| anyhow!("{finding}"))?;
            SourceFile { path: path.display().to_string(), bytes: bytes.into() }
        }
        None => example::releases(),
    };
    let (releases, _) = releases::read(&Place::file(file.path.as_str()), &file.bytes).map_err(|f| all(&f))?;
    Ok(releases)
}

/// The graph data of a source that must be right.
pub(crate) fn graph_data(source: &Source, now: Timestamp) -> anyhow::Result<GraphData> {
    let files = source.files(now).map_err(|finding| anyhow!("{finding}"))?;
    let (data, _) = graph_data::read(&files).map_err(|findings| all(&findings))?;
    Ok(data)
}

/// The graph of a source that must be right.
pub(crate) fn graph(source: &Source, releases: Releases, now: Timestamp) -> anyhow::Result<Graph> {
    Ok(Graph::build(graph_data(source, now)?, releases).0)
}

/// All errors, as one.
pub(crate) fn all(findings: &[Finding]) -> anyhow::Error {
    let lines: Vec<String> = findings.iter().filter(|f| f.is_error()).take(10).map(ToString::to_string).collect();
    anyhow!("{}", lines.join("\n"))
}
