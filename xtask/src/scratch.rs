//! A folder for what a bench writes, gone when the bench ends.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The folder. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// A new, empty folder.
    pub(crate) fn new(name: &str) -> anyhow::Result<Self> {
        let folder =
            std::env::temp_dir().join(format!("towpath-bench-{name}-{}", std::process::id()));
        fs::create_dir(&folder)
            .with_context(|| format!("{}: cannot be created", folder.display()))?;
        Ok(Self { folder })
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file, and the folders on the way to it.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(path);
        write(&path, content)?;
        Ok(path)
    }

    /// Writes a file that only we may read.
    pub(crate) fn write_private(&self, path: &str, content: &str) -> anyhow::Result<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
            .with_context(|| format!("{}: cannot be closed to others", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays in the system's temporary folder, where it does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes a file, and the folders on the way to it.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let cannot = || format!("{}: cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::write(path, content).with_context(cannot)
}

/// Writes a file so that nobody sees half of it: beside it, then in its place.
pub(crate) fn replace(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    // Editors leave such names behind, so readers of graph data pass them over.
    let beside = path.with_file_name(".replacement.tmp");
    write(&beside, content)?;
    fs::rename(&beside, path).with_context(|| format!("{}: cannot be replaced", path.display()))
}

/// Copies the files of a folder, and not its folders.
pub(crate) fn copy_files(from: &Path, to: &Path) -> anyhow::Result<()> {
    let cannot = || format!("{}: cannot be copied", from.display());
    fs::create_dir_all(to).with_context(cannot)?;
    for entry in fs::read_dir(from).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if entry.path().is_file() {
            // Not fs::copy: the original may be read-only, and the copy must not be.
            let content = fs::read(entry.path()).with_context(cannot)?;
            fs::write(to.join(entry.file_name()), content).with_context(cannot)?;
        }
    }
    Ok(())
}
