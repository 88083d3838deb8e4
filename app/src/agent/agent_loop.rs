//! The agent's loop: which agent acts, when it makes a pass, and how it stops.
//!
//! A pass is made when something changed, when a wait is over, and every few minutes. A quiet cluster only costs its watches and the Lease.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use tokio::task::JoinSet;
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::finding::Finding;
use towpath_core::fleet::PreflightResult;
use towpath_core::retry::Backoff;
use towpath_kube::{
    Changes, Clock, Cluster, Elector, Leadership, LeaseTerms, OperatorStatus, Settings, State,
};
use towpath_web::Probes;

use super::act::{
    Action, Actor, lacks_stamp, next_look, remember_answer, status_of, status_without,
};
use super::args::AgentArgs;
use super::event_reporter::EventReporter;
use super::metrics::AgentMetrics;
use super::pass::{Judge, Judgement, PreflightStep, Proofs};
use super::reboots::{self, Leads};
use super::service::Service;

/// What a signal to stop means for the agent.
const STOPPING: &str = "no further pass; an update that has started continues";
/// Changes come in groups: the wait for more of them.
const SETTLE: Duration = Duration::from_secs(1);
/// The time between two passes without changes.
const AT_LEAST_EVERY: Duration = Duration::from_secs(300);
/// The wait before the next pass after a failure.
const SOON: Duration = Duration::from_secs(15);
const BACKOFF: Backoff = Backoff {
    first: SOON,
    longest: Duration::from_secs(240),
};
/// The wait before the next pass if the age of the graph is unknown. All agents of a fleet wait at once, so it is longer.
const LATER: Duration = Duration::from_secs(60);
/// How long the first pass waits for all objects.
const FIRST_READ: Duration = Duration::from_secs(20);
/// How long a new agent waits for objects that it has not read.
const STILL_READING: Duration = Duration::from_secs(180);
/// After proofs that took longer, the agent observes again before it acts.
const STALE: Duration = Duration::from_secs(5);
/// How long `--once` waits for its report to be sent.
const FLUSH: Duration = Duration::from_secs(15);
/// How long the release of the Lease may take.
const SHUTDOWN: Duration = Duration::from_secs(5);
/// A lease that expires sooner is renewed before anything is written.
pub(super) const MARGIN: Duration = Duration::from_secs(5);

/// An agent at work.
struct AgentLoop {
    cluster: Cluster,
    changes: Changes,
    judge: Judge,
    actor: Actor,
    event_reporter: EventReporter,
    service: Option<Service>,
    metrics: Arc<AgentMetrics>,
    elector: Elector,
    born: Instant,
    term: Duration,
    /// Until when we act, by a clock that never jumps.
    leads_until: Option<Duration>,
    /// The same, for what runs beside the loop.
    leads: Leads,
    /// When the Lease is seen to again.
    renew_at: Duration,
    holder: Option<String>,
    /// Whether the next pass looks for proofs.
    proofs: Proofs,
    /// What was odd when we last looked.
    odd: BTreeSet<Finding>,
    /// Failures in a row.
    failures: u32,
    /// Whether reports are being sent.
    sends: bool,
}

