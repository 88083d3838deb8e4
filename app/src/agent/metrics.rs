//! The agent's metrics, liveness and readiness. Every label comes from a closed set, or from the cluster's own policy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use towpath_core::agent::{OptIn, UpdateOutcome};
use towpath_core::cluster::UpgradeableGate;
use towpath_core::cluster::rules::{API_REMOVED, API_REMOVED_LATER};
use towpath_core::verdict::Reason;
use towpath_kube::{Cluster, State};
use towpath_web::{Probe, ProbeAnswer};

use super::act::Action;
use super::pass::Judgement;
use super::service::ReportCounts;

/// An agent whose loop has not turned for longer is stuck.
const STUCK: Duration = Duration::from_secs(600);

/// What is measured.
pub(super) struct AgentMetrics {
    registry: Registry,
    gauges: Gauges,
    started: Counter,
    ended: Family<OutcomeLabel, Counter>,
    passes: Family<ResultLabel, Counter>,
    health: Mutex<Health>,
}

type Seconds = Gauge<f64, AtomicU64>;

#[derive(Default)]
struct Gauges {
    is_leader: Gauge,
    opted_in: Gauge,
    upgradeable: Gauge,
    update_started: Seconds,
    failed_attempts: Gauge,
    last_pass: Seconds,
    offers: Gauge,
    holds: Family<CodeLabel, Gauge>,
    objections: Family<CodeLabel, Gauge>,
    removed_apis: Family<TargetLabel, Gauge>,
    behind: Family<SubjectLabel, Seconds>,
    requests: Family<RequestLabel, Gauge<i64, AtomicI64>>,
    reports_waiting: Gauge,
    reports: Family<ResultLabel, Gauge>,
}

struct Health {
    turned: Instant,
    /// None once everything was read.
    waits_for: Option<String>,
}

