//! Loading: from files to a snapshot, or to everything that is wrong with them.
//!
//! A reload costs what has changed: files that are as they were are neither read nor parsed again.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::domain::Graph;
use towpath_core::finding::{Finding, Place};
use towpath_formats::platforms::Platforms;
use towpath_formats::{SourceFile, graph_data, platforms, releases};
use towpath_sources::{Directory, read_file};
use towpath_web::Snapshot;

use crate::config::{Data, Settings};
use crate::example;

/// The largest file of releases, and of platforms, that we read.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Reads the inputs again and again, and what has not changed only once.
pub(crate) struct Loader {
    from: From,
    platforms: Option<PathBuf>,
    memory: graph_data::Memory,
}

/// Where the graph comes from.
enum From {
    Example,
    Files { graph_data: Directory, releases: PathBuf },
}

/// The bytes that a snapshot is made of.
pub(crate) struct Inputs {
    graph_data: Vec<SourceFile>,
    releases: SourceFile,
    platforms: Option<SourceFile>,
}

/// The paths to watch.
pub(crate) fn paths(settings: &Settings) -> Vec<PathBuf> {
    let data = match &settings.data {
        Data::Example => Vec::new(),
        Data::Files { graph_data, releases } => vec![graph_data.clone(), releases.clone()],
    };
    data.into_iter().chain(settings.platforms.clone()).collect()
}

impl Loader {
    /// A loader that has read nothing.
    pub(crate) fn new(settings: &Settings) -> Self {
        let from = match &settings.data {
            Data::Example => From::Example,
            Data::Files { graph_data, releases } => {
                From::Files { graph_data: Directory::new(graph_data, graph_data::is_part), releases: releases.clone() }
            }
        };
        Self { from, platforms: settings.platforms.clone(), memory: graph_data::Memory::default() }
    }

    /// Reads everything, or says what cannot be read.
    pub(crate) fn read(&mut self, now: Timestamp) -> Result<Inputs, Vec<Finding>> {
        let (graph_data, releases) = match &mut self.from {
            From::Example => (example::graph_data(now), Ok(example::releases())),
            From::Files { graph_data, releases } => (graph_data.read(), source_file(releases)),
        };
        let platforms = self.platforms.as_deref().map(source_file).transpose();
        match (graph_data, releases, platforms) {
            (Ok(graph_data), Ok(releases), Ok(platforms)) => Ok(Inputs { graph_data, releases, platforms }),
            (graph_data, releases, platforms) => {
                Err([graph_data.err(), releases.err(), platforms.err()].into_iter().flatten().collect())
            }
        }
    }

    /// Makes a graph of inputs, or says everything that is wrong with them.
    pub(crate) fn graph(&mut self, inputs: Inputs) -> Result<Graph, Vec<Finding>> {
        let data = self.memory.read(&inputs.graph_data);
        let releases = releases::read(&Place::file(inputs.releases.path.as_str()), &inputs.releases.bytes);
        match (data, releases) {
            (Ok(data), Ok(releases)) => Ok(Graph::build(data.0, releases.0).0),
            (data, releases) => Err([data.err(), releases.err()].into_iter().flatten().flatten().collect()),
        }
    }

    /// Makes a snapshot of inputs, with warnings; or says everything that is wrong with them.
    pub(crate) fn snapshot(
        &mut self,
        inputs: Inputs,
        now: Timestamp,
    ) -> Result<(Snapshot, Vec<Finding>), Vec<Finding>> {
        let digest = inputs.digest();
        let data = self.memory.read(&inputs.graph_data);
        let releases = releases::read(&Place::file(inputs.releases.path.as_str()), &inputs.releases.bytes);
        let platforms = inputs.platforms.as_ref().map_or_else(
            || Ok(Platforms::new()),
            |file| platforms::read(&Place::file(file.path.as_str()), &file.bytes),
        );
        let (data, releases, platforms) = match (data, releases, platforms) {
            (Ok(data), Ok(releases), Ok(platforms)) => (data, releases, platforms),
            (data, releases, platforms) => {
                let findings = [data.err(), releases.err(), platforms.err()];
                let mut findings: Vec<Finding> = findings.into_iter().flatten().flatten().collect();
                findings.sort();
                return Err(findings);
            }
        };
        // The files can be larger than what is made of them.
        drop(inputs);
        let (graph, built) = Graph::build(data.0, releases.0);
        let warnings = [data.1, releases.1, built].concat();
        Ok((Snapshot::new(graph, platforms, digest, now), warnings))
    }
}

impl Inputs {
    /// A name for these very bytes.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        let one = [Some(&self.releases), self.platforms.as_ref()];
        for file in self.graph_data.iter().chain(one.into_iter().flatten()) {
            for field in [file.path.as_bytes(), &file.bytes] {
                hash.update((field.len() as u64).to_be_bytes());
                hash.update(field);
            }
        }
        hash.finalize()[..16].iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
            text
        })
    }
}

fn source_file(path: &Path) -> Result<SourceFile, Finding> {
    Ok(SourceFile { path: path.display().to_string(), bytes: read_file(path, MAX_FILE_BYTES)?.into() })
}
