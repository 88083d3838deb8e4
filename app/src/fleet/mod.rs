//! `towpath fleet`: the fleet's policy. Each command gathers facts, makes one pure call, and prints or carries out what came of it.

pub(crate) mod answers;
mod board;
mod complaint;
pub(crate) mod desk;
mod facts;
mod link;
mod pages;
mod people;
mod progress;
mod replay;
pub(crate) mod run;
pub(crate) mod scheduler;
mod text;

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
use towpath_core::fleet::{COVERAGE_CODES, Decision, FleetPlanner, coverage};
use towpath_core::graph::Graph;
use towpath_core::version::Version;
use towpath_formats::fleet_json;
use towpath_store::{Store, StoreAddress};
use towpath_web::Filter;

use self::facts::{Files, Known};
use self::progress::Progress;
use crate::cli::print;
use crate::config::{self, ServeOptions, Settings};
use crate::words::count;

/// Where state is kept when nobody says otherwise.
pub(crate) const DEFAULT_STORE: &str = "sqlite:towpath.db";

/// How long a command waits for its store to close.
const CLOSING: Duration = Duration::from_secs(10);

/// So many findings are said beside an answer.
const MAX_WARNINGS: usize = 10;

#[derive(Debug, Subcommand)]
pub(crate) enum Fleet {
    /// Check policy files and cluster lists: every problem at once, with its place and remedy.
    #[command(after_help = "Example:\n  towpath fleet lint --fleet ./fleet")]
    Lint(Look),
    /// Say what would start now, and why others wait. Nothing is carried out.
    ///
    /// Without --fleet it looks at the built-in example.
    #[command(
        after_help = "Example:\n  towpath fleet plan --fleet ./fleet --clusters clusters.json --held-by soak"
    )]
    Plan(Look),
    /// Show each organisation, sector and workload: versions, what soaks, what is under way, what is next.
    #[command(
        after_help = "Example:\n  towpath fleet status --fleet ./fleet --store sqlite:towpath.db --sector prod"
    )]
    Status(Look),
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
        look: Look,
    },
    /// Show how long each workload has run on each version, and who is on it now.
    #[command(after_help = "Example:\n  towpath fleet history --output markdown")]
    History(Look),
    /// Say what will start over the next days, if nothing fails.
    #[command(after_help = "Example:\n  towpath fleet forecast --days 14")]
    Forecast {
        /// So many days.
        #[arg(long, default_value_t = 14)]
        days: u32,
        #[command(flatten)]
        look: Look,
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
pub(crate) struct Look {
    /// Read options from this file; `towpath config --default` prints one to start from.
    #[arg(long, env = "TOWPATH_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
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
    /// Offer what this graph data says, to clusters that follow a channel.
    #[arg(long, env = "TOWPATH_GRAPH_DATA", value_name = "WHERE")]
    graph_data: Option<String>,
    /// The releases behind the graph data.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "WHERE")]
    releases: Option<String>,
    /// As of this time.
    #[arg(long, env = "TOWPATH_NOW", value_name = "TIME")]
    now: Option<String>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    filters: Filters,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For machines; its fields are stable.
    Json,
    /// For documents; tables only.
    Markdown,
}

/// Everything about a fleet at one instant.
struct Picture {
    desk: FleetPlanner,
    decision: Decision,
    input: FleetInput,
    graph: Option<Graph>,
    findings: Vec<Finding>,
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
            graph_data: self.graph_data.clone(),
            releases: self.releases.clone().map(|one| vec![one]),
            now: self.now.clone(),
            ..more
        };
        config::settings(typed, self.config.as_deref())
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
        answers::check(&filter)?;
        Ok(filter)
    }

    async fn picture(&self) -> anyhow::Result<Picture> {
        let settings = self.settings()?;
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
        Fleet::Lint(look) => lint(&look).await,
        Fleet::Plan(look) => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            warn(&picture.findings)?;
            let Picture { desk, decision, .. } = &picture;
            show(
                &look,
                || answers::plan_json(desk, decision, &filter),
                |_| text::plan(desk, decision, &filter),
            )
        }
        Fleet::Status(look) => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            let rows = answers::status_rows(&picture.desk, &picture.decision, &filter);
            let shown = &rows[..filter.limit.unwrap_or(rows.len()).min(rows.len())];
            show(
                &look,
                || fleet_json::status(shown),
                |_| text::status(&rows, &filter),
            )
        }
        Fleet::Why { cluster, to, look } => {
            let picture = look.picture().await?;
            let Picture { desk, decision, .. } = &picture;
            let member = answers::find(desk, &cluster)?;
            let why = answers::candidates(desk, member, to.as_ref(), decision.at)?;
            let updates = look.agent_updates(desk.roster().cluster(member)).await?;
            let told = || {
                let why = text::why(desk, decision, member, &why.candidates, &why.cluster);
                format!("{why}{}", text::agent_updates(&updates))
            };
            let json = || {
                let mut json = fleet_json::why(desk, member, &why);
                json["updates"] = fleet_json::agent_updates(&updates);
                json
            };
            show(&look, json, |_| told())?;
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
        Fleet::History(look) => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            let rows = answers::history_rows(&picture.desk, &filter, picture.decision.at);
            show(
                &look,
                || fleet_json::history(&rows),
                |output| text::history(&rows, output == Output::Markdown),
            )
        }
        Fleet::Forecast { days, look } => {
            let (picture, filter) = (look.picture().await?, look.filter()?);
            let now = picture.decision.at;
            let meant = answers::meant_names(&picture.desk, &filter, now);
            let mut progress = Progress::new(now, days);
            let mut tell = |at| progress.tell(at);
            let graph = picture.graph.as_ref();
            let forecasts =
                answers::forecast_for(&meant, picture.input, graph, now, days, &mut tell)?;
            progress.end();
            show(
                &look,
                || fleet_json::forecast(&forecasts),
                |_| text::forecast(&forecasts, days, &filter),
            )
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

async fn lint(look: &Look) -> anyhow::Result<ExitCode> {
    let settings = look.settings()?;
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
    let errors = read
        .findings
        .iter()
        .filter(|finding| finding.is_error())
        .count();
    let summary = || {
        let organisations = read.policy.organisations.len();
        let clusters = read
            .policy
            .organisations
            .values()
            .map(|organisation| organisation.clusters.len())
            .sum();
        let (organisations, clusters) = (
            count(organisations, "organisation"),
            count(clusters, "cluster"),
        );
        let warnings = read.findings.len() - errors;
        let (errors, warnings) = (count(errors, "error"), count(warnings, "warning"));
        format!(
            "{}{organisations}, {clusters}: {errors}, {warnings}\n",
            text::findings(&read.findings)
        )
    };
    show(look, || fleet_json::findings(&read.findings), |_| summary())?;
    Ok(if errors > 0 {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// What is wrong with the files, and whom no policy finds, is said beside the answer.
fn warn(findings: &[Finding]) -> anyhow::Result<()> {
    let counts = |finding: &&Finding| finding.is_error() || COVERAGE_CODES.contains(&finding.code);
    let all: Vec<Finding> = findings.iter().filter(counts).cloned().collect();
    let (first, rest) = all.split_at(all.len().min(MAX_WARNINGS));
    let mut told = text::findings(first);
    if !rest.is_empty() {
        told.push_str(&format!(
            "… and {} more; `towpath fleet lint` shows them\n",
            rest.len()
        ));
    }
    Ok(write!(std::io::stderr(), "{told}")?)
}

fn show(
    look: &Look,
    json: impl FnOnce() -> serde_json::Value,
    text: impl FnOnce(Output) -> String,
) -> anyhow::Result<ExitCode> {
    match look.output {
        Output::Json => print(&format!("{:#}\n", json()))?,
        output => print(&text(output))?,
    }
    Ok(ExitCode::SUCCESS)
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
