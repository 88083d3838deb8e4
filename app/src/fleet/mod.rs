//! `towpath fleet`: each command gathers facts, makes one pure call, and prints or carries out the result.

mod aus_metrics;
mod complaint;
mod export;
mod facts;
pub(crate) mod fleet_backend;
mod hands;
mod hands_args;
mod import;
mod lease;
mod operator_acts;
mod orders;
mod preflight;
mod progress;
mod published_fleet;
mod replay;
pub(crate) mod run;
pub(crate) mod scheduler;

use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    AgentUpdate, ClusterState, Decision, Filter, FleetInput, FleetPlanner, coverage, find_cluster,
    why_of,
};
use towpath_core::graph::Graph;
use towpath_core::simulate::forecast_days;
use towpath_core::version::Version;
use towpath_formats::findings;
use towpath_formats::fleet::cluster_list::untold;
use towpath_formats::fleet::{Room, json, text};
use towpath_formats::timespan::TimeSpan;
use towpath_store::{Store, StoreAddress};

use self::facts::{Files, FleetReading, StoredFleet};
use self::hands::{hands_of, read_into};
use self::hands_args::HandsArgs;
use self::progress::Progress;
use crate::cli::{print, terminal_width};
use crate::clock::NowArgs;
use crate::config::{self, ServeOptions, Settings, SourceArgs};
use crate::example::Origin;
use crate::minors::{self, MinorsArgs};
use crate::output::{Output, OutputArgs};

/// Where state is kept when nobody says otherwise.
pub(crate) const DEFAULT_STORE: &str = "sqlite:towpath.db";

