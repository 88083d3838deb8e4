//! The agent as a client of the fleet's service: it asks how old the graph is, and reports what happened.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use towpath_core::agent::{
    ChannelOutcome, FleetOrders, OptIn, OrdersUse, Stamp, StartedUpdate, UpdateOutcome,
};
use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::fleet::{
    AgentOutcome, AgentUpdate, Labels, Name, PreflightResult, SETS_CHANNELS,
};
use towpath_core::hex;
use towpath_formats::agent::channel_text;
use towpath_formats::agent::stamp::Nonce;
use towpath_formats::fleet::report::{Report, Seen, write};
use towpath_formats::fleet::token::{Claims, Grant};
use towpath_formats::timespan::TimeSpan;
use towpath_service::{
    Bounds, Event, Outbox, Pace, Queue, Sender, ServiceClient, ServiceConfig, ServiceError,
    SystemClock,
};

use super::pass::Judgement;
use crate::config::DAY;

/// A token that ends within this time is warned of.
const TOKEN_ENDS_SOON: SignedDuration = SignedDuration::from_hours(14 * 24);
/// How long until the agent asks for a new stamp, and for new orders.
const STAMP_LASTS: SignedDuration = SignedDuration::from_mins(5);
/// How long until the agent asks for a new token again.
const RENEW_EVERY: SignedDuration = SignedDuration::from_mins(10);

/// Where the fleet's service is, and who we are to it.
#[derive(Debug, Args)]
pub(crate) struct ServiceOptions {
    /// Report to the Towpath service at this address, and ask it how old its graph is.
    #[arg(long = "server", env = "TOWPATH_SERVER", value_name = "URL", requires_all = ["token_file", "org"])]
    url: Option<String>,
    /// The file with this cluster's token, made with `towpath fleet token --cluster ID --org ID --name NAME`. The agent reads it again for each request.
    #[arg(long, env = "TOWPATH_SERVER_TOKEN_FILE", value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// The organisation that the cluster belongs to.
    #[arg(long, env = "TOWPATH_ORG", value_name = "ID")]
    org: Option<String>,
    /// The cluster's name in reports. [default: its id]
    #[arg(long, env = "TOWPATH_CLUSTER_NAME", value_name = "NAME")]
    cluster_name: Option<String>,
    /// A label of the cluster, for the fleet's policies. Repeatable.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Trust only the certificates in this PEM file for the service.
    #[arg(long, env = "TOWPATH_SERVER_CA_FILE", value_name = "FILE")]
    server_ca_file: Option<PathBuf>,
    /// Show this certificate (PEM, with its chain) to the service, if it asks for one. The agent reads it again when it changes.
    #[arg(
        long,
        env = "TOWPATH_CLIENT_CERT",
        value_name = "FILE",
        requires_all = ["client_key", "url"]
    )]
    client_cert: Option<PathBuf>,
    /// The key of --client-cert, in PEM.
    #[arg(
        long,
        env = "TOWPATH_CLIENT_KEY",
        value_name = "FILE",
        requires = "client_cert"
    )]
    pub(super) client_key: Option<PathBuf>,
    /// Report this often if nothing changes.
    #[arg(long, default_value = "10m", value_name = "DURATION", value_parser = TimeSpan::between(TimeSpan::seconds(30), DAY))]
    report_every: TimeSpan,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The fleet's service, as this agent deals with it.
pub(super) struct Service {
    client: Arc<ServiceClient>,
    outbox: Arc<Outbox>,
    organisation: String,
    name: Option<String>,
    labels: Labels,
    every: Duration,
    /// Different for each process.
    seed: u64,
    /// Brings reports, from when the cluster's id is known.
    sender: Option<tokio::task::JoinHandle<()>>,
    results: Arc<Results>,
    /// What was reported last, and when.
    reported: Option<([u8; 32], Instant)>,
    number: u64,
    stamp: Option<(Timestamp, Stamp)>,
    orders: Option<(Timestamp, FleetOrders)>,
    /// When a new token was last asked for.
    renewed: Option<Timestamp>,
    /// Why we ask for them.
    purpose: OrdersUse,
}

/// What became of reports.
#[derive(Debug, Default)]
struct Results {
    sent: AtomicU64,
    refused: AtomicU64,
    put_off: AtomicU64,
}

