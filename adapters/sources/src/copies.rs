//! The newest good copy of every source, on disk, so that a restart works while sources are down.
//!
//! Each copy is a file named after its digest. A list says which copies belong together, and one rename replaces it.
//! So if the process or the machine dies, the list and its copies are complete and of one moment.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::sources::copy::{self, KeptCopy};

use crate::private;

/// The most bytes of a copy or of the list.
const MAX_COPY_BYTES: u64 = 2 << 30;

/// A copy of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Its entry in the list.
    pub kept: KeptCopy,
    pub files: Vec<SourceFile>,
}

/// A folder with copies, locked for this process.
#[derive(Debug)]
pub struct Copies {
    folder: PathBuf,
    /// The digests of files that this process has written or checked. Others are written again.
    whole: BTreeSet<String>,
    /// Locks the folder while we run; none if nothing can be written there.
    lock: Option<File>,
}

impl Copies {
    /// Opens the folder, and creates it if needed.
    pub fn open(folder: &Path) -> Result<Self, Finding> {
        let unusable = |error: io::Error| {
            let problem = format!("it cannot be used: {error}");
            let remedy = "give --state a folder of its own";
            Finding::error("bad-state", folder, problem, remedy)
        };
        let lock = match lock(folder) {
            Ok(lock) => Some(lock),
            // What was kept there can be served all the same, and what comes is kept as soon as that is possible.
            Err(error) if is_unwritable(&error) => None,
            Err(error) => return Err(unusable(error)),
        };
        Ok(Self {
            lock,
            ..Self::at(folder)
        })
    }

