//! A cache on disk of what is known by digest. Whatever happens to it, the worst is that something is read again.
//!
//! One file an entry: the SHA-256 of the rest on the first line, then the content. It is written under a name of its own and renamed, so that neither a
//! kill nor a second process leaves half of one under its name; what a power cut leaves there, its checksum tells. Hence no fsync: two thousand of them
//! would take longer than the scrape. A full disk is a finding, and the work goes on without.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use towpath_core::finding::{Finding, Place};
use towpath_formats::oci::Digest;

/// Of what the entries are made. Another version of us that writes others writes them elsewhere.
const LAYOUT: &str = "v1";
const MAX_ENTRY_BYTES: u64 = 8 << 20;
/// Findings of one kind that are kept; a thousand say no more than the first few.
const MAX_FINDINGS: usize = 5;
/// A temporary file older than this belongs to nobody any more.
const ABANDONED_SECONDS: u64 = 3_600;

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// A cache in a directory.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    max_entries: usize,
    /// What was asked for or written: it goes last.
    used: Mutex<BTreeSet<PathBuf>>,
    findings: Mutex<Vec<Finding>>,
}

impl Cache {
    /// The most entries that are kept, unless told otherwise.
    pub const MAX_ENTRIES: usize = 100_000;

    /// The cache in this directory, which is made when there is something to put into it.
    pub fn at(directory: &Path) -> Self {
        Self::bounded(directory, Self::MAX_ENTRIES)
    }

    /// The same, with at most so many entries.
    pub fn bounded(directory: &Path, max_entries: usize) -> Self {
        let (used, findings) = (Mutex::default(), Mutex::default());
        Self { directory: directory.join(LAYOUT), max_entries, used, findings }
    }

    /// What is kept under a key; none if nothing is, or nothing that can be trusted.
    pub fn get(&self, key: &Digest) -> Option<Vec<u8>> {
        let path = self.path(key);
        let content = match read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.damaged(&path, &format!("it cannot be read: {error}"));
                return None;
            }
        };
        match checked(&content) {
            Some(content) => {
                locked(&self.used).insert(path);
                Some(content.to_vec())
            }
            None => {
                self.damaged(&path, "its checksum is wrong");
                None
            }
        }
    }

    /// Says that an entry could be read and means nothing.
    pub fn distrust(&self, key: &Digest) {
        self.damaged(&self.path(key), "what it says cannot be understood");
    }

    /// Keeps something under a key.
    pub fn put(&self, key: &Digest, content: &[u8]) {
        let path = self.path(key);
        match write(&path, content) {
            Ok(()) => _ = locked(&self.used).insert(path),
            Err(error) => {
                let problem = format!("it cannot be written: {error}");
                let remedy = "make room, or name another directory; until then images are read again each time";
                self.say(Finding::warning("cache-unwritable", self.place(&self.directory), problem, remedy));
            }
        }
    }

    /// Removes what is too much: what was not used goes first, then the oldest.
    pub fn trim(&self) {
        let used = locked(&self.used);
        let mut entries = Vec::new();
        for folder in children(&self.directory) {
            for path in children(&folder) {
                let written =
                    fs::metadata(&path).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
                if path.extension().is_some() {
                    remove_abandoned(&path, written);
                } else {
                    entries.push((used.contains(&path), written, path));
                }
            }
        }
        entries.sort();
        let too_many = entries.len().saturating_sub(self.max_entries);
        for (_, _, path) in entries.iter().take(too_many) {
            // Another process may have been quicker.
            let _ = fs::remove_file(path);
        }
    }

    /// What went wrong since this was last asked.
    pub fn take_findings(&self) -> Vec<Finding> {
        std::mem::take(&mut *locked(&self.findings))
    }

    fn path(&self, key: &Digest) -> PathBuf {
        self.directory.join(&key.hex()[..2]).join(key.hex())
    }

    fn damaged(&self, path: &Path, problem: &str) {
        let remedy = "nothing is lost: it is read anew; if it comes again, look at the disk";
        self.say(Finding::warning("cache-damaged", self.place(path), problem, remedy));
    }

    fn say(&self, finding: Finding) {
        let mut findings = locked(&self.findings);
        if findings.iter().filter(|said| said.code == finding.code).count() < MAX_FINDINGS
            && !findings.contains(&finding)
        {
            findings.push(finding);
        }
    }

    fn place(&self, path: &Path) -> Place {
        Place::file(path.display().to_string())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(MAX_ENTRY_BYTES + 1).read_to_end(&mut content)?;
    Ok(content)
}

