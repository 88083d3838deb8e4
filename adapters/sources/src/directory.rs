//! Reads directories and files consistently.
//!
//! Somebody may write to a directory while we read it (a `git pull`, a config map being swapped). If anything changed
//! meanwhile, the directory is read again.
//!
//! Links are followed within the directory, because config map mounts consist of them, and never out of it. Only regular
//! files are opened. So nobody can use a link to make us show a private file or wait for a device.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;

use crate::Contents;

/// The most bytes of a directory.
pub(crate) const MAX_DIRECTORY_BYTES: u64 = 256 << 20;
/// The most files and folders of a directory.
pub(crate) const MAX_ENTRIES: usize = 100_000;
const MAX_DEPTH: usize = 8;
/// How often we read a changing directory before we wait for its next change.
const MAX_TRIES: usize = 10;

/// File systems have coarse clocks. If a file changed less than this before it was read, another change may leave the same stamp.
const COARSE: Duration = Duration::from_secs(2);
/// A change this recent may be incomplete, such as a rename that has only removed the old name.
const QUIET: Duration = Duration::from_millis(100);

/// The metadata that changes when a file changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    path: String,
    /// The path with all links resolved.
    at: PathBuf,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    inode: (u64, u64),
}

impl Stamp {
    fn new(path: String, at: PathBuf, metadata: &Metadata) -> Self {
        Self {
            path,
            at,
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            inode: (metadata.dev(), metadata.ino()),
        }
    }
}

/// A directory that is read repeatedly. Files with an unchanged stamp are not read again.
pub struct Directory {
    root: PathBuf,
    wanted: fn(&str) -> bool,
    /// Each with the time of the read.
    known: BTreeMap<Stamp, (SystemTime, SourceFile)>,
    /// Files that failed last time. If they fail again, we do not wait for them again.
    unread: Vec<Finding>,
}

/// Reads the wanted files below a directory. `wanted` gets folders with a trailing `/`.
pub fn read_directory(root: &Path, wanted: fn(&str) -> bool) -> Result<Vec<SourceFile>, Finding> {
    Directory::new(root, wanted).read()
}

