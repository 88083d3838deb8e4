//! Graph data: what release administrators write, in schema 1.0.0, 1.1.0, 2.0.0 or
//! 2.1.0.
//!
//! All files are read and all problems reported at once. After one error anywhere, none of it is
//! used. Otherwise a block that we did not understand would be ignored.

mod blocked_edges;
mod channels_v1;
mod channels_v2;
mod halt;
pub mod migrate;
mod notes;
mod ramps;
mod raw_metadata;
mod rings;
mod schema;
mod tarball;
mod time;

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Block, ChannelName, ChannelSpec, GraphData};

use crate::SourceFile;
use crate::read::{Node, Reader, too_large};
pub use blocked_edges::write as write_block;
pub use halt::{
    HALTED, evidence_json, path as halt_path, scope as halt_scope, scope_json, write as write_halt,
};
pub use notes::read as notes;
pub use tarball::tarball;
pub use time::{parse_duration, parse_time};

/// The most files that we read.
pub const MAX_FILES: usize = 100_000;

/// Whether a path belongs to graph data at all; adapters need not bring others.
pub fn is_part(path: &str) -> bool {
    // A folder is asked for with a `/` at its end.
    path == "version"
        || path == "raw/"
        || path == "raw/metadata.json"
        || path == "channels"
        || path == "blocked-edges"
        || path.starts_with("channels/")
        || path.starts_with("blocked-edges/")
}

/// Reads all files. Either the data, with warnings, or everything that is wrong with it.
pub fn read(files: &[SourceFile]) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
    Memory::default().read(files)
}

/// What can be read of all files, and everything that is wrong with them. For lint: a service takes all or nothing.
pub fn read_partly(files: &[SourceFile]) -> (GraphData, Vec<Finding>) {
    let mut reading = Memory::default().reading(files);
    reading.findings.sort();
    (reading.data, reading.findings)
}

/// A reader that remembers what it read: only changed files are parsed again.
#[derive(Default)]
pub struct Memory {
    parsed: BTreeMap<FileDigest, Arc<ParsedFile>>,
    checked: blocked_edges::Checked,
}

/// Names a file's schema, path and content.
type FileDigest = [u8; 32];

/// How many problems of one file are reported.
const MAX_FINDINGS_PER_FILE: usize = 50;

/// The most different patterns that all blocks together may have; they bound what compiling them can cost.
pub const MAX_PATTERNS: usize = 2_000;

/// Graph data that has no channel.
const NO_CHANNELS: &str = "no-channels";

/// What one file says, and what is wrong with it.
#[derive(Default)]
struct ParsedFile {
    data: GraphData,
    findings: Vec<Finding>,
}

