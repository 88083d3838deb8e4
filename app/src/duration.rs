//! `towpath duration`: estimates how long updates take, and learns the estimates from past updates.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::duration::{
    CheckSettings, Estimate, Ground, MaxUnavailable, Parameters, Shape, SpeedCheck, SpeedVerdict,
    check as checked, fit as fitted_to, hop_duration, operator_phases,
};
use towpath_core::feedback::Attempt;
use towpath_core::finding::{Finding, Place};
use towpath_core::version::Version;
use towpath_formats::SourceFile;
use towpath_formats::cluster::shape;
use towpath_formats::duration::{
    CheckedSpeed, Estimated, Fitted, check_json, check_text, estimate_json, estimate_text,
    fit_json, fit_text, read_parameters, update_history, update_history::Histories,
    write_parameters,
};
use towpath_formats::path::Plain;
use towpath_sources::read_directory;
use towpath_store::{Store, StoreAddress};

use crate::cli::failure;
use crate::example::Origin;
use crate::input::read_input;
use crate::minors::MinorsArgs;
use crate::output::OutputArgs;

/// The largest file of parameters that we read.
const MAX_PARAMETERS_BYTES: u64 = 16 << 20;
/// The most files of histories.
const MAX_FILES: usize = 100_000;
#[derive(Debug, Subcommand)]
pub(crate) enum DurationCommand {
    /// Estimate how long updates take, for the control plane and the worker pools.
    #[command(
        after_help = "Example:\n  towpath duration estimate 4.14.30 4.15.20 4.16.10 --nodes 250 --max-unavailable 10%"
    )]
    Estimate(EstimateArgs),
    /// Learn from the histories of ClusterVersions, or from what a fleet's store has seen, how long updates take, and how exact the estimates are.
    ///
    /// Exit 1 if there is no completed update in them.
    #[command(
        after_help = "Example:\n  towpath duration fit histories.yaml must-gathers/ --out parameters.yaml"
    )]
    Fit(FitArgs),
    /// Check whether a release made updates slower, from the histories of ClusterVersions or from what a fleet's store has seen.
    ///
    /// Updates to it are compared with updates of the same step to other releases. Without --release, every release with 20 updates or more is checked.
    /// Exit 0: none is slower. 1: one is slower, or it cannot be told yet; the answer says how many updates that takes. 2: could not run.
    #[command(
        after_help = "Example:\n  towpath duration check histories.yaml must-gathers/ --release 4.15.7\n  towpath duration check --store sqlite:fleet.db"
    )]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct EstimateArgs {
    /// The release that the cluster runs.
    from: Version,
    /// The releases to update to, in order.
    #[arg(required = true)]
    to: Vec<Version>,
    /// Take the shape from the cluster's own objects: its nodes, pools and DaemonSets. A directory, a must-gather, a file, or `-`.
    #[arg(long, value_name = "OBJECTS", conflicts_with_all = ["shape", "nodes", "max_unavailable"])]
    cluster: Option<PathBuf>,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What a cluster looks like, and the parameters that go with it.
#[derive(Debug, Args)]
pub(crate) struct ShapeArgs {
    /// The cluster's shape, as docs/duration.md describes it. [default: three worker nodes, one at a time]
    #[arg(long, value_name = "FILE")]
    shape: Option<PathBuf>,
    /// Number of worker nodes in one pool, in addition to three control plane nodes.
    #[arg(long, value_name = "N", conflicts_with = "shape", value_parser = clap::value_parser!(u32).range(0..=i64::from(shape::MAX_NODES)))]
    nodes: Option<u32>,
    /// How many worker nodes may be unavailable at once: 3, or 10%. [default: 1]
    #[arg(long, value_name = "N|P%", requires = "nodes", conflicts_with = "shape", value_parser = max_unavailable)]
    max_unavailable: Option<MaxUnavailable>,
    /// What all nodes run on: cloud, or metal, which takes longer to reboot. [default: cloud]
    #[arg(long, value_name = "GROUND", conflicts_with = "shape", value_parser = ground)]
    on: Option<Ground>,
    #[command(flatten)]
    parameters: ParametersArg,
}

/// `--parameters`, as every command has it that estimates times.
#[derive(Debug, Args)]
pub(crate) struct ParametersArg {
    /// Parameters, as `towpath duration fit` writes them. [default: built in]
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
}

/// Where past updates are told of.
#[derive(Debug, Args)]
struct HistoryArgs {
    /// Files of ClusterVersions (YAML or JSON, lists and several documents too), or directories of such files.
    #[arg(required_unless_present = "store", value_name = "HISTORY")]
    files: Vec<PathBuf>,
    /// Also the updates that a fleet's store has seen: `sqlite:PATH` or `postgres://…`.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Read the password of the PostgreSQL store from this file.
    #[arg(long, value_name = "FILE", requires = "store")]
    store_password_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    histories: HistoryArgs,
    /// Start from these parameters of an earlier fit. [default: built in]
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// Write the parameters to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    histories: HistoryArgs,
    /// The release to check. [default: every release with 20 updates or more]
    #[arg(long, value_name = "VERSION")]
    release: Option<Version>,
    /// The slow-down that matters, in percent. Smaller ones are reported, and never needed to be found.
    #[arg(long, value_name = "PERCENT", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=300))]
    slower_by: u32,
    #[command(flatten)]
    parameters: ParametersArg,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs a command about durations.
pub(crate) fn execute(command: DurationCommand) -> anyhow::Result<bool> {
    match command {
        DurationCommand::Estimate(args) => estimate(args),
        DurationCommand::Fit(args) => fit(&args),
        DurationCommand::Check(args) => check(&args),
    }
}

fn estimate(args: EstimateArgs) -> anyhow::Result<bool> {
    let versions: Vec<Version> = std::iter::once(args.from).chain(args.to).collect();
    if let Some(back) = versions.windows(2).find(|ends| ends[1] <= ends[0]) {
        bail!(
            "{} is not older than {}; give the releases in the order of the updates",
            back[0],
            back[1]
        );
    }
    let stops = versions[1..].iter().cloned().map(Stop::Release).collect();
    Way::new(versions[0].clone(), stops, &args.minors.read()?)?;
    let shape = match &args.cluster {
        Some(objects) => args.shape.of_cluster(objects)?,
        None => args
            .shape
            .told()?
            .unwrap_or_else(|| Shape::plain(3, MaxUnavailable::Count(1), Ground::Cloud)),
    };
    let parameters = args.shape.parameters()?;
    let hops = versions
        .windows(2)
        .map(|ends| hop_duration(&ends[0], &ends[1], &shape, &parameters));
    let hops: Vec<Estimate> = hops.collect();
    let told = Estimated {
        versions: &versions,
        hops: &hops,
        shape: &shape,
        parameters: &parameters,
    };
    let text = || estimate_text(&told);
    args.output
        .print(Origin::Named, text, || estimate_json(&told))?;
    Ok(true)
}

fn fit(args: &FitArgs) -> anyhow::Result<bool> {
    let histories = args.histories.read()?;
    let before = read_or_usual(args.parameters.as_deref())?;
    let fit = fitted_to(&histories.updates, &before);
    let operators = operator_phases(&histories.rests);
    let told = Fitted {
        fit: &fit,
        operators: &operators,
        counts: &histories.counts,
        findings: &histories.findings,
    };
    args.output
        .print(Origin::Named, || fit_text(&told), || fit_json(&told))?;
    match (&args.out, histories.updates.is_empty()) {
        (_, true) => return Ok(false),
        (None, false) => {}
        (Some(path), false) => std::fs::write(path, write_parameters(&fit.parameters))
            .map_err(|error| anyhow!("{}: cannot be written: {error}", path.display()))?,
    }
    Ok(!histories.findings.iter().any(Finding::is_error))
}

fn check(args: &CheckArgs) -> anyhow::Result<bool> {
    let histories = args.histories.read()?;
    let settings = CheckSettings {
        slower_by_percent: args.slower_by,
    };
    let (updates, release) = (&histories.updates, args.release.as_ref());
    let checks = checked(updates, release, settings, &args.parameters.read()?);
    let told = CheckedSpeed {
        checks: &checks,
        settings,
        counts: &histories.counts,
        findings: &histories.findings,
        updates: updates.len(),
    };
    args.output
        .print(Origin::Named, || check_text(&told), || check_json(&told))?;
    let is_fine = |check: &SpeedCheck| check.verdict == SpeedVerdict::NotSlower;
    let is_whole = !histories.findings.iter().any(Finding::is_error);
    Ok(is_whole && !checks.is_empty() && checks.iter().all(is_fine))
}

impl HistoryArgs {
    fn read(&self) -> anyhow::Result<Histories> {
        let attempts = match &self.store {
            Some(store) => attempts(StoreAddress {
                url: store.clone(),
                password_file: self.store_password_file.clone(),
            })?,
            None => Vec::new(),
        };
        Ok(update_history::read(&files(&self.files)?, &attempts))
    }
}

/// The updates that a store has seen.
fn attempts(address: StoreAddress) -> anyhow::Result<Vec<Attempt>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let store = Store::open_existing(address).await;
        let store = store.context("the store cannot be opened")?;
        let seen = store.attempts().await;
        store.close().await;
        let (seen, now) = (seen.context("the store cannot be read")?, Timestamp::now());
        Ok(seen
            .iter()
            .filter_map(|followed| followed.attempt(now))
            .collect())
    })
}