impl Directory {
    pub fn new(root: &Path, wanted: fn(&str) -> bool) -> Self {
        Self {
            root: root.to_owned(),
            wanted,
            known: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// Reads the wanted files, consistent at one instant.
    pub fn read(&mut self) -> Result<Vec<SourceFile>, Finding> {
        self.read_partly()?.whole()
    }

    /// Reads the readable wanted files, consistent at one instant, and reports the others.
    pub fn read_partly(&mut self) -> Result<Contents, Finding> {
        let contents = self.read_settled()?;
        self.unread.clone_from(&contents.unread);
        Ok(contents)
    }

    fn read_settled(&mut self) -> Result<Contents, Finding> {
        let mut last = None;
        for tries_left in (0..MAX_TRIES).rev() {
            match self.read_once() {
                Ok(Some((contents, _))) if tries_left == 0 => return Ok(contents),
                Ok(Some((contents, youngest)))
                    if (contents.unread.is_empty() || contents.unread == self.unread)
                        && !is_within(QUIET, youngest) =>
                {
                    return Ok(contents);
                }
                Ok(_) => last = None,
                // It may have gone while we looked; if it stays so, say so.
                Err(finding) => last = Some(finding),
            }
            if tries_left > 0 && self.root.is_dir() {
                std::thread::sleep(QUIET);
            }
        }
        let keeps_changing = || {
            let problem = "the directory keeps changing while it is read";
            let remedy = "write elsewhere, then rename it into place";
            Finding::error("keeps-changing", &*self.root, problem, remedy)
        };
        Err(last.unwrap_or_else(keeps_changing))
    }

    /// Reads everything, with the time of the last change; none if something changed meanwhile.
    fn read_once(&mut self) -> Result<Option<(Contents, SystemTime)>, Finding> {
        let before = Walk::of(&self.root, self.wanted)?;
        let (mut known, mut unread) = (BTreeMap::new(), before.unread.clone());
        for stamp in &before.stamps {
            let kept = self
                .known
                .get(stamp)
                .filter(|(read_at, _)| is_settled(stamp, *read_at))
                .cloned();
            let entry = match kept {
                Some(entry) => Ok(entry),
                None => read_stamped(&self.root, &before.root, stamp)
                    .map(|file| (SystemTime::now(), file)),
            };
            match entry {
                Ok(entry) => drop(known.insert(stamp.clone(), entry)),
                Err(finding) => unread.push(finding),
            }
        }
        self.known = known;
        let after = Walk::of(&self.root, self.wanted)?;
        let unchanged = (&before.stamps, &before.unread) == (&after.stamps, &after.unread);
        let files = || self.known.values().map(|(_, file)| file.clone()).collect();
        Ok(unchanged.then(|| {
            (
                Contents {
                    files: files(),
                    unread,
                },
                before.youngest,
            )
        }))
    }
}

/// Whether a change after that read would have changed the stamp.
fn is_settled(stamp: &Stamp, read_at: SystemTime) -> bool {
    read_at
        .duration_since(time(stamp.changed))
        .is_ok_and(|age| age >= COARSE)
}

fn is_within(span: Duration, time: SystemTime) -> bool {
    SystemTime::now()
        .duration_since(time)
        .is_ok_and(|age| age < span)
}

fn time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let since = Duration::new(
        u64::try_from(seconds).unwrap_or(0),
        u32::try_from(nanoseconds).unwrap_or(0),
    );
    SystemTime::UNIX_EPOCH + since
}

/// Reads a file up to a limit, consistent at one instant.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, Finding> {
    for _ in 0..MAX_TRIES {
        let before = file_stamp(path)?;
        let bytes = read_open(path, open(path, OFlags::empty())?, max_bytes)?;
        if before == file_stamp(path)? {
            return Ok(bytes);
        }
    }
    let problem = "the file keeps changing while it is read";
    let remedy = "write it elsewhere, then rename it";
    Err(Finding::error("keeps-changing", path, problem, remedy))
}

/// Opens a regular file, without blocking on anything else.
fn open(path: &Path, flags: OFlags) -> Result<fs::File, Finding> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|error| unreadable(path, &error.into()))?;
    let file = fs::File::from(file);
    match file
        .metadata()
        .map_err(|error| unreadable(path, &error))?
        .is_file()
    {
        true => Ok(file),
        false => Err(not_a_file(path)),
    }
}

fn read_open(path: &Path, file: fs::File, max_bytes: u64) -> Result<Vec<u8>, Finding> {
    let mut bytes = Vec::new();
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    match bytes.len() as u64 > max_bytes {
        true => Err(too_large(
            path,
            &format!("it is larger than {max_bytes} bytes"),
        )),
        false => Ok(bytes),
    }
}

fn file_stamp(path: &Path) -> Result<Stamp, Finding> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    match metadata.is_file() {
        true => Ok(Stamp::new(String::new(), PathBuf::new(), &metadata)),
        false => Err(not_a_file(path)),
    }
}

/// Reads a file that a walk has found. A folder may have become a link since, so the path of the open file is checked.
fn read_stamped(root: &Path, real_root: &Path, stamp: &Stamp) -> Result<SourceFile, Finding> {
    let shown = root.join(&stamp.path);
    let file = open(&stamp.at, OFlags::NOFOLLOW).map_err(|finding| Finding {
        place: place(&shown),
        ..finding
    })?;
    let descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    let is_at = fs::read_link(descriptor).map_err(|error| unreadable(&shown, &error))?;
    if !is_at.starts_with(real_root) {
        return Err(outside(&shown));
    }
    Ok(SourceFile::new(
        stamp.path.clone(),
        read_open(&shown, file, MAX_DIRECTORY_BYTES)?,
    ))
}

