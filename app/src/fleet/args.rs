//! The flags of `towpath fleet`, and which of them a question to a service sends.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use jiff::Timestamp;
use towpath_core::fleet::{ClusterSort, Filter, MatrixBy};
use towpath_core::version::Version;
use towpath_formats::fleet::Room;
use towpath_formats::timespan::TimeSpan;

use super::hands_args::HandsArgs;
use super::{audit_log, export, import, operator_acts, preflight, replay, token};
use crate::cli::terminal_width;
use crate::clock::NowArgs;
use crate::config::{self, SourceArgs};
use crate::minors::MinorsArgs;
use crate::output::{Output, OutputArgs};
use crate::server::ServerArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Check policy files and cluster lists. Lists every problem with its place and remedy.
    #[command(after_help = "Example:\n  towpath fleet lint --fleet ./fleet")]
    Lint(FleetReadArgs),
    /// Show what starts and when, what is planned or runs already, why other clusters wait, and how many each rule holds. Changes nothing.
    ///
    /// Without --fleet it uses the built-in example.
    #[command(
        after_help = "Example:\n  towpath fleet plan --fleet ./fleet --clusters clusters.json --held-by soak"
    )]
    Plan {
        /// How many days ahead EXPECTED looks; 0 leaves the forecast out. [default: 14, or fewer for more than 10,000 clusters]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=366))]
        days: Option<u32>,
        #[command(flatten)]
        part: FleetPartArgs,
    },
    /// Show each organisation, sector and workload: versions, soak, running upgrades, and what is next.
    #[command(
        after_help = "Example:\n  towpath fleet status --fleet ./fleet --store sqlite:towpath.db --sector prod"
    )]
    Status(FleetPartArgs),
    /// Show each cluster with its policy: channel, schedule, sector, mutexes, soak days, workloads, what soaks for it, and what holds it.
    #[command(
        disable_version_flag = true,
        after_help = "Example:\n  towpath fleet clusters --fleet ./fleet --clusters clusters.json --sector prod"
    )]
    Clusters(ClusterArgs),
    /// Show the sectors of each organisation as a pipeline: versions, soak and when it is enough, upgrades, and what is next.
    #[command(after_help = "Example:\n  towpath fleet sectors --fleet ./fleet --org acme")]
    Sectors(FleetPartArgs),
    /// Show which versions run where, or what the fleet says to each version that a cluster could go to.
    #[command(after_help = "Example:\n  towpath fleet matrix --fleet ./fleet --by cluster")]
    Matrix {
        /// What a row stands for.
        #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
        by: By,
        #[command(flatten)]
        part: FleetPartArgs,
    },
    /// Show when clusters may start: schedules, maintenance windows and exclusions.
    #[command(
        after_help = "Example:\n  towpath fleet calendar --fleet ./fleet --from 2026-11-20 --until 2026-11-27"
    )]
    Calendar {
        /// Spans that end after this time. [default: now]
        #[arg(long, value_name = "TIME", value_parser = crate::clock::read)]
        from: Option<Timestamp>,
        /// Spans that begin before this time, at most 92 days later. [default: 14 days later]
        #[arg(long, value_name = "TIME", value_parser = crate::clock::read)]
        until: Option<Timestamp>,
        #[command(flatten)]
        part: FleetPartArgs,
    },
    /// List what people did: pauses, approvals, acknowledgements and cancelled upgrades, with who, why and when, and who ended it.
    #[command(
        after_help = "Example:\n  towpath fleet acts --fleet ./fleet --store sqlite:towpath.db"
    )]
    Acts(ActsArgs),
    /// Write the audit log as lines of JSON: who did what, how they were known, from where, before and after.
    ///
    /// Oldest first. Every change that a person or a program makes is in it, in the same hash chain as the decisions.
    #[command(
        after_help = "Examples:\n  towpath fleet audit-log --since 2026-11-01T00:00:00Z\n  towpath fleet audit-log --whole > log.jsonl\n  towpath fleet replay --export log.jsonl --public-key log-key.pub"
    )]
    AuditLog(audit_log::AuditLogArgs),
    /// Show one cluster whole: facts, policy, verdicts, history, and what people decided about it.
    #[command(after_help = "Example:\n  towpath fleet show shop-eu --fleet ./fleet")]
    Show {
        /// The cluster's name or id.
        cluster: String,
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        look: FleetReadArgs,
    },
    /// Explain one cluster: for each candidate version, what each rule requires, and when it will be met.
    ///
    /// With a version: exit 0 if the next pass starts it, 1 if not, also if it is no candidate. Exit 2 if there is no such cluster.
    #[command(after_help = "Example:\n  towpath fleet why shop-eu 4.20.5")]
    Why {
        /// The cluster's name or id.
        cluster: String,
        /// Only this version.
        #[arg(value_name = "VERSION")]
        to: Option<Version>,
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        look: FleetReadArgs,
    },
    /// Show how long each workload has run on each version, and which clusters run it now.
    #[command(after_help = "Example:\n  towpath fleet history --output markdown")]
    History(FleetPartArgs<HistoryOutput>),
    /// Forecast what will start in the next days, if nothing fails; and who will not start, and why.
    #[command(after_help = "Example:\n  towpath fleet forecast --days 14")]
    Forecast {
        /// Number of days to look ahead.
        #[arg(long, default_value_t = 14)]
        days: u32,
        #[command(flatten)]
        part: FleetPartArgs,
    },
    /// Run the fleet scheduler: decide at intervals, and start upgrades. Several can share one PostgreSQL store; one of them acts.
    ///
    /// It acts for real, so it refuses another time than the clock's (--now), except for a rehearsal (--rehearse).
    #[command(
        after_help = "Example:\n  towpath fleet run --fleet ./fleet --store postgres://towpath@db/towpath --once"
    )]
    Run {
        /// Act at the time of --now. For rehearsals, on a store that no real fleet uses. With --ocm or --acm it starts upgrades there for real: name an API of a test.
        #[arg(long, requires = "store")]
        rehearse: bool,
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
        /// Sign the head of the decision and audit log with this Ed25519 key, in PEM.
        #[arg(long, env = "TOWPATH_LOG_KEY", value_name = "FILE")]
        log_key: Option<PathBuf>,
        /// Sign the head of the log this often. [default: 1m]
        #[arg(long, env = "TOWPATH_LOG_SIGN_EVERY", value_name = "DURATION")]
        log_sign_every: Option<TimeSpan>,
        #[command(flatten)]
        outcomes: config::OutcomesOptions,
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
    /// End a pause, so that upgrades may start again. Or let cancelled upgrades of a cluster be planned again.
    #[command(
        after_help = "Examples:\n  towpath fleet resume --org acme --sector prod\n  towpath fleet resume --cluster bank --to 4.20.5"
    )]
    Resume(operator_acts::ResumeArgs),
    /// Approve a version where the policy requires approval.
    #[command(after_help = "Example:\n  towpath fleet approve 4.20.5 --org acme --cluster bank")]
    Approve(operator_acts::ApproveArgs),
    /// Acknowledge a gate for a cluster.
    #[command(
        after_help = "Example:\n  towpath fleet acknowledge gate-1 --cluster 11111111-0000-4000-8000-000000000005"
    )]
    Acknowledge(operator_acts::AcknowledgeArgs),
    /// Withdraw an approval or an acknowledgement. It holds clusters that have not begun; running upgrades continue.
    #[command(
        after_help = "Example:\n  towpath fleet withdraw approval 4.20.5 --org acme --cluster bank --why INC-1234"
    )]
    Withdraw(operator_acts::WithdrawArgs),
    /// Cancel one planned upgrade. It is not planned again until somebody lifts that (`towpath fleet resume --cluster`).
    ///
    /// Other clusters, and other versions for this one, are not held. An upgrade that is under way is not stopped.
    #[command(after_help = "Example:\n  towpath fleet cancel bank --why INC-1234")]
    Cancel(operator_acts::CancelArgs),
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
    /// Make a token for a cluster, a pipeline or a person. A cluster's token also enrols the cluster.
    #[command(
        after_help = "Example:\n  towpath fleet token --keys token-keys --cluster 11111111-0000-4000-8000-000000000001 --org acme --name shop-eu --days 90"
    )]
    Token(token::TokenArgs),
}