impl ParametersArg {
    pub(crate) fn read(&self) -> anyhow::Result<Parameters> {
        read_or_usual(self.parameters.as_deref())
    }
}

impl ShapeArgs {
    /// The shape of the cluster that these objects are of. They do not say what its nodes run on.
    fn of_cluster(&self, objects: &Path) -> anyhow::Result<Shape> {
        let cluster = crate::ready::objects(Some(objects), jiff::Timestamp::now())?;
        let mut shape = cluster.shape.ok_or_else(|| {
            anyhow!(
                "{}: the cluster's shape is unknown; add its nodes and pools: `oc get nodes,machineconfigpools -o yaml`",
                objects.display()
            )
        })?;
        if let Some(ground) = self.on {
            shape.control_plane.machines.ground = ground;
            for pool in &mut shape.pools {
                pool.machines.ground = ground;
            }
        }
        Ok(shape)
    }

    /// The cluster's shape, if anything was said about it.
    pub(crate) fn told(&self) -> anyhow::Result<Option<Shape>> {
        let Some(path) = &self.shape else {
            return Ok(self.plain().shape());
        };
        let bytes = read_input(path, shape::MAX_BYTES as u64)?;
        let read = shape::read(&Place::file(path.display().to_string()), &bytes);
        read.map(Some).map_err(|findings| failure(&findings))
    }

