//! Files and folders that other users cannot read, because copies may come from private repositories.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;

/// Creates an empty file, replacing an existing one.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = mode(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
    // One that was there keeps its mode when it is opened.
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

/// Opens with private permissions for a new file.
pub(crate) fn mode(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(FILE)
}

/// Creates a folder and its parents. Existing ones stay unchanged.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes an existing file private.
pub(crate) fn close(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(FILE))
}
