//! Writes a change into a directory of graph data: whole, or not at all, and never over what somebody else changed meanwhile.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, bail};
use towpath_formats::change::steering::FileChange;

pub(super) fn write(change: &FileChange, directory: Option<&Path>) -> anyhow::Result<()> {
    let Some(directory) = directory else {
        bail!("--write needs graph data in a directory; clone it, and name it with --graph-data");
    };
    let path = directory.join(&change.path);
    let there = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("{}", path.display())),
    };
    if there != change.old {
        bail!(
            "{} has changed meanwhile; make the change again",
            path.display()
        );
    }
    let cannot = || format!("{} cannot be written", path.display());
    match (&change.old, &change.new) {
        (_, None) => {
            fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))
        }
        (None, Some(text)) => {
            let folder = path.parent().unwrap_or(directory);
            fs::create_dir_all(folder).with_context(cannot)?;
            let mut open = fs::File::create_new(&path).with_context(cannot)?;
            let written = open.write_all(text.as_bytes());
            if written.is_err() {
                // The first error is the one to tell.
                let _ = fs::remove_file(&path);
            }
            written.with_context(cannot)
        }
        (Some(_), Some(text)) => {
            // Not read as graph data: it is in no folder that is.
            let new = directory.join(".towpath-rollouts.new");
            fs::write(&new, text).with_context(cannot)?;
            fs::rename(&new, &path).with_context(cannot)
        }
    }
}
