//! `towpath fleet`: the fleet's policy. Each command gathers facts, makes one pure call, and prints or carries out what came of it.

mod board;
mod complaint;
pub(crate) mod desk;
mod facts;
mod link;
mod people;
mod progress;
mod replay;
pub(crate) mod run;
pub(crate) mod scheduler;

use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use towpath_core::finding::Finding;
use towpath_core::fleet::{AgentUpdate, ClusterState, FleetInput};
use towpath_core::fleet::{Decision, Filter, FleetPlanner, coverage, find_cluster, why_of};
use towpath_core::graph::Graph;
use towpath_core::simulate::forecast_days;
use towpath_core::version::Version;
use towpath_formats::findings;
use towpath_formats::fleet::{Room, json, text};
use towpath_store::{Store, StoreAddress};

use self::facts::{Files, Known};
use self::progress::Progress;
use crate::cli::{print, terminal_width};
use crate::clock::NowArgs;
use crate::config::{self, ServeOptions, Settings, SourceArgs};
use crate::example::Origin;
use crate::output::{Output, OutputArgs};

/// Where state is kept when nobody says otherwise.
pub(crate) const DEFAULT_STORE: &str = "sqlite:towpath.db";

/// How long a command waits for its store to close.
const CLOSING: Duration = Duration::from_secs(10);

