//! Directories and files, read whole or not at all.
//!
//! A directory may be written to while it is read (a `git pull`, a config map being swapped). What was read counts
//! only if nothing changed meanwhile; otherwise it is read again.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;

/// The most bytes that one directory may hold.
const MAX_DIRECTORY_BYTES: u64 = 256 << 20;
/// The most files and folders that one directory may hold.
const MAX_ENTRIES: usize = 100_000;
/// Folders within folders.
const MAX_DEPTH: usize = 8;
/// How often a directory that changes is read before we give up until the next change.
const MAX_TRIES: usize = 10;

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    path: String,
    bytes: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

/// A directory that is read again and again. A file whose size and time are what they were is not read anew.
pub struct Directory {
    root: PathBuf,
    wanted: fn(&str) -> bool,
    known: BTreeMap<Stamp, SourceFile>,
}

/// Reads the files below a directory that are wanted.
pub fn read_directory(root: &Path, wanted: fn(&str) -> bool) -> Result<Vec<SourceFile>, Finding> {
    Directory::new(root, wanted).read()
}

impl Directory {
    /// The directory, nothing of which has been read.
    pub fn new(root: &Path, wanted: fn(&str) -> bool) -> Self {
        Self { root: root.to_owned(), wanted, known: BTreeMap::new() }
    }

    /// Reads the wanted files, all at one instant.
    pub fn read(&mut self) -> Result<Vec<SourceFile>, Finding> {
        let mut last = None;
        for _ in 0..MAX_TRIES {
            match self.read_once() {
                Ok(Some(files)) => return Ok(files),
                Ok(None) => last = None,
                // It may have gone while we looked; if it stays so, say so.
                Err(finding) => last = Some(finding),
            }
        }
        let keeps_changing = || {
            let place = Place::file(self.root.display().to_string());
            let problem = "the directory keeps changing while it is read";
            Finding::error("keeps-changing", place, problem, "write elsewhere, then rename it into place")
        };
        Err(last.unwrap_or_else(keeps_changing))
    }

    /// Reads everything; none if it changed meanwhile.
    fn read_once(&mut self) -> Result<Option<Vec<SourceFile>>, Finding> {
        let before = stamps(&self.root, self.wanted)?;
        let mut files = BTreeMap::new();
        for stamp in &before {
            let file = match self.known.get(stamp).filter(|_| stamp.modified.is_some()) {
                Some(known) => known.clone(),
                None => read_stamped(&self.root, stamp)?,
            };
            files.insert(stamp.clone(), file);
        }
        self.known = files;
        Ok((before == stamps(&self.root, self.wanted)?).then(|| self.known.values().cloned().collect()))
    }
}

/// Reads a file of at most so many bytes.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Finding> {
    let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    match bytes.len() as u64 <= max_bytes {
        true => Ok(bytes),
        false => Err(too_large(path, &format!("it is larger than {max_bytes} bytes"))),
    }
}

fn read_stamped(root: &Path, stamp: &Stamp) -> Result<SourceFile, Finding> {
    let bytes = read_file(&root.join(&stamp.path), MAX_DIRECTORY_BYTES)?;
    Ok(SourceFile { path: stamp.path.clone(), bytes: bytes.into() })
}

/// Every wanted file below a directory, sorted by path.
fn stamps(root: &Path, wanted: fn(&str) -> bool) -> Result<Vec<Stamp>, Finding> {
    let mut walk = Walk { wanted, stamps: Vec::new(), entries: 0, bytes: 0 };
    walk.folder(root, "", 0)?;
    walk.stamps.sort();
    Ok(walk.stamps)
}

struct Walk {
    wanted: fn(&str) -> bool,
    stamps: Vec<Stamp>,
    entries: usize,
    bytes: u64,
}

impl Walk {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Finding> {
        if depth > MAX_DEPTH {
            return Err(too_large(folder, &format!("there are more than {MAX_DEPTH} folders in each other")));
        }
        let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // `.git`, and what a config map's mount is made of
            if depth == 0 && name.starts_with('.') {
                continue;
            }
            let path = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}/{name}") };
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(too_large(folder, &format!("there are more than {MAX_ENTRIES} files")));
            }
            let metadata = fs::metadata(entry.path()).map_err(|error| unreadable(&entry.path(), &error))?;
            match metadata.is_dir() {
                true => self.folder(&entry.path(), &path, depth + 1)?,
                false if (self.wanted)(&path) => self.file(folder, path, &metadata)?,
                false => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: &Path, path: String, metadata: &Metadata) -> Result<(), Finding> {
        self.bytes += metadata.len();
        if self.bytes > MAX_DIRECTORY_BYTES {
            return Err(too_large(folder, &format!("the files are larger than {MAX_DIRECTORY_BYTES} bytes together")));
        }
        self.stamps.push(Stamp {
            path,
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            inode: metadata.ino(),
        });
        Ok(())
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Finding {
    let place = Place::file(path.display().to_string());
    Finding::error("unreadable", place, format!("it cannot be read: {error}"), "check the path and its permissions")
}

fn too_large(path: &Path, problem: &str) -> Finding {
    Finding::error("too-large", Place::file(path.display().to_string()), problem, "point at the graph data alone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_sorted_and_only_those_wanted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        for path in ["b/2.yaml", "b/1.yaml", "version", "README.md", ".git/version"] {
            fs::write(folder.path().join(path), path).unwrap();
        }
        let files = read_directory(folder.path(), |path| path != "README.md").unwrap();
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["b/1.yaml", "b/2.yaml", "version"]);
        assert_eq!(&*files[2].bytes, b"version");
    }

    #[test]
    fn what_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        write("a", "one");
        write("b", "two");
        let mut directory = Directory::new(folder.path(), |_| true);
        let texts = |directory: &mut Directory| -> Vec<Vec<u8>> {
            directory.read().unwrap().iter().map(|file| file.bytes.to_vec()).collect()
        };
        assert_eq!(texts(&mut directory), [b"one", b"two"]);
        // Same length, another file under the same name: as `git checkout` and editors write.
        write("new", "ten");
        fs::rename(folder.path().join("new"), folder.path().join("a")).unwrap();
        assert_eq!(texts(&mut directory), [b"ten", b"two"]);
        fs::remove_file(folder.path().join("b")).unwrap();
        assert_eq!(texts(&mut directory), [b"ten"]);
    }

    #[test]
    fn what_is_not_there_says_so() {
        let error = read_directory(Path::new("/nowhere/at/all"), |_| true).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/at/all: it cannot be read"), "{error}");
    }

    #[test]
    fn a_dangling_link_is_an_error_and_not_a_file_less() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("gone", folder.path().join("x.yaml")).unwrap();
        assert_eq!(read_directory(folder.path(), |_| true).unwrap_err().code, "unreadable");
    }

    #[test]
    fn a_file_over_its_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), [0; 11]).unwrap();
        assert_eq!(read_file(&folder.path().join("x"), 10).unwrap_err().code, "too-large");
        assert_eq!(read_file(&folder.path().join("x"), 11).unwrap().len(), 11);
    }
}