/// How long a command waits for its store to close.
const CLOSING: Duration = Duration::from_secs(10);

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Check policy files and cluster lists. Lists every problem with its place and remedy.
    #[command(after_help = "Example:\n  towpath fleet lint --fleet ./fleet")]
    Lint(FleetReadArgs),
    /// Show what would start now, and why other clusters wait. Changes nothing.
    ///
    /// Without --fleet it uses the built-in example.
    #[command(
        after_help = "Example:\n  towpath fleet plan --fleet ./fleet --clusters clusters.json --held-by soak"
    )]
    Plan(FleetPartArgs),
    /// Show each organisation, sector and workload: versions, soak, running upgrades, and what is next.
    #[command(
        after_help = "Example:\n  towpath fleet status --fleet ./fleet --store sqlite:towpath.db --sector prod"
    )]
    Status(FleetPartArgs),
    /// Show each cluster with its policy: channel, schedule, sector, mutexes, soak days, workloads, and what soaks for it.
    #[command(
        after_help = "Example:\n  towpath fleet clusters --fleet ./fleet --clusters clusters.json --sector prod"
    )]
    Clusters(FleetPartArgs),
    /// Explain one cluster: for each candidate version, what each rule requires, and when it will be met.
    ///
    /// With a version: exit 0 if it starts now, 1 if not.
    #[command(after_help = "Example:\n  towpath fleet why shop-eu 4.20.5")]
    Why {
        /// The cluster's name or id.
        cluster: String,
        /// Only this version.
        #[arg(value_name = "VERSION")]
        to: Option<Version>,
        #[command(flatten)]
        look: FleetReadArgs,
    },
    /// Show how long each workload has run on each version, and which clusters run it now.
    #[command(after_help = "Example:\n  towpath fleet history --output markdown")]
    History(FleetPartArgs<HistoryOutput>),
    /// Forecast what will start in the next days, if nothing fails.
    #[command(after_help = "Example:\n  towpath fleet forecast --days 14")]
    Forecast {
        /// Number of days to look ahead.
        #[arg(long, default_value_t = 14)]
        days: u32,
        #[command(flatten)]
        part: FleetPartArgs,
    },
    /// Run the fleet scheduler: decide at intervals, and start upgrades. Several can share one PostgreSQL store; one of them acts.
    #[command(
        after_help = "Example:\n  towpath fleet run --fleet ./fleet --store postgres://towpath@db/towpath --once"
    )]
    Run {
        /// Stop after one pass.
        #[arg(long)]
        once: bool,
        /// Make a scheduling pass this often. [env: TOWPATH_PASS_EVERY=] [default: 1m]
        // The environment is read by hand: for clap, a variable would be in conflict with --once.
        #[arg(
            long,
            visible_alias = "every",
            value_name = "DURATION",
            conflicts_with = "once"
        )]
        pass_every: Option<TimeSpan>,
        /// Keep decisions and single spans of observed time for this long; 0 keeps them for ever. [default: 90d]
        #[arg(long, env = "TOWPATH_KEEP_FOR", value_name = "DURATION")]
        keep_for: Option<TimeSpan>,
        /// What to log: error, warn, info, debug, trace, or a filter such as `towpath=debug`. [default: info]
        #[arg(long, env = "TOWPATH_LOG", value_name = "LEVEL")]
        log: Option<String>,
        /// The format of log lines: text or json. [default: text]
        #[arg(long, env = "TOWPATH_LOG_FORMAT", value_name = "FORMAT")]
        log_format: Option<config::LogFormat>,
        #[command(flatten)]
        look: FleetArgs,
    },
    /// Pause the fleet, an organisation or a sector. The next pass cancels planned upgrades; running ones continue.
    #[command(
        after_help = "Example:\n  towpath fleet pause --org acme --sector prod --fleet ./fleet --why INC-1234"
    )]
    Pause(operator_acts::PauseArgs),
    /// End a pause, so that upgrades may start again.
    #[command(after_help = "Example:\n  towpath fleet resume --org acme --sector prod")]
    Resume(operator_acts::ResumeArgs),
    /// Approve a version where the policy requires approval.
    #[command(after_help = "Example:\n  towpath fleet approve 4.20.5 --org acme --cluster bank")]
    Approve(operator_acts::ApproveArgs),
    /// Acknowledge a gate for a cluster.
    #[command(
        after_help = "Example:\n  towpath fleet acknowledge gate-1 --cluster 11111111-0000-4000-8000-000000000005"
    )]
    Acknowledge(operator_acts::AcknowledgeArgs),
    /// Ask clusters to run the checks of a version, without updating. Without a version: list what became of preflights.
    ///
    /// A cluster's agent runs it inside the cluster's windows.
    #[command(
        after_help = "Example:\n  towpath fleet preflight 4.21.0 --fleet ./fleet --sector prod --at-once 5"
    )]
    Preflight(preflight::PreflightArgs),
    /// Write the fleet of an OCM-style API or an ACM hub as a list of clusters, which --clusters reads.
    #[command(
        after_help = "Example:\n  towpath fleet export --ocm https://api.openshift.com --ocm-token token"
    )]
    Export(export::ExportArgs),
    /// Record the clusters of a list as if they had reported, and its soak. Or record the soak history of AUS.
    #[command(
        after_help = "Example:\n  towpath fleet import clusters.json --store sqlite:towpath.db"
    )]
    Import(import::ImportArgs),
    /// Forget a cluster that no longer exists. It no longer holds back other clusters; its soak days stay.
    #[command(after_help = "Example:\n  towpath fleet forget 11111111-0000-4000-8000-000000000005")]
    Forget(operator_acts::ForgetArgs),
    /// List upgrades: planned, started, finished, failed, cancelled.
    #[command(after_help = "Example:\n  towpath fleet upgrades --limit 20")]
    Upgrades(operator_acts::UpgradesArgs),
    /// List past decisions, repeat each from the log, and check that the results are identical.
    #[command(after_help = "Example:\n  towpath fleet replay --store sqlite:towpath.db")]
    Replay(replay::ReplayArgs),
    /// Check the store's integrity.
    #[command(after_help = "Example:\n  towpath fleet check --store sqlite:towpath.db")]
    Check(operator_acts::StoreArgs),
    /// Back up the store to one SQLite file. The store can be in use.
    #[command(
        after_help = "Example:\n  towpath fleet backup fleet-backup.db --store sqlite:towpath.db"
    )]
    Backup(operator_acts::BackupArgs),
    /// Restore a backup into an empty store.
    #[command(
        after_help = "Example:\n  towpath fleet restore fleet-backup.db --store sqlite:restored.db"
    )]
    Restore(operator_acts::BackupArgs),
    /// Make a token for a cluster, an administrator, a reader or a pipeline. A cluster's token also enrols the cluster.
    #[command(
        after_help = "Example:\n  towpath fleet token --keys token-keys --cluster 11111111-0000-4000-8000-000000000001 --org acme --name shop-eu --days 90"
    )]
    Token(operator_acts::TokenArgs),
}

