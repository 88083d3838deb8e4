//! A cache on disk, by digest. If it is lost or damaged, images are read again.
//!
//! Each entry is a file. Its first line has the SHA-256 of key and content, so a renamed entry does not count.
//! Entries are written under another name and renamed, so a killed or second process leaves no half entry.
//! The checksum detects what a power cut leaves, so there is no fsync: it would take longer than the scrape.
//! A full disk is a finding, and the scrape continues without the cache.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use towpath_core::finding::{Finding, Place};
use towpath_formats::sources::oci::{Digest, Repository};

/// The format of the entries. Versions of Towpath with other formats use other folders.
const LAYOUT: &str = "v2";
/// The largest entry, with its checksum. It fits the tags of the largest repository.
const MAX_ENTRY_BYTES: u64 = 64 << 20;
/// The most bytes of all entries.
const MAX_BYTES: u64 = 2 << 30;
/// The most findings of one kind.
const MAX_FINDINGS: usize = 5;
/// Older temporary files are leftovers.
const ABANDONED_SECONDS: u64 = 3_600;

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The key of an entry. Keys of different kinds never collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKey<'a> {
    Image(&'a Digest),
    /// Where the tags of a repository point.
    Tags(&'a Repository),
}

/// A cache in a directory.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    max_entries: usize,
    max_bytes: u64,
    /// Entries used since the last trim. They are removed last.
    used: Mutex<BTreeSet<PathBuf>>,
    findings: Mutex<Vec<Finding>>,
}

impl Cache {
    /// The default limit on entries.
    pub const MAX_ENTRIES: usize = 100_000;

    /// A cache in this directory, which is created at the first write.
    pub fn at(directory: &Path) -> Self {
        Self::bounded(directory, Self::MAX_ENTRIES, MAX_BYTES)
    }

    /// A cache with these limits.
    pub fn bounded(directory: &Path, max_entries: usize, max_bytes: u64) -> Self {
        let (used, findings) = (Mutex::default(), Mutex::default());
        Self {
            directory: directory.join(LAYOUT),
            max_entries,
            max_bytes,
            used,
            findings,
        }
    }