    /// Opens the folder for reading only. Another process may hold it.
    pub fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            whole: BTreeSet::new(),
            lock: None,
        }
    }

    /// A folder for a source's cached data; none if nothing can be written there.
    pub fn scratch(&self, source: &str) -> Option<PathBuf> {
        self.lock
            .as_ref()
            .map(|_| self.folder.join("scratch").join(source))
    }

    /// Reads the copies. Damaged ones are left out, with a finding.
    pub fn load(&mut self) -> (Vec<Copy>, Vec<Finding>) {
        let list = match self.read(&self.folder.join("current")) {
            Ok(Some(bytes)) => {
                copy::read_list(&bytes).ok_or_else(|| self.damaged("current", "the list of copies"))
            }
            Ok(None) => return (Vec::new(), Vec::new()),
            Err(error) => Err(self.unreadable("current", &error)),
        };
        let (mut copies, mut findings) = (Vec::new(), Vec::new());
        match list {
            Ok(list) => {
                for kept in list {
                    match self.files(&kept) {
                        Ok(files) => {
                            self.whole.insert(kept.digest.clone());
                            copies.push(Copy { kept, files });
                        }
                        Err(finding) => {
                            self.whole.remove(&kept.digest);
                            findings.push(finding);
                        }
                    }
                }
            }
            Err(finding) => findings.push(finding),
        }
        (copies, findings)
    }

    /// Replaces all copies with these, which are of one moment.
    pub fn keep(&mut self, copies: &[Copy]) -> Result<(), Finding> {
        let place = self.place("current");
        let unwritable = |error: io::Error| {
            let problem = format!("the copies cannot be written: {error}");
            let remedy = "free disk space, or check the folder's permissions";
            Finding::error("unwritable", place.clone(), problem, remedy)
        };
        if self.lock.is_none() {
            self.lock = Some(lock(&self.folder).map_err(unwritable)?);
        }
        for copy in copies {
            self.write_files(copy).map_err(unwritable)?;
        }
        sync_folder(&self.folder.join("copies")).map_err(unwritable)?;
        let list: Vec<KeptCopy> = copies.iter().map(|copy| copy.kept.clone()).collect();
        self.replace("current", &copy::write_list(&list))
            .map_err(unwritable)?;
        self.clear_away(&list);
        Ok(())
    }

    fn write_files(&mut self, copy: &Copy) -> io::Result<()> {
        let digest = &copy.kept.digest;
        let name = format!("copies/{digest}");
        if self.whole.contains(digest) && self.folder.join(&name).try_exists()? {
            return Ok(());
        }
        let bytes = copy::write_files(&copy.files);
        match copy::digest_of(&bytes) == *digest {
            true => {
                self.replace(&name, &bytes)?;
                self.whole.insert(digest.clone());
                Ok(())
            }
            // Whoever keeps copies need not have all of their files in memory for ever.
            false => Err(io::Error::other(format!(
                "that of {} has been removed",
                copy.kept.source
            ))),
        }
    }

    /// Writes a file atomically.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (path, temporary) = (
            self.folder.join(name),
            self.folder.join(format!("{name}.new")),
        );
        let mut file = private::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        path.parent().map_or(Ok(()), sync_folder)
    }

    /// Removes files that the list does not name. A failure only wastes space.
    fn clear_away(&mut self, list: &[KeptCopy]) {
        let named: BTreeSet<&str> = list.iter().map(|kept| kept.digest.as_str()).collect();
        self.whole.retain(|digest| named.contains(digest.as_str()));
        for entry in fs::read_dir(self.folder.join("copies"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if !entry
                .file_name()
                .to_str()
                .is_some_and(|name| named.contains(name))
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn files(&self, kept: &KeptCopy) -> Result<Vec<SourceFile>, Finding> {
        let name = format!("copies/{}", kept.digest);
        let path = self.folder.join(&name);
        let bytes = self
            .read(&path)
            .map_err(|error| self.unreadable(&name, &error))?
            .unwrap_or_default();
        let files = copy::read_files(&bytes, &kept.digest);
        files.ok_or_else(|| self.damaged(&name, &format!("the copy of {}", kept.source)))
    }

    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_COPY_BYTES => {
                Err(io::Error::other("it is too large"))
            }
            Ok(_) => fs::read(path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn place(&self, name: &str) -> Place {
        Place::file(self.folder.join(name).display().to_string())
    }

    fn damaged(&self, name: &str, what: &str) -> Finding {
        let problem = format!("{what} is damaged and was left out");
        let remedy = "check the disk; the next read of the source replaces the copy";
        Finding::warning("damaged-copy", self.place(name), problem, remedy)
    }

    fn unreadable(&self, name: &str, error: &io::Error) -> Finding {
        let problem = format!("it cannot be read: {error}");
        let remedy = "check the folder's permissions, and the disk";
        Finding::warning("damaged-copy", self.place(name), problem, remedy)
    }
}

/// Locks the folder and makes it private: copies may come from private repositories.
fn lock(folder: &Path) -> io::Result<File> {
    let copies = folder.join("copies");
    private::create_folders(&copies)?;
    let mut options = File::options();
    let lock = private::mode(options.create(true).append(true)).open(folder.join("lock"))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("another towpath uses it"),
        TryLockError::Error(error) => error,
    })?;
    // Those of a version before could be read by everybody.
    let kept = fs::read_dir(&copies)?.flatten().map(|entry| entry.path());
    for file in kept.chain([folder.join("current"), folder.join("lock")]) {
        match private::close(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(lock)
}

/// Whether the error means that nothing can be written, though the folder may be the right one.
fn is_unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(
        error.kind(),
        PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull
    )
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use towpath_core::intake::{RecentMaxima, WithdrawnReleases};

    fn copy(source: &str, text: &str) -> Copy {
        let files = vec![SourceFile::new("version", text.as_bytes())];
        let digest = copy::digest_of(&copy::write_files(&files));
        let last_good = jiff::Timestamp::UNIX_EPOCH;
        let kept = KeptCopy {
            source: source.into(),
            location: "x".into(),
            digest,
            last_good,
            made_at: None,
            highs: RecentMaxima::default(),
            vanished: WithdrawnReleases::default(),
            verified: None,
            stricter: Vec::new(),
            discarded: BTreeSet::new(),
            seal: None,
        };
        Copy { kept, files }
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder.join("copies"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn what_was_kept_last_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let mut copies = Copies::open(folder.path()).unwrap();
        assert_eq!(copies.load(), (vec![], vec![]));
        for text in ["one", "two", "one"] {
            let both = vec![copy("a", text), copy("b", "always")];
            copies.keep(&both).unwrap();
            assert_eq!(copies.load(), (both, vec![]));
            assert_eq!(names(folder.path()).len(), 2, "nothing else is left");
        }
    }

    #[test]
    fn a_damaged_copy_is_left_out_and_can_be_kept_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut copies = Copies::open(folder.path()).unwrap();
        let both = vec![copy("a", "one"), copy("b", "two")];
        copies.keep(&both).unwrap();
        fs::write(
            folder.path().join("copies").join(&both[0].kept.digest),
            "damaged",
        )
        .unwrap();
        let (loaded, findings) = copies.load();
        assert_eq!((loaded, findings.len()), (both[1..].to_vec(), 1));
        assert!(
            findings[0].problem.contains("the copy of a is damaged"),
            "{findings:?}"
        );
        copies.keep(&both).unwrap();
        assert_eq!(copies.load(), (both, vec![]));
        fs::write(folder.path().join("current"), "damaged").unwrap();
        let (loaded, findings) = copies.load();
        assert_eq!((loaded.len(), findings[0].code), (0, "damaged-copy"));
    }

    #[test]
    fn a_rotten_copy_is_written_anew_even_where_nobody_could_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let one = vec![copy("a", "one")];
        Copies::open(folder.path()).unwrap().keep(&one).unwrap();
        let path = folder.path().join("copies").join(&one[0].kept.digest);
        // As if the disk gave nothing back: too large to be read.
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(MAX_COPY_BYTES + 1)
            .unwrap();
        let mut copies = Copies::open(folder.path()).unwrap();
        let (loaded, findings) = copies.load();
        assert_eq!((loaded.len(), findings[0].code), (0, "damaged-copy"));
        copies.keep(&one).unwrap();
        assert_eq!(copies.load(), (one.clone(), vec![]));
        // Removed by somebody while it is in use, and its bytes are in memory no more.
        fs::remove_file(&path).unwrap();
        let without_bytes = vec![Copy {
            files: vec![],
            ..one[0].clone()
        }];
        assert!(
            copies
                .keep(&without_bytes)
                .unwrap_err()
                .problem
                .contains("that of a has been removed")
        );
        copies.keep(&one).unwrap();
        copies.keep(&without_bytes).unwrap();
        assert_eq!(copies.load(), (one, vec![]));
    }

    #[test]
    fn what_is_kept_is_for_nobody_else() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let state = folder.path().join("state");
        let one = vec![copy("a", "one")];
        Copies::open(&state).unwrap().keep(&one).unwrap();
        let files = [
            state.join("lock"),
            state.join("current"),
            state.join("copies").join(&one[0].kept.digest),
        ];
        let modes = || files.each_ref().map(|file| mode(file));
        assert_eq!((modes(), mode(&state)), ([0o600; 3], 0o700));
        for file in &files {
            fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        Copies::open(&state).unwrap();
        assert_eq!(
            modes(),
            [0o600; 3],
            "also what a version before has written"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_prevents_no_start() {
        // Nobody, root neither, makes a folder there.
        let mut copies = Copies::open(Path::new("/sys/towpath")).unwrap();
        assert_eq!(
            (copies.load(), copies.scratch("a")),
            ((vec![], vec![]), None)
        );
        assert_eq!(
            copies.keep(&[copy("a", "one")]).unwrap_err().code,
            "unwritable"
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(
            Copies::open(&folder.path().join("file")).unwrap_err().code,
            "bad-state",
            "that is a mistake"
        );
    }

    #[test]
    fn a_folder_is_used_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let first = Copies::open(folder.path()).unwrap();
        assert!(
            Copies::open(folder.path())
                .unwrap_err()
                .problem
                .contains("another towpath uses it")
        );
        drop(first);
        Copies::open(folder.path()).unwrap();
    }
}