impl Memory {
    /// As [`read`].
    pub fn read(
        &mut self,
        files: &[SourceFile],
    ) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
        self.reading(files).finish()
    }

    /// The same where somebody else has channels: these files may be blocks alone.
    pub fn read_beside_channels(
        &mut self,
        files: &[SourceFile],
    ) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
        let mut reading = self.reading(files);
        reading
            .findings
            .retain(|finding| finding.code != NO_CHANNELS);
        reading.finish()
    }

    /// The same for files that are added to those of other graph data. They may only make it stricter, so they are blocks alone.
    pub fn read_overlay(
        &mut self,
        files: &[SourceFile],
    ) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
        let (blocks, others): (Vec<&SourceFile>, Vec<&SourceFile>) = files
            .iter()
            .filter(|file| is_part(&file.path))
            .partition(|file| file.path == "version" || file.path.starts_with("blocked-edges"));
        let strange = |file: &&SourceFile| {
            let place = Place::file(file.path.as_str());
            let problem = "an overlay has blocks alone, and this is something else";
            let remedy = "keep `version` and blocked-edges/, and move the rest to the graph data";
            Finding::error("not-an-overlay", place, problem, remedy)
        };
        let strange: Vec<Finding> = others.iter().map(strange).collect();
        if !strange.is_empty() {
            return Err(strange);
        }
        let blocks: Vec<SourceFile> = blocks.into_iter().cloned().collect();
        self.read_beside_channels(&blocks)
    }

    /// The blocks of those files that are blocks and nothing is wrong with, whatever is wrong with others. From 1.1.0 on blocks are written alike in every schema, so a mistake
    /// in `version` does not matter. (In 1.0.0, which nobody publishes any more, `clusters` narrows nothing. To take every repository with a mistake there for
    /// one of those would stop whole fleets for a typing error.)
    pub fn read_blocks(&mut self, files: &[SourceFile]) -> Vec<Block> {
        let schema = schema::find(files).unwrap_or(schema::Schema::V2);
        let mut blocks = Vec::new();
        for file in files
            .iter()
            .filter(|file| matches!(FileKind::of(&file.path), FileKind::Block))
            .take(MAX_FILES)
        {
            let known = self.parsed.get(&digest(schema, file)).cloned();
            let parsed = known.unwrap_or_else(|| Arc::new(parse(file, schema, &mut self.checked)));
            if !parsed.findings.iter().any(Finding::is_error) {
                blocks.extend_from_slice(&parsed.data.blocks);
            }
        }
        blocks
    }

    fn reading(&mut self, files: &[SourceFile]) -> GraphDataReading {
        let mut reading = GraphDataReading::default();
        match schema::find(files) {
            Ok(_) if files.len() > MAX_FILES => {
                let problem = format!("there are more than {MAX_FILES} files");
                let remedy = "point at the graph data alone";
                reading
                    .findings
                    .push(too_large(&Place::file("."), problem, remedy));
            }
            Ok(schema) => self.read_all(files, schema, &mut reading),
            Err(finding) => reading.findings.push(finding),
        }
        reading
    }

    fn read_all(
        &mut self,
        files: &[SourceFile],
        schema: schema::Schema,
        reading: &mut GraphDataReading,
    ) {
        let mut files: Vec<&SourceFile> = files.iter().filter(|file| is_part(&file.path)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if self.checked.patterns.len() > MAX_PATTERNS / 2 {
            // Those of files that are gone are in the way; the others are compiled again where their file changes.
            self.checked.patterns.clear();
        }
        let mut parsed = BTreeMap::new();
        for file in files {
            let digest = digest(schema, file);
            let known = self.parsed.remove(&digest);
            let file = known.unwrap_or_else(|| Arc::new(parse(file, schema, &mut self.checked)));
            reading.add(&file);
            parsed.insert(digest, file);
        }
        self.parsed = parsed;
        reading.check_channels();
    }
}

fn digest(schema: schema::Schema, file: &SourceFile) -> FileDigest {
    let mut hash = Sha256::new();
    hash.update([schema as u8]);
    hash.update((file.path.len() as u64).to_be_bytes());
    hash.update(file.path.as_bytes());
    hash.update(&file.bytes);
    hash.finalize().into()
}

fn parse(
    file: &SourceFile,
    schema: schema::Schema,
    checked: &mut blocked_edges::Checked,
) -> ParsedFile {
    let place = Place::file(file.path.as_str());
    let ParsedFile {
        mut data,
        mut findings,
    } = ParsedFile::default();
    match (FileKind::of(&file.path), schema) {
        (FileKind::Channels, _) if schema.is_other(&file.bytes) => {
            let problem = format!(
                "this looks like a file of schema {}, and `version` says {}",
                schema.other(),
                schema.shown()
            );
            findings.push(Finding::error(
                "other-schema",
                place,
                problem,
                "write all channels in one schema",
            ));
        }
        (kind @ (FileKind::Block | FileKind::Channels), _) => {
            match parse_yaml(file, &kind, schema, checked) {
                Ok(parsed) => ParsedFile { data, findings } = parsed,
                Err(finding) => findings.push(finding),
            }
        }
        (FileKind::RawMetadata, _) => {
            data.metadata = raw_metadata::read(&place, &file.bytes, &mut findings)
        }
        (FileKind::Misplaced(remedy), _) => {
            let problem = "only *.yaml and *.yml directly in blocked-edges/ and channels/ are read, so this would have no effect";
            findings.push(Finding::error("misplaced-file", place, problem, remedy));
        }
        (FileKind::Other, _) => {}
    }
    // Errors first: a thousand say no more than the first few.
    findings.sort_by_key(|finding| finding.severity);
    findings.truncate(MAX_FINDINGS_PER_FILE);
    ParsedFile { data, findings }
}

