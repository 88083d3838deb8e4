//! `towpath ready`: what blocks each update of a cluster, and what to do before it.

mod alerts;
mod audit_log;
pub(crate) mod inputs;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::cluster::{AcceptedReasons, Fact, ready_but_for};
use towpath_core::finding::{Finding, Place};
use towpath_core::version::Version;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ApiAdditions, ClusterObjects};
use towpath_formats::cluster::ready::{ReadyReport, json, text};
use towpath_formats::cluster::removals;
use towpath_formats::findings::{self, Shown};

use crate::cli::{failure, warn};
use crate::clock::NowArgs;
use crate::input::read_input;
use crate::minors::MinorsArgs;
use crate::output::OutputArgs;
use crate::terminal::room;
use alerts::AlertArgs;
use inputs::{GivenObjects, Objects};

/// How many findings of one code are shown before the others are counted.
const SHOWN_OF_EACH_CODE: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct ReadyArgs {
    #[command(flatten)]
    objects: Objects,
    /// The goal: a release (4.10.67) or a minor version (4.10). [default: the next minor version]
    #[arg(long, value_name = "VERSION", value_parser = stop, conflicts_with = "path")]
    to: Option<Stop>,
    /// The update path to take, release by release, as `towpath path` finds it.
    #[arg(long, value_name = "VERSIONS", value_parser = stop, value_delimiter = ',')]
    path: Vec<Stop>,
    /// How many minor versions a kubelet may be behind. [default: OpenShift's policy, as the table of minor versions has it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    max_skew: Option<u8>,
    /// Accept a reason: it stays visible, and stands in the way no longer. A code (BudgetAtLimit), or a code and its object (BudgetAtLimit/shop/db). Repeatable.
    #[arg(long, value_name = "NAME")]
    accept: Vec<String>,
    #[command(flatten)]
    alerts: AlertArgs,
    /// How long operators are supported, as catalogues have it (io.openshift.operators.lifecycles.v1alpha1).
    #[arg(long, value_name = "FILE")]
    lifecycles: Option<PathBuf>,
    /// Count who uses which API from an API server's audit log, for clusters that do not count it; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// Add removals of APIs to the built-in table: a JSON list of group, version, resource, removed, replacement.
    #[arg(long, value_name = "FILE")]
    removals: Option<PathBuf>,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

fn stop(text: &str) -> Result<Stop, String> {
    Stop::parse(text).ok_or_else(|| {
        format!("{text:?} is neither a release (4.10.67) nor a minor version (4.10)")
    })
}

/// Judges a cluster by its objects.
pub(crate) fn ready(args: &ReadyArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let accepted = args.accept.iter().map(String::as_str);
    let accepted =
        AcceptedReasons::read(accepted).map_err(|problem| anyhow!("--accept: {problem}"))?;
    let mut warnings = Vec::new();
    let additions = args.additions(&mut warnings)?;
    let mut given = args.objects.read()?;
    given
        .origin
        .tell_how("name a directory of your cluster's objects, or --kubeconfig");
    given.files.extend(args.further_files()?);
    let (cluster, more) = understood(&given.files, now, &additions)?;
    warnings.extend(more);
    args.check_further_files(&cluster)?;
    let from = cluster.facts.heads_for().cloned().context(
        "the cluster's version is unknown; add its ClusterVersion: `oc get clusterversions -o yaml`",
    )?;
    let way = args.way(from)?;
    let readiness = ready_but_for(&way, &cluster.facts, &accepted);
    let told = ReadyReport {
        cluster: &cluster,
        way: &way,
        now,
        readiness: &readiness,
        unread: &given.unread,
    };
    let text = || findings::text(&warnings, Shown::All) + &text(&told, room());
    args.output.print(given.origin, text, || {
        warn(&warnings);
        json(&told)
    })?;
    Ok(readiness.is_ready())
}

/// A cluster by its objects, or the example's. What is odd about them is told on the side.
pub(crate) fn objects(directory: Option<&Path>, now: Timestamp) -> anyhow::Result<ClusterObjects> {
    let GivenObjects { files, .. } = inputs::files(directory)?;
    let (cluster, warnings) = understood(&files, now, &ApiAdditions::default())?;
    warn(&warnings);
    Ok(cluster)
}

pub(crate) fn understood(
    files: &[SourceFile],
    now: Timestamp,
    additions: &ApiAdditions,
) -> anyhow::Result<(ClusterObjects, Vec<Finding>)> {
    objects::read_with(files, now, additions).map_err(|findings| {
        let shown = findings::text(&findings, Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE));
        anyhow!("these objects cannot be used\n{}", shown.trim_end())
    })
}

impl ReadyArgs {
    fn way(&self, from: Version) -> anyhow::Result<Way> {
        let minors = self.minors.read()?.with_max_skew(self.max_skew);
        match (&self.to, self.path.as_slice()) {
            (None, []) => Way::to_next_minor(from, &minors)
                .map_err(|problem| anyhow!("the next minor version: {problem}")),
            (Some(to), _) => Way::through_every_minor(from, to.clone(), &minors)
                .map_err(|problem| anyhow!("--to: {problem}")),
            (None, stops) => Way::new(from, stops.to_vec(), &minors)
                .map_err(|problem| anyhow!("--path: {problem}")),
        }
    }

    fn additions(&self, warnings: &mut Vec<Finding>) -> anyhow::Result<ApiAdditions> {
        let removals = match &self.removals {
            None => Vec::new(),
            Some(path) => {
                let bytes = read_input(path, removals::MAX_BYTES as u64)?;
                let place = Place::file(path.display().to_string());
                removals::read(&place, &bytes).map_err(|findings| failure(&findings))?
            }
        };
        let audited = match &self.audit_log {
            None => None,
            Some(path) => {
                let (uses, more) = audit_log::count(path, &removals)?;
                warnings.extend(more);
                Some(uses)
            }
        };
        Ok(ApiAdditions { removals, audited })
    }

    /// Files that flags name beside the objects.
    fn further_files(&self) -> anyhow::Result<Vec<SourceFile>> {
        let lifecycles = match &self.lifecycles {
            None => None,
            Some(path) => Some(inputs::file(path)?),
        };
        let alerts = self.alerts.read()?;
        Ok(lifecycles.into_iter().chain(alerts).collect())
    }

    /// A file that says something else than its flag says is a mistake.
    fn check_further_files(&self, cluster: &ClusterObjects) -> anyhow::Result<()> {
        let health = &cluster.facts.health;
        if self.alerts.are_given() && health.alerts == Fact::Unknown {
            bail!("--alerts: this is not what Prometheus answers at /api/v1/alerts; ask it again");
        }
        match &self.lifecycles {
            Some(path) if health.ended_operators == Fact::Unknown => bail!(
                "{}: there is no entry of io.openshift.operators.lifecycles.v1alpha1 in it; take it from the catalogue: `towpath reason LifecyclesNotGiven`",
                path.display()
            ),
            _ => Ok(()),
        }
    }
}
