//! The sender: one report after the other from the outbox to the service, at its pace, until the service has taken it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use towpath_core::cluster::ClusterId;
use towpath_core::retry::Jitter;

use crate::pace::Beat;
use crate::{Answered, Outbox, Pace, ServiceClient};

pub trait Door {
    /// Brings a report there, once.
    fn bring(&self, report: &[u8]) -> impl Future<Output = Answered> + Send;
}

/// The service's door for one cluster.
impl Door for (Arc<ServiceClient>, ClusterId) {
    async fn bring(&self, report: &[u8]) -> Answered {
        self.0.report(&self.1, report).await
    }
}

/// What time it is, and how to wait. Tests have one that goes by itself.
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

/// What became of an attempt, for logs and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The service has the report.
    Sent { id: Arc<str> },
    /// The service will never take it; it is gone.
    Refused { id: Arc<str>, why: String },
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
    beat: Beat,
    jitter: Jitter,
}

impl<D: Door, C: Clock> Sender<D, C> {
    /// One for this outbox. Agents should differ in their seeds.
    pub fn new(outbox: Arc<Outbox>, door: D, clock: C, pace: Pace, seed: u64) -> Self {
        Self {
            outbox,
            door,
            clock,
            beat: Beat::new(pace),
            jitter: Jitter::new(seed),
        }
    }

    /// Sends for ever. To be dropped at any moment: what was not taken stays in the outbox.
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
                Answered::Sent => {
                    self.outbox.done(&id);
                    Event::Sent { id }
                }
                Answered::Refused { why } => {
                    self.outbox.done(&id);
                    Event::Refused { id, why }
                }
                Answered::Later { why, .. } => Event::PutOff {
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
    struct Hurried(Arc<AtomicU64>);

    impl Clock for Hurried {
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
        answers: Mutex<Vec<Answered>>,
        came: Arc<Mutex<Vec<(u64, String)>>>,
        clock: Hurried,
    }

    impl Door for Script {
        async fn bring(&self, report: &[u8]) -> Answered {
            let came = (
                self.clock.now().as_secs(),
                String::from_utf8_lossy(report).into_owned(),
            );
            self.came.lock().unwrap().push(came);
            let mut answers = self.answers.lock().unwrap();
            if answers.is_empty() {
                Answered::Sent
            } else {
                answers.remove(0)
            }
        }
    }

    fn later(seconds: u64) -> Answered {
        Answered::Later {
            why: "away".to_owned(),
            after: Some(Duration::from_secs(seconds)),
        }
    }

    /// Pushes these and sends until all are gone; what came when, and what was told.
    async fn sent(reports: &[&str], answers: Vec<Answered>) -> (Vec<(u64, String)>, Vec<Event>) {
        let outbox = Outbox::new(Queue::in_memory(Bounds::default()));
        for report in reports {
            assert_eq!(outbox.push(report, report.as_bytes()), []);
        }
        let (clock, came) = (
            Hurried::default(),
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
        let refused = Answered::Refused {
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
