//! Many questions, so many at once; and an end to them when too much cannot be read.

use std::future::Future;

use tokio::task::JoinSet;
use towpath_core::finding::{Finding, Place};

use super::scrape::Scrape;

/// So many images may be unreadable before the scrape is given up…
const FEW_UNREADABLE: usize = 10;
/// … or one in so many, if that is more.
const SHARE_UNREADABLE: usize = 20;

/// How it stands with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was had, or it is known why it cannot be.
    Known,
    /// It could not be read just now.
    Unreadable,
}

/// Asks for each item. Each answer is looked at as it comes; what is found against it ends everything.
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
            let problem = format!("{unreadable} images of it cannot be read, and then we stopped");
            let (place, remedy) = (
                Place::file(wish.repository.to_string()),
                "look at the registry's own log, and try again",
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
