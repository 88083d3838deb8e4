//! Shows on a terminal how far long work has come. Where nobody looks, it shows nothing.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error, which is gone once the work is done.
#[derive(Debug, Clone)]
pub(crate) struct WorkBar(Option<ProgressBar>);

impl WorkBar {
    pub(crate) fn new() -> Self {
        Self::shown_if(stderr().is_terminal())
    }

    fn shown_if(is_seen: bool) -> Self {
        let style = ProgressStyle::with_template("{msg:<6} {wide_bar} {pos}/{len} {elapsed}");
        let bar = |style| ProgressBar::new(0).with_style(style);
        Self(style.ok().filter(|_| is_seen).map(bar))
    }

    /// So many of so many are done.
    pub(crate) fn tell(&self, what: &'static str, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            bar.set_message(what);
            bar.set_length(total);
            bar.set_position(done);
        }
    }
}

impl Drop for WorkBar {
    fn drop(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_follows_the_work() {
        let bar = WorkBar::shown_if(true);
        bar.tell("images", 3, 10);
        let inner = bar.0.as_ref().expect("it is shown");
        assert_eq!((inner.position(), inner.length()), (3, Some(10)));
        assert_eq!(inner.message(), "images");
        assert!(WorkBar::shown_if(false).0.is_none());
    }
}