#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Check policy files and cluster lists: every problem at once, with its place and remedy.
    #[command(after_help = "Example:\n  towpath fleet lint --fleet ./fleet")]
    Lint(LookAndShow),
    /// Say what would start now, and why others wait. Nothing is carried out.
    ///
    /// Without --fleet it looks at the built-in example.
    #[command(
        after_help = "Example:\n  towpath fleet plan --fleet ./fleet --clusters clusters.json --held-by soak"
    )]
    Plan(LookAndShow),
    /// Show each organisation, sector and workload: versions, what soaks, what is under way, what is next.
    #[command(
        after_help = "Example:\n  towpath fleet status --fleet ./fleet --store sqlite:towpath.db --sector prod"
    )]
    Status(LookAndShow),
    /// Explain one cluster: each candidate, each rule, what it has, what it needs, and when.
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
        look: LookAndShow,
    },
    /// Show how long each workload has run on each version, and who is on it now.
    #[command(after_help = "Example:\n  towpath fleet history --output markdown")]
    History(LookAndShow<HistoryOutput>),
    /// Say what will start over the next days, if nothing fails.
    #[command(after_help = "Example:\n  towpath fleet forecast --days 14")]
    Forecast {
        /// So many days.
        #[arg(long, default_value_t = 14)]
        days: u32,
        #[command(flatten)]
        look: LookAndShow,
    },
    /// Decide again and again, and carry it out. Several may run on one PostgreSQL: one of them acts.
    #[command(
        after_help = "Example:\n  towpath fleet run --fleet ./fleet --store postgres://towpath@db/towpath --once"
    )]
    Run {
        /// Stop after one pass.
        #[arg(long)]
        once: bool,
        /// Decide this often.
        #[arg(long, default_value_t = 60, value_name = "SECONDS")]
        every: u64,
        /// Take clusters from, and schedule upgrades in, the OCM-style API at this address.
        #[arg(long, env = "TOWPATH_OCM", value_name = "URL")]
        ocm: Option<String>,
        /// The file that holds the token for that API.
        #[arg(long, env = "TOWPATH_OCM_TOKEN", value_name = "FILE")]
        ocm_token: Option<PathBuf>,
        /// Keep decisions, and spans of observed time one by one, for so many days; 0: for ever. [default: 90]
        #[arg(long, env = "TOWPATH_KEEP_DAYS", value_name = "DAYS")]
        keep_days: Option<u32>,
        /// What to log: error, warn, info, debug, trace, or a filter.
        #[arg(long, env = "TOWPATH_LOG", value_name = "LEVEL")]
        log: Option<String>,
        /// How to log: text or json.
        #[arg(long, env = "TOWPATH_LOG_FORMAT", value_name = "FORMAT")]
        log_format: Option<config::LogFormat>,
        #[command(flatten)]
        look: Look,
    },
    /// Stop new starts at once: everywhere, in an organisation, or in a sector. What runs goes on.
    #[command(
        after_help = "Example:\n  towpath fleet pause --org acme --sector prod --why INC-1234"
    )]
    Pause(people::PauseArgs),
    /// Allow new starts again where they were stopped.
    #[command(after_help = "Example:\n  towpath fleet resume --org acme --sector prod")]
    Resume(people::ResumeArgs),
    /// Consent to a version where the policy asks for approval.
    #[command(after_help = "Example:\n  towpath fleet approve 4.20.5 --org acme --cluster bank")]
    Approve(people::ApproveArgs),
    /// Acknowledge a gate for a cluster.
    #[command(
        after_help = "Example:\n  towpath fleet acknowledge gate-1 --cluster 11111111-0000-4000-8000-000000000005"
    )]
    Acknowledge(people::AcknowledgeArgs),
    /// Record the clusters of a list as if they had reported.
    #[command(
        after_help = "Example:\n  towpath fleet import clusters.json --store sqlite:towpath.db"
    )]
    Import(people::ImportArgs),
    /// Forget a cluster that is gone: it holds nobody back any more, and its soak days stay.
    #[command(after_help = "Example:\n  towpath fleet forget 11111111-0000-4000-8000-000000000005")]
    Forget(people::ForgetArgs),
    /// List upgrades: planned, started, finished, failed, cancelled.
    #[command(after_help = "Example:\n  towpath fleet upgrades --limit 20")]
    Upgrades(people::UpgradesArgs),
    /// Make past decisions again from the log, and compare them bit for bit.
    #[command(after_help = "Example:\n  towpath fleet replay --store sqlite:towpath.db")]
    Replay(replay::ReplayArgs),
    /// Check the store's integrity.
    #[command(after_help = "Example:\n  towpath fleet check --store sqlite:towpath.db")]
    Check(people::StoreArgs),
    /// Back up the store, while it is in use, to one SQLite file.
    #[command(
        after_help = "Example:\n  towpath fleet backup fleet-backup.db --store sqlite:towpath.db"
    )]
    Backup(people::BackupArgs),
    /// Restore a backup into an empty store.
    #[command(
        after_help = "Example:\n  towpath fleet restore fleet-backup.db --store sqlite:restored.db"
    )]
    Restore(people::BackupArgs),
    /// Make a token: for a cluster that is enrolled by it, an administrator, a reader, or a pipeline.
    #[command(
        after_help = "Example:\n  towpath fleet token --keys token-keys --cluster 11111111-0000-4000-8000-000000000001 --org acme --name shop-eu --days 90"
    )]
    Token(people::TokenArgs),
}

/// What to look at, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct LookAndShow<F = Output>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    output: OutputArgs<F>,
}

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct Look {
    /// Read the fleet's policy (organisations, clusters) from this directory.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    fleet: Option<PathBuf>,
    /// Read clusters from this list, besides those that report.
    #[arg(long, env = "TOWPATH_CLUSTERS", value_name = "FILE")]
    clusters: Option<PathBuf>,
    /// The fleet's state: `sqlite:PATH` or `postgres://…`. [default: sqlite:towpath.db, if it is there]
    #[arg(long, env = "TOWPATH_STORE", value_name = "URL")]
    store: Option<String>,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(long, env = "TOWPATH_STORE_PASSWORD_FILE", value_name = "FILE")]
    store_password_file: Option<PathBuf>,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    sources: SourceArgs,
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
    /// Only what this rule holds: soak, sector, mutex, schedule, …
    #[arg(long, value_name = "RULE")]
    held_by: Option<String>,
    /// At most so many rows.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
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
    desk: FleetPlanner,
    decision: Decision,
    input: FleetInput,
    graph: Option<Graph>,
    findings: Vec<Finding>,
    origin: Origin,
}