/// How reporting goes.
#[derive(Debug)]
pub(super) struct ReportCounts {
    pub(super) waiting: usize,
    pub(super) results: [(&'static str, u64); 3],
}

impl Service {
    /// Looks at address and token, and takes up what waits to be sent; asks nobody.
    pub(super) fn start(
        options: &ServiceOptions,
        folder: Option<PathBuf>,
        purpose: OrdersUse,
    ) -> anyhow::Result<Option<Self>> {
        let (Some(url), Some(token_file), Some(organisation)) =
            (&options.url, &options.token_file, &options.org)
        else {
            return Ok(None);
        };
        let config = ServiceConfig {
            ca_file: options.server_ca_file.clone(),
            identity_files: options.client_cert.clone().zip(options.client_key.clone()),
            ..ServiceConfig::new(url, token_file)
        };
        let client = ServiceClient::new(config).context("--server")?;
        check_token(
            client.claims().context("--token-file")?.as_ref(),
            organisation,
            options.cluster_name.as_deref(),
        )?;
        let queue = match folder {
            None => Queue::in_memory(Bounds::default()),
            Some(folder) => {
                let (queue, findings) = Queue::open(&folder, Bounds::default())?;
                findings
                    .iter()
                    .for_each(|finding| tracing::warn!("{finding}"));
                queue
            }
        };
        Ok(Some(Self {
            client: Arc::new(client),
            outbox: Outbox::new(queue),
            organisation: organisation.clone(),
            name: options.cluster_name.clone(),
            labels: options.label.iter().cloned().collect(),
            every: options.report_every.unsigned(),
            seed: RandomState::new().hash_one("seed"),
            sender: None,
            results: Arc::default(),
            reported: None,
            number: 0,
            stamp: None,
            orders: None,
            renewed: None,
            purpose,
        }))
    }

    /// How old the service's graph is, asked for every few minutes.
    pub(super) async fn stamp(&mut self, cluster: &ClusterId, now: Timestamp) -> Fact<Stamp> {
        let is_young = |asked: Timestamp| now.duration_since(asked).abs() < STAMP_LASTS;
        if let Some((_, stamp)) = self.stamp.as_ref().filter(|(asked, _)| is_young(*asked)) {
            return Fact::Known(stamp.clone());
        }
        let stamp = match nonce() {
            Ok(nonce) => self
                .client
                .stamp(cluster, &nonce)
                .await
                .map_err(|error| error.to_string()),
            Err(problem) => Err(problem),
        };
        match stamp {
            Ok(stamp) => {
                self.stamp = Some((now, stamp.clone()));
                Fact::Known(stamp)
            }
            Err(problem) => {
                self.stamp = None;
                tracing::warn!("the age of the graph is not known: {problem}");
                Fact::Unknown
            }
        }
    }

    /// What the fleet asks of the cluster, asked for every few minutes. While nobody can say, it is nothing.
    pub(super) async fn orders(&mut self, cluster: &ClusterId, now: Timestamp) -> FleetOrders {
        let is_young = |asked: Timestamp| now.duration_since(asked).abs() < STAMP_LASTS;
        if let Some((_, orders)) = self.orders.as_ref().filter(|(asked, _)| is_young(*asked)) {
            return orders.clone();
        }
        let orders = self.ask(cluster, OrdersUse::Look).await;
        let orders = match (orders, self.purpose) {
            // A service of before does not know that question.
            (Err(ServiceError::Refused { status: 400, .. }), OrdersUse::Act) => {
                self.ask(cluster, OrdersUse::Act).await
            }
            (orders, _) => orders,
        };
        match orders {
            Ok(orders) => {
                self.orders = Some((now, orders.clone()));
                orders
            }
            Err(problem) => {
                self.orders = None;
                tracing::warn!("nobody knows what the fleet asks for: {problem}");
                FleetOrders::default()
            }
        }
    }

    /// Whether it is the cluster's turn to run a preflight that the orders have. From then on it counts as running. So it is asked
    /// for only when nothing else speaks against it.
    pub(super) async fn is_turn(&self, cluster: &ClusterId, preflight: &Name) -> bool {
        match self.ask(cluster, OrdersUse::Act).await {
            Ok(orders) => orders.preflight.is_some_and(|one| one.id == *preflight),
            Err(problem) => {
                tracing::warn!("nobody knows whose turn it is to run a preflight: {problem}");
                false
            }
        }
    }

    /// Replaces the token by a new one, if it soon ends. If that fails, the old one is used, and it is tried again later.
    pub(super) async fn renew_token(&mut self, cluster: &ClusterId, now: Timestamp) {
        let is_young = |asked: Timestamp| now.duration_since(asked).abs() < RENEW_EVERY;
        if self.purpose == OrdersUse::Look || self.renewed.is_some_and(is_young) {
            return;
        }
        let new = self.client.new_token(cluster, now).await;
        let kept = match new {
            Ok(None) => return,
            Ok(Some(token)) => self.client.keep_token(&token).map(|()| token.end),
            Err(error) => Err(error),
        };
        self.renewed = Some(now);
        match kept {
            Ok(end) => tracing::info!(%end, "the token was renewed"),
            Err(error) => tracing::warn!("the token could not be renewed: {error}"),
        }
    }

    async fn ask(
        &self,
        cluster: &ClusterId,
        purpose: OrdersUse,
    ) -> Result<FleetOrders, ServiceError> {
        let nonce = nonce().map_err(|problem| ServiceError::BadAnswer {
            what: "orders",
            problem,
        })?;
        self.client.orders(cluster, &nonce, purpose).await
    }

    /// Puts a report into the outbox, if there is something to report.
    pub(super) fn report(&mut self, judgement: &Judgement) {
        self.report_with(judgement, judgement.preflight_result());
    }

    /// The same, with what became of a preflight.
    pub(super) fn report_with(
        &mut self,
        judgement: &Judgement,
        preflight: Option<&PreflightResult>,
    ) {
        let Fact::Known(cluster) = &judgement.assessment.observation.objects.id else {
            return;
        };
        let started = judgement.assessment.observation.memory.started.as_ref();
        let outcome = judgement.assessment.outcome.as_ref();
        let update = outcome
            .zip(started)
            .map(|(outcome, started)| update(outcome, started, judgement.assessment.now));
        let channel = judgement.assessment.channel.as_ref().map(of_channel);
        let updates: Vec<AgentUpdate> = update.into_iter().chain(channel).collect();
        let state = state(judgement);
        let is_due = self
            .reported
            .is_none_or(|(last, at)| last != state || at.elapsed() >= self.every);
        if updates.is_empty() && preflight.is_none() && !is_due {
            return;
        }
        let mut labels = self.labels.clone();
        let standing = &judgement.assessment.observation.objects.standing;
        if standing.opt_in == OptIn::Wanted {
            let sets = labels.entry(SETS_CHANNELS.to_owned());
            sets.or_insert_with(|| "true".to_owned());
        }
        let id = match (updates.first(), preflight) {
            (Some(update), _) => id_of(update),
            (None, Some(preflight)) => id_of_preflight(preflight),
            (None, None) => {
                self.number += 1;
                format!(
                    "{}-{:016x}-{}",
                    judgement.assessment.now.as_second(),
                    self.seed,
                    self.number
                )
            }
        };
        let seen = Seen {
            id: &id,
            objects: &judgement.assessment.observation.objects,
            organisation: &self.organisation,
            name: self.name.as_deref(),
            labels: &labels,
            platform: judgement.assessment.observation.platform.clone(),
            updates: &updates,
            preflights: preflight.map_or(&[], std::slice::from_ref),
            at: judgement.assessment.now,
        };
        match Report::of(&seen) {
            Ok(report) => {
                let findings = self.outbox.push(&id, &write(&report));
                findings
                    .iter()
                    .for_each(|finding| tracing::warn!("{finding}"));
                self.reported = Some((state, Instant::now()));
            }
            Err(problem) => tracing::warn!("no report could be made: {problem}"),
        }
        self.send_as(cluster);
    }

    /// Sends what waits, from when the cluster's id is known; also if it is another agent that acts.
    pub(super) fn send_as(&mut self, cluster: &ClusterId) {
        if self.sender.is_none() {
            self.sender = Some(self.send(cluster.clone()));
        }
    }

    /// Waits until everything is sent, but not for long.
    pub(super) async fn flush(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.outbox.waiting() > 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if self.outbox.waiting() > 0 {
            tracing::warn!(
                "{} reports could not be sent; with --state they wait there",
                self.outbox.waiting()
            );
        }
    }

    fn send(&self, cluster: ClusterId) -> tokio::task::JoinHandle<()> {
        let door = (self.client.clone(), cluster);
        let sender = Sender::new(
            self.outbox.clone(),
            door,
            SystemClock::default(),
            Pace::default(),
            self.seed,
        );
        let results = self.results.clone();
        tokio::spawn(sender.run(move |event| match event {
            Event::Sent { id } => {
                results.sent.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(%id, "a report was sent");
            }
            Event::Refused { id, why } => {
                results.refused.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%id, "the service refuses a report: {why}");
            }
            Event::PutOff { id, why, wait } => {
                results.put_off.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%id, "a report is sent again in {} s: {why}", wait.as_secs());
            }
        }))
    }