    fn plain(&self) -> Plain {
        let ground = self.on;
        Plain {
            nodes: self.nodes,
            max_unavailable: self.max_unavailable,
            ground,
        }
    }

    /// What was said about the shape in a few words, as a service reads it.
    pub(crate) fn words(&self) -> [(&'static str, Option<String>); 3] {
        [
            ("nodes", self.nodes.map(|nodes| nodes.to_string())),
            (
                "max-unavailable",
                self.max_unavailable.map(|away| away.to_string()),
            ),
            ("on", self.on.map(ground_name).map(str::to_owned)),
        ]
    }

    /// What estimates are made with.
    pub(crate) fn parameters(&self) -> anyhow::Result<Parameters> {
        self.parameters.read()
    }
}

pub(crate) fn read_or_usual(path: Option<&Path>) -> anyhow::Result<Parameters> {
    let Some(path) = path else {
        return Ok(Parameters::usual());
    };
    let bytes = read_input(path, MAX_PARAMETERS_BYTES)?;
    read_parameters(&Place::file(path.display().to_string()), &bytes)
        .map_err(|findings| failure(&findings))
}

/// Files as they are named, and those of directories.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let inside = read_directory(path, is_history)?;
            let named = |file: SourceFile| SourceFile {
                path: format!("{}/{}", path.display(), file.path),
                ..file
            };
            files.extend(inside.into_iter().map(named));
        } else {
            let bytes = read_input(path, update_history::MAX_BYTES as u64)?;
            files.push(SourceFile::new(path.display().to_string(), bytes));
        }
        if files.len() > MAX_FILES {
            bail!("more than {MAX_FILES} files; give fewer");
        }
    }
    Ok(files)
}

fn is_history(path: &str) -> bool {
    [".yaml", ".yml", ".json", "/"]
        .iter()
        .any(|end| path.ends_with(end))
}

pub(crate) fn ground(text: &str) -> Result<Ground, String> {
    Ground::read(text).ok_or_else(|| "write cloud or metal".to_owned())
}

fn ground_name(ground: Ground) -> &'static str {
    match ground {
        Ground::Cloud => "cloud",
        Ground::Metal => "metal",
    }
}

fn max_unavailable(text: &str) -> Result<MaxUnavailable, String> {
    MaxUnavailable::read(text)
        .ok_or_else(|| "give a number from 1, or a share from 1% to 100%".to_owned())
}
