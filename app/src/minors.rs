//! `--minors`: which minor version follows which, where the built-in table is to be corrected or confirmed.

use std::path::{Path, PathBuf};

use clap::Args;
use towpath_core::finding::Place;
use towpath_core::version::Minors;
use towpath_formats::minors::{self, MAX_BYTES};
use towpath_sources::read_file;

use crate::cli::failure;

#[derive(Debug, Default, Clone, Args)]
pub(crate) struct MinorsArgs {
    /// Correct or confirm rows of the table of minor versions with this file: which follows which, its Kubernetes, its kubelet skew.
    /// [default: the built-in table]
    #[arg(long, env = "TOWPATH_MINORS", value_name = "FILE")]
    minors: Option<PathBuf>,
}

impl MinorsArgs {
    pub(crate) fn read(&self) -> anyhow::Result<Minors> {
        of(self.minors.as_deref())
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.minors.clone()
    }
}

/// The table of a file, if one is named.
pub(crate) fn of(path: Option<&Path>) -> anyhow::Result<Minors> {
    path.map_or_else(|| Ok(minors::built_in()), read)
}

/// The built-in table with the rows of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<Minors> {
    let bytes = read_file(path, MAX_BYTES as u64)?;
    minors::read(&Place::file(path.display().to_string()), &bytes)
        .map_err(|findings| failure(&findings))
}
