//! Makes database files private, because they name clusters, people and decisions.

use std::fs::{self, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::{Result, StoreError};

/// Only the owner may read and write.
const OWNERS: u32 = 0o600;
/// The permissions of users outside the group.
const OTHERS: u32 = 0o007;

/// Creates the file if needed, so that SQLite never creates one that everybody can read.
///
/// An existing file is never opened here: closing it would release SQLite's locks of this process.
pub(crate) fn prepare(path: &Path) -> Result<()> {
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        let problem = format!("{} is not a file; name the store's file", path.display());
        return Err(StoreError::Bad(problem));
    }
    match OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(OWNERS)
        .open(path)
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Unavailable(format!(
            "the file cannot be made: {error}; make its directory, or correct the address"
        ))),
    }
}

/// Removes read permission for others from a store that earlier versions created. Group permissions stay, because somebody
/// set them on purpose. Only for files that are known to be a store: a mistyped address changes nobody's files.
pub(crate) fn close(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        close_to_others(&with_suffix(path, suffix));
    }
}

/// Other users than the owner cannot change permissions, and use the file as it is.
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