/// What is behind the checksum, if that is right.
fn checked(content: &[u8]) -> Option<&[u8]> {
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let (sum, rest) = (&content[..end], &content[end + 1..]);
    (Digest::of(rest).hex().as_bytes() == sum).then_some(rest)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        let entry = [Digest::of(content).hex().as_bytes(), b"\n", content].concat();
        file.write_all(&entry)
    });
    written.and_then(|()| fs::rename(&temporary, path)).inspect_err(|_| _ = fs::remove_file(&temporary))
}

fn remove_abandoned(path: &Path, written: SystemTime) {
    let age = SystemTime::now().duration_since(written).unwrap_or_default();
    if age.as_secs() > ABANDONED_SECONDS {
        // Another process may have been quicker.
        let _ = fs::remove_file(path);
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// What is in there is whole at any time, also if somebody panicked while holding it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Digest {
        Digest::of(number.to_string().as_bytes())
    }

    #[test]
    fn what_was_put_in_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        Cache::at(folder.path()).put(&key(1), b"one\ntwo");
        let cache = Cache::at(folder.path());
        assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"one\ntwo"[..]));
        assert_eq!(cache.get(&key(2)), None);
        assert_eq!(cache.take_findings(), []);
    }

    #[test]
    fn every_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        cache.put(&key(1), b"content");
        let path = cache.path(&key(1));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            for damaged in [&flipped[..], &whole[..at]] {
                fs::write(&path, damaged).unwrap();
                assert_eq!(cache.get(&key(1)), None, "{at}");
                assert_eq!(cache.take_findings()[0].code, "cache-damaged");
            }
        }
        cache.put(&key(1), b"content");
        assert_eq!(cache.get(&key(1)).as_deref(), Some(&b"content"[..]), "it is mended by writing it anew");
    }

    #[test]
    fn it_stays_within_its_bounds_and_keeps_what_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let old = Cache::at(folder.path());
        (0..20).for_each(|number| old.put(&key(number), b"x"));
        let cache = Cache::bounded(folder.path(), 5);
        (0..3).for_each(|number| assert!(cache.get(&key(number)).is_some()));
        cache.trim();
        assert_eq!((0..20).filter(|number| old.get(&key(*number)).is_some()).count(), 5);
        (0..3).for_each(|number| assert!(cache.get(&key(number)).is_some(), "{number} was used"));
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_said_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::at(&file);
        (0..3).for_each(|number| cache.put(&key(number), b"x"));
        let findings = cache.take_findings();
        assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["cache-unwritable"]);
    }

    #[test]
    fn two_writers_leave_one_whole_entry() {
        let folder = tempfile::tempdir().unwrap();
        let caches = [Cache::at(folder.path()), Cache::at(folder.path())];
        std::thread::scope(|scope| {
            for (cache, content) in caches.iter().zip([&[b'a'; 100_000], &[b'b'; 100_000]]) {
                scope.spawn(move || (0..200).for_each(|_| cache.put(&key(1), content)));
            }
            for _ in 0..200 {
                if let Some(content) = caches[0].get(&key(1)) {
                    assert!(content.iter().all(|byte| *byte == content[0]) && content.len() == 100_000);
                }
            }
        });
        assert_eq!(caches[0].take_findings(), []);
    }
}
