//! What operators do to a fleet's state: pause, resume, approve, acknowledge, import, forget, back up, restore, make tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound};
use towpath_core::access::Role;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{FleetPolicy, KnownFleet, Name, Upgrade};
use towpath_core::graph::Graph;
use towpath_core::version::Version;
use towpath_formats::fleet;
use towpath_formats::fleet::acts::{self, Act, PausePlace};
use towpath_formats::fleet::token;
use towpath_formats::fleet::token::{Claims, Enrolment, Grant, Person};
use towpath_formats::words::second;
use towpath_store::{Store, StoreAddress, UpgradeSelection};

use super::acts::{NO_REASON, People};
use super::facts::{self, Files, StoredFleet};
use super::local_user::local_user;
use super::{DEFAULT_STORE, open};
use crate::cli::{print, terminal_width};
use crate::clock::NowArgs;
use crate::config::{self, ServeOptions, SourceArgs};
use crate::example::Origin;
use crate::output::OutputArgs;
use crate::server::{Question, Server, ServerArgs};

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

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// The file with the keys of clusters' and pipelines' tokens: one per line, at least 32 characters each. The first one signs.
    #[arg(long, env = "TOWPATH_TOKEN_KEYS", value_name = "FILE")]
    keys: Option<PathBuf>,
    /// The same for the tokens of people: --role, --admin and --read.
    #[arg(long, env = "TOWPATH_PEOPLE_KEYS", value_name = "FILE")]
    people_keys: Option<PathBuf>,
    /// For the cluster with this id. With --store or --server it may be the cluster's name, and --org and --name are looked up.
    #[arg(long, value_name = "ID", required_unless_present_any = ["admin", "reload", "read", "roles"])]
    cluster: Option<String>,
    /// The organisation that the cluster belongs to; or, for a person, the only one where the roles count. [default: for a person, all]
    #[arg(long, value_name = "ID", conflicts_with = "reload")]
    org: Option<String>,
    /// The cluster's name in the policies; or the name of the person, as the log shall have it. Undoing a halt takes two persons.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// For a person with this role; repeatable. `towpath access` prints what each role may do.
    #[arg(long = "role", value_name = "ROLE", conflicts_with_all = ["cluster", "reload"], value_parser = role)]
    roles: Vec<Role>,
    /// For a person with every role.
    #[arg(long, conflicts_with_all = ["cluster", "roles"])]
    admin: bool,
    /// For a pipeline. It may only announce that a source has changed (`POST /api/v1/reload`).
    #[arg(long, conflicts_with_all = ["admin", "cluster"])]
    reload: bool,
    /// For a person or a program with the role viewer, who may read the fleet and change nothing.
    #[arg(long, conflicts_with_all = ["admin", "cluster", "reload", "roles"])]
    read: bool,
    /// Look the cluster up in this store.
    #[arg(
        long,
        value_name = "URL",
        requires = "cluster",
        conflicts_with = "name"
    )]
    store: Option<String>,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(long, value_name = "FILE", requires = "store")]
    store_password_file: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
    /// Number of days until the token expires.
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3_650))]
    days: u16,
    #[command(flatten)]
    now: NowArgs,
}