impl Look {
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
            now: self.now,
            ..more
        };
        config::settings(typed, self.sources.config.as_deref())
    }

    /// What is in force for somebody who looks, and whose fleet that is.
    fn fleet(&self) -> anyhow::Result<(Settings, Origin)> {
        let settings = self.settings()?;
        let named = [
            ("--clusters", self.clusters.is_some()),
            ("--store", self.store.is_some()),
            ("--graph-data", !settings.sources.is_example()),
        ];
        let named = named.iter().find(|(_, is_named)| *is_named);
        let origin = match (&settings.fleet, named) {
            (Some(_), _) => Origin::Named,
            (None, None) => Origin::Example,
            (None, Some((flag, _))) => {
                bail!("{flag} is about your fleet, and nothing says which that is; add --fleet DIR")
            }
        };
        origin.tell_how("name your own with --fleet");
        Ok((settings, origin))
    }

    fn filter(&self) -> anyhow::Result<Filter> {
        let filter = Filter {
            organisation: self.filters.org.clone(),
            sector: self.filters.sector.clone(),
            workload: self.filters.workload.clone(),
            cluster: None,
            held_by: self.filters.held_by.clone(),
            limit: self.filters.limit,
            after: None,
        };
        filter.check()?;
        Ok(filter)
    }

    /// The room that tables have.
    fn room(&self) -> Room {
        Room {
            rows: self.filters.limit,
            width: terminal_width(),
        }
    }

    async fn picture(&self) -> anyhow::Result<Picture> {
        let (settings, origin) = self.fleet()?;
        let now = settings.now.unwrap_or_else(Timestamp::now);
        let mut files = files(&settings);
        let read = files
            .read(now)
            .map_err(|finding| anyhow::anyhow!("{finding}"))?;
        let known = match self.store_at_hand(&settings) {
            Some(address) => Known::read(&*open(address).await?, now).await?,
            None => Known::default(),
        };
        let graph = facts::graph(&settings, now)?;
        let input = facts::input(&read, &known, graph.as_ref(), now);
        let mut desk = FleetPlanner::new(input.clone());
        let decision = desk.pass(now);
        let mut findings = read.findings;
        findings.extend(coverage(&input.policy, &input.clusters));
        findings.sort();
        Ok(Picture {
            desk,
            decision,
            input,
            graph,
            findings,
            origin,
        })
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

async fn open(address: impl Into<StoreAddress>) -> anyhow::Result<OpenStore> {
    Store::open(address)
        .await
        .map(OpenStore)
        .context("the store cannot be opened")
}

/// Runs a command of the fleet.
pub(crate) fn execute(command: Fleet) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        crate::serve::outlive_file_size_limit()?;
        answer(command).await
    })
}