/// A walk over the wanted files below a directory.
struct Walk {
    wanted: fn(&str) -> bool,
    /// The directory's path as given.
    shown_root: PathBuf,
    root: PathBuf,
    /// The files, sorted by path.
    stamps: Vec<Stamp>,
    /// Wanted files that cannot be read.
    unread: Vec<Finding>,
    /// When a file or folder last changed.
    youngest: SystemTime,
    entries: usize,
    bytes: u64,
}

impl Walk {
    fn of(root: &Path, wanted: fn(&str) -> bool) -> Result<Self, Finding> {
        let real = fs::canonicalize(root).map_err(|error| unreadable(root, &error))?;
        if real.is_file() {
            let problem = "this is a file, and a directory belongs here";
            let remedy = "name the directory";
            return Err(Finding::error("unreadable", root, problem, remedy));
        }
        let mut walk = Self {
            wanted,
            shown_root: root.to_owned(),
            root: real.clone(),
            stamps: Vec::new(),
            unread: Vec::new(),
            youngest: SystemTime::UNIX_EPOCH,
            entries: 0,
            bytes: 0,
        };
        walk.folder(&real, "", 0)?;
        walk.stamps.sort();
        walk.unread.sort();
        Ok(walk)
    }

    /// The place of a path, for findings.
    fn shown(&self, path: &str) -> PathBuf {
        self.shown_root.join(path)
    }