/// What to look at, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct FleetReadArgs<F = Output>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    #[command(flatten)]
    look: FleetArgs,
    #[command(flatten)]
    output: OutputArgs<F>,
}

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Read the fleet's policy (organisations, clusters) from this directory.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    fleet: Option<PathBuf>,
    /// Read clusters from this list, in addition to those that report.
    #[arg(long, env = "TOWPATH_CLUSTERS", value_name = "FILE")]
    clusters: Option<PathBuf>,
    /// The fleet's state: `sqlite:PATH` or `postgres://…`. [default: sqlite:towpath.db; commands that only look use it if it exists]
    #[arg(long, env = "TOWPATH_STORE", value_name = "URL")]
    store: Option<String>,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(long, env = "TOWPATH_STORE_PASSWORD_FILE", value_name = "FILE")]
    store_password_file: Option<PathBuf>,
    #[command(flatten)]
    hands: HandsArgs,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    sources: SourceArgs,
}

/// A part of what to look at, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct FleetPartArgs<F = Output>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    read: FleetReadArgs<F>,
}

/// Which part of the fleet.
#[derive(Debug, Args)]
struct Filters {
    /// Only this organisation.
    #[arg(long, value_name = "ID")]
    org: Option<String>,
    /// Only this sector.
    #[arg(long, value_name = "NAME")]
    sector: Option<String>,
    /// Only clusters with this workload.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Only clusters that this rule holds back: soak, sector, mutex, schedule, …
    #[arg(long, value_name = "RULE")]
    held_by: Option<String>,
    /// The most rows to show.
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum HistoryOutput {
    /// For people.
    #[default]
    Text,
    /// For machines; its fields are stable.
    Json,
    /// A table, for documents.
    Markdown,
}

/// Everything about a fleet at one instant.
struct Picture {
    planner: FleetPlanner,
    decision: Decision,
    input: FleetInput,
    graph: Option<Graph>,
    findings: Vec<Finding>,
    origin: Origin,
}

impl Filters {
    fn filter(&self) -> anyhow::Result<Filter> {
        let filter = Filter {
            organisation: self.org.clone(),
            sector: self.sector.clone(),
            workload: self.workload.clone(),
            cluster: None,
            held_by: self.held_by.clone(),
            limit: self.limit.map(NonZeroUsize::get),
            after: None,
        };
        filter.check()?;
        Ok(filter)
    }

    /// The room that tables have.
    fn room(&self) -> Room {
        Room {
            rows: self.limit.map(NonZeroUsize::get),
            width: terminal_width(),
            ..Room::default()
        }
    }
}

impl FleetArgs {
    fn settings(&self) -> anyhow::Result<Settings> {
        self.settings_with(ServeOptions::default())
    }

    /// What was typed here, and more that was typed elsewhere.
    fn settings_with(&self, more: ServeOptions) -> anyhow::Result<Settings> {
        let typed = ServeOptions {
            fleet: self.fleet.clone(),
            clusters: self.clusters.clone(),
            store: self.store.clone(),
            store_password_file: self.store_password_file.clone(),
            sources: self.sources.options.clone(),
            minors: self.minors.path(),
            now: self.now,
            ..self.hands.options(more)
        };
        config::settings(typed, self.sources.config.as_deref())
    }