/// Runs until told to stop.
pub(super) async fn run(
    args: &AgentArgs,
    judge: Judge,
    service: Option<Service>,
) -> anyhow::Result<()> {
    let cluster = connect(args).await?;
    let metrics = Arc::new(AgentMetrics::new());
    let at_door = metrics.clone();
    let probes = Probes::bind(args.listen.0, move |probe| at_door.answer(probe)).await;
    let probes = probes.with_context(|| {
        format!(
            "cannot listen on {}; choose another with --listen",
            args.listen
        )
    })?;
    tracing::info!(address = %probes.address()?, version = env!("CARGO_PKG_VERSION"), "the agent is running");
    tokio::spawn(probes.serve());
    let terms = args.lease();
    let mut agent_loop = AgentLoop {
        changes: cluster.changes(),
        cluster,
        judge,
        actor: Actor::default(),
        event_reporter: EventReporter::default(),
        service,
        metrics,
        born: Instant::now(),
        term: terms.term,
        leads_until: None,
        leads: Leads::default(),
        renew_at: Duration::ZERO,
        holder: None,
        proofs: Proofs::Some,
        odd: BTreeSet::new(),
        failures: 0,
        sends: false,
        elector: Elector::new(terms),
    };
    let mut beside = JoinSet::new();
    if args.reboots {
        beside.spawn(reboots::run(args.access(), agent_loop.leads.clone()));
    }
    let mut stop = std::pin::pin!(crate::serve::stop_signal(STOPPING)?);
    tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        read = agent_loop.cluster.read_once(FIRST_READ) => {
            if let Err(unread) = read {
                tracing::warn!("not everything could be read yet:\n{unread}");
            }
        }
    }
    let mut next = Duration::ZERO;
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            () = agent_loop.wait(next) => {}
        }
        tokio::select! {
            biased;
            () = &mut stop => break,
            turned = agent_loop.turn() => next = turned,
        }
    }
    // Before the Lease goes: whoever has it next finds nobody at work.
    beside.shutdown().await;
    agent_loop.shut_down().await;
    Ok(())
}

/// Looks once, and acts unless it is told not to.
pub(super) async fn once(
    args: &AgentArgs,
    mut judge: Judge,
    mut service: Option<Service>,
) -> anyhow::Result<(Judgement, Action)> {
    let now = args.now.at();
    let cluster = connect(args).await?;
    if let Err(unread) = cluster.read_once(Settings::default().request).await {
        // What it is about is judged as unknown; without a ClusterVersion there is nothing to judge.
        tracing::warn!("not everything could be read:\n{unread}");
    }
    let seen = judge.observe(&cluster, service.as_mut(), now).await;
    let seen = seen.map_err(|findings| crate::cli::failure(&findings))?;
    seen.warnings
        .iter()
        .chain(&seen.problems)
        .for_each(|finding| tracing::warn!("{finding}"));
    let mut judgement = judge.judge(seen, Proofs::Some).await;
    if args.dry_run {
        return Ok((judgement, Action::Nothing));
    }
    let (terms, clock) = (
        args.lease(),
        Clock {
            now,
            running: Duration::ZERO,
        },
    );
    let mut elector = Elector::new(terms.clone());
    if let Leadership::Other { holder } = elector.try_to_hold(&cluster, clock).await? {
        let LeaseTerms {
            namespace, name, ..
        } = terms;
        anyhow::bail!(
            "the agent {holder:?} holds the lease of this cluster; use --dry-run, or stop that agent; if it is gone, `kubectl delete lease {name} --namespace {namespace}`"
        );
    }
    take_turn(&mut judgement, service.as_ref()).await;
    let done = act_once(&cluster, &judgement, service.as_mut()).await;
    if let Err(problem) = elector.give_back(&cluster, clock).await {
        tracing::warn!("the lease could not be released: {problem}");
    }
    Ok((judgement, done?))
}

/// A preflight is run when it is the cluster's turn: at most so many of the fleet run at once.
async fn take_turn(judgement: &mut Judgement, service: Option<&Service>) {
    let PreflightStep::Ask(id, _) = &judgement.preflight else {
        return;
    };
    let is_turn = match (&judgement.assessment.observation.objects.id, service) {
        (Fact::Known(cluster), Some(service)) => service.is_turn(cluster, id).await,
        _ => false,
    };
    if !is_turn {
        judgement.preflight = PreflightStep::Nothing;
    }
}

async fn act_once(
    cluster: &Cluster,
    judgement: &Judgement,
    service: Option<&mut Service>,
) -> anyhow::Result<Action> {
    if let Err(problem) = cluster
        .publish(&status_of(&judgement.assessment), judgement.assessment.now)
        .await
    {
        tracing::warn!("the Upgradeable condition could not be published: {problem}");
    }
    let mut service = service;
    if let Some(service) = service.as_deref_mut() {
        service.report(judgement);
        service.flush(FLUSH).await;
    }
    let mut event_reporter = EventReporter::default();
    event_reporter.of_pass(cluster, judgement).await;
    let done = Actor::default().act(cluster, judgement).await?;
    if let Action::NoPreflight(result) = &done {
        if let Some(service) = service {
            service.report_with(judgement, Some(result));
            service.flush(FLUSH).await;
        }
        remember_answer(cluster, judgement, &result.id).await?;
    }
    event_reporter.of_done(cluster, &done, judgement).await;
    Ok(done)
}