/// What to look at, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct FleetReadArgs<F = Output>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    #[command(flatten)]
    pub(super) look: FleetArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs<F>,
}

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Read the fleet's policy (organisations, clusters) from this directory.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    pub(super) fleet: Option<PathBuf>,
    /// Read clusters from this list, in addition to those that report.
    #[arg(long, env = "TOWPATH_CLUSTERS", value_name = "FILE")]
    pub(super) clusters: Option<PathBuf>,
    /// The fleet's state: `sqlite:PATH` or `postgres://…`. [default: sqlite:towpath.db; commands that only look use it if it exists]
    #[arg(long, env = "TOWPATH_STORE", value_name = "URL")]
    pub(super) store: Option<String>,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(long, env = "TOWPATH_STORE_PASSWORD_FILE", value_name = "FILE")]
    pub(super) store_password_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) hands: HandsArgs,
    #[command(flatten)]
    pub(super) minors: MinorsArgs,
    #[command(flatten)]
    pub(super) now: NowArgs,
    #[command(flatten)]
    pub(super) sources: SourceArgs,
}

/// A part of what to look at, and how to show it.
#[derive(Debug, Args)]
pub(crate) struct FleetPartArgs<F = Output>
where
    F: ValueEnum + Default + Send + Sync + 'static,
{
    #[command(flatten)]
    pub(super) filters: Filters,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) read: FleetReadArgs<F>,
}

