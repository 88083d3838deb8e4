//! `towpath path`: the update path from one release to another, hop by hop, or why there is none.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use towpath_core::cluster::{Readiness, ready};
use towpath_core::graph::{ChannelName, Graph};
use towpath_core::path::{FoundPaths, Goal, Pace, Plan, Request, RiskPolicy, paths};
use towpath_core::version::{Arch, Minors, Version};
use towpath_formats::cluster::objects::ClusterObjects;
use towpath_formats::minors::with_releases_of;
use towpath_formats::path::{
    self as format, PathCluster, PathReport, PathRequest, ShapeIs, json, text,
};

use crate::clock::NowArgs;
use crate::duration::ShapeArgs;
use crate::minors::MinorsArgs;
use crate::output::{OutputArgs, PictureOutput};
use crate::ready::objects;
use crate::server::{Server, ServerArgs, query};
use crate::sources::GraphArgs;
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// The release that the cluster runs, and the goal: a release (4.20.5), the newest of a minor version (4.20), or `newest` of all, which is
    /// the default. With --cluster, only the goal.
    #[arg(num_args = 0..=2, value_names = ["FROM", "TO"])]
    ends: Vec<String>,
    /// Stay in this channel.
    #[arg(long, value_name = "NAME", conflicts_with = "via")]
    channel: Option<String>,
    /// Use these channels: a stream (eus, stable, …), or names of channels separated by commas. [default: stable, or all of --graph]
    #[arg(long, value_name = "CHANNELS", value_parser = via)]
    via: Option<Via>,
    /// What to prefer: fewest (hops), safest (fewest risks), soonest (earliest arrival), fewest-reboots (of worker nodes).
    #[arg(long, value_name = "WHAT", default_value = "fewest", value_parser = ["fewest", "safest", "soonest", "fewest-reboots"])]
    prefer: String,
    /// Which updates with known risks to take: never, unknown (those that may turn out not to apply), or accepted:NAME,…
    /// [default: never; with --prefer safest, unknown]
    #[arg(long, value_name = "POLICY", value_parser = risks)]
    risks: Option<RiskPolicy>,
    /// Number of paths to show, the best first.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=Request::MAX_WAYS as i64))]
    alternatives: u8,
    /// The cluster's id. A rollout reaches each cluster at its own time.
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// What the cluster runs on: AWS, BareMetal, …
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// The architecture of its payload. [default: that of the --cluster's nodes, or amd64]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Also say what stands in the way on this cluster: a directory of its objects, as for `towpath ready`.
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    cluster: Option<PathBuf>,
    /// How many minor versions a kubelet may be behind. [default: OpenShift's policy, as the table of minor versions has it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3), conflicts_with = "server")]
    max_skew: Option<u8>,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    graph: GraphArgs,
    #[command(flatten)]
    output: OutputArgs<PictureOutput>,
}

/// Where to go if nobody says it.
const NEWEST: &str = "newest";

/// Channels or streams, as they were typed.
#[derive(Debug, Clone)]
pub(crate) struct Via(pub(crate) Vec<ChannelName>);

impl Via {
    /// As a service reads it.
    pub(crate) fn word(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(ChannelName::as_str).collect();
        names.join(",")
    }
}

/// From where to where, and the cluster if its objects were given.
struct Ends {
    from: Version,
    to: Goal,
    cluster: Option<ClusterObjects>,
}

/// Plans, from files or with a service. Exit 0: there is a way, and nothing stands in it on the cluster.
pub(crate) fn path(args: &PathArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    match args.server.given() {
        Some(server) => args.ask(&server, &args.ends(now)?, args.now.given()),
        None => args.look(now),
    }
}

impl PathArgs {
    fn ends(&self, now: Timestamp) -> anyhow::Result<Ends> {
        let cluster = self
            .cluster
            .as_deref()
            .map(|directory| objects(Some(directory), now))
            .transpose()?;
        let runs = cluster
            .as_ref()
            .and_then(|cluster| cluster.facts.heads_for());
        let version = |text: &str| -> anyhow::Result<Version> { Ok(text.parse()?) };
        let (from, to) = match (self.ends.as_slice(), runs) {
            ([from], None) if cluster.is_none() => (version(from)?, NEWEST),
            ([from, to], None) => (version(from)?, to.as_str()),
            ([from, to], Some(runs)) => match version(from)? {
                from if from == *runs => (from, to.as_str()),
                from => bail!(
                    "the cluster's objects say that it runs or updates to {runs}, not {from}; leave out FROM"
                ),
            },
            ([to], Some(runs)) => (runs.clone(), to.as_str()),
            ([], Some(runs)) => (runs.clone(), NEWEST),
            _ => bail!(
                "give the release that the cluster runs; or the cluster's ClusterVersion with --cluster"
            ),
        };
        Ok(Ends {
            from,
            to: goal(to).map_err(|remedy| anyhow!("{to:?} is not a goal; {remedy}"))?,
            cluster,
        })
    }