macro_rules! label {
    ($name:ident { $($field:ident: $kind:ty),* }) => {
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name {
            $($field: $kind,)*
        }
    };
}
label!(OutcomeLabel { outcome: &'static str });
label!(ResultLabel { result: &'static str });
label!(CodeLabel { code: &'static str });
label!(TargetLabel { target: String });
label!(SubjectLabel { subject: &'static str });
label!(RequestLabel { verb: &'static str, resource: String });
label!(VersionLabel { version: &'static str });

/// Name, help and metric of each line.
macro_rules! register {
    ($registry:ident; $($name:literal, $help:literal, $metric:expr;)*) => {
        $($registry.register($name, $help, $metric.clone());)*
    };
}

impl AgentMetrics {
    pub(super) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("towpath_agent"),
            gauges: Gauges::default(),
            started: Counter::default(),
            ended: Family::default(),
            passes: Family::default(),
            health: Mutex::new(Health {
                turned: Instant::now(),
                waits_for: Some("the cluster's objects".to_owned()),
            }),
        };
        let (registry, gauges) = (&mut metrics.registry, &metrics.gauges);
        let info = Family::<VersionLabel, Gauge>::default();
        info.get_or_create(&VersionLabel {
            version: env!("CARGO_PKG_VERSION"),
        })
        .set(1);
        register! { registry;
            "build_info", "the agent's version", info;
            "is_leader", "whether this agent is the leader", gauges.is_leader;
            "opted_in", "whether automatic updates are wanted", gauges.opted_in;
            "upgradeable", "whether the minor version may change", gauges.upgradeable;
            "update_started_timestamp_seconds", "when the update that is under way was started by the agent; 0 if none is", gauges.update_started;
            "failed_attempts", "automatic updates in a row that have failed", gauges.failed_attempts;
            "last_pass_timestamp_seconds", "when the cluster was last judged", gauges.last_pass;
            "offers", "updates that the cluster is offered", gauges.offers;
            "holds", "offers that are not taken, by reason", gauges.holds;
            "objections", "what stands in the way of the next minor version, by reason", gauges.objections;
            "removed_apis_in_use", "APIs in use that are removed on the way to the target", gauges.removed_apis;
            "behind_seconds", "how long nothing was heard of a subject; 0 while it is watched, -1 if it was never read", gauges.behind;
            "api_requests", "requests to the cluster's API since the start, by verb and resource", gauges.requests;
            "reports_waiting", "reports that wait to be sent", gauges.reports_waiting;
            "reports", "reports since the start, by what became of them", gauges.reports;
            "updates_started", "automatic updates that were started", metrics.started;
            "updates_ended", "automatic updates by what became of them", metrics.ended;
            "passes", "looks at the cluster, by result", metrics.passes;
        }
        metrics
    }

    /// A pass has been made.
    pub(super) fn passed(&self, judgement: &Judgement) {
        let (gauges, assessment) = (&self.gauges, &judgement.assessment);
        let (memory, gate) = (&assessment.memory, assessment.gate.as_ref());
        let judged = &judgement.choice.judged;
        let result = "judged";
        self.passes.get_or_create(&ResultLabel { result }).inc();
        gauges.last_pass.set(seconds(assessment.now));
        let opt_in = assessment.observation.objects.standing.opt_in;
        gauges.opted_in.set((opt_in == OptIn::Wanted).into());
        gauges.failed_attempts.set(memory.failures.into());
        let started = memory.started.as_ref();
        let started = started.map_or(0.0, |started| seconds(started.at));
        gauges.update_started.set(started);
        let is_open = gate.is_some_and(UpgradeableGate::is_open);
        gauges.upgradeable.set(is_open.into());
        gauges.offers.set(count(judged.len()));
        let against = judged.iter().flat_map(|(_, verdict)| verdict.objections());
        by_code(&gauges.holds, against);
        let against = gate.into_iter().flat_map(UpgradeableGate::objections);
        by_code(&gauges.objections, against);
        gauges.removed_apis.clear();
        // Without a count there is no number: none would read as "no API in use".
        let apis = assessment.observation.objects.facts.apis.known();
        if let (Some(target), Some(gate), Some(_)) = (assessment.policy.target, gate, apis) {
            let all = gate.next.reasons.iter().chain(&gate.later);
            let removed = all.filter_map(removed_api).collect::<BTreeSet<_>>().len();
            let target = target.to_string();
            let removed_apis = gauges.removed_apis.get_or_create(&TargetLabel { target });
            removed_apis.set(count(removed));
        }
    }

    /// Nothing could be judged.
    pub(super) fn not_passed(&self) {
        let result = "not_understood";
        self.passes.get_or_create(&ResultLabel { result }).inc();
    }

    /// Something was written. What became of an update counts once that is written down.
    pub(super) fn done(&self, judgement: &Judgement, done: &Action) {
        if done.started().is_some() {
            self.started.inc();
        }
        let is_written = done.started().is_some()
            || matches!(
                done,
                Action::Remembered
                    | Action::Asked(_)
                    | Action::ChannelSet(..)
                    | Action::ChannelRefused { .. }
                    | Action::Refused { .. }
            );
        if let (Some(outcome), true) = (&judgement.assessment.outcome, is_written) {
            let outcome = match outcome {
                UpdateOutcome::Completed { .. } => "completed",
                UpdateOutcome::Failed { .. } => "failed",
                UpdateOutcome::GivenUp { .. } => "given-up",
            };
            self.ended.get_or_create(&OutcomeLabel { outcome }).inc();
        }
    }

    /// The loop has turned.
    pub(super) fn turned(
        &self,
        cluster: &Cluster,
        is_leader: bool,
        report_counts: Option<ReportCounts>,
    ) {
        let gauges = &self.gauges;
        gauges.is_leader.set(is_leader.into());
        if !is_leader {
            // Whoever leads now says it: what we last knew would be an alert that nobody can clear.
            gauges.update_started.set(0.0);
            gauges.failed_attempts.set(0);
            gauges.offers.set(0);
            gauges.holds.clear();
            gauges.objections.clear();
            gauges.removed_apis.clear();
        }
        let states = cluster.states();
        for (subject, state) in &states {
            let behind = match state {
                State::Current | State::Absent => 0.0,
                State::Behind(since, _) => since.as_secs_f64(),
                State::NotRead(_) => -1.0,
            };
            let subject = subject.as_str();
            let gauge = gauges.behind.get_or_create(&SubjectLabel { subject });
            gauge.set(behind);
        }
        for ((verb, resource), sent) in cluster.requests() {
            let label = RequestLabel {
                verb: verb.as_str(),
                resource,
            };
            gauges
                .requests
                .get_or_create(&label)
                .set(i64::try_from(sent).unwrap_or(i64::MAX));
        }
        if let Some(report_counts) = report_counts {
            gauges.reports_waiting.set(count(report_counts.waiting));
            for (result, number) in report_counts.results {
                gauges
                    .reports
                    .get_or_create(&ResultLabel { result })
                    .set(i64::try_from(number).unwrap_or(i64::MAX));
            }
        }
        let unread = states
            .iter()
            .find(|(_, state)| matches!(state, State::NotRead(_)));
        let mut health = self.health();
        health.turned = Instant::now();
        health.waits_for = unread.map(|(subject, state)| match state {
            State::NotRead(Some(problem)) => format!("{}: {problem}", subject.as_str()),
            _ => subject.as_str().to_owned(),
        });
    }

    /// The answer to a question at the door.
    pub(super) fn answer(&self, probe: Probe) -> ProbeAnswer {
        let health = self.health();
        match probe {
            Probe::Alive if health.turned.elapsed() > STUCK => ProbeAnswer::No(format!(
                "the agent's loop has been stuck for {} s\n",
                health.turned.elapsed().as_secs()
            )),
            Probe::Alive => ProbeAnswer::Yes("alive\n".to_owned()),
            Probe::Ready => match &health.waits_for {
                None => ProbeAnswer::Yes("ready\n".to_owned()),
                Some(what) => ProbeAnswer::No(format!("not ready: not read yet: {what}\n")),
            },
            Probe::Metrics => {
                let mut said = String::new();
                match text::encode(&mut said, &self.registry) {
                    Ok(()) => ProbeAnswer::Metrics(said),
                    Err(_) => ProbeAnswer::No("the metrics cannot be written\n".to_owned()),
                }
            }
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn by_code<'a>(family: &Family<CodeLabel, Gauge>, reasons: impl Iterator<Item = &'a Reason>) {
    let mut counts: BTreeMap<&'static str, i64> = BTreeMap::new();
    reasons.for_each(|reason| *counts.entry(reason.code().name).or_default() += 1);
    family.clear();
    counts
        .into_iter()
        .for_each(|(code, number)| _ = family.get_or_create(&CodeLabel { code }).set(number));
}

/// An API that goes on the way; each step tells of it.
fn removed_api(reason: &Reason) -> Option<&str> {
    let is_removal = [&API_REMOVED, &API_REMOVED_LATER].contains(&reason.code());
    is_removal.then(|| reason.fact("api"))??.as_str()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "seconds of this millennium are exact"
)]
fn seconds(at: Timestamp) -> f64 {
    at.as_second() as f64
}
