//! What operators do to a fleet's state: pause, resume, approve, acknowledge, import, forget, back up, restore, make tokens.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Approval, ClusterState, FleetPolicy, Name, Pause};
use towpath_core::version::Version;
use towpath_formats::fleet;
use towpath_formats::fleet::token;
use towpath_formats::fleet::token::{Claims, Enrolment, Grant};
use towpath_store::{Store, StoreAddress, UpgradeSelection};

use super::facts::Files;
use super::{DEFAULT_STORE, open};
use crate::cli::{print, terminal_width};
use crate::clock::NowArgs;
use crate::example::Origin;
use crate::output::OutputArgs;

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
    org: Option<String>,
    /// Only in this sector. Needs --fleet, to check that the sector exists.
    #[arg(long, value_name = "NAME", requires = "fleet")]
    sector: Option<String>,
    /// The fleet's policy, which says which sectors there are.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    fleet: Option<PathBuf>,
    /// The reason for the pause, shown to anyone who asks.
    #[arg(long, default_value = "no reason was given")]
    why: String,
    /// Who pauses it.
    #[arg(long, env = "USER", default_value = "somebody")]
    by: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// End the pause of this organisation.
    #[arg(long, value_name = "ID")]
    org: Option<String>,
    /// End the pause of this sector.
    #[arg(long, value_name = "NAME")]
    sector: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The version to approve.
    #[arg(value_name = "VERSION")]
    to: Version,
    /// The organisation.
    #[arg(long, value_name = "ID")]
    org: String,
    /// Only for the cluster of this name. [default: all clusters of the organisation]
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Who approves it.
    #[arg(long, env = "USER", default_value = "somebody")]
    by: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AcknowledgeArgs {
    /// The gate's id.
    gate: String,
    /// The cluster's id.
    #[arg(long, value_name = "ID")]
    cluster: String,
    /// Who acknowledges it.
    #[arg(long, env = "USER", default_value = "somebody")]
    by: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The cluster's id.
    cluster: String,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpgradesArgs {
    /// The most upgrades to list, the newest first.
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
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
    /// The file with keys: one per line, at least 32 characters each. The first one signs.
    #[arg(long, env = "TOWPATH_TOKEN_KEYS", value_name = "FILE")]
    keys: PathBuf,
    /// For the cluster with this id.
    #[arg(long, value_name = "ID", requires_all = ["org", "name"], required_unless_present_any = ["admin", "reload", "read"])]
    cluster: Option<String>,
    /// The organisation that the cluster belongs to.
    #[arg(long, value_name = "ID", requires = "cluster")]
    org: Option<String>,
    /// The cluster's name in the policies.
    #[arg(long, value_name = "NAME", requires = "cluster")]
    name: Option<String>,
    /// For an administrator.
    #[arg(long, conflicts_with = "cluster")]
    admin: bool,
    /// For a pipeline. It may only announce that a source has changed (`POST /api/v1/reload`).
    #[arg(long, conflicts_with_all = ["admin", "cluster"])]
    reload: bool,
    /// For a reader, who may read the fleet and change nothing.
    #[arg(long, conflicts_with_all = ["admin", "cluster", "reload"])]
    read: bool,
    /// Number of days until the token expires.
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3_650))]
    days: u16,
    #[command(flatten)]
    now: NowArgs,
}

fn yes(said: &str) -> anyhow::Result<bool> {
    print(said)?;
    Ok(true)
}

fn place(org: Option<&str>, sector: Option<&str>) -> String {
    match (org, sector) {
        (None, None) => "everywhere".to_owned(),
        (Some(org), None) => format!("in organisation {org}"),
        (None, Some(sector)) => format!("in sector {sector} of every organisation"),
        (Some(org), Some(sector)) => format!("in sector {sector} of organisation {org}"),
    }
}

