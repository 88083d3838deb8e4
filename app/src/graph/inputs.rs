//! Where graph data and releases are: a directory, a revision of its repository, or the built-in example.

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Graph, GraphData, Releases};
use towpath_core::path::Request;
use towpath_formats::path::read_graphs;
use towpath_formats::{SourceFile, graph_data, releases};
use towpath_sources::{Contents, Directory, Git, read_directory, read_file, without_credentials};

use crate::example;

/// What helps where graph data is not on this machine.
const TO_FETCH: &str =
    "fetch it first, with `git clone` or by unpacking the archive, and name the directory";

/// The largest file of releases that we read.
const MAX_RELEASES_BYTES: u64 = 512 << 20;

/// The largest file of a channel's graph that we read.
const MAX_GRAPH_BYTES: u64 = 64 << 20;

/// Where graph data is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In a directory.
    Directory(PathBuf),
    /// In a revision of the repository that a directory is in.
    Revision {
        directory: PathBuf,
        revision: String,
    },
    /// In the binary.
    Example,
}

impl Source {
    /// A directory that exists; else a revision of the repository that `beside` is in.
    pub(crate) fn named(text: &str, beside: &Path) -> Self {
        match Path::new(text).is_dir() {
            true => Self::Directory(text.into()),
            false => Self::Revision {
                directory: beside.to_owned(),
                revision: text.to_owned(),
            },
        }
    }

    /// Its files, and a finding for each that cannot be read.
    pub(crate) fn contents(&self, now: Timestamp) -> Result<Contents, Finding> {
        let Self::Directory(root) = self else {
            let files = self.files(now)?;
            return Ok(Contents {
                files,
                unread: Vec::new(),
            });
        };
        let mut contents =
            Directory::new(a_path(root, TO_FETCH)?, graph_data::is_part).read_partly()?;
        for finding in &mut contents.unread {
            // As in all other findings: as seen from the directory.
            let below = Path::new(&*finding.place.file).strip_prefix(root);
            if let Ok(path) = below.map(|path| path.display().to_string()) {
                finding.place = Place::file(path);
            }
        }
        Ok(contents)
    }

    /// Its files.
    pub(crate) fn files(&self, now: Timestamp) -> Result<Vec<SourceFile>, Finding> {
        match self {
            Self::Directory(directory) => a_path(directory, TO_FETCH)
                .and_then(|directory| read_directory(directory, graph_data::is_part)),
            Self::Revision {
                directory,
                revision,
            } => Git::at(directory)?.read(revision, graph_data::is_part),
            Self::Example => example::graph_data(now),
        }
    }
}

/// The graph that a command is about: graph data and releases, or graphs that a service answered.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// Look at this graph data. [default: the built-in example]
    #[arg(
        long,
        env = "TOWPATH_GRAPH_DATA",
        value_name = "DIR",
        requires = "releases",
        conflicts_with = "graph"
    )]
    graph_data: Option<PathBuf>,
    /// The releases behind the graph data.
    #[arg(
        long,
        env = "TOWPATH_RELEASES",
        value_name = "FILE",
        requires = "graph_data",
        conflicts_with = "graph"
    )]
    releases: Option<PathBuf>,
    /// Look at graphs that a service answered, CHANNEL.json each. May be given more than once.
    #[arg(long, value_name = "FILE")]
    graph: Vec<PathBuf>,
}

impl GraphArgs {
    /// The graph.
    pub(crate) fn graph(&self, now: Timestamp) -> anyhow::Result<Graph> {
        if self.graph.is_empty() {
            let source = self
                .graph_data
                .clone()
                .map_or(Source::Example, Source::Directory);
            return graph(&source, releases(self.releases.as_deref())?, now);
        }
        if self.graph.len() > Request::MAX_VIA {
            bail!(
                "--graph was given {} times; at most {} are taken",
                self.graph.len(),
                Request::MAX_VIA
            );
        }
        let read = |path: &PathBuf| {
            let bytes = read_file(path, MAX_GRAPH_BYTES).map_err(|finding| anyhow!("{finding}"))?;
            Ok(SourceFile {
                path: path.display().to_string(),
                bytes: bytes.into(),
            })
        };
        let files: Vec<SourceFile> = self.graph.iter().map(read).collect::<anyhow::Result<_>>()?;
        read_graphs(&files).map_err(|findings| all(&findings))
    }

    /// Whether the graph is of files of channels. Whoever names them means all of them.
    pub(crate) fn is_of_channels(&self) -> bool {
        !self.graph.is_empty()
    }
}

/// The releases in that file, or the example's.
pub(crate) fn releases(file: Option<&Path>) -> anyhow::Result<Releases> {
    let file = match file {
        Some(path) => {
            let remedy =
                "write a file with `towpath releases scrape REPOSITORY --out FILE`, and name that";
            let bytes = a_path(path, remedy).and_then(|path| read_file(path, MAX_RELEASES_BYTES));
            let bytes = bytes.map_err(|finding| anyhow!("{finding}"))?;
            SourceFile {
                path: path.display().to_string(),
                bytes: bytes.into(),
            }
        }
        None => example::releases(),
    };
    let (releases, _) =
        releases::read(&Place::file(file.path.as_str()), &file.bytes).map_err(|f| all(&f))?;
    Ok(releases)
}

/// Whoever has an address at hand, from a service's configuration, is told what to do with it.
fn a_path<'a>(path: &'a Path, remedy: &str) -> Result<&'a Path, Finding> {
    match path
        .to_str()
        .filter(|text| text.contains("://") && !path.exists())
    {
        Some(address) => {
            let problem = "this is an address; this command reads paths, and only `towpath serve` reads addresses";
            Err(Finding::error(
                "not-a-path",
                Place::file(without_credentials(address)),
                problem,
                remedy,
            ))
        }
        None => Ok(path),
    }
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
    let lines: Vec<String> = findings
        .iter()
        .filter(|f| f.is_error())
        .take(10)
        .map(ToString::to_string)
        .collect();
    anyhow!("{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_cannot_be_read_is_told_at_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("channels")).unwrap();
        std::fs::write(folder.path().join("version"), "1.1.0").unwrap();
        for (target, name) in [("/dev/zero", "a.yaml"), ("gone", "b.yaml"), ("/", "c.yaml")] {
            std::os::unix::fs::symlink(target, folder.path().join("channels").join(name)).unwrap();
        }
        let source = Source::Directory(folder.path().to_owned());
        let Contents { files, unread } = source.contents(Timestamp::UNIX_EPOCH).unwrap();
        let told = unread
            .iter()
            .map(|finding| (finding.code, &*finding.place.file));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                ("link-outside", "channels/a.yaml"),
                ("unreadable", "channels/b.yaml"),
                ("link-outside", "channels/c.yaml")
            ]
        );
        assert_eq!(files.len(), 1);
    }

    #[test]
    fn an_address_where_a_path_belongs_is_told_with_what_to_do() {
        let address = PathBuf::from("git+https://u:secret@host/graph-data.git?token=t0k3n");
        let told = Source::Directory(address.clone())
            .files(Timestamp::UNIX_EPOCH)
            .expect_err("not read")
            .to_string();
        let start = "git+https://…@host/graph-data.git?token=…: this is an address; this command reads paths";
        assert!(
            told.starts_with(start) && told.contains("`git clone`"),
            "{told}"
        );
        let told = releases(Some(Path::new("oci://quay.io/a/b")))
            .expect_err("not read")
            .to_string();
        assert!(
            told.contains("this is an address") && told.contains("towpath releases scrape"),
            "{told}"
        );
    }
}
