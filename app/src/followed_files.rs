//! Files that somebody replaces while we run: says when they should be read again.
//!
//! It looks four times a second, also behind the links that Kubernetes uses for Secrets. New files are read once they look
//! the same in two looks: what belongs together may be several files, and a file may be written in parts. What could not
//! be used is read again after a while.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use towpath_http::FileStamp;

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// When files that cannot be used are read again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Files that are replaced together.
pub(crate) struct FollowedFiles {
    pub(crate) paths: Vec<PathBuf>,
    /// As they were when they were read last, …
    read: Stamps,
    /// … and in the last look.
    seen: Stamps,
    retry_at: Option<Instant>,
}

type Stamps = Vec<Option<FileStamp>>;

impl FollowedFiles {
    /// Make it before the files are read for the first time.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        let stamps = stamps(&paths);
        Self {
            paths,
            read: stamps.clone(),
            seen: stamps,
            retry_at: None,
        }
    }

    /// Their names, for messages.
    pub(crate) fn names(&self) -> String {
        let names = self.paths.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Has them read if it is time. `read` says whether they can be used.
    pub(crate) fn look(&mut self, now: Instant, read: impl FnOnce(&Self) -> bool) {
        let stamps = stamps(&self.paths);
        let is_settled = stamps == self.seen;
        let is_new = stamps != self.read;
        self.seen.clone_from(&stamps);
        let is_due = self.retry_at.is_some_and(|at| now >= at);
        if !is_settled || !(is_new || is_due) {
            return;
        }
        self.read = stamps;
        self.retry_at = match read(self) {
            true => None,
            false => Some(now + RETRY_AFTER),
        };
    }
}

/// Looks again and again, for as long as the service runs. Files are read on a thread of their own.
pub(crate) async fn keep_looking<T: Send + 'static>(
    mut followed: T,
    look: impl Fn(&mut T, Instant) + Copy + Send + 'static,
) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    loop {
        looks.tick().await;
        let looked = tokio::task::spawn_blocking(move || {
            look(&mut followed, Instant::now());
            followed
        });
        match looked.await {
            Ok(returned) => followed = returned,
            Err(error) => {
                return tracing::error!(%error, "files are no longer looked at; restart the service");
            }
        }
    }
}

fn stamps(paths: &[PathBuf]) -> Stamps {
    paths.iter().map(|path| FileStamp::of(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_once_they_have_settled_and_again_if_they_cannot_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "1").unwrap();
        let mut files = FollowedFiles::new(vec![path.clone()]);
        let mut now = Instant::now();
        let mut look = |is_good: bool, after: Duration| {
            now += after;
            let mut was_read = false;
            files.look(now, |_| {
                was_read = true;
                is_good
            });
            was_read
        };
        let tick = Duration::from_millis(250);
        assert!(!look(true, tick), "nothing has changed");
        std::fs::write(&path, "22").unwrap();
        assert!(!look(true, tick), "it may not be whole yet");
        assert!(look(false, tick));
        assert!(!look(true, tick), "it was read");
        assert!(look(true, RETRY_AFTER), "it could not be used");
        assert!(!look(true, RETRY_AFTER));
        std::fs::remove_file(&path).unwrap();
        assert!(!look(true, tick));
        assert!(look(true, tick), "that it is gone is a change");
    }
}