async fn connect(args: &AgentArgs) -> anyhow::Result<Cluster> {
    Ok(Cluster::connect(&args.access(), Settings::default()).await?)
}

impl AgentLoop {
    fn running(&self) -> Duration {
        self.born.elapsed()
    }

    fn clock(&self) -> Clock {
        Clock {
            now: Timestamp::now(),
            running: self.running(),
        }
    }

    /// Waits until something is due, or something has changed.
    async fn wait(&mut self, next: Duration) {
        let due = next.min(self.renew_at).saturating_sub(self.running());
        tokio::select! {
            () = tokio::time::sleep(due) => {}
            () = self.changes.next() => tokio::time::sleep(SETTLE).await,
        }
    }

    /// Sees to the Lease, and makes a pass if we are the one that acts. When to come back, if nothing changes.
    async fn turn(&mut self) -> Duration {
        if self.running() >= self.renew_at {
            self.renew().await;
        }
        if !self.sends {
            self.send_what_waits();
        }
        let wait = match self.is_leading() {
            true if self.is_still_reading() => SOON,
            true => self.pass().await,
            false => AT_LEAST_EVERY,
        };
        let report_counts = self.service.as_ref().map(Service::report_counts);
        self.metrics
            .turned(&self.cluster, self.is_leading(), report_counts);
        self.running() + wait
    }

    fn is_leading(&self) -> bool {
        self.leads_until
            .is_some_and(|until| self.running() + MARGIN < until)
    }

    async fn renew(&mut self) {
        let clock = self.clock();
        match self.elector.try_to_hold(&self.cluster, clock).await {
            Ok(Leadership::Held { until }) => {
                if self.leads_until.is_none() {
                    tracing::info!("this agent is the leader now");
                }
                (self.leads_until, self.holder) = (Some(until), None);
            }
            Ok(Leadership::Other { holder }) => {
                if self.holder.as_ref() != Some(&holder) {
                    tracing::info!(holder, "another agent is the leader");
                }
                (self.leads_until, self.holder) = (None, Some(holder));
            }
            // Until its end the lease is ours all the same.
            Err(problem) => {
                tracing::warn!("the lease could not be renewed: {problem}");
                self.renew_at = self.running() + SOON.min(self.term / 3);
                return;
            }
        }
        self.leads
            .until(self.leads_until.map(|until| self.born + until));
        self.renew_at = self.running() + self.term / 3;
    }

    /// Looks, judges, acts. How long until there is something new, if nothing changes.
    async fn pass(&mut self) -> Duration {
        let now = Timestamp::now();
        let seen = match self
            .judge
            .observe(&self.cluster, self.service.as_mut(), now)
            .await
        {
            Ok(seen) => seen,
            Err(findings) => {
                self.metrics.not_passed();
                self.tell_odd(&findings);
                let status = status_without(&findings);
                self.publish(&status, now).await;
                return self.back_off();
            }
        };
        let odd: Vec<Finding> = seen
            .problems
            .iter()
            .chain(&seen.warnings)
            .cloned()
            .collect();
        self.tell_odd(&odd);
        let is_published = self.publish(&status_of(&seen), now).await;
        let mut judgement = self
            .judge
            .judge(seen, std::mem::replace(&mut self.proofs, Proofs::Some))
            .await;
        self.metrics.passed(&judgement);
        if judgement.proving > STALE {
            // What was seen may be old by now. The next pass acts on what was found, before more is looked for: so nobody's offers can keep us busy for ever.
            self.proofs = Proofs::None;
            return SETTLE;
        }
        if !self.is_leading() {
            self.renew().await;
        }
        if !self.is_leading() {
            return AT_LEAST_EVERY;
        }
        take_turn(&mut judgement, self.service.as_ref()).await;
        let wait = self.carry_out(&judgement).await;
        if is_published {
            wait
        } else {
            wait.min(self.back_off())
        }
    }