fn parse_yaml(
    file: &SourceFile,
    kind: &FileKind,
    schema: schema::Schema,
    checked: &mut blocked_edges::Checked,
) -> Result<ParsedFile, Finding> {
    let mut read = |file: &SourceFile| {
        Reader::strict(file).map(|(reader, node)| parse_tree(reader, &node, kind, schema, checked))
    };
    match read(file) {
        Ok(parsed) => parsed,
        // Where it stops to be YAML, a value of the wrong kind above may be why: a text that a list follows.
        Err(finding) => match read(&above(file, &finding)) {
            Ok(Err(why)) => Err(why),
            _ => Err(finding),
        },
    }
}

/// The lines of a file above what was found.
fn above(file: &SourceFile, finding: &Finding) -> SourceFile {
    let count = finding.place.line.saturating_sub(1) as usize;
    let lines = file.bytes.split_inclusive(|byte| *byte == b'\n');
    let bytes: Vec<u8> = lines.take(count).flatten().copied().collect();
    SourceFile {
        path: file.path.clone(),
        bytes: bytes.into(),
    }
}

fn parse_tree(
    mut reader: Reader,
    node: &Node,
    kind: &FileKind,
    schema: schema::Schema,
    checked: &mut blocked_edges::Checked,
) -> Result<ParsedFile, Finding> {
    let mut data = GraphData::default();
    match (kind, schema) {
        (FileKind::Block, _) => {
            let block = blocked_edges::read(&mut reader, node, schema, checked);
            data.blocks.extend(block);
        }
        (_, schema::Schema::V1_0 | schema::Schema::V1) => {
            data.channels.extend(channels_v1::read(&mut reader, node))
        }
        (_, schema::Schema::V2 | schema::Schema::V2_1) => {
            data.channels = channels_v2::read(&mut reader, node, schema);
        }
    }
    let findings = reader.finish()?;
    Ok(ParsedFile { data, findings })
}

/// What all files say together.
#[derive(Default)]
struct GraphDataReading {
    data: GraphData,
    findings: Vec<Finding>,
}

impl GraphDataReading {
    fn add(&mut self, file: &ParsedFile) {
        self.data.channels.extend_from_slice(&file.data.channels);
        self.data.blocks.extend_from_slice(&file.data.blocks);
        self.data.metadata.extend_from_slice(&file.data.metadata);
        self.findings.extend_from_slice(&file.findings);
    }

    fn check_channels(&mut self) {
        let in_channels = |finding: &Finding| finding.place.file.starts_with("channels/");
        if self.data.channels.is_empty() && !self.findings.iter().any(in_channels) {
            let remedy = "add channels/<name>.yaml, or point --graph-data at the right folder";
            self.findings.push(Finding::error(
                NO_CHANNELS,
                Place::file("channels"),
                "there are no channels",
                remedy,
            ));
        }
        let mut seen: BTreeMap<&ChannelName, &ChannelSpec> = BTreeMap::new();
        for channel in &self.data.channels {
            if let Some(first) = seen.insert(&channel.name, channel) {
                let problem = format!(
                    "channel {} is declared at {} already",
                    channel.name, first.origin
                );
                self.findings.push(Finding::error(
                    "duplicate-channel",
                    channel.origin.clone(),
                    problem,
                    "declare each channel once",
                ));
            }
        }
    }

    fn finish(mut self) -> Result<(GraphData, Vec<Finding>), Vec<Finding>> {
        self.findings.sort();
        match self.findings.iter().any(Finding::is_error) {
            true => Err(self.findings),
            false => Ok((self.data, self.findings)),
        }
    }
}

/// What a file is, by its path.
enum FileKind {
    Block,
    Channels,
    RawMetadata,
    /// It stands among blocks or channels and could be taken for one; the sentence is the remedy.
    Misplaced(&'static str),
    Other,
}

impl FileKind {
    fn of(path: &str) -> Self {
        let (folder, name) = path.split_once('/').unwrap_or(("", path));
        let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
        match (folder, yaml) {
            ("raw", _) => Self::RawMetadata,
            ("", _) if name != "version" => Self::Misplaced("make it a folder"),
            ("blocked-edges" | "channels", _) if name.contains('/') => {
                Self::Misplaced("move it out of its subfolder, or remove it")
            }
            // .gitkeep and the swap files of editors
            ("blocked-edges" | "channels", false) if name.starts_with('.') => Self::Other,
            ("blocked-edges" | "channels", false) => {
                Self::Misplaced("name it *.yaml, or remove it")
            }
            ("blocked-edges", true) => Self::Block,
            ("channels", true) => Self::Channels,
            _ => Self::Other,
        }
    }
}