    /// The entry of a key, if there is one and its checksum is right.
    pub fn get(&self, key: CacheKey<'_>) -> Option<Vec<u8>> {
        let path = self.path(key);
        let content = match read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.damaged(&path, &format!("it cannot be read: {error}"));
                return None;
            }
        };
        match checked(key, &content) {
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

    /// Whether a key has an entry. Its checksum is checked on reading.
    pub fn has(&self, key: CacheKey<'_>) -> bool {
        self.path(key).is_file()
    }

    /// Reports an entry whose content makes no sense.
    pub fn distrust(&self, key: CacheKey<'_>) {
        self.damaged(&self.path(key), "its content cannot be understood");
    }

    /// Writes an entry, unless it is too large to be read back.
    pub fn put(&self, key: CacheKey<'_>, content: &[u8]) {
        let path = self.path(key);
        let entry = [key.sum(content).hex().as_bytes(), b"\n", content].concat();
        if entry.len() as u64 > MAX_ENTRY_BYTES {
            let problem =
                format!("its entry is larger than {MAX_ENTRY_BYTES} bytes, so it is not cached");
            let place = Place::file(key.to_string());
            let remedy = "check the image; until then it is read again each time";
            return self.say(Finding::warning("cache-unwritable", place, problem, remedy));
        }
        match write(&path, &entry) {
            Ok(()) => _ = locked(&self.used).insert(path),
            Err(error) => {
                let problem = format!("it cannot be written: {error}");
                let remedy = "free disk space, or name another directory; until then images are read again each time";
                self.say(Finding::warning(
                    "cache-unwritable",
                    self.place(&self.directory),
                    problem,
                    remedy,
                ));
            }
        }
    }

    /// Removes entries beyond the limits: unused ones first, then the oldest.
    pub fn trim(&self) {
        let used = std::mem::take(&mut *locked(&self.used));
        let (mut entries, mut bytes) = (Vec::new(), 0_u64);
        let kinds = children(&self.directory);
        for path in kinds
            .iter()
            .flat_map(|kind| children(kind))
            .flat_map(|folder| children(&folder))
        {
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if path.extension().is_some() {
                remove_abandoned(&path, written);
            } else {
                bytes = bytes.saturating_add(metadata.len());
                entries.push((used.contains(&path), written, path, metadata.len()));
            }
        }
        entries.sort();
        let mut left = entries.len();
        for (_, _, path, its_bytes) in &entries {
            if left <= self.max_entries && bytes <= self.max_bytes {
                break;
            }
            // Another process may have been quicker.
            let _ = fs::remove_file(path);
            (left, bytes) = (left - 1, bytes.saturating_sub(*its_bytes));
        }
    }

    /// The findings since the last call.
    pub fn take_findings(&self) -> Vec<Finding> {
        std::mem::take(&mut *locked(&self.findings))
    }

    fn path(&self, key: CacheKey<'_>) -> PathBuf {
        let (kind, name) = match key {
            CacheKey::Image(digest) => ("images", digest.clone()),
            CacheKey::Tags(repository) => ("tags", Digest::of(repository.to_string().as_bytes())),
        };
        self.directory
            .join(kind)
            .join(&name.hex()[..2])
            .join(name.hex())
    }

    fn damaged(&self, path: &Path, problem: &str) {
        let remedy =
            "nothing is lost: the image is read again; if this happens often, check the disk";
        self.say(Finding::warning(
            "cache-damaged",
            self.place(path),
            problem,
            remedy,
        ));
    }

    fn say(&self, finding: Finding) {
        let mut findings = locked(&self.findings);
        if findings
            .iter()
            .filter(|said| said.code == finding.code)
            .count()
            < MAX_FINDINGS
            && !findings.contains(&finding)
        {
            findings.push(finding);
        }
    }

    fn place(&self, path: &Path) -> Place {
        Place::file(path.display().to_string())
    }
}

impl CacheKey<'_> {
    /// The checksum of a key and its content.
    fn sum(self, content: &[u8]) -> Digest {
        let mut hash = Sha256::new_with_prefix(self.to_string());
        hash.update(b"\n");
        hash.update(content);
        Digest::finished(hash)
    }
}

impl fmt::Display for CacheKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(digest) => write!(f, "image {digest}"),
            Self::Tags(repository) => write!(f, "tags of {repository}"),
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?
        .take(MAX_ENTRY_BYTES + 1)
        .read_to_end(&mut content)?;
    Ok(content)
}

/// The content, if the checksum is right.
fn checked<'a>(key: CacheKey<'_>, content: &'a [u8]) -> Option<&'a [u8]> {
    let end = content.iter().position(|byte| *byte == b'\n')?;
    let (sum, rest) = (&content[..end], &content[end + 1..]);
    let is_whole = content.len() as u64 <= MAX_ENTRY_BYTES && key.sum(rest).hex().as_bytes() == sum;
    is_whole.then_some(rest)
}

fn write(path: &Path, entry: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    crate::private::create_folders(folder)?;
    let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}", std::process::id()));
    let written = crate::private::create(&temporary).and_then(|mut file| file.write_all(entry));
    written
        .and_then(|()| fs::rename(&temporary, path))
        .inspect_err(|_| _ = fs::remove_file(&temporary))
}

fn remove_abandoned(path: &Path, written: SystemTime) {
    let age = SystemTime::now()
        .duration_since(written)
        .unwrap_or_default();
    if age.as_secs() > ABANDONED_SECONDS {
        // Another process may have been quicker.
        let _ = fs::remove_file(path);
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// A panic cannot leave the data inconsistent, so poisoning is ignored.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
