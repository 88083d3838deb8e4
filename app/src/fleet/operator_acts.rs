//! What operators do to a fleet's state: pause, resume, approve, acknowledge, import, forget, back up, restore.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{anyhow, ensure};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{FleetPolicy, KnownFleet, Name, Upgrade};
use towpath_core::graph::Graph;
use towpath_core::version::Version;
use towpath_formats::fleet;
use towpath_formats::fleet::acts::{self, Act, PausePlace};
use towpath_store::{Store, StoreAddress, UpgradeSelection};

use super::acts::{NO_REASON, People};
use super::facts::{self, Files, StoredFleet};
use super::local_user::local_user;
use super::{DEFAULT_STORE, audit_log, open};
use crate::cli::{print, terminal_width};
use crate::config::{self, ServeOptions, SourceArgs};
use crate::example::Origin;
use crate::output::OutputArgs;
use crate::server::ServerArgs;

/// The most names that a message lists.
const MAX_LISTED: usize = 20;

/// Where the state is.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The fleet's state: `sqlite:PATH` or `postgres://…`.
    #[arg(long, env = "TOWPATH_STORE", value_name = "URL", default_value = DEFAULT_STORE)]
    store: String,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(long, env = "TOWPATH_STORE_PASSWORD_FILE", value_name = "FILE")]
    store_password_file: Option<PathBuf>,
}

