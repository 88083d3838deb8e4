//! An overlay with every halt that stands in the store, for services that do not have that store (`--halts-to`).
//!
//! Such services read it with `--overlay`. So a halt reaches them too, whether the watch or a person made it. A file goes only when
//! the store says that two people have undone its halt; whoever removes one by hand finds it there again. Other files stay as they are.
//! Several replicas may write the same folder: they all write the same.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use towpath_store::{HaltMark, Store, StoredHalt};

use super::halts::{CONFIRM_EVERY, HaltsFeed, POLL_EVERY, SCHEMA};
use crate::fleet::lease::new_owner;

/// Where the blocks of an overlay are.
const FOLDER: &str = "blocked-edges";
/// How often it is tried and told again while the folder cannot be written.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// The folder, and a name for files that are being written.
#[derive(Clone)]
pub(crate) struct HaltsOverlay {
    folder: PathBuf,
    writer: String,
}

impl HaltsOverlay {
    /// The folder must be there: a wrong name would halt nothing where it matters.
    pub(crate) fn new(folder: PathBuf) -> anyhow::Result<Self> {
        if !folder.is_dir() {
            let folder = folder.display();
            bail!(
                "--halts-to {folder} is not a folder; make it, or name the one that others read with --overlay"
            );
        }
        let writer = new_owner();
        Ok(Self { folder, writer })
    }

    /// Writes whenever halts have changed, for ever. A store that is away changes nothing.
    pub(crate) async fn follow(&self, store: &Store, feed: &HaltsFeed) {
        let mut known: Option<(HaltMark, Instant)> = None;
        loop {
            let mut wait = POLL_EVERY;
            match self.look(store, known).await {
                Ok(now) => known = now,
                Err(error) => {
                    (known, wait) = (None, TRY_AGAIN);
                    let problem = format!("--halts-to {}: {error:#}", self.folder.display());
                    tracing::error!("halts do not reach services without this store: {problem}");
                    feed.not_passed_on(&problem);
                }
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// What is in the folder now. None: the store cannot be asked, and [`HaltsFeed`] says so.
    async fn look(
        &self,
        store: &Store,
        known: Option<(HaltMark, Instant)>,
    ) -> anyhow::Result<Option<(HaltMark, Instant)>> {
        let Ok(mark) = store.halt_mark().await else {
            return Ok(None);
        };
        if known.is_some_and(|(last, at)| last == mark && at.elapsed() < CONFIRM_EVERY) {
            return Ok(known);
        }
        let (Ok(listed), Ok((mark, standing))) =
            (store.halts().await, store.standing_halts().await)
        else {
            return Ok(None);
        };
        let (overlay, asked) = (self.clone(), Instant::now());
        // The folder may be on a network that hangs.
        let written = tokio::task::spawn_blocking(move || overlay.show(&standing, &listed));
        written.await.context("it was interrupted")??;
        Ok(Some((mark, asked)))
    }

    /// Brings the folder to what stands. `listed` is older, and has those that were undone as well.
    fn show(&self, standing: &[StoredHalt], listed: &[StoredHalt]) -> anyhow::Result<()> {
        self.write(Path::new("version"), &format!("{SCHEMA}\n"))?;
        for one in standing {
            self.write(&path_of(one)?, &one.halt.body)?;
        }
        let paths: BTreeSet<&str> = standing.iter().map(|one| &*one.halt.path).collect();
        let undone = listed.iter().filter(|one| one.undone.is_some());
        for one in undone.filter(|one| !paths.contains(&*one.halt.path)) {
            self.remove(&path_of(one)?, &one.halt.body)?;
        }
        Ok(())
    }

    /// Writes a file whole, unless it is there.
    fn write(&self, path: &Path, text: &str) -> anyhow::Result<()> {
        let target = self.folder.join(path);
        let cannot = || format!("{} cannot be written", path.display());
        match fs::read(&target) {
            Ok(there) if there == text.as_bytes() => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(cannot),
        }
        if let Some(parent) = target.parent().filter(|parent| *parent != self.folder) {
            // The folder itself is not made again: it may be a volume that is not mounted now.
            match fs::create_dir(parent) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(error).with_context(cannot);
                }
                _ => {}
            }
        }
        // Not read as a part of an overlay: it is in no folder that is.
        let new = self.folder.join(format!(".towpath-halts.{}", self.writer));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &target));
        if written.is_err() {
            // The first error is the one to tell.
            let _ = fs::remove_file(&new);
        }
        written.with_context(cannot)?;
        tracing::info!(path = %target.display(), "a halt was written for services without this store");
        Ok(())
    }

    /// Removes the file of a halt that was undone. One with another text is somebody else's.
    fn remove(&self, path: &Path, text: &str) -> anyhow::Result<()> {
        let target = self.folder.join(path);
        let cannot = || format!("{} cannot be removed", path.display());
        match fs::read(&target) {
            Ok(there) if there == text.as_bytes() => {
                fs::remove_file(&target).with_context(cannot)?;
                tracing::info!(path = %target.display(), "a halt that two people have undone was removed");
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).with_context(cannot),
        }
    }
}

