//! `towpath fleet import`: takes over what another system knows. Clusters of a list count as seen; soak is kept in the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{bail, ensure};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{FleetPolicy, SoakSum};
use towpath_formats::findings::one_a_line;
use towpath_formats::fleet::acts::{self, Act, Imported, ImportedClusters, ImportedSoak};
use towpath_formats::fleet::aus_state;
use towpath_formats::fleet::cluster_list::{self, ClusterList};
use towpath_formats::timespan::TimeSpan;
use towpath_store::{ClusterReport, RecordOutcome, Store, StoreError};

use super::facts::{Files, StoredFleet};
use super::local_user::local_user;
use super::operator_acts::StoreArgs;
use super::{audit_log, open_or_make};
use crate::example::Origin;
use crate::input::read_input;
use crate::output::OutputArgs;
use crate::server::{Server, ServerArgs};

/// Clusters per transaction.
const BATCH: usize = 500;
/// The most bytes of entries that are sent at once; a service takes 65,536 with what is around them.
const MAX_PART: usize = 48 << 10;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A list of clusters: JSON or YAML; - is standard input.
    #[arg(required_unless_present = "aus_state", conflicts_with = "aus_state")]
    list: Option<PathBuf>,
    /// The soak history that AUS keeps of one organisation, as JSON. Needs --org.
    #[arg(long, value_name = "FILE", requires = "org")]
    aus_state: Option<PathBuf>,
    /// The organisation that the history of --aus-state is of.
    #[arg(
        long,
        value_name = "ID",
        requires = "aus_state",
        conflicts_with = "list"
    )]
    org: Option<String>,
    /// The fleet's policy. It says for which workloads the time counts that Towpath has observed itself.
    #[arg(long, env = "TOWPATH_FLEET", value_name = "DIR")]
    fleet: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    pub(super) server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
    /// The longest time since a cluster was last seen that still counts as soak.
    #[arg(
        long,
        default_value = "1h",
        value_name = "DURATION",
        conflicts_with = "aus_state"
    )]
    report_allowance: TimeSpan,
}

pub(super) async fn import(args: ImportArgs) -> anyhow::Result<bool> {
    let now = Timestamp::now();
    let imported = match (&args.list, &args.aus_state, &args.org) {
        (_, Some(file), Some(organisation)) => {
            import_aus_state(&args, file, organisation, now).await?
        }
        (Some(list), ..) => import_list(&args, list, now).await?,
        _ => unreachable!("the command line asks for one of them"),
    };
    args.told(imported)
}

impl ImportArgs {
    fn told(&self, imported: Imported) -> anyhow::Result<bool> {
        let act = Act::Imported(imported);
        self.output
            .print(Origin::Named, || acts::text(&act), || acts::json(&act))?;
        Ok(act.is_whole())
    }

    /// Sends the list to a service, in parts that it takes. The soak comes first: if it is refused, nothing is recorded.
    pub(super) fn send(&self, server: &Server<'_>) -> anyhow::Result<bool> {
        let Some(path) = &self.list else {
            bail!("a service imports lists only; import the history of AUS where the store is");
        };
        let (list, findings) = read_list(path, Timestamp::now())?;
        let has_soak = !list.soak.is_empty();
        let (mut clusters, mut kept) = (ImportedClusters { all: 0, changed: 0 }, 0.0);
        for part in parts(&list)? {
            let told = server.post("/api/v1/fleet/import", &part)?;
            let count = |name: &str| told[name].as_u64().unwrap_or(0) as usize;
            clusters.all += count("clusters");
            clusters.changed += count("changed");
            kept += told["soakDays"].as_f64().unwrap_or(0.0);
        }
        let soak = has_soak.then_some(ImportedSoak {
            sums: list.soak.len(),
            kept: (kept * 86_400.0).round() as i64,
            already: 0,
        });
        self.told(Imported {
            clusters: Some(clusters),
            soak,
            findings,
        })
    }
}

/// The list in parts that are small enough for one request each.
fn parts(list: &ClusterList) -> anyhow::Result<Vec<String>> {
    let soak = list.soak.iter().map(|sum| ClusterList {
        soak: vec![sum.clone()],
        ..ClusterList::default()
    });
    let clusters = list.clusters.iter().map(|state| ClusterList {
        clusters: vec![state.clone()],
        ..ClusterList::default()
    });
    let (mut parts, mut part, mut bytes) = (Vec::new(), ClusterList::default(), 0);
    let written = |part: &ClusterList| cluster_list::json(part).to_string();
    for one in soak.chain(clusters) {
        let size = written(&one).len();
        ensure!(
            size <= MAX_PART,
            "an entry of the list is too large to send"
        );
        if bytes + size > MAX_PART {
            parts.push(written(&std::mem::take(&mut part)));
            bytes = 0;
        }
        bytes += size;
        part.soak.extend(one.soak);
        part.clusters.extend(one.clusters);
    }
    if bytes > 0 {
        parts.push(written(&part));
    }
    Ok(parts)
}

