//! Graph data as a `tar.gz`. The same files always give the same bytes.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::SourceFile;

/// Writes the files, sorted by path, with neither times nor owners.
pub fn tarball(files: &[SourceFile]) -> io::Result<Vec<u8>> {
    let mut files: Vec<&SourceFile> = files.iter().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for file in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        archive.append_data(&mut header, &file.path, &*file.bytes)?;
    }
    let mut bytes = archive.into_inner()?.finish()?;
    bytes.flush()?;
    Ok(bytes)
}
