//! One release as its source declares it, as text and as JSON.

use serde_json::{Value, json};
use towpath_core::graph::{DeclaredEdge, DeclaredRelease, Graph, Releases};
use towpath_core::version::{Arch, Version};

/// Lists of versions are broken before this column.
const WIDTH: usize = 100;
/// What stands at the left.
const LABEL: usize = 10;

/// Which releases are asked about, and what there is to look in.
pub struct ReleaseQuestion<'a> {
    pub version: &'a Version,
    /// Only that of this architecture.
    pub arch: Option<&'a str>,
    pub releases: &'a Releases,
    /// None if there is no graph data to say which channels hold it.
    pub graph: Option<&'a Graph>,
}

/// A release, and what is around it.
pub struct ShownRelease<'a> {
    release: &'a DeclaredRelease,
    from: Vec<Neighbour<'a>>,
    to: Vec<Neighbour<'a>>,
    channels: Option<Vec<String>>,
}

/// A release at the other end of an edge, and the risks that the source attaches to it.
struct Neighbour<'a> {
    version: &'a Version,
    risks: Vec<&'a str>,
}

impl<'a> ReleaseQuestion<'a> {
    /// What is declared, by architecture.
    pub fn answer(&self) -> Vec<ShownRelease<'a>> {
        let is_meant = |release: &DeclaredRelease| {
            let arch = self.arch.is_none_or(|arch| arch == release.arch.as_str());
            release.version == *self.version && arch
        };
        let mut shown: Vec<ShownRelease<'a>> = (0_u32..)
            .zip(&self.releases.releases)
            .filter(|(_, release)| is_meant(release))
            .map(|(number, release)| ShownRelease::new(number, release, self.releases, self.graph))
            .collect();
        shown.sort_by_key(|shown| &shown.release.arch);
        shown
    }

    pub fn text(&self, shown: &[ShownRelease<'_>]) -> String {
        match shown {
            [] => self.nothing(),
            shown => {
                let texts: Vec<String> = shown.iter().map(ShownRelease::text).collect();
                texts.join("\n")
            }
        }
    }

    fn nothing(&self) -> String {
        let all = self.releases.releases.iter().map(|one| &one.version);
        let newest = all.filter(|version| version.same_minor(self.version)).max();
        let there = newest.map_or_else(String::new, |newest| {
            format!(
                "; the newest of {}.{} is {newest}",
                newest.major(),
                newest.minor()
            )
        });
        let arch = self
            .arch
            .map_or_else(String::new, |arch| format!(" of {arch}"));
        format!("there is no release {}{arch}{there}\n", self.version)
    }
}

pub fn json(shown: &[ShownRelease<'_>]) -> Value {
    json!({"releases": shown.iter().map(ShownRelease::json).collect::<Vec<_>>()})
}

impl<'a> ShownRelease<'a> {
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