pub(super) async fn pause(args: PauseArgs) -> anyhow::Result<bool> {
    let place = place(args.org.as_deref(), args.sector.as_deref());
    let pause = Pause {
        organisation: args.org.map(Into::into),
        sector: args.sector.map(Into::into),
        by: args.by.into(),
        at: Timestamp::now(),
        why: args.why.into(),
    };
    let store = open(&args.store).await?;
    if let Some(organisation) = &pause.organisation {
        clusters_of(&store, organisation).await?;
    }
    let mut unchecked = None;
    if let (Some(sector), Some(policy)) = (&pause.sector, &args.fleet) {
        // To pause is the safe side: a policy that is broken today must not stand in the way.
        match Files::new(policy, None).read(pause.at) {
            Err(finding) => unchecked = Some(finding.to_string()),
            Ok(read) => {
                let sectors = sectors(&read.policy, pause.organisation.as_deref());
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
    store.pause(&pause).await?;
    print(&format!(
        "Paused {place}. The next pass cancels planned upgrades; running ones continue.\n"
    ))?;
    if let Some(problem) = &unchecked {
        print(&format!(
            "But the sector's name could not be checked, because not all of the policy can be read: {problem}\n"
        ))?;
    }
    Ok(unchecked.is_none())
}

/// The clusters of an organisation. It is an error if there are none: somebody has mistyped it.
async fn clusters_of(store: &Store, organisation: &str) -> anyhow::Result<Vec<ClusterState>> {
    let (known, others): (Vec<_>, Vec<_>) = store
        .clusters()
        .await?
        .into_iter()
        .map(|stored| stored.state)
        .partition(|state| *state.organisation == *organisation);
    let others = others.into_iter().map(|state| state.organisation);
    ensure!(
        !known.is_empty(),
        "nobody is concerned, and nothing was changed: no known cluster is in organisation {organisation}; known organisations: {}",
        listed(&others.collect())
    );
    Ok(known)
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
    let store = open(&args.store).await?;
    let place = place(args.org.as_deref(), args.sector.as_deref());
    if store
        .resume(args.org.as_deref(), args.sector.as_deref())
        .await?
        > 0
    {
        return yes(&format!("New upgrades may start again {place}.\n"));
    }
    let mut said = format!("Nothing was paused {place}.\n");
    for pause in store.pauses().await? {
        let of = self::place(pause.organisation.as_deref(), pause.sector.as_deref());
        said.push_str(&format!(
            "  paused {of} since {} by {}: {}\n",
            pause.at, pause.by, pause.why
        ));
    }
    print(&said)?;
    Ok(false)
}

pub(super) async fn approve(args: ApproveArgs) -> anyhow::Result<bool> {
    let whom = args.cluster.as_ref().map_or_else(
        || format!("all of {}", args.org),
        |name| format!("{name} of {}", args.org),
    );
    let said = format!("{} is approved for {whom}.\n", args.to);
    let approval = Approval {
        organisation: args.org.into(),
        cluster: args.cluster.map(Into::into),
        version: args.to,
        by: args.by.into(),
        at: Timestamp::now(),
    };
    let store = open(&args.store).await?;
    let known = clusters_of(&store, &approval.organisation).await?;
    if let Some(name) = &approval.cluster {
        let names: BTreeSet<Name> = known.into_iter().map(|state| state.name).collect();
        ensure!(
            names.contains(name),
            "nobody is concerned, and nothing was approved: {} has no cluster {name}; its clusters: {}",
            approval.organisation,
            listed(&names)
        );
    }
    store.approve(&approval).await?;
    yes(&said)
}

pub(super) async fn acknowledge(args: AcknowledgeArgs) -> anyhow::Result<bool> {
    let cluster = cluster_id(&args.cluster)?;
    let store = open(&args.store).await?;
    let mut known = store.clusters().await?.into_iter();
    ensure!(
        known.any(|stored| stored.state.id == cluster),
        "nobody is concerned, and nothing was acknowledged: no cluster has the id {}; give the id and not the name (`towpath fleet why NAME -o json` shows it)",
        args.cluster
    );
    store
        .acknowledge_gate(&cluster, &args.gate, &args.by, Timestamp::now())
        .await?;
    yes(&format!(
        "Gate {} is acknowledged for {}.\n",
        args.gate, args.cluster
    ))
}

fn cluster_id(text: &str) -> anyhow::Result<ClusterId> {
    ClusterId::new(text).with_context(|| format!("{text:?} is not a cluster's id"))
}

pub(super) async fn forget(args: ForgetArgs) -> anyhow::Result<bool> {
    let known = open(&args.store)
        .await?
        .forget(&cluster_id(&args.cluster)?)
        .await?;
    print(&match known {
        true => format!(
            "{} is forgotten. If it reports again, Towpath adds it again.\n",
            args.cluster
        ),
        false => format!("There is no cluster {}.\n", args.cluster),
    })?;
    Ok(known)
}

pub(super) async fn upgrades(args: UpgradesArgs) -> anyhow::Result<bool> {
    let store = open(&args.store).await?;
    let one_more = UpgradeSelection::Recent(args.limit.saturating_add(1));
    let mut upgrades = store.upgrades(&one_more).await?;
    if upgrades.len() > args.limit as usize {
        upgrades.truncate(args.limit as usize);
        let limit = args.limit;
        writeln!(
            std::io::stderr(),
            "towpath: only the newest {limit} are listed; --limit N lists more"
        )?;
    }
    let names: std::collections::BTreeMap<ClusterId, _> = store
        .clusters()
        .await?
        .into_iter()
        .map(|stored| (stored.state.id, stored.state.name))
        .collect();
    let named = upgrades
        .iter()
        .map(|upgrade| (upgrade, names.get(&upgrade.cluster)));
    args.output.print(
        Origin::Named,
        || fleet::text::upgrades(named.clone(), terminal_width()),
        || fleet::json::upgrades(named.clone()),
    )?;
    Ok(true)
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

/// Prints a token; beside it, for people, what it is for and when it ends.
pub(super) fn token(args: &TokenArgs) -> anyhow::Result<bool> {
    crate::secrets::tell_of_open_file(&args.keys);
    let keys = super::run::token_keys(&args.keys, None)?;
    let end = args
        .now
        .at()
        .checked_add(SignedDuration::from_hours(24 * i64::from(args.days)));
    let end = end
        .context("--days: that time is too far in the future; use fewer days")?
        .round(jiff::Unit::Second)?;
    let random =
        towpath_service::random().context("cannot read random bytes for the token's serial")?;
    let serial = token::serial(&random);
    let (grant, whose) = match (&args.cluster, &args.org, &args.name) {
        (Some(id), Some(organisation), Some(name)) => {
            let whose = format!("cluster {name} of organisation {organisation} ({id})");
            let (organisation, name) = (organisation.clone(), name.clone());
            (
                Grant::Cluster(Enrolment {
                    organisation,
                    name,
                    id: cluster_id(id)?,
                }),
                whose,
            )
        }
        _ if args.admin => (Grant::Admin, "an administrator".to_owned()),
        _ if args.reload => (
            Grant::Reload,
            "a pipeline that announces changed sources".to_owned(),
        ),
        _ if args.read => (Grant::Read, "a reader of the fleet".to_owned()),
        _ => bail!(
            "name a cluster with --cluster ID --org ID --name NAME, or use --admin, --read or --reload"
        ),
    };
    let claims = Claims { grant, end, serial };
    let token = keys
        .issue(&claims)
        .map_err(|problem| anyhow::anyhow!("cannot make the token: {problem}"))?;
    writeln!(
        std::io::stderr(),
        "Token for {whose}. Expires {end}. Serial {}.",
        claims.serial
    )?;
    yes(&format!("{token}\n"))
}
