//! `towpath mirror`: everything that a disconnected site must mirror so that its clusters can reach a release.

mod image_set_files;
mod inputs;

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use towpath_core::graph::Graph;
use towpath_core::mirror::{Branching, Mirror, MirrorChoice, MirrorStart, Wish, mirror};
use towpath_core::path::{Goal, RiskPolicy};
use towpath_core::version::{Arch, Version};
use towpath_formats::mirror::image_set::{self, ImageSetVersion};
use towpath_formats::mirror::{Completeness, MirrorReport, comments, json, list};

use crate::cli::print;
use crate::clock::NowArgs;
use crate::example::Origin;
use crate::minors::MinorsArgs;
use crate::output::OutputArgs;
use crate::path::{Via, goal, risks, via};
use crate::sources::GraphArgs;
use inputs::MirrorClients;

#[derive(Debug, Args)]
pub(crate) struct MirrorArgs {
    /// The release that the cluster runs.
    #[arg(requires = "goal", value_name = "FROM")]
    from: Option<Version>,
    /// The goal: a release (4.20.5), the newest of a minor version (4.20), or `newest` of all.
    #[arg(value_name = "TO", id = "goal", value_parser = goal)]
    goal: Option<Goal>,
    /// For all clusters of this list instead of one cluster. [default: with the built-in example, its own list]
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    clusters: Option<PathBuf>,
    /// The goal for all clusters, written as TO. [default: newest]
    #[arg(long, value_name = "VERSION", conflicts_with = "from", value_parser = goal)]
    to: Option<Goal>,
    /// Use these channels or streams (eus is every eus-4.y). [default: stable, or the streams that the clusters follow]
    #[arg(long, visible_alias = "channel", value_name = "NAME,…", value_parser = via)]
    via: Option<Via>,
    /// The architecture of the payload; with --clusters, only clusters of this one. [default: amd64]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// The platform, if it is the same for all clusters. Without it, blocks for any platform apply.
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Which updates with known risks to take: never, unknown (those that a cluster evaluates itself), or accepted:NAME,…
    /// [default: never; with --with-branches, unknown]
    #[arg(long, value_name = "WHICH", value_parser = risks)]
    risks: Option<RiskPolicy>,
    /// Also list what is needed if a known risk turns out to apply.
    #[arg(long)]
    with_branches: bool,
    /// Also list what the clusters run now, to add nodes or to roll back.
    #[arg(long)]
    with_start: bool,
    /// Leave out what the mirror has already: a file of digests, pull specs or versions, one per line.
    #[arg(long, value_name = "FILE")]
    have: Option<PathBuf>,
    /// If a cluster has no update path, list what the others need.
    #[arg(long)]
    partial: bool,
    /// The graph data to mirror: an image or a directory, listed exactly as given.
    #[arg(long, value_name = "REF")]
    graph_data_image: Option<String>,
    /// With oc-mirror-v1 or oc-mirror-v2: write the files into this new or empty directory, each for one run of oc-mirror.
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs<MirrorOutput>,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    graph: GraphArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum MirrorOutput {
    /// One thing to mirror per line, with comments above.
    #[default]
    Text,
    /// For machines; its fields are stable.
    Json,
    /// An ImageSetConfiguration for oc-mirror, v1alpha2.
    OcMirrorV1,
    /// An ImageSetConfiguration for oc-mirror --v2, v2alpha1.
    OcMirrorV2,
}

/// Says what to mirror. Exit 0: all of it. 1: somebody has no way.
pub(crate) fn run(args: &MirrorArgs) -> anyhow::Result<bool> {
    let now = args.now.at();
    let (graph, origin) = args.graph.graph(now)?;
    let wish = args.wish(&graph, origin, now)?;
    let mirror = mirror(&graph, &wish, now)?;
    let completeness = if args.partial {
        Completeness::Partial
    } else {
        Completeness::Whole
    };
    let told = MirrorReport {
        graph: &graph,
        wish: &wish,
        mirror: &mirror,
        graph_data: args.graph_data_image.as_deref(),
        completeness,
        now,
    };
    let image_set = |version| image_set::write(&told, version);
    let files = match args.output.form {
        MirrorOutput::Text => return args.tell(&list(&told)?, &mirror),
        MirrorOutput::Json => return args.tell(&origin.mark(json(&told)?), &mirror),
        MirrorOutput::OcMirrorV1 => image_set(ImageSetVersion::V1Alpha2)?,
        MirrorOutput::OcMirrorV2 => image_set(ImageSetVersion::V2Alpha1)?,
    };
    match (&args.into, &files[..]) {
        (_, []) if mirror.stuck.is_empty() => {
            eprintln!(
                "{}towpath: nothing to mirror, so there is no configuration",
                comments(&told)
            )
        }
        (_, []) => eprint!("{}", comments(&told)),
        (Some(into), files) => image_set_files::write(into, files)?,
        (None, [file]) => print(&file.text)?,
        (None, files) => bail!(
            "oc-mirror needs {} files, one for each run; name a directory for them with --into DIR",
            files.len()
        ),
    }
    Ok(mirror.stuck.is_empty())
}

impl MirrorArgs {
    /// Prints what is not for oc-mirror.
    fn tell(&self, text: &str, mirror: &Mirror) -> anyhow::Result<bool> {
        if self.into.is_some() {
            bail!("--into DIR is for --output oc-mirror-v1 and oc-mirror-v2 alone; leave it out");
        }
        print(text)?;
        Ok(mirror.stuck.is_empty())
    }

    fn wish(&self, graph: &Graph, origin: Origin, now: Timestamp) -> anyhow::Result<Wish> {
        let arch = self
            .arch
            .as_deref()
            .map(|name| inputs::arch(graph, name))
            .transpose()?;
        let who = match &self.from {
            Some(version) => {
                MirrorClients::one(version.clone(), arch.unwrap_or_else(Arch::default))
            }
            None if self.clusters.is_none() && origin == Origin::Named => bail!(
                "no cluster given; give the release to start from, or a list of clusters with --clusters FILE"
            ),
            None => MirrorClients::listed(self.clusters.as_deref(), arch.as_ref(), now)?,
        };
        let all_of_the_files = || graph.channels().keys().cloned().collect();
        let via = match &self.via {
            Some(via) => via.0.clone(),
            None if self.graph.is_of_channels() => all_of_the_files(),
            None => Vec::new(),
        };
        let channels = inputs::channels(graph, &via, &who)?;
        let goal = self
            .goal
            .as_ref()
            .or(self.to.as_ref())
            .unwrap_or(&Goal::Newest);
        let choice = if self.from.is_some() {
            MirrorChoice::Best
        } else {
            MirrorChoice::Smallest
        };
        let usual = if self.with_branches {
            RiskPolicy::Unknown
        } else {
            RiskPolicy::Never
        };
        Ok(Wish {
            target: inputs::version(goal, graph, &channels, &who, now)?,
            travellers: who.travellers,
            channels,
            platform: inputs::platform(self.platform.as_deref())?,
            taken: self.risks.clone().unwrap_or(usual),
            minors: self.minors.read()?,
            choice,
            branching: if self.with_branches {
                Branching::WaysAround
            } else {
                Branching::Ways
            },
            start: if self.with_start {
                MirrorStart::Included
            } else {
                MirrorStart::LeftOut
            },
            have: self
                .have
                .as_deref()
                .map(inputs::have)
                .transpose()?
                .unwrap_or_default(),
        })
    }
}