impl From<&StoreArgs> for StoreAddress {
    fn from(args: &StoreArgs) -> Self {
        Self {
            url: args.store.clone(),
            password_file: args.store_password_file.clone(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// Only in this organisation.
    #[arg(long, value_name = "ID")]
    pub(super) org: Option<String>,
    /// Only in this sector. Without --server it needs --fleet, to check that the sector exists.
    #[arg(long, value_name = "NAME")]
    pub(super) sector: Option<String>,
    /// The fleet's policy, which says which sectors there are.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    fleet: Option<PathBuf>,
    /// The reason for the pause, shown to anyone who asks.
    #[arg(long, default_value = NO_REASON)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// End the pause of this organisation.
    #[arg(long, value_name = "ID")]
    pub(super) org: Option<String>,
    /// End the pause of this sector.
    #[arg(long, value_name = "NAME")]
    pub(super) sector: Option<String>,
    /// Let the cancelled upgrades of the cluster with this name or id be planned again.
    #[arg(long, value_name = "CLUSTER", conflicts_with_all = ["org", "sector"])]
    pub(super) cluster: Option<String>,
    /// Of these, only the upgrade to this version.
    #[arg(long, value_name = "VERSION", requires = "cluster")]
    pub(super) to: Option<Version>,
    /// The reason, kept for whoever asks later.
    #[arg(long, default_value = NO_REASON)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The version to approve.
    #[arg(value_name = "VERSION")]
    pub(super) to: Version,
    /// The organisation.
    #[arg(long, value_name = "ID")]
    pub(super) org: String,
    /// Only for the cluster of this name or id. [default: all clusters of the organisation]
    #[arg(long, value_name = "CLUSTER")]
    pub(super) cluster: Option<String>,
    /// The reason, kept for whoever asks later.
    #[arg(long, default_value = NO_REASON)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// Where releases are looked up that the store does not know.
    #[command(flatten)]
    sources: SourceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AcknowledgeArgs {
    /// The gate's id.
    pub(super) gate: String,
    /// The cluster's name or id.
    #[arg(long, value_name = "CLUSTER")]
    pub(super) cluster: String,
    /// The reason, kept for whoever asks later.
    #[arg(long, default_value = NO_REASON)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WithdrawArgs {
    #[command(subcommand)]
    pub(super) what: Withdrawn,
}

/// What is taken back.
#[derive(Debug, Subcommand)]
pub(crate) enum Withdrawn {
    /// Withdraw the approval of a version.
    #[command(
        after_help = "Example:\n  towpath fleet withdraw approval 4.20.5 --org acme --why INC-1234"
    )]
    Approval(WithdrawApprovalArgs),
    /// Withdraw the acknowledgement of a gate.
    #[command(
        after_help = "Example:\n  towpath fleet withdraw acknowledgement gate-1 --cluster bank --why INC-1234"
    )]
    Acknowledgement(WithdrawAcknowledgementArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WithdrawApprovalArgs {
    /// The version that was approved.
    #[arg(value_name = "VERSION")]
    pub(super) to: Version,
    /// The organisation.
    #[arg(long, value_name = "ID")]
    pub(super) org: String,
    /// Withdraw the approval that was for this cluster alone. [default: the one for all clusters of the organisation]
    #[arg(long, value_name = "CLUSTER")]
    pub(super) cluster: Option<String>,
    /// The reason, shown to anyone who asks.
    #[arg(long)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WithdrawAcknowledgementArgs {
    /// The gate's id.
    pub(super) gate: String,
    /// The cluster's name or id.
    #[arg(long, value_name = "CLUSTER")]
    pub(super) cluster: String,
    /// The reason, shown to anyone who asks.
    #[arg(long)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// The cluster whose planned upgrade is cancelled, by name or id; or the upgrade's number.
    #[arg(value_name = "CLUSTER|UPGRADE")]
    pub(super) which: String,
    /// The reason, shown to anyone who asks.
    #[arg(long)]
    pub(super) why: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl CancelArgs {
    /// The upgrade's number, if it is one.
    pub(super) fn number(&self) -> Option<i64> {
        self.which.parse().ok().filter(|number| *number > 0)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The cluster's name or id.
    pub(super) cluster: String,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpgradesArgs {
    /// The most upgrades to list, the newest first.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Only those of the cluster with this name or id.
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl UpgradesArgs {
    /// What is asked, as a service reads it.
    pub(super) fn words(&self) -> [(&'static str, Option<String>); 1] {
        [("cluster", self.cluster.clone())]
    }

    pub(super) fn limit(&self) -> usize {
        self.limit as usize
    }
}

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The backup file (SQLite).
    file: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

fn yes(said: &str) -> anyhow::Result<bool> {
    print(said)?;
    Ok(true)
}

/// Prints what was done. Exit 0: all of it.
fn told(output: OutputArgs, act: &Act) -> anyhow::Result<bool> {
    output.print(Origin::Named, || acts::text(act), || acts::json(act))?;
    Ok(act.is_whole())
}

/// What the store knows of those whom an act may be about.
pub(super) async fn known(store: &Store, now: Timestamp) -> anyhow::Result<KnownFleet> {
    let StoredFleet { clusters, kept, .. } = StoredFleet::read(store, now).await?;
    Ok(KnownFleet {
        clusters: clusters.into_values().collect(),
        gates: kept.gates,
    })
}

pub(super) async fn pause(args: PauseArgs) -> anyhow::Result<bool> {
    ensure!(
        args.sector.is_none() || args.fleet.is_some(),
        "--sector needs --fleet DIR, to check that the sector exists; or ask a service with --server"
    );
    let (store, now) = (open(&args.store).await?, Timestamp::now());
    let known = known(&store, now).await?;
    if let Some(organisation) = &args.org {
        let there = known.organisation(organisation);
        there.map_err(|problem| anyhow!("nothing was paused: {problem}"))?;
    }
    let mut unchecked = None;
    if let (Some(sector), Some(policy)) = (args.sector.as_deref(), &args.fleet) {
        // To pause is the safe side: a policy that is broken today must not stand in the way.
        match Files::new(policy, None).read(now) {
            Err(finding) => unchecked = Some(finding.to_string()),
            Ok(read) => {
                let sectors = sectors(&read.policy, args.org.as_deref());
                if !sectors.contains(sector) {
                    ensure!(
                        read.is_partial,
                        "nothing was paused: the policy has no sector {sector} there; its sectors: {}",
                        listed(&sectors)
                    );
                    let mut errors = read.findings.iter().filter(|finding| finding.is_error());
                    let unnamed = || "a file cannot be read".to_owned();
                    unchecked = Some(errors.next().map_or_else(unnamed, ToString::to_string));
                }
            }
        }
    }
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: None,
        now,
    };
    let place = PausePlace {
        organisation: args.org,
        sector: args.sector,
    };
    let act = people.pause(place, args.why, None, unchecked);
    told(args.output, &act.await?)
}

/// The sectors that the policy has, in one organisation or in all of them.
fn sectors(policy: &FleetPolicy, organisation: Option<&str>) -> BTreeSet<Name> {
    let meant = policy
        .organisations
        .iter()
        .filter(|(id, _)| organisation.is_none_or(|only| ***id == *only));
    meant
        .flat_map(|(_, organisation)| organisation.sectors.keys().cloned())
        .collect()
}

fn listed(names: &BTreeSet<Name>) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_LISTED).map(|name| &**name).collect();
    match names.len().saturating_sub(MAX_LISTED) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

pub(super) async fn resume(args: ResumeArgs) -> anyhow::Result<bool> {
    let (store, now) = (open(&args.store).await?, Timestamp::now());
    let known = match &args.cluster {
        Some(_) => known(&store, now).await?,
        None => KnownFleet::default(),
    };
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: None,
        now,
    };
    if let Some(cluster) = &args.cluster {
        let lifted = people.lift(cluster, args.to.as_ref(), &args.why).await?;
        return told(args.output, &lifted);
    }
    let place = PausePlace {
        organisation: args.org,
        sector: args.sector,
    };
    told(args.output, &people.resume(place, &args.why).await?)
}

pub(super) async fn approve(args: ApproveArgs) -> anyhow::Result<bool> {
    let (store, now) = (open(&args.store).await?, Timestamp::now());
    let known = known(&store, now).await?;
    let graph = graph(&args.sources, now)?;
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: graph.as_ref(),
        now,
    };
    let act = people.approve(args.org, args.cluster, args.to, &args.why);
    told(args.output, &act.await?)
}

/// The graph, if one was named.
fn graph(sources: &SourceArgs, now: Timestamp) -> anyhow::Result<Option<Graph>> {
    let typed = ServeOptions {
        sources: sources.options.clone(),
        ..ServeOptions::default()
    };
    facts::graph(&config::settings(typed, sources.config.as_deref())?, now)
}

pub(super) async fn acknowledge(args: AcknowledgeArgs) -> anyhow::Result<bool> {
    let (store, now) = (open(&args.store).await?, Timestamp::now());
    let known = known(&store, now).await?;
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: None,
        now,
    };
    let act = people.acknowledge(&args.gate, &args.cluster, &args.why);
    told(args.output, &act.await?)
}

pub(super) async fn withdraw(args: WithdrawArgs) -> anyhow::Result<bool> {
    let store = match &args.what {
        Withdrawn::Approval(args) => &args.store,
        Withdrawn::Acknowledgement(args) => &args.store,
    };
    let (store, now) = (open(store).await?, Timestamp::now());
    let known = known(&store, now).await?;
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: None,
        now,
    };
    match args.what {
        Withdrawn::Approval(args) => {
            let act = people.withdraw_approval(args.org, args.cluster, args.to, &args.why);
            told(args.output, &act.await?)
        }
        Withdrawn::Acknowledgement(args) => {
            let act = people.withdraw_acknowledgement(&args.gate, &args.cluster, &args.why);
            told(args.output, &act.await?)
        }
    }
}

pub(super) async fn cancel(args: CancelArgs) -> anyhow::Result<bool> {
    let (store, now) = (open(&args.store).await?, Timestamp::now());
    let known = known(&store, now).await?;
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: None,
        now,
    };
    let act = match args.number() {
        Some(number) => people.cancel_number(number, &args.why).await?,
        None => people.cancel_of(&args.which, &args.why).await?,
    };
    told(args.output, &act)
}