    /// Whether our ClusterOperator says this now.
    async fn publish(&mut self, status: &OperatorStatus, now: Timestamp) -> bool {
        match self.cluster.publish(status, now).await {
            Ok(_) => true,
            Err(problem) => {
                tracing::warn!("the Upgradeable condition could not be published: {problem}");
                false
            }
        }
    }

    /// What is odd is told when it is new, and not with every look.
    fn tell_odd(&mut self, findings: &[Finding]) {
        let now: BTreeSet<Finding> = findings.iter().cloned().collect();
        now.difference(&self.odd)
            .for_each(|finding| tracing::warn!("{finding}"));
        self.odd = now;
    }

    /// The next wait after something could not be done: it doubles.
    fn back_off(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        BACKOFF.wait(self.failures)
    }

    async fn carry_out(&mut self, judgement: &Judgement) -> Duration {
        let mut wait = AT_LEAST_EVERY;
        // Before anything is forgotten: what became of an update is told at least once.
        if let Some(service) = &mut self.service {
            service.report(judgement);
        }
        self.event_reporter.of_pass(&self.cluster, judgement).await;
        match self.actor.act(&self.cluster, judgement).await {
            Ok(done) => {
                self.failures = 0;
                self.metrics.done(judgement, &done);
                self.event_reporter
                    .of_done(&self.cluster, &done, judgement)
                    .await;
                if let Action::NoPreflight(result) = &done {
                    self.answer(judgement, result).await;
                }
                if done == Action::Conflict || judgement.has_more_to_prove() {
                    wait = SOON;
                }
            }
            Err(problem) => {
                tracing::warn!("the ClusterVersion could not be written: {problem}");
                wait = self.back_off();
            }
        }
        if lacks_stamp(judgement) {
            wait = wait.min(LATER);
        }
        let until_due = next_look(judgement).map(|due| due.duration_since(Timestamp::now()));
        let until_due = until_due
            .and_then(|wait| Duration::try_from(wait).ok())
            .unwrap_or(wait);
        wait.min(until_due.max(SETTLE))
    }

    /// Tells the fleet that there is no preflight, and then writes down that it was told.
    async fn answer(&mut self, judgement: &Judgement, result: &PreflightResult) {
        if let Some(service) = &mut self.service {
            service.report_with(judgement, Some(result));
        }
        if let Err(problem) = remember_answer(&self.cluster, judgement, &result.id).await {
            tracing::warn!("the ClusterVersion could not be written: {problem}");
        }
    }

    /// Whether something has never been read, and may be in a moment: an agent that has just come says nothing about it.
    fn is_still_reading(&self) -> bool {
        let is_unread = self
            .cluster
            .states()
            .values()
            .any(|state| matches!(state, State::NotRead(_)));
        is_unread && self.running() < STILL_READING
    }

    /// Sends what waits, whoever acts.
    fn send_what_waits(&mut self) {
        let Some(service) = &mut self.service else {
            return;
        };
        let seen = self.cluster.objects().version;
        let object =
            seen.and_then(|seen| serde_json::from_str::<serde_json::Value>(&seen.json).ok());
        let id = object
            .as_ref()
            .and_then(|object| object.pointer("/spec/clusterID"))
            .and_then(|id| id.as_str());
        if let Some(id) = id.and_then(ClusterId::new) {
            service.send_as(&id);
            self.sends = true;
        }
    }

    /// Gives the Lease back, so that nobody has to wait for its end.
    async fn shut_down(&mut self) {
        if self.leads_until.is_some() {
            let clock = self.clock();
            let given =
                tokio::time::timeout(SHUTDOWN, self.elector.give_back(&self.cluster, clock)).await;
            if let Ok(Err(problem)) = given {
                tracing::warn!("the lease could not be released: {problem}");
            }
        }
        tracing::info!("stopped");
    }
}
