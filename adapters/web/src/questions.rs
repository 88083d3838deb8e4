//! Slow questions: a bounded queue and a few threads.
//!
//! When the queue is full, a question is refused at once. If its client has gone, it is not started; a running one can
//! check whether its client still waits.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use http::{Response, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::sync::oneshot;

use crate::body::AnswerBody;
use crate::locked;
use crate::refusal::Refusal;

/// Counts questions by outcome.
pub(crate) type Results = Family<[(&'static str, &'static str); 2], Counter>;

pub(crate) struct Queue {
    name: &'static str,
    jobs: SyncSender<Job>,
    results: Results,
}

/// The priority when the processor is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    LikeGraphs,
    AfterGraphs,
}

type Job = Box<dyn FnOnce() + Send>;

/// Makes an answer. Its argument tells whether the client still waits.
pub(crate) type Work = Box<dyn FnOnce(&dyn Fn() -> bool) -> Response<AnswerBody> + Send>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerFailure {
    Full,
    Failed,
}

impl Queue {
    pub(crate) fn start(
        name: &'static str,
        urgency: Urgency,
        threads: usize,
        waiting: usize,
        results: &Results,
    ) -> io::Result<Self> {
        let (jobs, taken) = sync_channel(waiting);
        let taken = Arc::new(Mutex::new(taken));
        for number in 0..threads {
            let taken = taken.clone();
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            thread.spawn(move || work(&taken, urgency))?;
        }
        let queue = Self {
            name,
            jobs,
            results: results.clone(),
        };
        for result in ["answered", "turned_away", "abandoned", "failed"] {
            drop(queue.result(result));
        }
        Ok(queue)
    }

    /// Queues the work and returns its answer. The work can check whether the client still waits: dropping this future means no.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> Result<T, AnswerFailure> {
        let (waiting, answer) = oneshot::channel();
        let [answered, abandoned] = ["answered", "abandoned"].map(|result| self.result(result));
        let job = move || {
            if waiting.is_closed() {
                abandoned.inc();
                return;
            }
            let made = work(&|| waiting.is_closed());
            let counted = if waiting.send(made).is_ok() {
                answered
            } else {
                abandoned
            };
            counted.inc();
        };
        if self.jobs.try_send(Box::new(job)).is_err() {
            self.result("turned_away").inc();
            return Err(AnswerFailure::Full);
        }
        answer.await.map_err(|_| {
            self.result("failed").inc();
            AnswerFailure::Failed
        })
    }

    fn result(&self, result: &'static str) -> Counter {
        self.results
            .get_or_create(&[("queue", self.name), ("result", result)])
            .clone()
    }
}

/// Runs jobs until the queue is dropped.
fn work(jobs: &Mutex<Receiver<Job>>, urgency: Urgency) {
    if urgency == Urgency::AfterGraphs
        && let Err(error) = rustix::process::setpriority_process(None, 5)
    {
        tracing::debug!(%error, "questions are answered at the same priority as graphs");
    }
    loop {
        let next = locked(jobs).recv();
        let Ok(job) = next else { return };
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a question could not be answered");
        }
    }
}

impl From<AnswerFailure> for Refusal {
    fn from(why: AnswerFailure) -> Self {
        match why {
            AnswerFailure::Full => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many questions wait to be answered; try again in a few seconds",
            ),
            AnswerFailure::Failed => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "failed_question",
                "the answer could not be prepared; the log says why",
            ),
        }
    }
}

#[cfg(test)]
mod tests;
