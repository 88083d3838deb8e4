//! Directories and files, read whole or not at all.
//!
//! A directory may be written to while it is read (a `git pull`, a config map being swapped). What was read counts
//! only if nothing changed meanwhile; otherwise it is read again.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;

/// The most bytes that one directory may hold.
pub(crate) const MAX_DIRECTORY_BYTES: u64 = 256 << 20;
/// The most files and folders that one directory may hold.
pub(crate) const MAX_ENTRIES: usize = 100_000;
/// Folders within folders.
const MAX_DEPTH: usize = 8;
/// How often a directory that changes is read before we give up until the next change.
const MAX_TRIES: usize = 10;

/// A file system's clock is coarse: of a file that changed less than this before it was read, the stamp may be the same
/// after another change.
const COARSE: Duration = Duration::from_secs(2);
/// What changed less than this ago may be half of a change: a rename that has removed one name and not yet made the other.
const QUIET: Duration = Duration::from_millis(100);

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    path: String,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: (u64, u64),
}

impl Stamp {
    fn new(path: String, metadata: &Metadata) -> Self {
        Self {
            path,
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: (metadata.dev(), metadata.ino()),
        }
    }
}

/// A directory that is read again and again. A file whose stamp is what it was is not read anew.
pub struct Directory {
    root: PathBuf,
    wanted: fn(&str) -> bool,
    /// With the time at which each was read.
    known: BTreeMap<Stamp, (SystemTime, SourceFile)>,
}

/// Reads the files below a directory that are wanted; folders are asked for with a `/` at their end.
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
        for tries_left in (0..MAX_TRIES).rev() {
            match self.read_once() {
                Ok(Some((files, youngest))) if tries_left == 0 || !is_within(QUIET, youngest) => return Ok(files),
                Ok(_) => last = None,
                // It may have gone while we looked; if it stays so, say so.
                Err(finding) => last = Some(finding),
            }
            if tries_left > 0 && self.root.is_dir() {
                std::thread::sleep(QUIET);
            }
        }
        let keeps_changing = || {
            let place = Place::file(self.root.display().to_string());
            let problem = "the directory keeps changing while it is read";
            Finding::error("keeps-changing", place, problem, "write elsewhere, then rename it into place")
        };
        Err(last.unwrap_or_else(keeps_changing))
    }

    /// Reads everything, and says when something last changed; none if something did meanwhile.
    fn read_once(&mut self) -> Result<Option<(Vec<SourceFile>, SystemTime)>, Finding> {
        let before = Walk::of(&self.root, self.wanted)?;
        let mut known = BTreeMap::new();
        for stamp in &before.stamps {
            let kept = self.known.get(stamp).filter(|(read_at, _)| is_settled(stamp, *read_at)).cloned();
            let entry = match kept {
                Some(entry) => entry,
                None => (SystemTime::now(), read_stamped(&self.root, stamp)?),
            };
            known.insert(stamp.clone(), entry);
        }
        self.known = known;
        let unchanged = before.stamps == Walk::of(&self.root, self.wanted)?.stamps;
        let files = || self.known.values().map(|(_, file)| file.clone()).collect();
        Ok(unchanged.then(|| (files(), before.youngest)))
    }
}

/// Whether a stamp that was read then would be another after a change since.
fn is_settled(stamp: &Stamp, read_at: SystemTime) -> bool {
    read_at.duration_since(time(stamp.changed)).is_ok_and(|age| age >= COARSE)
}

fn is_within(span: Duration, time: SystemTime) -> bool {
    SystemTime::now().duration_since(time).is_ok_and(|age| age < span)
}

fn time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let since = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanoseconds).unwrap_or(0));
    SystemTime::UNIX_EPOCH + since
}

/// Reads a file of at most so many bytes, as it was at one instant.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Finding> {
    for _ in 0..MAX_TRIES {
        let before = file_stamp(path)?;
        let file = fs::File::open(path).map_err(|error| unreadable(path, &error))?;
        let mut bytes = Vec::new();
        file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
        if bytes.len() as u64 > max_bytes {
            return Err(too_large(path, &format!("it is larger than {max_bytes} bytes")));
        }
        if before == file_stamp(path)? {
            return Ok(bytes);
        }
    }
    let place = Place::file(path.display().to_string());
    Err(Finding::error(
        "keeps-changing",
        place,
        "the file keeps changing while it is read",
        "write it elsewhere, then rename it",
    ))
}

