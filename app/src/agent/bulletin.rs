//! News are told as Events of the cluster, each once by an agent; told again by its successor, the API counts it.

use std::collections::BTreeSet;

use towpath_formats::agent::{News, Weight, news, of_gate, of_start};
use towpath_kube::{Cluster, Event, Severity};

use super::act::Done;
use super::pass::Judged;

/// So many news are remembered as told.
const MAX_TOLD: usize = 1_000;

/// What was told already.
#[derive(Debug, Default)]
pub(super) struct Bulletin {
    told: BTreeSet<News>,
    gate_was_open: Option<bool>,
}

impl Bulletin {
    /// Tells what a pass has found.
    pub(super) async fn of_pass(&mut self, cluster: &Cluster, judged: &Judged) {
        for news in news(&judged.told(), judged.seen.outcome.as_ref()) {
            self.tell_once(cluster, news, judged).await;
        }
        let Some(gate) = &judged.seen.gate else {
            return;
        };
        // How it was when we came is no news.
        let before = self.gate_was_open.replace(gate.is_open());
        if before.is_some_and(|was_open| was_open != gate.is_open()) {
            tell(cluster, &of_gate(gate), judged).await;
        }
    }

    /// Tells what was done.
    pub(super) async fn of_done(&mut self, cluster: &Cluster, done: &Done, judged: &Judged) {
        match done {
            Done::Started(version) => {
                self.tell_once(cluster, of_start(version, judged.seen.now), judged)
                    .await
            }
            Done::Refused { version, why } => {
                let message = format!("the API does not want the update to {version}: {why}");
                let refused = News {
                    weight: Weight::Warning,
                    reason: "AutomaticUpdateRefused",
                    message,
                };
                self.tell_once(cluster, refused, judged).await;
            }
            Done::Nothing | Done::Remembered | Done::Conflict => {}
        }
    }

    async fn tell_once(&mut self, cluster: &Cluster, news: News, judged: &Judged) {
        if !self.told.contains(&news) && tell(cluster, &news, judged).await == Heard::Yes {
            if self.told.len() >= MAX_TOLD {
                self.told.clear();
            }
            self.told.insert(news);
        }
    }
}

/// Whether the API has taken it.
#[derive(PartialEq, Eq)]
enum Heard {
    Yes,
    /// It is told with the next pass.
    NotYet,
}

async fn tell(cluster: &Cluster, news: &News, judged: &Judged) -> Heard {
    let severity = match news.weight {
        Weight::Normal => {
            tracing::info!(reason = news.reason, "{}", news.message);
            Severity::Normal
        }
        Weight::Warning => {
            tracing::warn!(reason = news.reason, "{}", news.message);
            Severity::Warning
        }
    };
    let event = Event {
        severity,
        reason: news.reason.to_owned(),
        message: news.message.clone(),
    };
    match cluster.tell(&event, judged.seen.now).await {
        Ok(()) => Heard::Yes,
        Err(problem) => {
            tracing::warn!("an event could not be written: {problem}");
            Heard::NotYet
        }
    }
}
