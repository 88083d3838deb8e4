//! Small files that others replace while we run, such as tokens and certificates.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// How often to read a file that changes during the read.
const MAX_TRIES: usize = 3;

/// What a file looked like. It changes whenever somebody writes the file or puts another one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    inode: (u64, u64),
    bytes: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// None while the file is not there.
    pub fn of(path: &Path) -> Option<Self> {
        let data = std::fs::metadata(path).ok()?;
        Some(Self {
            inode: (data.dev(), data.ino()),
            bytes: data.size(),
            written: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        })
    }
}

/// Reads a regular file. The error text follows the file's name.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    for _ in 0..MAX_TRIES {
        let file = open(path).map_err(unreadable)?;
        let before = stamp(&file).map_err(unreadable)?;
        let mut bytes = Vec::new();
        (&file)
            .take(max_bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() as u64 > max_bytes {
            return Err(format!("is longer than {max_bytes} bytes"));
        }
        if stamp(&file).map_err(unreadable)? == before {
            return Ok(bytes);
        }
    }
    Err("keeps changing while it is read".to_owned())
}

/// Never blocks, even on a pipe that nobody writes to.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a file")),
    }
}

fn stamp(file: &File) -> io::Result<(std::time::SystemTime, u64)> {
    let data = file.metadata()?;
    Ok((data.modified()?, data.len()))
}