fn file_stamp(path: &Path) -> Result<Stamp, Finding> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    match metadata.is_file() {
        true => Ok(Stamp::new(String::new(), &metadata)),
        false => Err(unreadable(path, &std::io::Error::other("it is not a file"))),
    }
}

fn read_stamped(root: &Path, stamp: &Stamp) -> Result<SourceFile, Finding> {
    let bytes = read_file(&root.join(&stamp.path), MAX_DIRECTORY_BYTES)?;
    Ok(SourceFile { path: stamp.path.clone(), bytes: bytes.into() })
}

/// A walk over everything wanted below a directory.
struct Walk {
    wanted: fn(&str) -> bool,
    /// The files, sorted by path.
    stamps: Vec<Stamp>,
    /// When a file or folder last changed.
    youngest: SystemTime,
    entries: usize,
    bytes: u64,
}

impl Walk {
    fn of(root: &Path, wanted: fn(&str) -> bool) -> Result<Self, Finding> {
        let mut walk = Self { wanted, stamps: Vec::new(), youngest: SystemTime::UNIX_EPOCH, entries: 0, bytes: 0 };
        walk.folder(root, "", 0)?;
        walk.stamps.sort();
        Ok(walk)
    }

    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Finding> {
        if depth > MAX_DEPTH {
            return Err(too_large(folder, &format!("there are more than {MAX_DEPTH} folders in each other")));
        }
        let metadata = fs::metadata(folder).map_err(|error| unreadable(folder, &error))?;
        self.youngest = self.youngest.max(time((metadata.ctime(), metadata.ctime_nsec())));
        for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
            let entry = entry.map_err(|error| unreadable(folder, &error))?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // What the mount of a config map is made of; what it shows are links into it.
            if name.starts_with("..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(too_large(folder, &format!("there are more than {MAX_ENTRIES} files")));
            }
            let path = if prefix.is_empty() { name.into_owned() } else { format!("{prefix}/{name}") };
            self.entry(&entry.path(), path, depth)?;
        }
        Ok(())
    }

    /// Takes in what is wanted; the rest (`.git`, `lost+found`) is not even looked at.
    fn entry(&mut self, at: &Path, path: String, depth: usize) -> Result<(), Finding> {
        let (as_file, as_folder) = ((self.wanted)(&path), (self.wanted)(&format!("{path}/")));
        if !as_file && !as_folder {
            return Ok(());
        }
        let metadata = fs::metadata(at).map_err(|error| unreadable(at, &error))?;
        match (metadata.is_dir(), metadata.is_file()) {
            (true, _) if as_folder => self.folder(at, &path, depth + 1),
            (_, true) if as_file => self.file(at, path, &metadata),
            (false, false) => Err(unreadable(at, &std::io::Error::other("it is neither a file nor a folder"))),
            _ => Ok(()),
        }
    }

    fn file(&mut self, at: &Path, path: String, metadata: &Metadata) -> Result<(), Finding> {
        self.bytes += metadata.len();
        if self.bytes > MAX_DIRECTORY_BYTES {
            return Err(too_large(at, &format!("the files are larger than {MAX_DIRECTORY_BYTES} bytes together")));
        }
        let stamp = Stamp::new(path, metadata);
        self.youngest = self.youngest.max(time(stamp.changed));
        self.stamps.push(stamp);
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
        let files = read_directory(folder.path(), |path| path != "README.md" && !path.starts_with(".git")).unwrap();
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
    fn a_change_that_leaves_size_and_time_as_they_were_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let write = |text: &str| {
            fs::write(&file, text).unwrap();
            fs::File::open(&file).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        };
        let mut directory = Directory::new(folder.path(), |_| true);
        for text in ["one", "two", "six"] {
            write(text);
            assert_eq!(&*directory.read().unwrap()[0].bytes, text.as_bytes());
        }
    }

    #[test]
    fn a_mounted_config_map_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("..2026")).unwrap();
        fs::write(folder.path().join("..2026/a.yaml"), "a").unwrap();
        std::os::unix::fs::symlink("..2026", folder.path().join("..data")).unwrap();
        std::os::unix::fs::symlink("..data/a.yaml", folder.path().join("a.yaml")).unwrap();
        let files = read_directory(folder.path(), |_| true).unwrap();
        assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a.yaml"]);
    }

    #[test]
    fn what_is_no_file_is_an_error_and_not_a_wait() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.yaml");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(read_directory(folder.path(), |_| true).unwrap_err().code, "unreadable");
        assert_eq!(read_file(&socket, 10).unwrap_err().code, "unreadable");
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
