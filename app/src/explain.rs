//! `towpath explain`: why an update is, or is not, offered to a cluster, and when it will be.

use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;
use towpath_core::cluster::{Cluster, ClusterId, Fact, Groups, Platform};
use towpath_core::graph::{ChannelName, ReleaseStanding, Situation, explain as explained};
use towpath_core::version::{Arch, Version};
use towpath_formats::graph::explain::{ExplainReport, json, text};

use crate::cli::print;
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::minors::MinorsArgs;
use crate::output::{Output, OutputArgs};
use crate::server::{Server, ServerArgs, query};
use crate::sources::{Needs, Sources};
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The channel that the cluster follows.
    #[arg(long, value_name = "NAME")]
    channel: String,
    /// The release that the cluster runs.
    #[arg(long, value_name = "VERSION")]
    from: Version,
    /// Only this target: exit 0 if it is offered, 1 if not.
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// The cluster's id.
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// What the cluster runs on: AWS, BareMetal, …
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// The cluster's sector, if files are asked: it may put the cluster into a ring. A service knows it by the id.
    #[arg(long, value_name = "NAME")]
    sector: Option<String>,
    /// A label of the cluster, if files are asked: it may put the cluster into a ring. May be given more than once.
    #[arg(long = "label", value_name = "NAME=VALUE")]
    labels: Vec<String>,
    /// The architecture of its payload.
    #[arg(long, default_value = Arch::DEFAULT, value_name = "ARCH")]
    arch: String,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What an explanation comes to.
struct Explained {
    /// Whether the release that the cluster runs is in the channel: else there is nothing to explain.
    is_in_channel: bool,
    is_offered: bool,
}

/// Explains, from files or from a service. Exit 0: the release is in the channel, and the one that was asked about is offered.
pub(crate) fn explain(args: ExplainArgs) -> anyhow::Result<bool> {
    let cluster = args.cluster()?;
    if args.server.given().is_some() && args.is_sorted() {
        bail!(
            "a service knows sectors and labels itself: leave out --sector and --label, and give --id"
        );
    }
    let found = match args.server.given() {
        Some(server) => args.ask(&server, args.now.given())?,
        None => args.look(&cluster, args.now.at())?,
    };
    if args.output.form == Output::Text
        && let Some(command) = args.way_command(std::env::args())
    {
        print(&format!("\nThis finds the way:\n\n  {command}\n"))?;
    }
    Ok(found.is_in_channel && (found.is_offered || args.to.is_none()))
}

impl ExplainArgs {
    fn cluster(&self) -> anyhow::Result<Cluster> {
        let id = self
            .id
            .as_deref()
            .map(|id| ClusterId::new(id).with_context(|| format!("--id {id:?} is not an id")));
        let platform = self.platform.as_deref().map(|name| {
            Platform::new(name)
                .with_context(|| format!("--platform {name:?} is not the name of a platform"))
        });
        let channel = ChannelName::new(&self.channel);
        Ok(Cluster {
            id: Fact::from(id.transpose()?),
            platform: Fact::from(platform.transpose()?),
            channel: channel.with_context(|| {
                format!("--channel {:?} cannot be a channel's name", self.channel)
            })?,
            groups: self.groups()?,
            arch: Arch::new(&*self.arch),
        })
    }

    fn is_sorted(&self) -> bool {
        self.sector.is_some() || !self.labels.is_empty()
    }

    /// How the cluster is sorted. Whoever says a part of it says all of it.
    fn groups(&self) -> anyhow::Result<Fact<Arc<Groups>>> {
        if !self.is_sorted() {
            return Ok(Fact::Unknown);
        }
        let mut groups = Groups {
            sector: self.sector.as_deref().map(Into::into),
            ..Groups::default()
        };
        for label in &self.labels {
            let (name, value) = label
                .split_once('=')
                .with_context(|| format!("--label {label:?} is not NAME=VALUE"))?;
            if groups
                .labels
                .insert(name.to_owned(), value.to_owned())
                .is_some()
            {
                bail!("--label {name} is given twice");
            }
        }
        Ok(Fact::Known(Arc::new(groups)))
    }

