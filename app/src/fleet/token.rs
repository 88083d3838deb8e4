//! `towpath fleet token`: tokens of clusters, pipelines and people.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound};
use towpath_core::access::Role;
use towpath_core::cluster::ClusterId;
use towpath_formats::fleet::token::{self, Claims, Enrolment, Grant, Person};
use towpath_formats::words::second;
use towpath_store::StoreAddress;

use super::operator_acts::known;
use super::{audit_log, open};
use crate::cli::print;
use crate::clock::NowArgs;
use crate::server::{Question, Server, ServerArgs};

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
    /// Write to the audit log of this store that the token was made, before it is printed.
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    log_store: Option<String>,
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
    let made = made(args, enrolment)?;
    if let Some(url) = &args.log_store {
        let store = open(StoreAddress {
            url: url.clone(),
            password_file: None,
        });
        let (claims, whose) = (&made.claims, &*made.whose);
        audit_log::token_made(&*store.await?, claims, whose, Timestamp::now()).await?;
    }
    made.print()
}

/// Prints a token that nobody writes down.
pub(super) fn issue(args: &TokenArgs, enrolment: Option<Enrolment>) -> anyhow::Result<bool> {
    made(args, enrolment)?.print()
}

struct MadeToken {
    text: String,
    claims: Claims,
    /// What it is for, as people say it.
    whose: String,
}

impl MadeToken {
    /// Prints it; beside it, for people, what it is for and when it ends.
    fn print(&self) -> anyhow::Result<bool> {
        let (whose, claims) = (&self.whose, &self.claims);
        writeln!(
            std::io::stderr(),
            "Token for {whose}. Expires {}. Serial {}.",
            second(claims.end),
            claims.serial
        )?;
        print(&format!("{}\n", self.text))?;
        Ok(true)
    }
}

fn made(args: &TokenArgs, enrolment: Option<Enrolment>) -> anyhow::Result<MadeToken> {
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
    Ok(MadeToken {
        text: token.to_string(),
        claims,
        whose,
    })
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
    fn keys_for(&self, grant: &Grant) -> anyhow::Result<&Path> {
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

fn cluster_id(text: &str) -> anyhow::Result<ClusterId> {
    ClusterId::new(text).with_context(|| format!("{text:?} is not a cluster's id"))
}
