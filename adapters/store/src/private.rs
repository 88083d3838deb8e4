//! Database files are their owner's alone: they name clusters, people and decisions.

use std::fs::{self, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::{Result, StoreError};

/// The owner reads and writes, and nobody else does anything.
const OWNERS: u32 = 0o600;
/// What others may do, who are neither the owner nor in its group.
const OTHERS: u32 = 0o007;

/// Makes the file if there is none, so that SQLite never makes one that all can read, and takes a file from others who can
/// read it: earlier versions made such files. A file that only a group may read was made so on purpose, and stays.
///
/// A file that is there is never opened here: closing it would end SQLite's locks of this process.
pub(crate) fn prepare(path: &Path) -> Result<()> {
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNERS)
        .open(path)
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            ["", "-wal", "-shm", "-journal"]
                .iter()
                .for_each(|suffix| close_to_others(&with_suffix(path, suffix)));
            Ok(())
        }
        Err(error) => Err(StoreError::Unavailable(format!(
            "{} cannot be made: {error}",
            path.display()
        ))),
    }
}

/// Whoever does not own the file cannot do this, and goes on with it as it is.
fn close_to_others(path: &Path) {
    if let Ok(known) = fs::metadata(path)
        && known.permissions().mode() & OTHERS != 0
    {
        let _ = fs::set_permissions(path, Permissions::from_mode(OWNERS));
    }
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
