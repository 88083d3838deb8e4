//! Runs many requests in parallel, and stops when too many fail.

use std::future::Future;

use tokio::task::JoinSet;
use towpath_core::finding::{Finding, Place};

use super::scrape::Scrape;

/// This many images may be unreadable before the scrape fails…
const FEW_UNREADABLE: usize = 10;
/// … or one in this many, if that is more.
const SHARE_UNREADABLE: usize = 20;

/// Whether an answer counts as a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was read, or is finally broken.
    Known,
    /// It could not be read now.
    Unreadable,
}

/// Sends a request for each item. `look` sees each answer as it arrives, and its error ends everything.
pub(super) async fn several<I, A, F>(
    wish: &Scrape,
    items: Vec<I>,
    ask: impl Fn(I) -> F,
    mut look: impl FnMut(&A) -> Result<Standing, Finding>,
    told: impl Fn(usize),
) -> Result<Vec<A>, Finding>
where
    A: Send + 'static,
    F: Future<Output = A> + Send + 'static,
{
    let most_unreadable = FEW_UNREADABLE.max(items.len() / SHARE_UNREADABLE);
    let mut items = items.into_iter();
    let (mut running, mut answers, mut unreadable) = (JoinSet::new(), Vec::new(), 0);
    loop {
        while running.len() < wish.concurrency.max(1) {
            match items.next() {
                Some(item) => _ = running.spawn(ask(item)),
                None => break,
            }
        }
        let Some(ended) = running.join_next().await else {
            return Ok(answers);
        };
        // Nothing is cancelled here but by dropping the set; so what did not end well has panicked.
        let answer = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        unreadable += usize::from(look(&answer)? == Standing::Unreadable);
        if unreadable > most_unreadable {
            let problem = format!("{unreadable} of its images cannot be read, so we stopped");
            let (place, remedy) = (
                Place::file(wish.repository.to_string()),
                "check the registry's own log, and try again",
            );
            return Err(Finding::error(
                "registry-unreachable",
                place,
                problem,
                remedy,
            ));
        }
        answers.push(answer);
        told(answers.len());
    }
}