    /// What is in force for somebody who looks, and whose fleet that is.
    fn fleet(&self) -> anyhow::Result<(Settings, Origin)> {
        let settings = self.settings()?;
        let named = [
            ("--clusters", self.clusters.is_some()),
            ("--store", self.store.is_some()),
            ("--ocm", self.hands.ocm.is_some()),
            ("--acm", self.hands.acm.is_some()),
            ("--graph-data", !settings.sources.is_example()),
        ];
        let named = named.iter().find(|(_, is_named)| *is_named);
        let origin = match (&settings.fleet, named) {
            (Some(_), _) => Origin::Named,
            (None, None) => Origin::Example,
            (None, Some((flag, _))) => {
                bail!("{flag} needs a fleet; add --fleet DIR")
            }
        };
        origin.tell_how("name your own with --fleet");
        Ok((settings, origin))
    }

    /// The fleet, and the part of it that is asked about.
    async fn part(&self, filters: &Filters) -> anyhow::Result<(Picture, Filter)> {
        let (filter, picture) = (filters.filter()?, self.picture().await?);
        filter.check_names(&picture.planner)?;
        Ok((picture, filter))
    }

    async fn picture(&self) -> anyhow::Result<Picture> {
        let (settings, origin) = self.fleet()?;
        let now = settings.now.unwrap_or_else(Timestamp::now);
        let read = reading(&settings, now).await?;
        let known = self.known(&settings, now).await?;
        let graph = facts::graph(&settings, now)?;
        let minors = minors::of(settings.minors.as_deref())?;
        let input = facts::input(&read, &known, graph.as_ref(), &minors, now);
        if input.clusters.is_empty() {
            warn(&read.findings)?;
            bail!(
                "no cluster is known, neither from a list nor from the store; name a list (--clusters FILE), import one (`towpath fleet import FILE`), or let clusters report to `towpath serve --fleet DIR`"
            );
        }
        let mut planner = FleetPlanner::new(input.clone());
        let decision = planner.pass(now);
        let fleet = settings.fleet.as_ref();
        let gone = fleet.and_then(|fleet| facts::list_is_gone(&read, &known, &fleet.policy));
        let vain =
            fleet.and_then(|fleet| facts::channels_in_vain(&read, graph.as_ref(), &fleet.policy));
        let mut findings = read.findings;
        if let Some(list) = self.own_list(&settings) {
            findings.extend(untold(&read.list, &Place::from(list)));
        }
        findings.extend(coverage(&input.policy, &input.clusters));
        findings.extend(gone);
        findings.extend(vain);
        findings.sort();
        Ok(Picture {
            planner,
            decision,
            input,
            graph,
            findings,
            origin,
        })
    }

    /// The list that the clusters come from, if they come from one that somebody wrote.
    fn own_list<'s>(&self, settings: &'s Settings) -> Option<&'s Path> {
        let fleet = settings.fleet.as_ref()?;
        fleet.clusters.as_deref().filter(|_| fleet.hands.is_none())
    }

    /// What the store knows of the fleet, if there is one.
    async fn known(&self, settings: &Settings, now: Timestamp) -> anyhow::Result<StoredFleet> {
        match self.store_at_hand(settings) {
            Some(address) => Ok(StoredFleet::read(&*open(address).await?, now).await?),
            None => Ok(StoredFleet::default()),
        }
    }

    /// What became of a cluster's updates, as far as it had told the store when it was in this state.
    async fn agent_updates(&self, state: &ClusterState) -> anyhow::Result<Vec<AgentUpdate>> {
        match self.store_at_hand(&self.settings()?) {
            Some(address) => Ok(open(address)
                .await?
                .agent_updates(&state.id, state.last_seen)
                .await?),
            None => Ok(Vec::new()),
        }
    }

    /// The store that was named, or the default one if it is there.
    fn store_at_hand(&self, settings: &Settings) -> Option<StoreAddress> {
        let fleet = settings.fleet.as_ref()?;
        let is_there = || Path::new(DEFAULT_STORE.trim_start_matches("sqlite:")).exists();
        (fleet.store.is_some() || is_there()).then(|| fleet.store_address())
    }
}

/// What the files say, and the API that manages the clusters if one is named.
async fn reading(settings: &Settings, now: Timestamp) -> anyhow::Result<FleetReading> {
    let mut raw = files(settings).read_raw(now)?;
    let named = settings
        .fleet
        .as_ref()
        .and_then(|fleet| fleet.hands.as_ref());
    if let Some(mut hands) = hands_of(named)? {
        let findings = read_into(&mut *hands, now, &mut raw.list).await?;
        raw.findings.extend(findings);
        (raw.has_list, raw.has_hands) = (true, true);
    }
    Ok(raw.finish())
}

