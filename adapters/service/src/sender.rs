//! The sender: takes reports from the outbox one by one and sends each until the service accepts or refuses it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_core::cluster::ClusterId;
use towpath_core::retry::Jitter;

use crate::pace::SendSchedule;
use crate::{Outbox, Pace, ReportOutcome, ServiceClient};

pub trait Door {
    /// Sends a report once.
    fn bring(&self, report: &[u8]) -> impl Future<Output = ReportOutcome> + Send;
}

/// The service, for one cluster.
impl Door for (Arc<ServiceClient>, ClusterId) {
    async fn bring(&self, report: &[u8]) -> ReportOutcome {
        self.0.report(&self.1, report).await
    }
}

/// A clock that can wait. Tests replace it.
pub trait Clock {
    fn now(&self) -> Duration;
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

#[derive(Debug, Clone, Copy)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// The result of an attempt, for logs and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Sent {
        id: Arc<str>,
    },
    /// The service will never accept it; it was removed.
    Refused {
        id: Arc<str>,
        why: String,
    },
    PutOff {
        id: Arc<str>,
        why: String,
        wait: Duration,
    },
}

#[derive(Debug)]
pub struct Sender<D, C = SystemClock> {
    outbox: Arc<Outbox>,
    door: D,
    clock: C,
    beat: SendSchedule,
    jitter: Jitter,
}

impl<D: Door, C: Clock> Sender<D, C> {
    /// Agents should have different seeds.
    pub fn new(outbox: Arc<Outbox>, door: D, clock: C, pace: Pace, seed: u64) -> Self {
        Self {
            outbox,
            door,
            clock,
            beat: SendSchedule::new(pace),
            jitter: Jitter::new(seed),
        }
    }

    /// Sends forever. May be dropped at any moment: unsent reports stay in the outbox.
    pub async fn run(mut self, mut tell: impl FnMut(Event)) {
        loop {
            self.outbox.oldest().await;
            self.clock.sleep(self.beat.wait(self.clock.now())).await;
            // While we waited, it may have had to go for a newer one.
            let report = self.outbox.oldest().await;
            self.beat.sending(self.clock.now());
            let answered = self.door.bring(&report.bytes).await;
            let wait = self
                .beat
                .answered(&answered, self.clock.now(), &self.jitter);
            let id = report.id;
            tell(match answered {
                ReportOutcome::Sent => {
                    self.outbox.done(&id);
                    Event::Sent { id }
                }
                ReportOutcome::Refused { why } => {
                    self.outbox.done(&id);
                    Event::Refused { id, why }
                }
                ReportOutcome::Later { why, .. } => Event::PutOff {
                    id,
                    why,
                    wait: wait.unwrap_or_default(),
                },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{Bounds, Queue};
    use towpath_core::retry::Backoff;

    /// A clock that goes by itself whenever somebody waits, in seconds.
    #[derive(Clone, Default)]
    struct FastClock(Arc<AtomicU64>);

    impl Clock for FastClock {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::Relaxed))
        }

        async fn sleep(&self, time: Duration) {
            self.0.fetch_add(time.as_secs(), Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }

    /// A service that answers as it is told, and remembers what came when.
    struct Script {
        answers: Mutex<Vec<ReportOutcome>>,
        came: Arc<Mutex<Vec<(u64, String)>>>,
        clock: FastClock,
    }

    impl Door for Script {
        async fn bring(&self, report: &[u8]) -> ReportOutcome {
            let came = (
                self.clock.now().as_secs(),
                String::from_utf8_lossy(report).into_owned(),
            );
            self.came.lock().unwrap().push(came);
            let mut answers = self.answers.lock().unwrap();
            if answers.is_empty() {
                ReportOutcome::Sent
            } else {
                answers.remove(0)
            }
        }
    }

    fn later(seconds: u64) -> ReportOutcome {
        ReportOutcome::Later {
            why: "away".to_owned(),
            after: Some(Duration::from_secs(seconds)),
        }
    }

    /// Pushes these and sends until all are gone; what came when, and what was told.
    async fn sent(
        reports: &[&str],
        answers: Vec<ReportOutcome>,
    ) -> (Vec<(u64, String)>, Vec<Event>) {
        let outbox = Outbox::new(Queue::in_memory(Bounds::default()));
        for report in reports {
            assert_eq!(outbox.push(report, report.as_bytes()), []);
        }
        let (clock, came) = (
            FastClock::default(),
            Arc::<Mutex<Vec<(u64, String)>>>::default(),
        );
        let door = Script {
            answers: Mutex::new(answers),
            came: came.clone(),
            clock: clock.clone(),
        };
        let (told, mut events) = tokio::sync::mpsc::unbounded_channel();
        let pace = Pace {
            backoff: Backoff {
                first: Duration::ZERO,
                longest: Duration::ZERO,
            },
            ..Pace::default()
        };
        let sender = Sender::new(outbox.clone(), door, clock, pace, 7);
        let running = tokio::spawn(sender.run(move |event| told.send(event).unwrap()));
        let mut seen = Vec::new();
        while outbox.waiting() > 0 {
            seen.push(events.recv().await.unwrap());
        }
        running.abort();
        let came = came.lock().unwrap().clone();
        (came, seen)
    }

    fn at(second: u64, report: &str) -> (u64, String) {
        (second, report.to_owned())
    }

    #[tokio::test]
    async fn reports_go_in_order_at_their_pace() {
        let (came, told) = sent(&["a", "b", "c", "d", "e"], vec![]).await;
        assert_eq!(
            came,
            [at(0, "a"), at(0, "b"), at(0, "c"), at(10, "d"), at(20, "e")]
        );
        assert_eq!(told[0], Event::Sent { id: "a".into() });
    }

    #[tokio::test]
    async fn one_that_is_put_off_is_sent_again_before_the_next() {
        let (came, told) = sent(&["a", "b"], vec![later(60), later(60)]).await;
        assert_eq!(came, [at(0, "a"), at(60, "a"), at(120, "a"), at(120, "b")]);
        let put_off = Event::PutOff {
            id: "a".into(),
            why: "away".into(),
            wait: Duration::from_secs(60),
        };
        assert_eq!(told[0], put_off);
    }

    #[tokio::test]
    async fn one_that_is_refused_holds_up_nobody() {
        let refused = ReportOutcome::Refused {
            why: "no version".to_owned(),
        };
        let (came, told) = sent(&["a", "b"], vec![refused]).await;
        assert_eq!(came, [at(0, "a"), at(0, "b")]);
        assert_eq!(
            told[0],
            Event::Refused {
                id: "a".into(),
                why: "no version".into()
            }
        );
    }
}