    /// Looks at files, and says whether there is a way that is free.
    fn look(&self, now: Timestamp) -> anyhow::Result<bool> {
        let (graph, origin) = self.graph.graph(now)?;
        let ends = &self.ends(now)?;
        let minors = self.minors.read()?.with_max_skew(self.max_skew);
        let minors = with_releases_of(&minors, &graph);
        let query = self.query(ends, None, None);
        let PathRequest { mut request, .. } =
            format::read(&query, &minors, now).map_err(|bad| anyhow!("{}", bad.value()))?;
        let all_of_the_files =
            self.via.is_none() && self.channel.is_none() && self.graph.is_of_channels();
        if all_of_the_files {
            request.via = graph.channels().keys().cloned().collect();
        }
        let (pace, shape) = self.pace(ends)?;
        let answer = paths(&graph, &request, &pace.lasts(&graph));
        let judged = match (&ends.cluster, &answer) {
            (Some(cluster), Ok(found)) => judged(&graph, cluster, found, &minors)?,
            _ => Vec::new(),
        };
        let cluster = ends.cluster.as_ref().map(|objects| PathCluster {
            objects,
            judged: &judged,
        });
        let told = PathReport {
            graph: &graph,
            request: &request,
            answer: &answer,
            pace: &pace,
            shape,
            cluster,
            fleet: None,
        };
        let (text, json) = (|| text(&told, room()), || json(&told));
        self.output
            .print(origin, text, json, |pen| pen.of_path(&told))?;
        Ok(answer.is_ok() && judged.first().is_none_or(Readiness::is_ready))
    }

    /// What the cluster looks like: as it was told, else as its objects say.
    fn pace(&self, ends: &Ends) -> anyhow::Result<(Pace, ShapeIs)> {
        let told = self.shape.told()?;
        let known = told.or_else(|| {
            ends.cluster
                .as_ref()
                .and_then(|cluster| cluster.shape.clone())
        });
        let is = if known.is_some() {
            ShapeIs::Given
        } else {
            ShapeIs::Assumed
        };
        let usual = Pace::usual();
        let shape = known.unwrap_or(usual.shape);
        Ok((
            Pace {
                shape,
                parameters: self.shape.parameters()?,
            },
            is,
        ))
    }

    /// The architecture that was told; else that of the cluster's nodes.
    fn arch(&self, ends: &Ends) -> String {
        let cluster = ends.cluster.as_ref();
        let own = cluster.and_then(|cluster| cluster.arch.known());
        self.arch
            .clone()
            .or_else(|| own.map(ToString::to_string))
            .unwrap_or_else(|| Arch::DEFAULT.to_owned())
    }

    /// Asks a service, and says whether there is a way.
    fn ask(
        &self,
        server: &Server<'_>,
        ends: &Ends,
        now: Option<Timestamp>,
    ) -> anyhow::Result<bool> {
        let facts = server.print(self.output.form.word(), |form| {
            format!("/api/v1/path?{}", self.query(ends, now, Some(form)))
        })?;
        facts["found"]
            .as_bool()
            .context("the service's answer does not say whether it found a path")
    }

    /// The question, as a service reads it; files are asked in the same words.
    fn query(&self, ends: &Ends, now: Option<Timestamp>, form: Option<&str>) -> String {
        let cluster = ends.cluster.as_ref();
        let own_id = cluster.and_then(|cluster| cluster.id.known());
        let given = [
            ("from", Some(ends.from.to_string())),
            ("to", Some(ends.to.to_string())),
            ("channel", self.channel.clone()),
            ("via", self.via.as_ref().map(Via::word)),
            ("prefer", Some(self.prefer.clone())),
            ("risks", self.risks.as_ref().map(ToString::to_string)),
            ("alternatives", Some(self.alternatives.to_string())),
            ("id", self.id.clone().or(own_id.map(ToString::to_string))),
            ("platform", self.platform.clone()),
            ("arch", Some(self.arch(ends))),
            ("now", now.map(|now| now.to_string())),
            ("format", form.map(str::to_owned)),
        ];
        query(given.into_iter().chain(self.shape.words()))
    }
}

/// What stands in the way on the cluster, for each of the ways.
fn judged(
    graph: &Graph,
    cluster: &ClusterObjects,
    found: &FoundPaths,
    minors: &Minors,
) -> anyhow::Result<Vec<Readiness>> {
    let judge = |plan: &Plan| Ok(ready(&plan.way(graph, minors)?, &cluster.facts));
    found
        .plans
        .iter()
        .filter(|plan| !plan.hops.is_empty())
        .map(judge)
        .collect()
}

/// Reads where to go.
pub(crate) fn goal(text: &str) -> Result<Goal, String> {
    Goal::read(text)
        .ok_or_else(|| "give a release (4.20.5), a minor version (4.20) or newest".to_owned())
}

/// Reads which channels to go through.
pub(crate) fn via(text: &str) -> Result<Via, String> {
    let remedy = "give a stream (eus, stable), or names of channels separated by commas";
    format::via(text).map(Via).ok_or_else(|| remedy.to_owned())
}

/// Reads which risks are taken.
pub(crate) fn risks(text: &str) -> Result<RiskPolicy, String> {
    RiskPolicy::read(text).ok_or_else(|| "give never, unknown or accepted:NAME,…".to_owned())
}