    /// Walks a folder with links resolved. A folder that cannot be listed is reported; the others are read.
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Finding> {
        let shown = self.shown(prefix);
        let entries = match self.list(folder, &shown, depth) {
            Ok(entries) => entries,
            Err(finding) if depth > 0 => {
                self.unread.push(finding);
                return Ok(());
            }
            Err(finding) => return Err(finding),
        };
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // What the mount of a config map is made of; what it shows are links into it.
            if name.starts_with("..") {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(too_large(
                    &shown,
                    &format!("there are more than {MAX_ENTRIES} files"),
                ));
            }
            let path = if prefix.is_empty() {
                name.into_owned()
            } else {
                format!("{prefix}/{name}")
            };
            self.entry(entry.path(), path, depth)?;
        }
        Ok(())
    }

    fn list(
        &mut self,
        folder: &Path,
        shown: &Path,
        depth: usize,
    ) -> Result<Vec<fs::DirEntry>, Finding> {
        if depth > MAX_DEPTH {
            let problem = format!("there are more than {MAX_DEPTH} folders in each other");
            let remedy = "move what is in it further up, or out of the directory";
            return Err(Finding::error("too-deep", place(shown), problem, remedy));
        }
        let failed = |error: std::io::Error| unreadable(shown, &error);
        let metadata = fs::metadata(folder).map_err(failed)?;
        self.youngest = self
            .youngest
            .max(time((metadata.ctime(), metadata.ctime_nsec())));
        let entries = fs::read_dir(folder).map_err(failed)?;
        // One more than is allowed is enough to say that there are too many.
        let entries = entries.take(MAX_ENTRIES + 1);
        entries.collect::<Result<_, _>>().map_err(failed)
    }

    /// Takes a wanted entry. Others (`.git`, `lost+found`) are not touched.
    fn entry(&mut self, at: PathBuf, path: String, depth: usize) -> Result<(), Finding> {
        let (as_file, as_folder) = ((self.wanted)(&path), (self.wanted)(&format!("{path}/")));
        if !as_file && !as_folder {
            return Ok(());
        }
        let (at, metadata) = match self.behind_links(at, &path) {
            Ok(found) => found,
            Err(finding) => {
                self.unread.push(finding);
                return Ok(());
            }
        };
        match (metadata.is_dir(), metadata.is_file()) {
            (true, _) if as_folder => self.folder(&at, &path, depth + 1),
            (_, true) if as_file => self.file(at, path, &metadata),
            (false, false) => {
                let problem = std::io::Error::other("it is neither a file nor a folder");
                self.unread.push(unreadable(&self.shown(&path), &problem));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The resolved path and the metadata of an entry, unless it is outside the directory.
    fn behind_links(&self, at: PathBuf, path: &str) -> Result<(PathBuf, Metadata), Finding> {
        let failed = |error: std::io::Error| unreadable(&self.shown(path), &error);
        let metadata = fs::symlink_metadata(&at).map_err(failed)?;
        if !metadata.is_symlink() {
            return Ok((at, metadata));
        }
        let real = fs::canonicalize(&at).map_err(failed)?;
        match real.starts_with(&self.root) {
            true => fs::symlink_metadata(&real)
                .map(|metadata| (real, metadata))
                .map_err(failed),
            false => Err(outside(&self.shown(path))),
        }
    }

    fn file(&mut self, at: PathBuf, path: String, metadata: &Metadata) -> Result<(), Finding> {
        self.bytes += metadata.len();
        if self.bytes > MAX_DIRECTORY_BYTES {
            let problem = format!("the files are larger than {MAX_DIRECTORY_BYTES} bytes together");
            return Err(too_large(&self.shown(&path), &problem));
        }
        let stamp = Stamp::new(path, at, metadata);
        self.youngest = self.youngest.max(time(stamp.changed));
        self.stamps.push(stamp);
        Ok(())
    }
}

fn place(path: &Path) -> Place {
    Place::file(path.display().to_string())
}

fn outside(path: &Path) -> Finding {
    let problem = "it is a link that leads out of the directory";
    let remedy = "put the file itself there, or a link to a file within the directory";
    Finding::error("link-outside", place(path), problem, remedy)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Finding {
    let problem = format!("it cannot be read: {error}");
    let remedy = "check the path and its permissions";
    Finding::error("unreadable", path, problem, remedy)
}

fn not_a_file(path: &Path) -> Finding {
    let problem = match path.is_dir() {
        true => "this is a directory, and a file belongs here",
        false => "this is not a file",
    };
    Finding::error("unreadable", path, problem, "name the file")
}

fn too_large(path: &Path, problem: &str) -> Finding {
    let remedy = "point at a directory with nothing but graph data";
    Finding::error("too-large", path, problem, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_sorted_and_only_those_wanted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        for path in [
            "b/2.yaml",
            "b/1.yaml",
            "version",
            "README.md",
            ".git/version",
        ] {
            fs::write(folder.path().join(path), path).unwrap();
        }
        let files = read_directory(folder.path(), |path| {
            path != "README.md" && !path.starts_with(".git")
        })
        .unwrap();
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
            directory
                .read()
                .unwrap()
                .iter()
                .map(|file| file.bytes.to_vec())
                .collect()
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
            fs::File::open(&file)
                .unwrap()
                .set_modified(SystemTime::UNIX_EPOCH)
                .unwrap();
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
        // Of folders that are in the config map, the folder is the link.
        fs::create_dir(folder.path().join("..2026/b")).unwrap();
        fs::write(folder.path().join("..2026/b/c.yaml"), "c").unwrap();
        std::os::unix::fs::symlink("..data/b", folder.path().join("b")).unwrap();
        let (parent, absolute) = (
            tempfile::tempdir().unwrap(),
            folder.path().join("..2026/a.yaml"),
        );
        std::os::unix::fs::symlink(absolute, folder.path().join("d.yaml")).unwrap();
        let itself_a_link = parent.path().join("current");
        std::os::unix::fs::symlink(folder.path(), &itself_a_link).unwrap();
        for root in [folder.path(), &itself_a_link] {
            let files = read_directory(root, |_| true).unwrap();
            let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(paths, ["a.yaml", "b/c.yaml", "d.yaml"]);
        }
    }

    #[test]
    fn what_is_no_file_is_an_error_and_not_a_wait() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("x.yaml");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(
            read_directory(folder.path(), |_| true).unwrap_err().code,
            "unreadable"
        );
        assert_eq!(read_file(&socket, 10).unwrap_err().code, "unreadable");
    }

    #[test]
    fn nothing_outside_is_opened_and_no_device_is_waited_for() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(elsewhere.path().join("key"), "secret").unwrap();
        fs::create_dir(elsewhere.path().join("keys")).unwrap();
        fs::write(elsewhere.path().join("keys/key.yaml"), "secret").unwrap();
        fs::write(folder.path().join("a.yaml"), "a").unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, elsewhere.path().join("pipe"), Mode::RUSR).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe"), Mode::RUSR).unwrap();
        let root = folder.path().to_owned();
        for (target, expected) in [
            (elsewhere.path().join("key"), "link-outside"),
            (elsewhere.path().join("keys"), "link-outside"),
            (elsewhere.path().join("pipe"), "link-outside"),
            (PathBuf::from("/dev/zero"), "link-outside"),
            (PathBuf::from("../"), "link-outside"),
            (root.join("pipe"), "unreadable"),
            (PathBuf::from("gone"), "unreadable"),
        ] {
            let link = root.join("x.yaml");
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let mut directory = Directory::new(&root, |path| !path.starts_with("pipe"));
            let Contents { files, unread } = directory.read_partly().unwrap();
            assert_eq!(
                files
                    .iter()
                    .map(|file| file.path.as_str())
                    .collect::<Vec<_>>(),
                ["a.yaml"],
                "{target:?}"
            );
            assert_eq!((unread.len(), unread[0].code), (1, expected), "{target:?}");
            assert_eq!(
                &*unread[0].place.file,
                link.to_str().unwrap(),
                "it does not say where the link leads"
            );
            assert_eq!(
                directory.read().unwrap_err().code,
                expected,
                "half a directory is none"
            );
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(
            read_directory(&root, |_| true).unwrap_err().code,
            "unreadable",
            "the pipe itself"
        );
    }

    #[test]
    fn a_folder_that_is_too_deep_keeps_nothing_else_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), "a").unwrap();
        let mut deep = folder.path().to_owned();
        (0..=MAX_DEPTH).for_each(|_| deep.push("d"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("b.yaml"), "b").unwrap();
        let mut directory = Directory::new(folder.path(), |_| true);
        let Contents { files, unread } = directory.read_partly().unwrap();
        assert_eq!(files.len(), 1);
        let expected = (1, "too-deep", deep.to_str().unwrap());
        assert_eq!(
            (unread.len(), unread[0].code, &*unread[0].place.file),
            expected
        );
        fs::remove_file(deep.join("b.yaml")).unwrap();
        fs::remove_dir(&deep).unwrap();
        assert_eq!(directory.read().unwrap().len(), 1);
    }

    #[test]
    fn a_folder_that_becomes_a_link_while_it_is_read_leads_nowhere() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("b")).unwrap();
        for path in [folder.path().join("b/x"), elsewhere.path().join("x")] {
            fs::write(path, "x").unwrap();
        }
        let walk = Walk::of(folder.path(), |_| true).unwrap();
        assert!(read_stamped(folder.path(), &walk.root, &walk.stamps[0]).is_ok());
        fs::remove_dir_all(folder.path().join("b")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("b")).unwrap();
        let read = read_stamped(folder.path(), &walk.root, &walk.stamps[0]);
        assert_eq!(read.unwrap_err().code, "link-outside");
    }

    #[test]
    fn what_is_not_there_says_so() {
        let error = read_directory(Path::new("/nowhere/at/all"), |_| true).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nowhere/at/all: it cannot be read"),
            "{error}"
        );
    }

    #[test]
    fn a_dangling_link_is_an_error_and_not_a_file_less() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("gone", folder.path().join("x.yaml")).unwrap();
        assert_eq!(
            read_directory(folder.path(), |_| true).unwrap_err().code,
            "unreadable"
        );
    }

    #[test]
    fn a_file_over_its_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), [0; 11]).unwrap();
        assert_eq!(
            read_file(&folder.path().join("x"), 10).unwrap_err().code,
            "too-large"
        );
        assert_eq!(read_file(&folder.path().join("x"), 11).unwrap().len(), 11);
    }
}