fn role(name: &str) -> Result<Role, String> {
    let there = || Role::OF_PEOPLE.map(Role::name).join(", ");
    Role::of_people(name).ok_or_else(|| format!("there is no such role; there are {}", there()))
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
async fn known(store: &Store, now: Timestamp) -> anyhow::Result<KnownFleet> {
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

fn cluster_id(text: &str) -> anyhow::Result<ClusterId> {
    ClusterId::new(text).with_context(|| format!("{text:?} is not a cluster's id"))
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
    yes(&format!("{} was restored.\n", args.file.display()))
}

impl TokenArgs {
    /// The service that knows the cluster, if it is to be asked.
    pub(super) fn lookup(&self) -> Option<(Server<'_>, Question)> {
        let cluster = self.cluster.clone()?;
        let is_told = self.name.is_some() || self.store.is_some();
        let server = self.server.given().filter(|_| !is_told)?;
        let words = [("cluster", Some(cluster)), ("org", self.org.clone())];
        Some((server, Question::new("/api/v1/fleet/clusters", words)))
    }

    /// Whom a token for a cluster names: as it was typed, or as the store knows it.
    async fn enrolment(&self, cluster: &str) -> anyhow::Result<Enrolment> {
        if let Some(url) = &self.store {
            let address = StoreAddress {
                url: url.clone(),
                password_file: self.store_password_file.clone(),
            };
            let known = known(&*open(address).await?, Timestamp::now()).await?;
            let state = known.cluster(cluster, self.org.as_deref())?;
            return Ok(Enrolment {
                organisation: state.organisation.to_string(),
                name: state.name.to_string(),
                id: state.id.clone(),
            });
        }
        let (Some(organisation), Some(name)) = (&self.org, &self.name) else {
            bail!(
                "--cluster {cluster} is taken as the cluster's id, so --org ID and --name NAME are needed too; to look them up by name or id, add --store URL or --server URL"
            )
        };
        Ok(Enrolment {
            organisation: organisation.clone(),
            name: name.clone(),
            id: cluster_id(cluster)?,
        })
    }
}

/// The cluster as a service told of it.
pub(super) fn enrolment_of(cluster: &str, facts: &serde_json::Value) -> anyhow::Result<Enrolment> {
    let [entry] = facts["entries"].as_array().map_or(&[][..], Vec::as_slice) else {
        bail!("the service knows no cluster {cluster}, or several; give its id");
    };
    let told = |field: &str| {
        let text = entry[field].as_str();
        text.with_context(|| format!("the service's answer does not say the cluster's {field}"))
    };
    Ok(Enrolment {
        organisation: told("organisation")?.to_owned(),
        name: told("name")?.to_owned(),
        id: cluster_id(told("cluster")?)?,
    })
}

pub(super) async fn token(args: &TokenArgs) -> anyhow::Result<bool> {
    let enrolment = match &args.cluster {
        Some(cluster) => Some(args.enrolment(cluster).await?),
        None => None,
    };
    issue(args, enrolment)
}

/// Prints a token; beside it, for people, what it is for and when it ends.
pub(super) fn issue(args: &TokenArgs, enrolment: Option<Enrolment>) -> anyhow::Result<bool> {
    let whole = TimestampRound::new()
        .smallest(jiff::Unit::Millisecond)
        .mode(RoundMode::Trunc);
    let now = args.now.at().round(whole)?;
    let end = now.checked_add(SignedDuration::from_hours(24 * i64::from(args.days)));
    let end = end
        .context("--days: that time is too far in the future; use fewer days")?
        .round(jiff::Unit::Second)?;
    let random =
        towpath_service::random().context("cannot read random bytes for the token's serial")?;
    let serial = token::serial(&random);
    let (grant, whose) = args.grant(enrolment)?;
    let keys = args.keys_for(&grant)?;
    crate::secrets::tell_of_open_file(keys);
    let keys = crate::token_keys::read(keys)?;
    let claims = Claims {
        grant,
        made: Some(now),
        end,
        serial,
    };
    let token = keys
        .issue(&claims)
        .map_err(|problem| anyhow::anyhow!("cannot make the token: {problem}"))?;
    writeln!(
        std::io::stderr(),
        "Token for {whose}. Expires {}. Serial {}.",
        second(claims.end),
        claims.serial
    )?;
    yes(&format!("{token}\n"))
}

impl TokenArgs {
    /// What the token is for, and how people say it.
    fn grant(&self, enrolment: Option<Enrolment>) -> anyhow::Result<(Grant, String)> {
        if let Some(enrolment) = enrolment {
            let Enrolment {
                organisation,
                name,
                id,
            } = &enrolment;
            let whose = format!("cluster {name} of organisation {organisation} (id {id})");
            return Ok((Grant::Cluster(enrolment), whose));
        }
        if self.reload {
            ensure!(
                self.name.is_none(),
                "--name is for clusters and people; leave it out"
            );
            let whose = "a pipeline that announces changed sources".to_owned();
            return Ok((Grant::Reload, whose));
        }
        let roles: BTreeSet<Role> = match (self.admin, self.read) {
            (true, _) => Role::OF_PEOPLE.into(),
            (false, true) => [Role::Viewer].into(),
            (false, false) => self.roles.iter().copied().collect(),
        };
        ensure!(
            !roles.is_empty(),
            "name a cluster with --cluster ID --org ID --name NAME, or use --role, --admin, --read or --reload"
        );
        let name = self.name.clone().context(
            "whose token is it? The log needs a name: add --name NAME (a program has one too, as in --name prometheus)",
        )?;
        let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        let place = match &self.org {
            None => "everywhere".to_owned(),
            Some(organisation) => format!("in organisation {organisation}"),
        };
        let whose = format!("{name}: {} {place}", names.join(", "));
        let organisation = self.org.clone();
        let person = Person {
            name,
            roles,
            organisation,
        };
        Ok((Grant::Person(person), whose))
    }

    /// The file with the keys of such tokens.
    fn keys_for(&self, grant: &Grant) -> anyhow::Result<&std::path::Path> {
        let (keys, problem) = match grant {
            Grant::Person(_) => (
                &self.people_keys,
                "the tokens of people have keys of their own; add --people-keys FILE",
            ),
            Grant::Cluster(_) | Grant::Reload => (
                &self.keys,
                "the tokens of clusters and pipelines are made with --keys FILE; add it",
            ),
        };
        keys.as_deref().context(problem)
    }
}