    /// How reporting goes.
    pub(super) fn report_counts(&self) -> ReportCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let results = &self.results;
        ReportCounts {
            waiting: self.outbox.waiting(),
            results: [
                ("sent", count(&results.sent)),
                ("refused", count(&results.refused)),
                ("put_off", count(&results.put_off)),
            ],
        }
    }
}

/// The token must be for the organisation and name that are reported: the service would refuse every report. Whether the id is the
/// cluster's is looked at for each request, once the cluster has told its id.
fn check_token(
    claims: Option<&Claims>,
    organisation: &str,
    name: Option<&str>,
) -> anyhow::Result<()> {
    let Some(Claims {
        grant: Grant::Cluster(enrolment),
        end,
        ..
    }) = claims
    else {
        tracing::warn!(
            "the token is of the first version: the service credits no soak for it, and may refuse it; make a new one with `towpath fleet token`"
        );
        return Ok(());
    };
    if enrolment.organisation != organisation {
        let of = &enrolment.organisation;
        bail!("--org is {organisation}, but the token is for {of}; use the same in both");
    }
    if let Some(name) = name.filter(|name| *name != enrolment.name) {
        let of = &enrolment.name;
        bail!(
            "--cluster-name is {name}, but the token is for {of}; leave it out, or make another token"
        );
    }
    match Timestamp::now().duration_until(*end) < TOKEN_ENDS_SOON {
        true => {
            tracing::warn!(%end, "the token expires soon; make a new one with `towpath fleet token`")
        }
        false => tracing::info!(%end, "the token is valid"),
    }
    Ok(())
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            sender.abort();
        }
    }
}

