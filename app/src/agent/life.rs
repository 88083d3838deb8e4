//! The life of an agent: who acts, when it looks, and how it ends.
//!
//! A pass is made when something changed, when something that was waited for is due, and every few minutes. A quiet cluster costs its watches and the Lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use towpath_kube::{Changes, Clock, Cluster, Elector, Leadership, Settings};
use towpath_web::Probes;

use super::act::{Actor, Done, lacks_stamp, next_look, status_of, status_without};
use super::args::AgentArgs;
use super::bulletin::Bulletin;
use super::metrics::AgentMetrics;
use super::pass::{Judge, Judged};
use super::service::Service;

/// Changes come in flocks: so long we wait for more of them.
const SETTLE: Duration = Duration::from_secs(1);
/// Without changes we look this often.
const AT_LEAST_EVERY: Duration = Duration::from_secs(300);
/// After something could not be done we look again so soon.
const SOON: Duration = Duration::from_secs(15);
/// After the service could not say how old its graph is we look again so soon: all agents of a fleet do.
const LATER: Duration = Duration::from_secs(60);
/// So long the first look waits for everything to be read.
const FIRST_READ: Duration = Duration::from_secs(20);
/// So long the farewell may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// A lease that ends so soon is renewed before anything is written.
const MARGIN: Duration = Duration::from_secs(5);

/// An agent at work.
struct Life {
    cluster: Cluster,
    changes: Changes,
    judge: Judge,
    actor: Actor,
    bulletin: Bulletin,
    service: Option<Service>,
    metrics: Arc<AgentMetrics>,
    elector: Elector,
    born: Instant,
    term: Duration,
    /// Until when we act, by a clock that never jumps.
    leads_until: Option<Duration>,
    /// When the Lease is seen to again.
    renew_at: Duration,
    holder: Option<String>,
}

/// Runs until told to stop.
pub(super) async fn run(args: &AgentArgs, judge: Judge, service: Option<Service>) -> anyhow::Result<()> {
    let cluster = connect(args).await?;
    let metrics = Arc::new(AgentMetrics::new());
    let at_door = metrics.clone();
    let probes = Probes::bind(args.listen, move |probe| at_door.answer(probe)).await;
    let probes = probes.with_context(|| format!("cannot listen on {}; choose another with --listen", args.listen))?;
    tracing::info!(address = %probes.address()?, version = env!("CARGO_PKG_VERSION"), "the agent looks after its cluster");
    tokio::spawn(probes.serve());
    let terms = args.lease();
    let mut life = Life {
        changes: cluster.changes(),
        cluster,
        judge,
        actor: Actor::default(),
        bulletin: Bulletin::default(),
        service,
        metrics,
        born: Instant::now(),
        term: terms.term,
        leads_until: None,
        renew_at: Duration::ZERO,
        holder: None,
        elector: Elector::new(terms),
    };
    let mut stop = std::pin::pin!(crate::serve::stop_signal()?);
    tokio::select! {
        biased;
        () = &mut stop => return Ok(()),
        read = life.cluster.read_once(FIRST_READ) => {
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
            () = life.wait(next) => {}
        }
        tokio::select! {
            biased;
            () = &mut stop => break,
            turned = life.turn() => next = turned,
        }
    }
    life.farewell().await;
    Ok(())
}

/// Looks once, and acts unless it is told not to.
pub(super) async fn once(
    args: &AgentArgs,
    mut judge: Judge,
    mut service: Option<Service>,
) -> anyhow::Result<(Judged, Done)> {
    let now = args.now()?.unwrap_or_else(Timestamp::now);
    let cluster = connect(args).await?;
    if let Err(unread) = cluster.read_once(Settings::default().request).await {
        // What it is about is judged as unknown; without a ClusterVersion there is nothing to judge.
        tracing::warn!("not everything could be read:\n{unread}");
    }
    let judged =
        judge.pass(&cluster, service.as_mut(), now).await.map_err(|findings| crate::graph::inputs::all(&findings))?;
    judged.warnings.iter().for_each(|finding| tracing::warn!("{finding}"));
    if args.dry_run {
        return Ok((judged, Done::Nothing));
    }
    let mut elector = Elector::new(args.lease());
    let clock = Clock { now, running: Duration::ZERO };
    match elector.try_to_hold(&cluster, clock).await? {
        Leadership::Held { .. } => {}
        Leadership::Other { holder } => {
            anyhow::bail!("the agent {holder:?} looks after this cluster; ask with --dry-run, or stop it");
        }
    }
    cluster.publish(&status_of(&judged), now).await?;
    let mut bulletin = Bulletin::default();
    bulletin.of_pass(&cluster, &judged).await;
    let done = Actor::default().act(&cluster, &judged).await;
    if let Ok(done) = &done {
        bulletin.of_done(&cluster, done, &judged).await;
    }
    elector.give_back(&cluster, clock).await?;
    Ok((judged, done?))
}

