//! Watches paths, and wakes the caller when something may have changed.
//!
//! The kernel reports most changes at once. A slow poll finds the others (network file systems, swapped mounts).
//! Kernels watch the object that a path led to at first, so the parent folder is watched as well. When the path leads
//! elsewhere (a renamed folder, a changed link), the watch is set up again.
//! A wake-up is only a hint: the caller reads again and compares.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Changes come in bursts. This much quiet ends one.
const QUIET: Duration = Duration::from_millis(100);
/// The longest wait for the end of a burst.
const PATIENCE: Duration = Duration::from_secs(2);

/// A watch over some paths. [`Watch::waker`] wakes it by hand.
pub struct Watch {
    paths: Vec<PathBuf>,
    wake: Sender<()>,
    woken: Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    /// The inodes of the paths when the watcher was set up.
    watched: Vec<Option<Inode>>,
    poll_every: Duration,
}

/// Device and inode of a file or folder.
type Inode = (u64, u64);

impl Watch {
    /// Watches files, and directories with everything below them.
    pub fn new(paths: &[PathBuf], poll_every: Duration) -> Self {
        let (wake, woken) = channel();
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let paths = paths.iter().map(absolute).collect();
        let mut watch = Self {
            paths,
            wake,
            woken,
            watcher: None,
            watched: Vec::new(),
            poll_every,
        };
        watch.set_up();
        watch
    }

    /// Wakes the watch by hand, for example from a signal handler.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let wake = self.wake.clone();
        move || {
            // If nobody listens any more there is nobody to wake.
            let _ = wake.send(());
        }
    }

    /// Waits until something may have changed, and has been quiet for a moment.
    pub fn wait(&mut self) {
        self.wait_at_most(self.poll_every);
    }

    /// Waits with another poll interval.
    pub fn wait_at_most(&mut self, time: Duration) {
        if self.woken.recv_timeout(time).is_ok() {
            let began = Instant::now();
            while began.elapsed() < PATIENCE && self.woken.recv_timeout(QUIET).is_ok() {}
        }
        if self.watched != inodes(&self.paths) {
            self.set_up();
        }
    }

    fn set_up(&mut self) {
        self.watched = inodes(&self.paths);
        let watcher = watcher(&self.paths, self.wake.clone());
        self.watcher = watcher
            .map_err(|error| tracing::warn!(%error, "changes on disk are found by polling alone"))
            .ok();
    }
}

fn inodes(paths: &[PathBuf]) -> Vec<Option<Inode>> {
    let inode = |path: &PathBuf| {
        std::fs::metadata(path)
            .ok()
            .map(|metadata| (metadata.dev(), metadata.ino()))
    };
    paths.iter().map(inode).collect()
}

fn watcher(paths: &[PathBuf], wake: Sender<()>) -> notify::Result<RecommendedWatcher> {
    let of_interest = paths.to_vec();
    let changed = move |event: notify::Result<notify::Event>| {
        let is_change = event.is_ok_and(|event| {
            !event.kind.is_access()
                && (event.need_rescan()
                    || event.paths.iter().any(|path| concerns(&of_interest, path)))
        });
        if is_change {
            let _ = wake.send(());
        }
    };
    let mut watcher = notify::recommended_watcher(changed)?;
    for path in paths {
        if let Some(parent) = path.parent().filter(|parent| parent.is_dir()) {
            watcher.watch(parent, RecursiveMode::NonRecursive)?;
        }
        if path.is_dir() {
            watcher.watch(path, RecursiveMode::Recursive)?;
        }
    }
    Ok(watcher)
}

/// Whether a change at that path concerns us. Parent folders may have other changes.
fn concerns(watched: &[PathBuf], changed: &Path) -> bool {
    // How a mounted config map is swapped: its `..data` beside our path is turned to a new folder.
    let swaps = changed
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b".."));
    watched
        .iter()
        .any(|path| changed.starts_with(path) || (swaps && changed.parent() == path.parent()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// So long that only a wake-up ends the wait, never the poll.
    const NEVER: Duration = Duration::from_secs(600);

    #[test]
    fn a_new_file_wakes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let mut watch = Watch::new(&[folder.path().to_owned()], NEVER);
        fs::write(folder.path().join("sub/x.yaml"), "x").unwrap();
        watch.wait();
    }

    #[test]
    fn a_file_that_is_replaced_wakes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("releases.json");
        fs::write(&file, "old").unwrap();
        let mut watch = Watch::new(std::slice::from_ref(&file), NEVER);
        fs::write(folder.path().join("new"), "new").unwrap();
        fs::rename(folder.path().join("new"), &file).unwrap();
        watch.wait();
    }

    #[test]
    fn a_folder_that_is_swapped_is_watched_on() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["data", "next"] {
            fs::create_dir(at(name)).unwrap();
        }
        let mut watch = Watch::new(&[at("data")], NEVER);
        fs::rename(at("data"), at("old")).unwrap();
        fs::rename(at("next"), at("data")).unwrap();
        watch.wait();
        fs::write(at("data").join("x.yaml"), "x").unwrap();
        watch.wait();
    }

    #[test]
    fn a_link_that_is_turned_wakes_and_a_folder_that_appears_too() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut watch = Watch::new(&[at("data")], NEVER);
        for name in ["one", "two"] {
            fs::create_dir(at(name)).unwrap();
            std::os::unix::fs::symlink(name, at("link")).unwrap();
            fs::rename(at("link"), at("data")).unwrap();
            watch.wait();
        }
        fs::write(at("two/x.yaml"), "x").unwrap();
        watch.wait();
    }

    #[test]
    fn what_happens_beside_is_of_no_interest() {
        let ours = [
            PathBuf::from("/srv/data"),
            PathBuf::from("/etc/config/releases.json"),
        ];
        for (path, expected) in [
            ("/srv/data/channels/x.yaml", true),
            ("/srv/data", true),
            ("/srv/database", false),
            ("/srv/other", false),
            ("/etc/config/..data", true),
            ("/etc/config/other.json", false),
        ] {
            assert_eq!(concerns(&ours, Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_waker_wakes_and_the_poll_ends_a_wait() {
        let mut watch = Watch::new(&[], NEVER);
        watch.waker()();
        watch.wait();
        Watch::new(&[], Duration::from_millis(1)).wait();
    }
}
