//! A queue's folder on disk: one file for each report, written atomically.
//!
//! The first line of a file has the digest of the rest and the report's name. The report follows.
//! A file is written under another name, synced, and renamed. So a process that dies leaves each report whole or absent.
//! Broken files are renamed and kept for people.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use towpath_core::finding::{Finding, Place};
use towpath_core::hex;
use towpath_formats::fleet::report;

use crate::queue::is_name;

const REPORT: &str = ".report";
const UNFINISHED: &str = ".report.new";
const BROKEN: &str = ".report.broken";
const LOCK: &str = "lock";
/// Reports name the cluster and its workloads, so no other user may read them.
const OURS_ALONE: u32 = 0o600;
/// The largest file: a report and its first line.
const MAX_FILE_BYTES: u64 = report::MAX_BYTES as u64 + 1024;
/// The most files that are read.
const MAX_FILES: usize = 100_000;
/// The most broken files that get their own finding.
const MAX_TOLD: usize = 10;

/// A folder with reports, locked for this process.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    lock: File,
}

impl Drop for Folder {
    /// Unlocks explicitly: a child process that is starting shares our descriptors and would keep the lock.
    fn drop(&mut self) {
        // If that fails, the lock ends with the last descriptor.
        let _ = self.lock.unlock();
    }
}

/// The number, name and bytes of a report on disk.
pub(crate) type StoredReport = (u64, String, Arc<[u8]>);

impl Folder {
    /// Opens the folder, and creates it if needed.
    pub(crate) fn open(path: &Path) -> Result<Self, Finding> {
        let unusable = |error: io::Error| {
            let (place, problem) = (
                Place::file(path.display().to_string()),
                format!("it cannot be used: {error}"),
            );
            let remedy = "give the queue of reports a folder of its own";
            Finding::error("bad-queue", place, problem, remedy)
        };
        fs::create_dir_all(path).map_err(unusable)?;
        let lock = File::options()
            .create(true)
            .append(true)
            .mode(OURS_ALONE)
            .open(path.join(LOCK))
            .map_err(unusable)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => unusable(io::Error::other("another towpath uses it")),
            TryLockError::Error(error) => unusable(error),
        })?;
        Ok(Self {
            path: path.to_owned(),
            lock,
        })
    }

    /// Reads the reports, by number. Broken files are set aside with a finding. Unfinished files are removed.
    pub(crate) fn load(&self) -> (Vec<StoredReport>, Vec<Finding>) {
        let (mut found, mut findings) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) => {
                let problem = format!("the queued reports cannot be listed: {error}");
                return (
                    found,
                    vec![self.warning(
                        "unreadable-queue",
                        problem,
                        "check the folder's permissions",
                    )],
                );
            }
        };
        for entry in entries.flatten().take(MAX_FILES) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(UNFINISHED) {
                let _ = fs::remove_file(entry.path());
            } else if name.ends_with(REPORT) {
                match named(&name)
                    .and_then(|number| read(&entry.path()).map(|(id, bytes)| (number, id, bytes)))
                {
                    Ok(report) => found.push(report),
                    Err(problem) => findings.push(self.set_aside(&name, &problem)),
                }
            }
        }
        found.sort_by_key(|(number, _, _)| *number);
        findings.sort();
        if findings.len() > MAX_TOLD {
            let more = findings.len() - MAX_TOLD;
            findings.truncate(MAX_TOLD);
            findings.push(self.warning(
                "broken-report",
                format!("{more} more are broken"),
                "check the disk",
            ));
        }
        (found, findings)
    }

    /// Writes a report atomically.
    pub(crate) fn write(&self, number: u64, id: &str, bytes: &[u8]) -> Result<(), Finding> {
        let write = || {
            let temporary = self.path.join(format!("{number:020}{UNFINISHED}"));
            let mut file = File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(OURS_ALONE)
                .open(&temporary)?;
            file.write_all(&written(id, bytes))?;
            file.sync_all()?;
            fs::rename(&temporary, self.file(number))?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|error: io::Error| {
            let problem =
                format!("a report cannot be written, so it is kept only in memory: {error}");
            self.warning(
                "unwritable-queue",
                problem,
                "free disk space, or check the folder's permissions",
            )
        })
    }

    /// Removes a report. If that fails, it is sent again after a restart, and the service recognises it.
    pub(crate) fn remove(&self, number: u64) {
        let _ = fs::remove_file(self.file(number));
    }

    pub(crate) fn place(&self) -> Place {
        Place::file(self.path.display().to_string())
    }

    fn file(&self, number: u64) -> PathBuf {
        self.path.join(file_name(number))
    }

    fn set_aside(&self, name: &str, problem: &str) -> Finding {
        let aside = format!("{}{BROKEN}", name.trim_end_matches(REPORT));
        let renamed = fs::rename(self.path.join(name), self.path.join(&aside));
        let kept = if renamed.is_ok() {
            aside.as_str()
        } else {
            name
        };
        let place = Place::file(self.path.join(kept).display().to_string());
        let problem = format!("a report is broken and will not be sent: {problem}");
        let remedy = "look at it, then remove it; check the disk";
        Finding::warning("broken-report", place, problem, remedy)
    }

    fn warning(&self, code: &'static str, problem: String, remedy: &str) -> Finding {
        Finding::warning(code, self.place(), problem, remedy)
    }
}

/// The number in a file's name, if we could have written that name. Leaves room for later numbers.
fn named(name: &str) -> Result<u64, String> {
    let number = name
        .strip_suffix(REPORT)
        .and_then(|digits| digits.parse::<u64>().ok());
    let is_ours = |number: &u64| *number < u64::MAX / 2 && name == file_name(*number);
    number
        .filter(is_ours)
        .ok_or_else(|| "its name is not one of ours".to_owned())
}

fn file_name(number: u64) -> String {
    format!("{number:020}{REPORT}")
}

/// Reads and checks a file.
pub(crate) fn written(id: &str, bytes: &[u8]) -> Vec<u8> {
    [format!("{} {id}\n", digest(id, bytes)).as_bytes(), bytes].concat()
}

fn read(path: &Path) -> Result<(String, Arc<[u8]>), String> {
    let mut whole = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut whole))
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if whole.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
    }
    let line_end = whole
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or("it has no first line")?;
    let (line, bytes) = (
        std::str::from_utf8(&whole[..line_end]).ok(),
        &whole[line_end + 1..],
    );
    let (told, id) = line
        .and_then(|line| line.split_once(' '))
        .ok_or("its first line is not ours")?;
    match is_name(id) && told == digest(id, bytes) {
        true => Ok((id.to_owned(), bytes.into())),
        false => Err("its content does not match its digest".to_owned()),
    }
}

fn digest(id: &str, bytes: &[u8]) -> String {
    let digest = Sha256::new()
        .chain_update(id)
        .chain_update("\n")
        .chain_update(bytes)
        .finalize();
    hex::encode(&digest)
}
