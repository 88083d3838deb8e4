//! What a source of files holds: the files that can be read, and why the others cannot be.
//!
//! Some of the files are not a whole copy, and no graph is made of them. But a block in one of them still counts.

use towpath_core::finding::Finding;
use towpath_formats::SourceFile;

/// The files of a directory, a revision, an archive or an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The files that were read.
    pub files: Vec<SourceFile>,
    /// What is there besides, and why it was not read.
    pub unread: Vec<Finding>,
}

impl Contents {
    /// The files, if none is missing.
    pub fn whole(mut self) -> Result<Vec<SourceFile>, Finding> {
        match self.unread.is_empty() {
            true => Ok(self.files),
            false => Err(self.unread.swap_remove(0)),
        }
    }
}
