//! `towpath fleet preflight`: asks clusters to run the checks of a version, without updating, and lists what became of it.

use anyhow::ensure;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::fleet::{Filter, Name, PreflightRequest};
use towpath_core::version::Version;
use towpath_formats::fleet::{json, text};

use super::args::FleetReadArgs;
use super::local_user::local_user;
use super::{needed, open};
use crate::cli::terminal_width;
use crate::server::ServerArgs;

/// How many clusters run a preflight at once, if nobody says.
const AT_ONCE: u32 = 10;
pub(super) const NOBODY: &str = "nobody is concerned, and nothing was asked: the version is offered to none of the clusters that are meant; `towpath fleet why NAME` shows what is";

#[derive(Debug, Args)]
pub(crate) struct PreflightArgs {
    /// The version whose checks are to be run. Without it, the command lists what became of preflights.
    #[arg(value_name = "VERSION")]
    to: Option<Version>,
    /// Only in this organisation.
    #[arg(long, value_name = "ID")]
    org: Option<String>,
    /// Only in this sector.
    #[arg(long, value_name = "NAME")]
    sector: Option<String>,
    /// Only clusters with this workload.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Only the cluster with this name or id.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The most clusters that run it at once. [default: 10]
    #[arg(long, value_name = "N", requires = "to", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    at_once: Option<u32>,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    pub(super) read: FleetReadArgs,
}

impl PreflightArgs {
    /// The filters, as a service reads them.
    pub(super) fn words(&self) -> [(&'static str, Option<String>); 4] {
        [
            ("org", self.org.clone()),
            ("sector", self.sector.clone()),
            ("workload", self.workload.clone()),
            ("cluster", self.cluster.clone()),
        ]
    }

    /// What is asked of a service; nothing if preflights are only listed.
    pub(super) fn body(&self) -> Option<Value> {
        let version = self.to.as_ref()?;
        Some(json!({
            "version": version.to_string(),
            "organisation": self.org, "sector": self.sector,
            "workload": self.workload, "cluster": self.cluster,
            "atOnce": self.at_once.unwrap_or(AT_ONCE),
        }))
    }
}

pub(super) async fn preflight(args: PreflightArgs) -> anyhow::Result<bool> {
    let FleetReadArgs { look, output } = args.read;
    let filter = Filter {
        organisation: args.org,
        sector: args.sector,
        workload: args.workload,
        cluster: args.cluster,
        ..Filter::default()
    };
    let picture = look.picture().await?;
    let (planner, now) = (&picture.planner, picture.decision.at);
    let Some(version) = args.to else {
        filter.check_names(planner)?;
        let preflights = &picture.input.preflights;
        let meant = filter.preflights(planner, preflights, now);
        output.print(
            picture.origin,
            || text::preflights(meant.iter().copied(), terminal_width()),
            || json::preflights(meant.iter().copied()),
        )?;
        return Ok(true);
    };
    let request = PreflightRequest {
        version: version.clone(),
        id: request_id(now),
        by: local_user().name,
        at: now,
    };
    let asked = request.of(&filter, planner)?;
    ensure!(!asked.preflights.is_empty(), "{NOBODY}");
    let at_once = args.at_once.unwrap_or(AT_ONCE);
    let store = open(needed(&look.settings()?)?.store_address()).await?;
    store.ask_preflights(&asked.preflights, at_once).await?;
    output.print(
        picture.origin,
        || text::preflights_asked(&version, &asked, at_once),
        || json::preflights_asked(&asked),
    )?;
    Ok(true)
}

/// A name for a request that no other has.
pub(super) fn request_id(now: Timestamp) -> Name {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(now.as_nanosecond());
    format!("{}-{random:016x}", now.as_second()).into()
}
