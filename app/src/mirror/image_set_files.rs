//! Files for oc-mirror in a directory of their own.
//!
//! Whoever runs oc-mirror with every file of the directory must not find one of another day, so the
//! directory is new or empty.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use towpath_formats::mirror::image_set::ImageSetFile;

use crate::cli::print;

/// Writes the files, and says what to do with them.
pub(super) fn write(into: &Path, files: &[ImageSetFile]) -> anyhow::Result<()> {
    let shown = into.display();
    fs::create_dir_all(into).with_context(|| format!("{shown}: cannot be made a directory"))?;
    let mut there = fs::read_dir(into).with_context(|| format!("{shown}: cannot be read"))?;
    if there.next().is_some() {
        bail!("{shown}: there are files already; name a new or empty directory");
    }
    for file in files {
        let path = into.join(&file.name);
        fs::write(&path, &file.text)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    let count = match files.len() {
        1 => "1 file".to_owned(),
        many => format!("{many} files"),
    };
    print(&format!(
        "{count} in {shown}. Run oc-mirror with each of them, in the order of their names.\n"
    ))
}