/// Which clusters, and in which order.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// Only clusters with this text in their name or id.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only clusters on this version.
    #[arg(long, value_name = "VERSION")]
    version: Option<Version>,
    /// Only clusters that were not seen since then: 2026-11-18T12:00Z, 2026-11-18, or -3d from now.
    #[arg(long, value_name = "TIME", value_parser = crate::clock::read, allow_hyphen_values = true)]
    silent_since: Option<Timestamp>,
    /// The order: by organisation, by name, the lowest version first, or the longest silent first.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t)]
    pub(super) sort: Sort,
    #[command(flatten)]
    pub(super) part: FleetPartArgs,
}

/// Whose acts.
#[derive(Debug, Args)]
pub(crate) struct ActsArgs {
    /// Only what concerns this organisation.
    #[arg(long, value_name = "ID")]
    org: Option<String>,
    /// Only what concerns the cluster of this name or id.
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Only what still holds.
    #[arg(long)]
    pub(super) standing: bool,
    /// The most rows to show.
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) read: FleetReadArgs,
}

impl ActsArgs {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            organisation: self.org.clone(),
            cluster: self.cluster.clone(),
            limit: self.limit(),
            ..Filter::default()
        }
    }

    pub(super) fn words(&self) -> [(&'static str, Option<String>); 3] {
        [
            ("org", self.org.clone()),
            ("cluster", self.cluster.clone()),
            ("standing", self.standing.then(|| "true".to_owned())),
        ]
    }

    pub(super) fn limit(&self) -> Option<usize> {
        self.limit.map(NonZeroUsize::get)
    }
}

/// What a row of a matrix stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum By {
    Organisation,
    #[default]
    Sector,
    Workload,
    Cluster,
}

impl From<By> for MatrixBy {
    fn from(by: By) -> Self {
        match by {
            By::Organisation => Self::Organisation,
            By::Sector => Self::Sector,
            By::Workload => Self::Workload,
            By::Cluster => Self::Cluster,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Sort {
    #[default]
    Organisation,
    Name,
    Version,
    Seen,
}

impl From<Sort> for ClusterSort {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Organisation => Self::Organisation,
            Sort::Name => Self::Name,
            Sort::Version => Self::Version,
            Sort::Seen => Self::Seen,
        }
    }
}

impl ClusterArgs {
    /// The filter with what this command has besides.
    pub(super) fn narrowed(&self, filter: Filter) -> Filter {
        Filter {
            search: self.search.clone(),
            version: self.version.clone(),
            silent_since: self.silent_since,
            ..filter
        }
    }

    /// What is asked, as a service reads it.
    pub(super) fn words(&self) -> Vec<(&'static str, Option<String>)> {
        let sort = ClusterSort::from(self.sort).word().to_owned();
        let more = [
            ("search", self.search.clone()),
            ("version", self.version.as_ref().map(ToString::to_string)),
            ("silent-since", self.silent_since.map(|at| at.to_string())),
            ("sort", Some(sort)),
        ];
        self.part.filters.words().into_iter().chain(more).collect()
    }
}

/// Which part of the fleet.
#[derive(Debug, Args)]
pub(super) struct Filters {
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

impl Filters {
    pub(super) fn filter(&self) -> anyhow::Result<Filter> {
        let filter = Filter {
            organisation: self.org.clone(),
            sector: self.sector.clone(),
            workload: self.workload.clone(),
            held_by: self.held_by.clone(),
            limit: self.limit(),
            ..Filter::default()
        };
        filter.check()?;
        Ok(filter)
    }

    /// The room that tables have.
    pub(super) fn room(&self) -> Room {
        Room {
            rows: self.limit(),
            width: terminal_width(),
            ..Room::default()
        }
    }

    /// The filters, as a service reads them. The limit is the page's.
    pub(super) fn words(&self) -> [(&'static str, Option<String>); 4] {
        [
            ("org", self.org.clone()),
            ("sector", self.sector.clone()),
            ("workload", self.workload.clone()),
            ("held-by", self.held_by.clone()),
        ]
    }

    pub(super) fn limit(&self) -> Option<usize> {
        self.limit.map(NonZeroUsize::get)
    }
}
