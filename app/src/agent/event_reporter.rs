//! Writes news as Events of the cluster. An agent writes each once; if its successor writes it again, the API counts it.

use std::collections::BTreeSet;

use towpath_formats::agent::{
    News, Weight, news, of_asked_preflight, of_channel, of_dropped_risks, of_gate, of_preflight,
    of_refused_channel, of_set_channel, of_start,
};
use towpath_kube::{Cluster, Event, Severity};

use super::act::Action;
use super::pass::Judgement;

/// The most news that are remembered as written.
const MAX_TOLD: usize = 1_000;

/// What was told already.
#[derive(Debug, Default)]
pub(super) struct EventReporter {
    told: BTreeSet<News>,
    gate_was_open: Option<bool>,
}

impl EventReporter {
    /// Tells what a pass has found.
    pub(super) async fn of_pass(&mut self, cluster: &Cluster, judgement: &Judgement) {
        for news in news(&judgement.report(), judgement.assessment.outcome.as_ref()) {
            self.tell_once(cluster, news, judgement).await;
        }
        if let Some(result) = judgement.preflight_result() {
            self.tell_once(cluster, of_preflight(result), judgement)
                .await;
        }
        if let Some(outcome) = &judgement.assessment.channel {
            self.tell_once(cluster, of_channel(outcome), judgement)
                .await;
        }
        let Some(gate) = &judgement.assessment.gate else {
            return;
        };
        // How it was when we came is no news.
        let before = self.gate_was_open.replace(gate.is_open());
        if before.is_some_and(|was_open| was_open != gate.is_open()) {
            tell(cluster, &of_gate(gate), judgement).await;
        }
    }

    /// Tells what was done.
    pub(super) async fn of_done(
        &mut self,
        cluster: &Cluster,
        done: &Action,
        judgement: &Judgement,
    ) {
        match done {
            Action::Started(version) => {
                self.tell_once(
                    cluster,
                    of_start(version, judgement.assessment.now),
                    judgement,
                )
                .await
            }
            Action::Refused { version, why } => {
                let message = format!("the API refuses the update to {version}: {why}");
                let refused = News {
                    weight: Weight::Warning,
                    reason: "AutomaticUpdateRefused",
                    message,
                };
                self.tell_once(cluster, refused, judgement).await;
            }
            Action::StartedWithoutRisks(version) => {
                let started = of_start(version, judgement.assessment.now);
                self.tell_once(cluster, started, judgement).await;
                self.tell_once(cluster, of_dropped_risks(version), judgement)
                    .await;
            }
            Action::ChannelSet(channel, update) => {
                let set = of_set_channel(channel, update, judgement.assessment.now);
                self.tell_once(cluster, set, judgement).await;
            }
            Action::ChannelRefused { channel, why } => {
                self.tell_once(cluster, of_refused_channel(channel, why), judgement)
                    .await;
            }
            Action::Asked(version) => {
                let asked = of_asked_preflight(version, judgement.assessment.now);
                self.tell_once(cluster, asked, judgement).await;
            }
            Action::NoPreflight(result) => {
                self.tell_once(cluster, of_preflight(result), judgement)
                    .await;
            }
            Action::Nothing | Action::Remembered | Action::Conflict => {}
        }
    }

    async fn tell_once(&mut self, cluster: &Cluster, news: News, judgement: &Judgement) {
        if !self.told.contains(&news) && tell(cluster, &news, judgement).await == Delivery::Yes {
            if self.told.len() >= MAX_TOLD {
                self.told.clear();
            }
            self.told.insert(news);
        }
    }
}

/// Whether the API has taken it.
#[derive(PartialEq, Eq)]
enum Delivery {
    Yes,
    /// It is told with the next pass.
    NotYet,
}

async fn tell(cluster: &Cluster, news: &News, judgement: &Judgement) -> Delivery {
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
    match cluster.tell(&event, judgement.assessment.now).await {
        Ok(()) => Delivery::Yes,
        Err(problem) => {
            tracing::warn!("an event could not be written: {problem}");
            Delivery::NotYet
        }
    }
}
