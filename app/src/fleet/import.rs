//! `towpath fleet import`: takes over what another system knows. Clusters of a list count as seen; soak is kept in the store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::ensure;
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{FleetPolicy, SoakSum};
use towpath_formats::findings::one_a_line;
use towpath_formats::fleet::aus_state;
use towpath_formats::fleet::cluster_list::{self, ClusterList};
use towpath_formats::timespan::TimeSpan;
use towpath_formats::words::counted;
use towpath_store::{ClusterReport, RecordOutcome, Store, StoreError};

use super::facts::{Files, StoredFleet};
use super::open_or_make;
use super::operator_acts::StoreArgs;
use crate::cli::say;
use crate::input::read_input;

/// Clusters per transaction.
const BATCH: usize = 500;

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
    let findings = match (&args.list, &args.aus_state, &args.org) {
        (_, Some(file), Some(organisation)) => {
            import_aus_state(&args, file, organisation, now).await?
        }
        (Some(list), ..) => import_list(&args, list, now).await?,
        _ => unreachable!("the command line asks for one of them"),
    };
    Ok(!findings.iter().any(Finding::is_error))
}

async fn import_list(
    args: &ImportArgs,
    path: &Path,
    now: Timestamp,
) -> anyhow::Result<Vec<Finding>> {
    let bytes = read_input(path, cluster_list::MAX_BYTES as u64)?;
    let (list, findings) = cluster_list::read(&Place::from(path), &bytes, now);
    ensure!(!list.is_unusable, "{}", one_a_line(&findings).trim_end());
    let store = open_or_make(&args.store).await?;
    let allowance = args.report_allowance.signed();
    let has_soak = !list.soak.is_empty();
    let policy = policy(args, now)?;
    let recorded = record(&store, list, &policy, allowance, now).await?;
    let of_soak = match has_soak {
        true => recorded.soak.to_string(),
        false => String::new(),
    };
    say(&format!(
        "{}{} recorded, {} of them new or changed.\n{of_soak}",
        one_a_line(&findings),
        counted(recorded.clusters, "cluster"),
        recorded.changed
    ))?;
    Ok(findings)
}

/// What an import has recorded.
pub(super) struct Recorded {
    pub(super) clusters: usize,
    /// How many of them are new or changed.
    pub(super) changed: usize,
    pub(super) soak: RecordedSoak,
}

/// Soak that was imported, in seconds.
pub(super) struct RecordedSoak {
    sums: usize,
    kept: i64,
    /// What Towpath had counted itself already.
    already: i64,
}

/// Records the clusters of a list as if they had reported, and keeps its soak.
pub(super) async fn record(
    store: &Store,
    list: ClusterList,
    policy: &FleetPolicy,
    allowance: SignedDuration,
    now: Timestamp,
) -> towpath_store::Result<Recorded> {
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
    Ok(Recorded {
        clusters,
        changed,
        soak,
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
) -> anyhow::Result<Vec<Finding>> {
    let bytes = read_input(path, aus_state::MAX_BYTES as u64)?;
    let (sums, findings) = aus_state::read(&Place::from(path), &bytes, &organisation.into())?;
    let store = open_or_make(&args.store).await?;
    let policy = policy(args, now)?;
    let of_soak = keep_soak(&store, sums, &policy, now).await?;
    say(&format!("{}{of_soak}", one_a_line(&findings)))?;
    Ok(findings)
}

/// Keeps soak in the store, without what the store has observed itself.
async fn keep_soak(
    store: &Store,
    sums: Vec<SoakSum>,
    policy: &FleetPolicy,
    now: Timestamp,
) -> towpath_store::Result<RecordedSoak> {
    let seconds = |sums: &[SoakSum]| sums.iter().map(|sum| sum.seconds).sum::<i64>();
    let told = seconds(&sums);
    if sums.is_empty() {
        return Ok(RecordedSoak {
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
    Ok(RecordedSoak {
        sums: sums.len(),
        kept,
        already: told - kept,
    })
}

impl RecordedSoak {
    pub(super) fn days(&self) -> f64 {
        days(self.kept)
    }
}

impl fmt::Display for RecordedSoak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, sums) = (self.days(), counted(self.sums, "sum"));
        write!(
            f,
            "{kept:.1} soak days recorded, in {sums} of a workload on a version."
        )?;
        if self.already > 0 {
            let already = days(self.already);
            write!(
                f,
                " {already:.1} days more were counted by Towpath itself already."
            )?;
        }
        writeln!(f)
    }
}

fn days(seconds: i64) -> f64 {
    seconds as f64 / 86_400.0
}
