//! Watching paths: a wake-up when something may have changed.
//!
//! The kernel tells at once where it can; a slow poll catches what it cannot tell (network file systems, mounts that are
//! swapped). A wake-up is a hint, never a fact: whoever gets it reads again and compares.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Changes come in flocks; this much quiet ends one.
const QUIET: Duration = Duration::from_millis(100);
/// However long it goes on, somebody looks after this.
const PATIENCE: Duration = Duration::from_secs(2);

/// A watch over some paths, and over whoever holds [`Watch::waker`].
pub struct Watch {
    wake: Sender<()>,
    woken: Receiver<()>,
    /// Stops watching when dropped.
    _watcher: Option<RecommendedWatcher>,
    poll_every: Duration,
}

impl Watch {
    /// Watches directories with all that is below them, and files by the directory that holds them.
    pub fn new(paths: &[PathBuf], poll_every: Duration) -> Self {
        let (wake, woken) = channel();
        let watcher = watcher(paths, wake.clone());
        let watcher =
            watcher.map_err(|error| tracing::warn!(%error, "changes on disk are found by polling alone")).ok();
        Self { wake, woken, _watcher: watcher, poll_every }
    }

    /// Wakes the watch by hand, as a signal handler wants to.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let wake = self.wake.clone();
        // If nobody listens any more there is nobody to wake.
        move || {
            let _ = wake.send(());
        }
    }

    /// Waits until something may have changed, and has been quiet for a moment.
    pub fn wait(&self) {
        match self.woken.recv_timeout(self.poll_every) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
        let began = Instant::now();
        while began.elapsed() < PATIENCE && self.woken.recv_timeout(QUIET).is_ok() {}
    }
}

fn watcher(paths: &[PathBuf], wake: Sender<()>) -> notify::Result<RecommendedWatcher> {
    let changed = move |event: notify::Result<notify::Event>| {
        let reading = event.is_ok_and(|event| event.kind.is_access());
        if !reading {
            let _ = wake.send(());
        }
    };
    let mut watcher = notify::recommended_watcher(changed)?;
    for path in paths {
        let (watched, mode) = match path.is_dir() {
            true => (path.as_path(), RecursiveMode::Recursive),
            false => (
                path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")),
                RecursiveMode::NonRecursive,
            ),
        };
        watcher.watch(watched, mode)?;
    }
    Ok(watcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough that only a wake-up, never the poll, can end a wait.
    const NEVER: Duration = Duration::from_secs(600);

    #[test]
    fn a_new_file_wakes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let watch = Watch::new(&[folder.path().to_owned()], NEVER);
        std::fs::write(folder.path().join("sub/x.yaml"), "x").unwrap();
        watch.wait();
    }

    #[test]
    fn a_file_that_is_replaced_wakes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("releases.json");
        std::fs::write(&file, "old").unwrap();
        let watch = Watch::new(std::slice::from_ref(&file), NEVER);
        std::fs::write(folder.path().join("new"), "new").unwrap();
        std::fs::rename(folder.path().join("new"), &file).unwrap();
        watch.wait();
    }

    #[test]
    fn a_waker_wakes_and_the_poll_ends_a_wait() {
        let watch = Watch::new(&[], NEVER);
        watch.waker()();
        watch.wait();
        Watch::new(&[], Duration::from_millis(1)).wait();
    }
}
