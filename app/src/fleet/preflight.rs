//! `towpath fleet preflight`: asks clusters to run the checks of a version, without updating, and lists what became of it.

use anyhow::ensure;
use clap::Args;
use jiff::Timestamp;
use serde_json::json;
use towpath_core::fleet::{Filter, Name, PreflightRequest};
use towpath_core::version::Version;
use towpath_formats::fleet::{json, text};
use towpath_formats::words::counted;

use super::{FleetReadArgs, needed, open};
use crate::cli::terminal_width;

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
    /// Who asks for it.
    #[arg(long, env = "USER", default_value = "somebody")]
    by: String,
    #[command(flatten)]
    read: FleetReadArgs,
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
        by: args.by.into(),
        at: now,
    };
    let asked = request.of(&filter, planner)?;
    ensure!(!asked.preflights.is_empty(), "{NOBODY}");
    let at_once = args.at_once.unwrap_or(AT_ONCE);
    let store = open(needed(&look.settings()?)?.store_address()).await?;
    store.ask_preflights(&asked.preflights, at_once).await?;
    let (count, others) = (asked.preflights.len(), &asked.not_offered);
    output.print(
        picture.origin,
        || {
            let mut told = format!(
                "Asked {} for a preflight of {version}, at most {at_once} at once. Their agents run it inside their windows.\n`towpath fleet preflight` lists what became of it.\n",
                counted(count, "cluster")
            );
            if !others.is_empty() {
                let names: Vec<&str> = others.iter().map(|name| &**name).collect();
                told.push_str(&format!(
                    "Not asked, because {version} is not offered to them: {}\n",
                    names.join(", ")
                ));
            }
            told
        },
        || json!({"kind": "asked", "clusters": count, "notOffered": others}),
    )?;
    Ok(true)
}

/// A name for a request that no other has.
pub(super) fn request_id(now: Timestamp) -> Name {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(now.as_nanosecond());
    format!("{}-{random:016x}", now.as_second()).into()
}