    /// Looks at files.
    fn look(&self, cluster: &Cluster, now: Timestamp) -> anyhow::Result<Explained> {
        let settings = self.sources.settings(Needs::GraphDataAndReleases, None)?;
        let sources = Sources::read(settings, now)?;
        let graph = sources.graph()?;
        let at = Situation {
            graph: &graph,
            cluster,
            now,
        };
        let minors = self.minors.read()?;
        let explanation = explained(&at, &self.from, self.to.as_ref(), &minors, &[]);
        let told = ExplainReport {
            at: &at,
            from: &self.from,
            explanation: &explanation,
        };
        self.output
            .print(sources.origin(), || text(&told, room()), || json(&told))?;
        let mut candidates = explanation.candidates.iter();
        Ok(Explained {
            is_in_channel: explanation.standing == ReleaseStanding::InChannel,
            is_offered: candidates.any(|candidate| candidate.verdict.is_offered()),
        })
    }

    /// Asks a service.
    fn ask(&self, server: &Server<'_>, now: Option<Timestamp>) -> anyhow::Result<Explained> {
        let facts = server.print(self.output.form.word(), |form| self.target(now, form))?;
        let candidates = facts["candidates"]
            .as_array()
            .context("the service's answer has no candidates")?;
        let mut candidates = candidates.iter();
        Ok(Explained {
            is_in_channel: facts["standing"] == "inChannel",
            is_offered: candidates.any(|candidate| candidate["offered"] == true),
        })
    }

    /// The command that finds the way, where the update that was asked about skips a minor version. It asks the same sources
    /// about the same cluster, so it has all other flags of this command line.
    fn way_command(&self, typed: impl Iterator<Item = String>) -> Option<String> {
        let to = self.to.as_ref()?;
        self.minors.read().ok()?.left_out(&self.from, to)?;
        let stream = ChannelName::new(&self.channel)?.stream().to_owned();
        let mut words = ["towpath", "path"].map(str::to_owned).to_vec();
        words.extend([
            self.from.to_string(),
            to.to_string(),
            "--via".into(),
            stream,
        ]);
        let mut typed = typed.skip(2);
        while let Some(word) = typed.next() {
            let flag = word.split('=').next().unwrap_or_default();
            match [
                "--channel",
                "--from",
                "--to",
                "--output",
                "-o",
                "--sector",
                "--label",
            ]
            .contains(&flag)
            {
                true if word.contains('=') => {}
                true => drop(typed.next()),
                false => words.push(quoted(&word)),
            }
        }
        Some(words.join(" "))
    }

    fn target(&self, now: Option<Timestamp>, form: &str) -> String {
        let given = [
            ("channel", Some(self.channel.clone())),
            ("from", Some(self.from.to_string())),
            ("to", self.to.as_ref().map(ToString::to_string)),
            ("id", self.id.clone()),
            ("platform", self.platform.clone()),
            ("arch", Some(self.arch.clone())),
            ("now", now.map(|now| now.to_string())),
            ("format", Some(form.to_owned())),
        ];
        format!("/api/v1/explain?{}", query(given))
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: ExplainArgs,
    }

    fn way(typed: &str) -> Option<String> {
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        let Typed { args } = Typed::parse_from(&words[1..]);
        args.way_command(words.into_iter())
    }

    #[test]
    fn where_a_minor_version_is_skipped_the_way_is_asked_of_the_same_sources() {
        let typed = "towpath explain --channel=eus-4.16 --from 4.14.16 --to 4.16.30 --graph-data my;data --releases r.json -o text --platform AWS";
        let command = "towpath path 4.14.16 4.16.30 --via eus --graph-data 'my;data' --releases r.json --platform AWS";
        assert_eq!(way(typed).as_deref(), Some(command));
        assert_eq!(
            way("towpath explain --channel eus-4.16 --from 4.15.1 --to 4.16.30"),
            None
        );
    }
}