async fn connect(args: &AgentArgs) -> anyhow::Result<Cluster> {
    Ok(Cluster::connect(&args.access(), Settings::default()).await?)
}

impl Life {
    fn running(&self) -> Duration {
        self.born.elapsed()
    }

    fn clock(&self) -> Clock {
        Clock { now: Timestamp::now(), running: self.running() }
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
        let wait = match self.is_leading() {
            true => self.pass().await,
            false => AT_LEAST_EVERY,
        };
        let reporting = self.service.as_ref().map(Service::reporting);
        self.metrics.turned(&self.cluster, self.is_leading(), reporting);
        self.running() + wait
    }

    fn is_leading(&self) -> bool {
        self.leads_until.is_some_and(|until| self.running() + MARGIN < until)
    }

    async fn renew(&mut self) {
        let clock = self.clock();
        match self.elector.try_to_hold(&self.cluster, clock).await {
            Ok(Leadership::Held { until }) => {
                if self.leads_until.is_none() {
                    tracing::info!("this agent is the one that acts");
                }
                (self.leads_until, self.holder) = (Some(until), None);
            }
            Ok(Leadership::Other { holder }) => {
                if self.holder.as_ref() != Some(&holder) {
                    tracing::info!(holder, "another agent is the one that acts");
                }
                (self.leads_until, self.holder) = (None, Some(holder));
            }
            // Until its end the lease is ours all the same.
            Err(problem) => tracing::warn!("the lease could not be seen to: {problem}"),
        }
        self.renew_at = self.running() + self.term / 3;
    }

    /// Looks, judges, acts. How long until there is something new, if nothing changes.
    async fn pass(&mut self) -> Duration {
        let now = Timestamp::now();
        let judged = match self.judge.pass(&self.cluster, self.service.as_mut(), now).await {
            Ok(judged) => judged,
            Err(findings) => {
                self.metrics.not_passed();
                findings.iter().for_each(|finding| tracing::error!("nothing can be judged: {finding}"));
                if let Err(problem) = self.cluster.publish(&status_without(&findings), now).await {
                    tracing::warn!("the gate could not be published: {problem}");
                }
                return AT_LEAST_EVERY.min(SOON);
            }
        };
        judged.warnings.iter().for_each(|finding| tracing::debug!("{finding}"));
        self.metrics.passed(&judged);
        // Proofs take their time, and meanwhile somebody else may have become the one that acts.
        if !self.is_leading() {
            self.renew().await;
        }
        if !self.is_leading() {
            return AT_LEAST_EVERY;
        }
        self.carry_out(&judged).await
    }

    async fn carry_out(&mut self, judged: &Judged) -> Duration {
        let mut wait = AT_LEAST_EVERY;
        if let Err(problem) = self.cluster.publish(&status_of(judged), judged.now).await {
            tracing::warn!("the gate could not be published: {problem}");
            wait = SOON;
        }
        // Before anything is forgotten: what became of an update is told at least once.
        if let Some(service) = &mut self.service {
            service.report(judged);
        }
        self.bulletin.of_pass(&self.cluster, judged).await;
        match self.actor.act(&self.cluster, judged).await {
            Ok(done) => {
                self.metrics.done(judged, &done);
                self.bulletin.of_done(&self.cluster, &done, judged).await;
                if done == Done::Conflict {
                    wait = SOON;
                }
            }
            Err(problem) => {
                tracing::warn!("the cluster version could not be written: {problem}");
                wait = SOON;
            }
        }
        if lacks_stamp(judged) {
            wait = wait.min(LATER);
        }
        let until_due = next_look(judged).map(|due| due.duration_since(Timestamp::now()));
        let until_due = until_due.and_then(|wait| Duration::try_from(wait).ok()).unwrap_or(wait);
        wait.min(until_due.max(SETTLE))
    }

    /// Gives the Lease back, so that nobody has to wait for its end.
    async fn farewell(&mut self) {
        if self.leads_until.is_some() {
            let clock = self.clock();
            let given = tokio::time::timeout(FAREWELL, self.elector.give_back(&self.cluster, clock)).await;
            if let Ok(Err(problem)) = given {
                tracing::warn!("the lease could not be given back: {problem}");
            }
        }
        tracing::info!("stopped");
    }
}
