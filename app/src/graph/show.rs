//! `towpath graph show`: releases and updates of channels, as a cluster sees them; as text, for machines, or as a drawing.

use anyhow::{Context, anyhow};
use clap::Args;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::graph::ChannelName;
use towpath_core::path::Asker;
use towpath_core::picture::{ChannelChoice, PictureRequest, picture};
use towpath_core::version::Arch;
use towpath_formats::picture::{ChannelsReport, PictureReport, json, text, undrawn};

use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::minors::MinorsArgs;
use crate::output::{OutputArgs, PictureOutput};
use crate::server::{Server, ServerArgs, query};
use crate::sources::{Needs, Sources};
use crate::terminal::room;

#[derive(Debug, Args)]
pub(crate) struct ShowGraphArgs {
    /// The channels to show together; '*' for all. Without any, lists the channels there are.
    #[arg(value_name = "CHANNEL")]
    channels: Vec<String>,
    /// The cluster's id. A rollout reaches each cluster at its own time.
    #[arg(long, value_name = "UUID")]
    id: Option<String>,
    /// What the cluster runs on: AWS, BareMetal, …
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// The architecture of its payload. [default: amd64; in a list of channels, all]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    minors: MinorsArgs,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    output: OutputArgs<PictureOutput>,
}

const ALL: &str = "*";

pub(super) fn show(args: &ShowGraphArgs) -> anyhow::Result<bool> {
    let is_list = args.channels.is_empty();
    if is_list && args.output.form.pen().is_some() {
        return Err(anyhow!("name the channels to draw; '*' draws all"));
    }
    match (args.server.given(), is_list) {
        (Some(server), _) => args.ask(&server)?,
        (None, true) => args.list()?,
        (None, false) => args.draw()?,
    }
    Ok(true)
}

impl ShowGraphArgs {
    /// The channels there are.
    fn list(&self) -> anyhow::Result<()> {
        let now = self.now.at();
        let sources = self.sources()?;
        let graph = sources.graph()?;
        let arch = self.arch.as_deref().map(Arch::new);
        let report = ChannelsReport::of(&graph, arch.as_ref(), now)
            .with_context(|| format!("there is no release for {}", self.arch_word()))?;
        let (text, json) = (|| report.text(room()), || report.json());
        self.output
            .print(sources.origin(), text, json, |_| String::new())
    }

    fn draw(&self) -> anyhow::Result<()> {
        let (asker, now) = (self.asker()?, self.now.at());
        let names = self.names()?;
        let sources = self.sources()?;
        let (graph, minors) = (sources.graph()?, self.minors.read()?);
        let request = PictureRequest {
            channels: names
                .as_deref()
                .map_or(ChannelChoice::All, ChannelChoice::Named),
            asker: &asker,
            minors: &minors,
            more: &[],
            now,
        };
        let picture = picture(&graph, &request).map_err(|why| anyhow!(undrawn(&why)))?;
        let told = PictureReport {
            graph: &graph,
            asker: &asker,
            now,
            picture: &picture,
        };
        let (text, json) = (|| text(&told, room()), || json(&told));
        self.output
            .print(sources.origin(), text, json, |pen| pen.of_picture(&told))
    }

    fn sources(&self) -> anyhow::Result<Sources> {
        let settings = self.sources.settings(Needs::GraphDataAndReleases, None)?;
        Sources::read(settings, self.now.at())
    }

    fn asker(&self) -> anyhow::Result<Asker> {
        let id = self
            .id
            .as_deref()
            .map(|id| ClusterId::new(id).with_context(|| format!("--id {id:?} is not an id")));
        let platform = self.platform.as_deref().map(|name| {
            Platform::new(name)
                .with_context(|| format!("--platform {name:?} is not the name of a platform"))
        });
        Ok(Asker {
            id: Fact::from(id.transpose()?),
            platform: Fact::from(platform.transpose()?),
            groups: Fact::Unknown,
            arch: Arch::new(self.arch_word()),
        })
    }

    fn arch_word(&self) -> &str {
        self.arch.as_deref().unwrap_or(Arch::DEFAULT)
    }

    /// The channels that were named; none for all.
    fn names(&self) -> anyhow::Result<Option<Vec<ChannelName>>> {
        if self.channels == [ALL] {
            return Ok(None);
        }
        let name = |text: &String| {
            ChannelName::new(text).with_context(|| format!("{text:?} cannot be a channel's name"))
        };
        self.channels
            .iter()
            .map(name)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Asks a service.
    fn ask(&self, server: &Server<'_>) -> anyhow::Result<()> {
        let now = self.now.given().map(|now| now.to_string());
        let question = |form: &str| {
            let form = ("format", Some(form.to_owned()));
            let now = ("now", now.clone());
            match self.channels.as_slice() {
                [] => {
                    let words = [("arch", self.arch.clone()), now, form];
                    format!("/api/v1/channels?{}", query(words))
                }
                channels => {
                    let words = [
                        ("channel", Some(channels.join(","))),
                        ("arch", self.arch.clone()),
                        ("id", self.id.clone()),
                        ("platform", self.platform.clone()),
                        now,
                        form,
                    ];
                    format!("/api/v1/graph?{}", query(words))
                }
            }
        };
        server.print(self.output.form.word(), question).map(drop)
    }
}
