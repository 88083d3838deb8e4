//! The files of a source: those that were read, and why others were not.
//!
//! Incomplete files make no graph. But a block in one of them still counts.

use towpath_core::finding::Finding;
use towpath_formats::SourceFile;

/// The files of a directory, a revision, an archive or an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The files that were read.
    pub files: Vec<SourceFile>,
    /// Files that were not read, and why.
    pub unread: Vec<Finding>,
}

impl Contents {
    /// The files, if all were read.
    pub fn whole(mut self) -> Result<Vec<SourceFile>, Finding> {
        match self.unread.is_empty() {
            true => Ok(self.files),
            false => Err(self.unread.swap_remove(0)),
        }
    }
}
