//! `towpath path`: the way from one release to another, hop by hop, or why there is none.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use serde_json::Value;
use towpath_core::domain::{Arch, Graph, Version};
use towpath_core::plan::{Goal, Hop, Request, RiskPolicy, USUAL_HOP, paths};
use towpath_formats::path::{PathRequest, Told, json, read, read_graphs, text, via};
use towpath_formats::{SourceFile, graph_data::parse_time};
use towpath_sources::read_file;

use crate::cli::print;
use crate::explain::answer_of;
use crate::graph::Output;
use crate::graph::inputs::{self, Source};

/// The largest file of a channel's graph that we read.
const MAX_GRAPH_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// The release that the cluster runs.
    #[arg(value_name = "FROM")]
    from: Version,
    /// Where to: a release (4.20.5), the newest of a minor version (4.20), or `newest` of all.
    #[arg(value_name = "TO", value_parser = goal)]
    to: String,
    /// Stay in this channel.
    #[arg(long, value_name = "NAME", conflicts_with = "via")]
    channel: Option<String>,
    /// Go through these: a stream (eus, stable, …), or channels with commas between. [default: stable, or all of --graph]
    #[arg(long, value_name = "CHANNELS", value_parser = channels)]
    via: Option<String>,
    /// What is better: fewest (hops), safest (fewest risks), soonest (earliest arrival).
    #[arg(long, value_name = "WHAT", default_value = "fewest", value_parser = ["fewest", "safest", "soonest"])]
    prefer: String,
    /// Updates with risks: never, unknown (those that may turn out not to apply), or accepted:NAME,…
    /// [default: never; with --prefer safest, unknown]
    #[arg(long, value_name = "POLICY", value_parser = risks)]
    risks: Option<String>,
    /// Tell so many ways, the best first.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=Request::MAX_WAYS as i64))]
    alternatives: u8,
    /// The cluster's id: rollouts reach each at its own time.
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// What the cluster runs on: AWS, BareMetal, …
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// The architecture of its payload.
    #[arg(long, default_value = Arch::DEFAULT, value_name = "ARCH")]
    arch: String,
    /// As of this time.
    #[arg(long, env = "TOWPATH_NOW", value_name = "TIME")]
    now: Option<String>,
    /// Ask this service, instead of looking at files.
    #[arg(long, env = "TOWPATH_SERVER", value_name = "URL", conflicts_with_all = ["graph_data", "releases", "graph"])]
    server: Option<String>,
    /// Look at this graph data. [default: the built-in example]
    #[arg(long, env = "TOWPATH_GRAPH_DATA", value_name = "DIR", requires = "releases", conflicts_with = "graph")]
    graph_data: Option<PathBuf>,
    /// The releases behind the graph data.
    #[arg(long, env = "TOWPATH_RELEASES", value_name = "FILE", requires = "graph_data", conflicts_with = "graph")]
    releases: Option<PathBuf>,
    /// Look at graphs that a service answered, CHANNEL.json each. May be given more than once.
    #[arg(long, value_name = "FILE")]
    graph: Vec<PathBuf>,
    /// How to answer.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Plans, from files or with a service.
pub(crate) fn path(args: &PathArgs) -> anyhow::Result<ExitCode> {
    let now = args.now.as_deref().map(|text| parse_time(text).map_err(|problem| anyhow!("--now: {problem}")));
    let now = now.transpose()?;
    let is_found = match &args.server {
        Some(server) => args.ask(server, now)?,
        None => args.look(now.unwrap_or_else(Timestamp::now))?,
    };
    Ok(if is_found { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

impl PathArgs {
    /// Looks at files, and says whether there is a way.
    fn look(&self, now: Timestamp) -> anyhow::Result<bool> {
        let graph = self.graph(now)?;
        let PathRequest { mut request, .. } =
            read(&self.query(None, None), now).map_err(|bad| anyhow!("{}", bad.value()))?;
        let all_of_the_files = self.via.is_none() && self.channel.is_none() && !self.graph.is_empty();
        if all_of_the_files {
            request.via = graph.channels().keys().cloned().collect();
        }
        let lasts = |_: &Hop| USUAL_HOP;
        let answer = paths(&graph, &request, &lasts);
        let told = Told { graph: &graph, request: &request, answer: &answer, lasts: &lasts };
        match self.output {
            Output::Text => print(&text(&told))?,
            Output::Json => print(&format!("{:#}\n", json(&told)))?,
        }
        Ok(answer.is_ok())
    }

    fn graph(&self, now: Timestamp) -> anyhow::Result<Graph> {
        if self.graph.is_empty() {
            let source = self.graph_data.clone().map_or(Source::Example, Source::Directory);
            return inputs::graph(&source, inputs::releases(self.releases.as_deref())?, now);
        }
        if self.graph.len() > Request::MAX_VIA {
            bail!("--graph was given {} times; at most {} are taken", self.graph.len(), Request::MAX_VIA);
        }
        let read = |path: &PathBuf| {
            let bytes = read_file(path, MAX_GRAPH_BYTES).map_err(|finding| anyhow!("{finding}"))?;
            Ok(SourceFile { path: path.display().to_string(), bytes: bytes.into() })
        };
        let files: Vec<SourceFile> = self.graph.iter().map(read).collect::<anyhow::Result<_>>()?;
        read_graphs(&files).map_err(|findings| inputs::all(&findings))
    }

    /// Asks a service, and says whether there is a way.
    fn ask(&self, server: &str, now: Option<Timestamp>) -> anyhow::Result<bool> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let url = |form: &str| format!("{}/api/v1/path?{}", server.trim_end_matches('/'), self.query(now, Some(form)));
        let get = |form: &str| runtime.block_on(answer_of(&url(form)));
        let facts: Value = serde_json::from_str(&get("json")?).context("the service's answer is not JSON")?;
        match self.output {
            Output::Text => print(&get("text")?)?,
            Output::Json => print(&format!("{facts:#}\n"))?,
        }
        facts["found"].as_bool().context("the service's answer does not say whether it found a way")
    }

    /// The question, as a service reads it; files are asked in the same words.
    fn query(&self, now: Option<Timestamp>, form: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let given = [
            ("from", Some(self.from.to_string())),
            ("to", Some(self.to.clone())),
            ("channel", self.channel.clone()),
            ("via", self.via.clone()),
            ("prefer", Some(self.prefer.clone())),
            ("risks", self.risks.clone()),
            ("alternatives", Some(self.alternatives.to_string())),
            ("id", self.id.clone()),
            ("platform", self.platform.clone()),
            ("arch", Some(self.arch.clone())),
            ("at", now.map(|now| now.to_string())),
            ("form", form.map(str::to_owned)),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        }
        query.finish()
    }
}

fn goal(text: &str) -> Result<String, String> {
    let remedy = "give a release (4.20.5), a minor version (4.20) or newest";
    Goal::read(text).map(|_| text.to_owned()).ok_or_else(|| remedy.to_owned())
}

fn channels(text: &str) -> Result<String, String> {
    let remedy = "give a stream (eus, stable), or names of channels with commas between";
    via(text).map(|_| text.to_owned()).ok_or_else(|| remedy.to_owned())
}

fn risks(text: &str) -> Result<String, String> {
    let remedy = "give never, unknown or accepted:NAME,…";
    RiskPolicy::read(text).map(|_| text.to_owned()).ok_or_else(|| remedy.to_owned())
}