fn read_list(path: &Path, now: Timestamp) -> anyhow::Result<(ClusterList, Vec<Finding>)> {
    let bytes = read_input(path, cluster_list::MAX_BYTES as u64)?;
    let (list, findings) = cluster_list::read(&Place::from(path), &bytes, now);
    ensure!(!list.is_unusable, "{}", one_a_line(&findings).trim_end());
    Ok((list, findings))
}

async fn import_list(args: &ImportArgs, path: &Path, now: Timestamp) -> anyhow::Result<Imported> {
    let (list, findings) = read_list(path, now)?;
    let allowance = args.report_allowance.signed();
    let policy = policy(args, now)?;
    let store = open_or_make(&args.store).await?;
    let recorded = record(&store, list, &local_user().name, &policy, allowance, now).await?;
    Ok(Imported {
        findings,
        ..recorded
    })
}

/// Records the clusters of a list as if they had reported, and keeps its soak.
pub(super) async fn record(
    store: &Store,
    list: ClusterList,
    by: &str,
    policy: &FleetPolicy,
    allowance: SignedDuration,
    now: Timestamp,
) -> towpath_store::Result<Imported> {
    let has_soak = !list.soak.is_empty();
    audit_log::imported(store, &list.clusters, &list.soak, by, now).await?;
    // First: it may be refused, and then nothing is recorded.
    let soak = keep_soak(store, list.soak, policy, now).await?;
    let (mut changed, mut clusters) = (0, 0);
    for batch in list.clusters.chunks(BATCH) {
        let reports = batch
            .iter()
            .map(|state| ClusterReport::listed(state.clone()));
        let outcomes = store
            .record(&reports.collect::<Vec<_>>(), allowance)
            .await?;
        let began = outcomes.iter().filter(|one| **one == RecordOutcome::Began);
        changed += began.count();
        clusters += outcomes.len();
    }
    Ok(Imported {
        clusters: Some(ImportedClusters {
            all: clusters,
            changed,
        }),
        soak: has_soak.then_some(soak),
        findings: Vec::new(),
    })
}

/// What the policy files say; nothing without --fleet.
fn policy(args: &ImportArgs, now: Timestamp) -> anyhow::Result<Arc<FleetPolicy>> {
    match &args.fleet {
        Some(directory) => Ok(Files::new(directory, None).read(now)?.policy),
        None => Ok(Arc::default()),
    }
}

async fn import_aus_state(
    args: &ImportArgs,
    path: &Path,
    organisation: &str,
    now: Timestamp,
) -> anyhow::Result<Imported> {
    let bytes = read_input(path, aus_state::MAX_BYTES as u64)?;
    let (sums, findings) = aus_state::read(&Place::from(path), &bytes, &organisation.into())?;
    let policy = policy(args, now)?;
    let store = open_or_make(&args.store).await?;
    audit_log::imported(&store, &[], &sums, &local_user().name, now).await?;
    let soak = keep_soak(&store, sums, &policy, now).await?;
    Ok(Imported {
        clusters: None,
        soak: Some(soak),
        findings,
    })
}

/// Keeps soak in the store, without what the store has observed itself.
async fn keep_soak(
    store: &Store,
    sums: Vec<SoakSum>,
    policy: &FleetPolicy,
    now: Timestamp,
) -> towpath_store::Result<ImportedSoak> {
    let seconds = |sums: &[SoakSum]| sums.iter().map(|sum| sum.seconds).sum::<i64>();
    let told = seconds(&sums);
    if sums.is_empty() {
        return Ok(ImportedSoak {
            sums: 0,
            kept: 0,
            already: 0,
        });
    }
    let known = StoredFleet::read(store, now).await?;
    let sums = known.beyond_own(sums, policy).map_err(|unknown| {
        let (name, organisation) = (&unknown.name, &unknown.organisation);
        StoreError::Bad(format!(
            "nothing was imported: Towpath has observed {name} of {organisation}, and nobody knows its workloads, so its time might count twice; \
             name its policy (--fleet DIR), or `towpath fleet forget` it"
        ))
    })?;
    store.import_soak(&sums, now).await?;
    let kept = seconds(&sums);
    Ok(ImportedSoak {
        sums: sums.len(),
        kept,
        already: told - kept,
    })
}