/// Its place in the overlay. The store says it, so it is checked.
fn path_of(one: &StoredHalt) -> anyhow::Result<PathBuf> {
    let name = one
        .halt
        .path
        .strip_prefix(FOLDER)
        .and_then(|rest| rest.strip_prefix('/'));
    match name.filter(|name| !name.contains(['/', '\\']) && name.ends_with(".yaml")) {
        Some(name) => Ok(Path::new(FOLDER).join(name)),
        None => bail!(
            "the halt {} has no name of a block's file in the store: {:?}",
            one.id,
            one.halt.path
        ),
    }
}

#[cfg(test)]
mod tests {
    use towpath_store::{NewHalt, Undo};

    use super::*;

    const PATH: &str = "blocked-edges/4.20.1-halted.yaml";

    fn halt(path: &str, is_undone: bool) -> StoredHalt {
        let at: jiff::Timestamp = "2026-11-18T12:00:00Z".parse().expect("a time");
        let undo = |by: &str| {
            is_undone.then(|| Undo {
                by: by.to_owned(),
                at,
            })
        };
        StoredHalt {
            id: 1,
            halt: NewHalt {
                release: "4.20.1".parse().expect("a version"),
                path: path.to_owned(),
                body: "to: 4.20.1\nfrom: .*\n".to_owned(),
                by: "watch".to_owned(),
                why: "it fails".to_owned(),
                at,
                evidence: String::new(),
            },
            first_undo: undo("ada"),
            undone: undo("bob"),
        }
    }

    #[test]
    fn a_file_is_there_while_its_halt_stands_and_others_stay_as_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let overlay = HaltsOverlay::new(folder.path().to_owned()).expect("it is there");
        let file = folder.path().join(PATH);
        overlay.show(&[], &[]).expect("it can be written");
        assert_eq!(
            fs::read_to_string(folder.path().join("version")).expect("a file"),
            "1.1.0\n"
        );
        for _ in 0..2 {
            overlay
                .show(&[halt(PATH, false)], &[])
                .expect("it can be written");
            assert_eq!(
                fs::read_to_string(&file).expect("a file"),
                "to: 4.20.1\nfrom: .*\n"
            );
            // Removing it by hand undoes nothing, nor does another text.
            fs::remove_file(&file).expect("it is there");
        }
        fs::write(&file, "to: 4.20.1\nfrom: nothing\n").expect("a file");
        overlay
            .show(&[], &[halt(PATH, true)])
            .expect("it can be read");
        assert!(file.exists(), "somebody else's");
        overlay
            .show(&[halt(PATH, false)], &[halt(PATH, true)])
            .expect("it can be written");
        assert_eq!(
            fs::read_to_string(&file).expect("a file"),
            "to: 4.20.1\nfrom: .*\n"
        );
        let own = folder.path().join("blocked-edges/own.yaml");
        fs::write(&own, "to: 4.20.2\nfrom: .*\n").expect("a file");
        overlay
            .show(&[], &[halt(PATH, true)])
            .expect("it can be removed");
        assert!(!file.exists() && own.exists());
        let mut names = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|one| one.expect("one").file_name());
        assert!(names.all(|name| name == "version" || name == "blocked-edges"));
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("overlay");
        let Err(error) = HaltsOverlay::new(place.clone()) else {
            panic!("it is not there")
        };
        assert!(
            error.to_string().contains("is not a folder; make it"),
            "{error}"
        );
        fs::create_dir(&place).expect("a folder");
        let overlay = HaltsOverlay::new(place.clone()).expect("it is there");
        fs::remove_dir(&place).expect("it is empty");
        assert!(overlay.show(&[halt(PATH, false)], &[]).is_err());
        assert!(!place.exists());
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for path in [
            "/etc/passwd",
            "blocked-edges/../../x.yaml",
            "blocked-edges/x",
            "channels/x.yaml",
            "blocked-edgesx.yaml",
        ] {
            assert!(path_of(&halt(path, false)).is_err(), "{path}");
        }
    }
}
