//! Files and folders that nobody else reads: what is kept can be of private repositories.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;

/// An empty file in the place of whatever was there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = mode(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
    // One that was there keeps its mode when it is opened.
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

/// Should the file be made, it is private.
pub(crate) fn mode(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(FILE)
}

/// A folder and those above it; those that were there stay as they are.
pub(crate) fn create_folders(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes a file that is there private.
pub(crate) fn close(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(FILE))
}