async fn answer(command: Fleet) -> anyhow::Result<ExitCode> {
    match command {
        Fleet::Lint(look) => lint(look).await,
        Fleet::Plan(LookAndShow { look, output }) => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            warn(&picture.findings)?;
            let Picture { desk, decision, .. } = &picture;
            let plan = filter.plan(desk, decision);
            print(&match output.form {
                Output::Json => picture.origin.mark(json::plan(desk, &plan, filter.limit)),
                Output::Text => text::plan(desk, &plan, look.room()),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Fleet::Status(LookAndShow { look, output }) => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            let rows = filter.status(&picture.desk, &picture.decision);
            let shown = &rows[..filter.limit.unwrap_or(rows.len()).min(rows.len())];
            print(&match output.form {
                Output::Json => picture.origin.mark(json::status(shown)),
                Output::Text => text::status(&rows, look.room()),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Fleet::Why {
            cluster,
            to,
            look: LookAndShow { look, output },
        } => {
            let picture = look.picture().await?;
            let Picture { desk, decision, .. } = &picture;
            let member = find_cluster(desk, &cluster)?;
            let why = why_of(desk, member, to.as_ref(), decision.at)?;
            let updates = look.agent_updates(desk.roster().cluster(member)).await?;
            print(&match output.form {
                Output::Json => {
                    let why = json::why(desk, member, &why);
                    picture.origin.mark(json::with_updates(why, Some(&updates)))
                }
                Output::Text => text::why(desk, decision, member, &why, &updates),
            })?;
            let starts = why
                .candidates
                .iter()
                .any(|candidate| candidate.verdict.is_offered());
            Ok(if to.is_some() && !starts {
                ExitCode::from(1)
            } else {
                ExitCode::SUCCESS
            })
        }
        Fleet::History(LookAndShow { look, output }) => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            let rows = filter.history(&picture.desk, picture.decision.at);
            print(&match output.form {
                HistoryOutput::Json => picture.origin.mark(json::history(&rows)),
                HistoryOutput::Markdown => text::history_markdown(&rows),
                HistoryOutput::Text => text::history(&rows, terminal_width()),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Fleet::Forecast {
            days,
            look: LookAndShow { look, output },
        } => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            let now = picture.decision.at;
            let meant = filter.names(&picture.desk, now);
            let mut progress = Progress::new(now, days);
            let mut tell = |at| progress.tell(at);
            let graph = picture.graph.as_ref();
            let forecasts = forecast_days(&meant, picture.input, graph, now, days, &mut tell)?;
            progress.end();
            print(&match output.form {
                Output::Json => picture.origin.mark(json::forecast(&forecasts)),
                Output::Text => text::forecast(&forecasts, days, look.room()),
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Fleet::Run {
            once,
            every,
            ocm,
            ocm_token,
            keep_days,
            log,
            log_format,
            look,
        } => {
            let settings = look.settings_with(ServeOptions {
                ocm,
                ocm_token,
                keep_days,
                log,
                log_format,
                ..ServeOptions::default()
            })?;
            crate::log::start(&settings.log, settings.log_format)?;
            crate::secrets::warn_of_open_files(settings.secret_files());
            run::run(settings, once, every).await
        }
        Fleet::Pause(args) => people::pause(args).await,
        Fleet::Resume(args) => people::resume(args).await,
        Fleet::Approve(args) => people::approve(args).await,
        Fleet::Acknowledge(args) => people::acknowledge(args).await,
        Fleet::Import(args) => people::import(args).await,
        Fleet::Forget(args) => people::forget(args).await,
        Fleet::Upgrades(args) => people::upgrades(args).await,
        Fleet::Replay(args) => replay::replay(args).await,
        Fleet::Check(args) => people::check(args).await,
        Fleet::Backup(args) => people::backup(args).await,
        Fleet::Restore(args) => people::restore(args).await,
        Fleet::Token(args) => people::token(&args),
    }
}

async fn lint(LookAndShow { look, output }: LookAndShow) -> anyhow::Result<ExitCode> {
    let (settings, origin) = look.fleet()?;
    let now = settings.now.unwrap_or_else(Timestamp::now);
    let mut read = files(&settings)
        .read(now)
        .map_err(|finding| anyhow::anyhow!("{finding}"))?;
    let known = match look.store_at_hand(&settings) {
        Some(address) => Known::read(&*open(address).await?, now).await?,
        None => Known::default(),
    };
    let input = facts::input(&read, &known, None, now);
    read.findings
        .extend(coverage(&input.policy, &input.clusters));
    read.findings.sort();
    print(&match output.form {
        Output::Json => origin.mark(findings::json(&read.findings)),
        Output::Text => text::lint(&read.policy, &read.findings),
    })?;
    Ok(if read.findings.iter().any(Finding::is_error) {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
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
            "there is no policy to follow; add --fleet DIR (`towpath example DIR` writes one to start from)"
        ),
    }
}
