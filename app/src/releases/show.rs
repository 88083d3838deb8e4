//! `towpath releases show`: one release, as its source declares it.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use towpath_core::graph::{DeclaredEdge, DeclaredRelease, Graph, Releases};
use towpath_core::version::{Arch, Version};

use crate::cli::print;
use crate::clock::NowArgs;
use crate::config::SourceArgs;
use crate::output::{Output, OutputArgs};
use crate::sources::{Needs, Sources};

/// Lists of versions are broken before this column.
const WIDTH: usize = 100;
/// What stands at the left.
const LABEL: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The release.
    #[arg(value_name = "VERSION")]
    release: Version,
    /// Only that of this architecture. [default: all]
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    now: NowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// A release, and what is around it.
struct Shown<'a> {
    release: &'a DeclaredRelease,
    from: Vec<Neighbour<'a>>,
    to: Vec<Neighbour<'a>>,
    /// None if there is no graph data to say.
    channels: Option<Vec<String>>,
}

/// A release at the other end of an edge, and the risks that the source attaches to it.
struct Neighbour<'a> {
    version: &'a Version,
    risks: Vec<&'a str>,
}

pub(super) fn show(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let settings = args.sources.settings(Needs::Releases, None)?;
    let knows_channels = settings.graph_data().is_some() || settings.has_upstream();
    let sources = Sources::read(settings, args.now.at())?;
    let releases = sources.releases()?.unwrap_or_default();
    let graph = knows_channels.then(|| sources.graph()).transpose()?;
    let is_meant = |release: &DeclaredRelease| {
        release.version == args.release
            && args
                .arch
                .as_deref()
                .is_none_or(|arch| arch == release.arch.as_str())
    };
    let mut shown: Vec<Shown<'_>> = (0_u32..)
        .zip(&releases.releases)
        .filter(|(_, release)| is_meant(release))
        .map(|(number, release)| Shown::new(number, release, &releases, graph.as_ref()))
        .collect();
    shown.sort_by_key(|shown| &shown.release.arch);
    print(&match args.output.form {
        Output::Text if shown.is_empty() => format!("{}\n", args.nothing(&releases)),
        Output::Text => shown.iter().map(Shown::text).collect::<Vec<_>>().join("\n"),
        Output::Json => {
            let releases: Vec<Value> = shown.iter().map(Shown::json).collect();
            sources.origin().mark(json!({"releases": releases}))
        }
    })?;
    Ok(if shown.is_empty() {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

impl ShowArgs {
    fn nothing(&self, releases: &Releases) -> String {
        let of_minor = |release: &&DeclaredRelease| release.version.same_minor(&self.release);
        let newest = releases
            .releases
            .iter()
            .filter(of_minor)
            .map(|release| &release.version)
            .max();
        let there = newest.map_or_else(String::new, |newest| {
            format!(
                "; the newest of {}.{} is {newest}",
                newest.major(),
                newest.minor()
            )
        });
        let arch = self
            .arch
            .as_deref()
            .map_or_else(String::new, |arch| format!(" of {arch}"));
        format!("there is no release {}{arch}{there}", self.release)
    }
}

impl<'a> Shown<'a> {
    fn new(
        number: u32,
        release: &'a DeclaredRelease,
        releases: &'a Releases,
        graph: Option<&Graph>,
    ) -> Self {
        let neighbour = |edge: &'a DeclaredEdge, at: u32| Neighbour {
            version: &releases.releases[at as usize].version,
            risks: edge
                .risks
                .iter()
                .flat_map(|risks| risks.iter())
                .map(|risk| risk.name.as_str())
                .collect(),
        };
        let edges = || releases.edges.iter();
        let mut from: Vec<_> = edges()
            .filter(|edge| edge.to == number)
            .map(|edge| neighbour(edge, edge.from))
            .collect();
        let mut to: Vec<_> = edges()
            .filter(|edge| edge.from == number)
            .map(|edge| neighbour(edge, edge.to))
            .collect();
        from.sort_by_key(|one| one.version);
        to.sort_by_key(|one| one.version);
        let channels = graph.map(|graph| channels(graph, &release.version, &release.arch));
        Self {
            release,
            from,
            to,
            channels,
        }
    }

    fn text(&self) -> String {
        let release = self.release;
        let mut text = format!("{} {}\n", release.version, release.arch);
        let mut line = |label: &str, value: &str| {
            text += &format!("  {label:<width$} {value}\n", width = LABEL - 1)
        };
        line("payload", &release.payload);
        release
            .metadata
            .iter()
            .for_each(|(key, value)| line(key, value));
        if let Some(channels) = &self.channels {
            line("channels", &listed(channels.clone(), "none"));
        }
        line(
            "from",
            &listed(self.from.iter().map(Neighbour::text).collect(), "nothing"),
        );
        line(
            "to",
            &listed(self.to.iter().map(Neighbour::text).collect(), "nothing"),
        );
        text
    }

    fn json(&self) -> Value {
        let release = self.release;
        let edges = |edges: &[Neighbour<'_>]| edges.iter().map(Neighbour::json).collect::<Vec<_>>();
        json!({
            "version": release.version.to_string(),
            "arch": release.arch.as_str(),
            "payload": release.payload,
            "metadata": release.metadata,
            "channels": self.channels,
            "from": edges(&self.from),
            "to": edges(&self.to),
        })
    }
}

impl Neighbour<'_> {
    fn text(&self) -> String {
        match self.risks.as_slice() {
            [] => self.version.to_string(),
            risks => format!("{} (risks: {})", self.version, risks.join(" ")),
        }
    }

    fn json(&self) -> Value {
        json!({"version": self.version.to_string(), "risks": self.risks})
    }
}

fn channels(graph: &Graph, version: &Version, arch: &Arch) -> Vec<String> {
    let id = graph.find(version, arch);
    id.map(|id| {
        graph
            .release(id)
            .channels
            .iter()
            .map(|(name, _)| name.to_string())
            .collect()
    })
    .unwrap_or_default()
}

/// Items behind commas, over as many lines as it takes.
fn listed(items: Vec<String>, nothing: &str) -> String {
    let (mut text, mut column) = (String::new(), 2 + LABEL);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            let breaks = column + 2 + item.len() > WIDTH;
            text += &if breaks {
                format!(",\n{}", " ".repeat(2 + LABEL))
            } else {
                ", ".to_owned()
            };
            column = if breaks { 2 + LABEL } else { column + 2 };
        }
        text += item;
        column += item.len();
    }
    if items.is_empty() {
        nothing.to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn long_lists_are_broken_and_stay_within_the_width() {
        assert_eq!(listed(vec![], "nothing"), "nothing");
        let text = format!(
            "  {:<10}{}",
            "from",
            listed((0..40).map(|patch| format!("4.12.{patch}")).collect(), "")
        );
        assert!(
            text.lines().count() == 4 && text.lines().all(|line| line.len() <= 101),
            "{text}"
        );
        assert_eq!(text.matches("4.12.").count(), 40);
    }
}