pub(super) async fn forget(args: ForgetArgs) -> anyhow::Result<bool> {
    let (store, now) = (open(&args.store).await?, Timestamp::now());
    let known = known(&store, now).await?;
    let people = People {
        actor: local_user(),
        store: &store,
        known: &known,
        graph: None,
        now,
    };
    told(args.output, &people.forget(&args.cluster).await?)
}

pub(super) async fn upgrades(args: UpgradesArgs) -> anyhow::Result<bool> {
    let store = open(&args.store).await?;
    let known = known(&store, Timestamp::now()).await?;
    let mut upgrades = match &args.cluster {
        Some(name) => upgrades_of(&store, &known, name).await?,
        None => {
            let one_more = UpgradeSelection::Recent(args.limit.saturating_add(1));
            store.upgrades(&one_more).await?
        }
    };
    if upgrades.len() > args.limit() {
        upgrades.truncate(args.limit());
        let limit = args.limit;
        writeln!(
            std::io::stderr(),
            "towpath: only the newest {limit} are listed; --limit N lists more"
        )?;
    }
    let names: BTreeMap<&ClusterId, &Name> = known
        .clusters
        .iter()
        .map(|state| (&state.id, &state.name))
        .collect();
    let named = upgrades
        .iter()
        .map(|upgrade| (upgrade, names.get(&upgrade.cluster).copied()));
    args.output.print(
        Origin::Named,
        || fleet::text::upgrades(named.clone(), terminal_width()),
        || fleet::json::upgrades(named.clone()),
    )?;
    Ok(true)
}

/// The upgrades of a cluster, the newest first. One that was forgotten is found by its id.
async fn upgrades_of(
    store: &Store,
    known: &KnownFleet,
    name: &str,
) -> anyhow::Result<Vec<Upgrade>> {
    let found = known.cluster(name, None);
    let id = match &found {
        Ok(state) => Some(state.id.clone()),
        Err(_) => ClusterId::new(name),
    };
    let mut upgrades = match id {
        Some(id) => store.upgrades(&UpgradeSelection::Of(id)).await?,
        None => Vec::new(),
    };
    if upgrades.is_empty() {
        found?;
    }
    upgrades.reverse();
    Ok(upgrades)
}

pub(super) async fn check(args: StoreArgs) -> anyhow::Result<bool> {
    let problems = open(&args).await?.check().await?;
    if problems.is_empty() {
        return yes("The store is in order.\n");
    }
    print(
        &problems
            .iter()
            .map(|problem| format!("{problem}\n"))
            .collect::<String>(),
    )?;
    Ok(false)
}

pub(super) async fn backup(args: BackupArgs) -> anyhow::Result<bool> {
    open(&args.store).await?.backup(&args.file).await?;
    yes(&format!("The backup is in {}.\n", args.file.display()))
}

pub(super) async fn restore(args: BackupArgs) -> anyhow::Result<bool> {
    Store::restore(&args.file, &args.store).await?;
    let (store, from) = (open(&args.store).await?, args.file.display().to_string());
    audit_log::restored(&store, &from, Timestamp::now()).await?;
    yes(&format!("{} was restored.\n", args.file.display()))
}