fn files(settings: &Settings) -> Files {
    match &settings.fleet {
        Some(fleet) => Files::new(&fleet.policy, fleet.clusters.as_deref()),
        None => Files::example(),
    }
}

/// A store that is closed when the command is done, so that SQLite leaves everything in its one file.
struct OpenStore(Store);

impl Deref for OpenStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        let close = async { tokio::time::timeout(CLOSING, self.0.close()).await };
        // What is not closed in time is closed by the process's end; nothing that was acknowledged is lost.
        let _ = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(close));
    }
}

/// Opens a store that exists already.
async fn open(address: impl Into<StoreAddress>) -> anyhow::Result<OpenStore> {
    let store = Store::open_existing(address).await;
    store.map(OpenStore).context("the store cannot be opened")
}

/// Opens a store, and makes it if there is none.
async fn open_or_make(address: impl Into<StoreAddress>) -> anyhow::Result<OpenStore> {
    let store = Store::open(address).await;
    store.map(OpenStore).context("the store cannot be opened")
}

/// Runs a command of the fleet.
pub(crate) fn execute(command: FleetCommand) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        crate::serve::outlive_file_size_limit()?;
        answer(command).await
    })
}

async fn answer(command: FleetCommand) -> anyhow::Result<bool> {
    match command {
        FleetCommand::Lint(look) => lint(look).await,
        FleetCommand::Plan(FleetPartArgs {
            filters,
            read: FleetReadArgs { look, output },
        }) => {
            let (picture, filter) = look.part(&filters).await?;
            warn(&picture.findings)?;
            let Picture {
                planner, decision, ..
            } = &picture;
            let plan = filter.plan(planner, decision);
            output.print(
                picture.origin,
                || text::plan(planner, &plan, filters.room()),
                || json::plan(planner, &plan, filter.limit),
            )?;
            Ok(true)
        }
        FleetCommand::Status(FleetPartArgs {
            filters,
            read: FleetReadArgs { look, output },
        }) => {
            let (picture, filter) = look.part(&filters).await?;
            let rows = filter.status(&picture.planner, &picture.decision);
            let shown = &rows[..filter.limit.unwrap_or(rows.len()).min(rows.len())];
            let text = || text::status(&rows, filters.room());
            output.print(picture.origin, text, || json::status(shown))?;
            Ok(true)
        }
        FleetCommand::Clusters(FleetPartArgs {
            filters,
            read: FleetReadArgs { look, output },
        }) => {
            let (picture, filter) = look.part(&filters).await?;
            let rows = filter.clusters(&picture.planner, picture.decision.at);
            let shown = &rows[..filter.limit.unwrap_or(rows.len()).min(rows.len())];
            let text = || text::clusters(&rows, filters.room());
            output.print(picture.origin, text, || json::clusters(shown))?;
            Ok(true)
        }
        FleetCommand::Why {
            cluster,
            to,
            look: FleetReadArgs { look, output },
        } => {
            let picture = look.picture().await?;
            let Picture {
                planner, decision, ..
            } = &picture;
            let member = find_cluster(planner, &cluster)?;
            let why = why_of(planner, member, to.as_ref(), decision.at)?;
            let updates = look.agent_updates(planner.roster().cluster(member)).await?;
            output.print(
                picture.origin,
                || text::why(planner, decision, member, &why, &updates),
                || {
                    let told = json::with_updates(json::why(planner, member, &why), Some(&updates));
                    let id = &planner.roster().cluster(member).id;
                    json::with_preflights(told, planner.roster().preflights(id))
                },
            )?;
            let starts = why
                .candidates
                .iter()
                .any(|candidate| candidate.verdict.is_offered());
            Ok(starts || to.is_none())
        }
        FleetCommand::History(FleetPartArgs {
            filters,
            read: FleetReadArgs { look, output },
        }) => {
            let (picture, filter) = look.part(&filters).await?;
            let rows = filter.history(&picture.planner, picture.decision.at);
            print(&match output.form {
                HistoryOutput::Json => picture.origin.mark(json::history(&rows)),
                HistoryOutput::Markdown => text::history_markdown(&rows),
                HistoryOutput::Text => text::history(&rows, terminal_width()),
            })?;
            Ok(true)
        }
        FleetCommand::Forecast {
            days,
            part:
                FleetPartArgs {
                    filters,
                    read: FleetReadArgs { look, output },
                },
        } => {
            let (picture, filter) = look.part(&filters).await?;
            let now = picture.decision.at;
            let meant = filter.names(&picture.planner, now);
            let mut progress = Progress::new(now, days);
            let mut tell = |at| progress.tell(at);
            let graph = picture.graph.as_ref();
            let forecasts = forecast_days(&meant, picture.input, graph, now, days, &mut tell)?;
            progress.end();
            let text = || text::forecast(&forecasts, days, filters.room());
            let shown = &forecasts[..filter.limit.unwrap_or(forecasts.len()).min(forecasts.len())];
            output.print(picture.origin, text, || json::forecast(shown))?;
            Ok(true)
        }
        FleetCommand::Run {
            once,
            pass_every,
            keep_for,
            log,
            log_format,
            look,
        } => {
            let settings = look.settings_with(ServeOptions {
                pass_every: match pass_every {
                    Some(_) => pass_every,
                    None => config::from_environment("TOWPATH_PASS_EVERY")?,
                },
                keep_for,
                log,
                log_format,
                ..ServeOptions::default()
            })?;
            crate::log::start(&settings.log, settings.log_format)?;
            crate::secrets::warn_of_open_files(settings.secret_files());
            run::run(settings, once).await
        }
        FleetCommand::Pause(args) => operator_acts::pause(args).await,
        FleetCommand::Resume(args) => operator_acts::resume(args).await,
        FleetCommand::Approve(args) => operator_acts::approve(args).await,
        FleetCommand::Acknowledge(args) => operator_acts::acknowledge(args).await,
        FleetCommand::Preflight(args) => preflight::preflight(args).await,
        FleetCommand::Export(args) => export::export(args).await,
        FleetCommand::Import(args) => import::import(args).await,
        FleetCommand::Forget(args) => operator_acts::forget(args).await,
        FleetCommand::Upgrades(args) => operator_acts::upgrades(args).await,
        FleetCommand::Replay(args) => replay::replay(args).await,
        FleetCommand::Check(args) => operator_acts::check(args).await,
        FleetCommand::Backup(args) => operator_acts::backup(args).await,
        FleetCommand::Restore(args) => operator_acts::restore(args).await,
        FleetCommand::Token(args) => operator_acts::token(&args),
    }
}

