//! The stricter parts of one source: blocks of refused copies. They are in force although the copy was refused.
//!
//! They are saved as files of blocks, so that a restart and another version of Towpath can read them. They stay in force until a copy is accepted,
//! or a person discards one by name. A discarded one does not come back with the next read of the same copy.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::Block;
use towpath_core::intake::stricter_blocks;
use towpath_formats::SourceFile;
use towpath_formats::sources::copy::{KeptPart, digest_of_files};
use towpath_web::StricterPart;

/// The most that one source may have; they pile up only while none of its copies is taken.
const MAX_PARTS: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;

/// What copies of a source that were not taken block.
#[derive(Debug, Clone, Default)]
pub(super) struct StricterParts {
    parts: Vec<Part>,
    /// The digests of those that a person has discarded.
    discarded: BTreeSet<String>,
}

#[derive(Debug, Clone)]
struct Part {
    /// Of its file's path and bytes.
    digest: String,
    file: SourceFile,
    block: Block,
    since: Timestamp,
}

impl StricterParts {
    /// What was kept before a restart.
    pub(super) fn restored(
        kept: Vec<KeptPart>,
        discarded: BTreeSet<String>,
        mut read: impl FnMut(&SourceFile) -> Option<Block>,
    ) -> (Self, Vec<Finding>) {
        let (mut parts, mut findings) = (Vec::new(), Vec::new());
        for (since, file) in kept {
            match read(&file) {
                Some(block) => parts.push(Part {
                    digest: digest_of_files(std::slice::from_ref(&file)),
                    file,
                    block,
                    since,
                }),
                None => {
                    let problem = "a saved block of a refused copy can no longer be read";
                    let remedy = "make sure that the source has it in a copy that Towpath accepts";
                    findings.push(Finding::error(
                        "damaged-copy",
                        Place::file(file.path),
                        problem,
                        remedy,
                    ));
                }
            }
        }
        (Self { parts, discarded }, findings)
    }

    /// Adds what is stricter in a copy that was not taken than what is in force; or says what there was no room for.
    pub(super) fn add(
        &mut self,
        in_force: &[Block],
        refused: Vec<(Block, SourceFile)>,
        now: Timestamp,
    ) -> Option<Finding> {
        let all: Vec<&Block> = in_force.iter().chain(self.blocks()).collect();
        let new = stricter_blocks(&all, refused);
        let (mut bytes, mut left_out) = (
            self.parts
                .iter()
                .map(|part| part.file.bytes.len())
                .sum::<usize>(),
            None,
        );
        for (block, file) in new {
            let digest = digest_of_files(std::slice::from_ref(&file));
            if self.discarded.contains(&digest) {
                continue;
            }
            bytes += file.bytes.len();
            match self.parts.len() < MAX_PARTS && bytes <= MAX_BYTES {
                true => self.parts.push(Part {
                    digest,
                    file,
                    block,
                    since: now,
                }),
                false => left_out = left_out.or(Some(file.path)),
            }
        }
        left_out.map(|path| {
            let problem = format!(
                "refused copies have more than {MAX_PARTS} new blocks, and not all are in force"
            );
            let remedy = "make sure that Towpath accepts a copy of the source";
            Finding::error(
                "too-many-stricter-parts",
                Place::file(path),
                problem,
                remedy,
            )
        })
    }

    /// Discards those of these names; says how many there were.
    pub(super) fn discard(&mut self, names: &[String]) -> usize {
        let is_meant = |part: &Part| names.contains(&part.file.path);
        self.discarded.extend(
            self.parts
                .iter()
                .filter(|part| is_meant(part))
                .map(|part| part.digest.clone()),
        );
        let before = self.parts.len();
        self.parts.retain(|part| !is_meant(part));
        before - self.parts.len()
    }

    /// The blocks that hold.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().map(|part| &part.block)
    }

    /// What changes when one comes or goes.
    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| part.digest.as_str())
    }

    /// To be kept: those that hold, and those that were discarded.
    pub(super) fn kept(&self) -> (Vec<KeptPart>, BTreeSet<String>) {
        (
            self.parts
                .iter()
                .map(|part| (part.since, part.file.clone()))
                .collect(),
            self.discarded.clone(),
        )
    }

    /// As files of graph data, under names that no other file has.
    pub(super) fn files(&self) -> impl Iterator<Item = SourceFile> {
        self.parts.iter().map(|part| {
            let name = part.file.path.rsplit('/').next().unwrap_or_default();
            let path = format!("blocked-edges/stricter-{}-{name}", &part.digest[..12]);
            SourceFile::new(path, part.file.bytes.clone())
        })
    }

    /// For whoever is on call.
    pub(super) fn health(&self) -> Vec<StricterPart> {
        let of = |part: &Part| StricterPart {
            name: part.file.path.clone(),
            since: part.since,
            to: part.block.to.to_string(),
            from: part.block.from.as_str().to_owned(),
        };
        self.parts.iter().map(of).collect()
    }
}
