//! `towpath ready`: what blocks each update of a cluster, and what to do before it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use jiff::Timestamp;
use towpath_core::cluster::ready as judged;
use towpath_core::cluster::rules::MaxSkew;
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::finding::Finding;
use towpath_core::version::Version;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects::{self, ClusterObjects};
use towpath_formats::cluster::ready::{ReadyReport, json, text};
use towpath_formats::findings::{self, Shown};
use towpath_sources::read_directory;

use crate::cli::warn;
use crate::clock::NowArgs;
use crate::example::{self, Origin};
use crate::input::{STDIN, read_input};
use crate::output::OutputArgs;
use crate::terminal::room;

/// How many findings of one code are shown before the others are counted.
const SHOWN_OF_EACH_CODE: usize = 5;
/// The most objects on standard input.
const MAX_STDIN_BYTES: u64 = 256 << 20;

#[derive(Debug, Args)]
pub(crate) struct ReadyArgs {
    /// A directory of the cluster's objects, as `oc get -o yaml` prints them; or - for such objects on standard input. [default: the built-in example]
    directory: Option<PathBuf>,
    /// The goal: a release (4.10.67) or a minor version (4.10). [default: the next minor version]
    #[arg(long, value_name = "VERSION", value_parser = stop, conflicts_with = "path")]
    to: Option<Stop>,
    /// The update path to take, release by release, as `towpath path` finds it.
    #[arg(long, value_name = "VERSIONS", value_parser = stop, value_delimiter = ',')]
    path: Vec<Stop>,
    /// How many minor versions a kubelet may be behind. [default: OpenShift's policy, 1 on odd minor versions and 2 on even ones]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    max_skew: Option<u8>,
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
pub(crate) fn ready(args: ReadyArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let origin = match args.directory {
        Some(_) => Origin::Named,
        None => Origin::Example,
    };
    origin.tell_how("name a directory of your cluster's objects");
    let (cluster, warnings) = read(args.directory.as_deref(), now)?;
    let from = cluster.facts.heads_for().cloned().context(
        "the cluster's version is unknown; add its ClusterVersion: `oc get clusterversions -o yaml`",
    )?;
    let way = args.way(from)?;
    let readiness = judged(&way, &cluster.facts, max_skew(args.max_skew));
    let told = ReadyReport {
        cluster: &cluster,
        way: &way,
        now,
        readiness: &readiness,
    };
    let text = || findings::text(&warnings, Shown::All) + &text(&told, room());
    args.output.print(origin, text, || {
        warn(&warnings);
        json(&told)
    })?;
    Ok(readiness.is_ready())
}

/// A cluster by its objects, or the example's. What is odd about them is told on the side.
pub(crate) fn objects(directory: Option<&Path>, now: Timestamp) -> anyhow::Result<ClusterObjects> {
    let (cluster, warnings) = read(directory, now)?;
    warn(&warnings);
    Ok(cluster)
}

/// How far kubelets may be behind.
pub(crate) fn max_skew(given: Option<u8>) -> MaxSkew {
    given.map_or(MaxSkew::OpenShift, MaxSkew::Same)
}

fn read(
    directory: Option<&Path>,
    now: Timestamp,
) -> anyhow::Result<(ClusterObjects, Vec<Finding>)> {
    let files = match directory {
        None => example::cluster(),
        Some(path) if path == STDIN => {
            let bytes = read_input(path, MAX_STDIN_BYTES)?;
            vec![SourceFile::new("standard input", bytes)]
        }
        Some(directory) => read_directory(directory, objects::is_part)?,
    };
    objects::read(&files, now).map_err(|findings| {
        let shown = findings::text(&findings, Shown::FirstOfEachCode(SHOWN_OF_EACH_CODE));
        anyhow!("these objects cannot be used\n{}", shown.trim_end())
    })
}

impl ReadyArgs {
    fn way(&self, from: Version) -> anyhow::Result<Way> {
        match (&self.to, self.path.as_slice()) {
            (None, []) => Ok(Way::to_next_minor(from)),
            (Some(to), _) => Way::through_every_minor(from, to.clone())
                .map_err(|problem| anyhow!("--to: {problem}")),
            (None, stops) => {
                Way::new(from, stops.to_vec()).map_err(|problem| anyhow!("--path: {problem}"))
            }
        }
    }
}