fn update(outcome: &UpdateOutcome, started: &StartedUpdate, now: Timestamp) -> AgentUpdate {
    let so_far = now.duration_since(started.at).max(SignedDuration::ZERO);
    let (outcome, why, took) = match outcome {
        UpdateOutcome::Completed { took, .. } => (AgentOutcome::Completed, "", Some(*took)),
        UpdateOutcome::Failed { why, .. } => (AgentOutcome::Failed, why.as_str(), Some(so_far)),
        UpdateOutcome::GivenUp { .. } => (AgentOutcome::GivenUp, "", None),
    };
    let (to, started_at) = (started.version.clone(), started.at);
    AgentUpdate {
        to,
        outcome,
        why: why.into(),
        started_at,
        took,
        is_automatic: true,
    }
}

/// What the fleet's history says of a channel that was set for an update which never came.
fn of_channel(outcome: &ChannelOutcome) -> AgentUpdate {
    let (set, code) = match outcome {
        ChannelOutcome::InVain(set) => (set, AgentOutcome::Failed),
        ChannelOutcome::Replaced(set) => (set, AgentOutcome::GivenUp),
    };
    AgentUpdate {
        to: set.update.clone(),
        outcome: code,
        why: channel_text(outcome).into(),
        started_at: set.at,
        took: None,
        is_automatic: true,
    }
}

/// The same for the same outcome, whoever reports it: the service counts it once.
fn id_of(update: &AgentUpdate) -> String {
    let text = format!(
        "{}\n{}\n{}",
        update.started_at,
        update.to,
        update.outcome.code()
    );
    let digest = Sha256::digest(text.as_bytes());
    format!("update-{}", hex::encode(&digest[..16]))
}

/// The same for the same outcome of the same request: the service counts it once.
fn id_of_preflight(result: &PreflightResult) -> String {
    let text = format!("{}\n{}\n{}", result.id, result.version, result.state.code());
    let digest = Sha256::digest(text.as_bytes());
    format!("preflight-{}", hex::encode(&digest[..16]))
}

fn nonce() -> Result<Nonce, String> {
    let random = towpath_service::random();
    let random = random.map_err(|error| format!("there is no randomness: {error}"))?;
    Ok(Nonce::of(random))
}

/// What is worth a report when it changes: not the words of conditions, which change all the time.
fn state(judgement: &Judgement) -> [u8; 32] {
    let standing = &judgement.assessment.observation.objects.standing;
    let conditions: BTreeMap<_, _> = standing
        .conditions
        .iter()
        .map(|(name, one)| (name, &one.status))
        .collect();
    let nodes = match &judgement.assessment.observation.objects.facts.nodes {
        Fact::Known(nodes) => Some(nodes.len()),
        Fact::Unknown => None,
    };
    let channel = &judgement.assessment.observation.objects.channel;
    let text = format!(
        "{:?}",
        (
            standing.current(),
            standing.opt_in,
            &standing.desired,
            conditions,
            nodes,
            channel,
            &judgement.assessment.observation.platform
        )
    );
    Sha256::digest(text.as_bytes()).into()
}