async fn lint(FleetReadArgs { look, output }: FleetReadArgs) -> anyhow::Result<bool> {
    let (settings, origin) = look.fleet()?;
    let now = settings.now.unwrap_or_else(Timestamp::now);
    let mut read = reading(&settings, now).await?;
    let known = look.known(&settings, now).await?;
    let minors = minors::of(settings.minors.as_deref())?;
    let input = facts::input(&read, &known, None, &minors, now);
    read.findings
        .extend(coverage(&input.policy, &input.clusters));
    read.findings.sort();
    let text = || text::lint(&read.policy, &read.findings);
    output.print(origin, text, || findings::json(&read.findings))?;
    Ok(!read.findings.iter().any(Finding::is_error))
}

/// What is wrong with the files, and whom no policy finds, is said beside the answer.
fn warn(findings: &[Finding]) -> anyhow::Result<()> {
    Ok(write!(std::io::stderr(), "{}", text::warnings(findings))?)
}

/// The settings of a fleet that commands which need one cannot do without.
fn needed(settings: &Settings) -> anyhow::Result<config::FleetSettings> {
    match settings.fleet.clone() {
        Some(fleet) => Ok(fleet),
        None => bail!(
            "no fleet policy; add --fleet DIR (`towpath example DIR` writes one to start from)"
        ),
    }
}
