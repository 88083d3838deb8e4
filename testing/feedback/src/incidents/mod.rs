//! The real incidents: the named risks of the public graph data, from the folder of the real data.
//!
//! Of each it says which release was on offer first, when that entered stable, when the risk was declared, whom it names, and from
//! which releases clusters came. Nothing of it is made up; what the files do not say is left open.

mod csv;
mod named;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::graph::Pattern;
use towpath_core::version::{Minor, Version};

pub use named::NamedClass;

/// A named risk.
#[derive(Debug, Clone)]
pub struct Incident {
    pub name: String,
    /// The first release with it that stable clusters were offered before it was declared; else the first that it was declared for.
    pub release: Version,
    /// When that entered a stable channel, if it did before the risk was declared.
    pub entered: Option<Timestamp>,
    /// When the risk was declared for this release.
    pub declared: Timestamp,
    /// The releases that it is about.
    pub from: Pattern,
    pub named: NamedClass,
    /// Releases with an edge to it that were there when it was declared, or that the pattern finds, oldest first.
    pub from_releases: Vec<Version>,
}

/// Which release entered which channel when.
struct Entries {
    stable: BTreeMap<Version, Timestamp>,
    any: BTreeMap<Version, Timestamp>,
}

/// A block's file of a named risk.
#[derive(Debug, Clone)]
struct Declared {
    at: Timestamp,
    file: String,
    to: Version,
    name: String,
    from: String,
    kinds: String,
}

/// All of them, by name.
pub fn incidents(real_data: &Path) -> Result<Vec<Incident>, String> {
    let read = |path: &str| {
        let path = real_data.join(path);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let entries = entries(&read("graph-data-history/channel-entries.csv")?)?;
    let declared = declared(&read("graph-data-history/blocks.csv")?)?;
    let edges = edges(&read("releases-amd64.json")?)?;
    let mut by_name: BTreeMap<&str, Vec<&Declared>> = BTreeMap::new();
    for one in &declared {
        by_name.entry(&one.name).or_default().push(one);
    }
    let files = real_data.join("graph-data/blocked-edges");
    let incident = |(_, all): (&str, Vec<&Declared>)| incident(&all, &entries, &edges, &files);
    by_name.into_iter().map(incident).collect()
}

fn incident(
    all: &[&Declared],
    entries: &Entries,
    edges: &BTreeMap<Version, BTreeSet<Version>>,
    files: &Path,
) -> Result<Incident, String> {
    let entered = |one: &Declared| {
        entries
            .stable
            .get(&one.to)
            .copied()
            .filter(|at| *at < one.at)
    };
    let offered = all
        .iter()
        .filter_map(|one| Some((entered(one)?, &one.to, *one)));
    let first = offered.min_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
    let declared_first = || all.iter().min_by(|a, b| (a.at, &a.to).cmp(&(b.at, &b.to)));
    let one = first.map(|(_, _, one)| one).or(declared_first().copied());
    let one = one.ok_or("a risk without a block")?;
    // One pattern of the history has a comment behind it.
    let text = one.from.split(" #").next().unwrap_or_default();
    let from = Pattern::new(text).map_err(|error| format!("{}: {error}", one.file))?;
    let read = |one: &&Declared| fs::read_to_string(files.join(&one.file)).ok();
    let text = all.iter().rev().find_map(read);
    Ok(Incident {
        name: one.name.clone(),
        release: one.to.clone(),
        entered: entered(one),
        declared: one.at,
        named: match text {
            Some(text) => NamedClass::of_file(&text),
            None => NamedClass::of_kinds(&one.kinds),
        },
        from_releases: from_releases(one, &from, entries, edges),
        from,
    })
}

fn from_releases(
    one: &Declared,
    from: &Pattern,
    entries: &Entries,
    edges: &BTreeMap<Version, BTreeSet<Version>>,
) -> Vec<Version> {
    let of_stable = entries.stable.get(&one.to).is_some_and(|at| *at < one.at);
    let entries = if of_stable {
        &entries.stable
    } else {
        &entries.any
    };
    let there = |version: &&Version| entries.get(version).is_some_and(|at| *at <= one.at);
    let found = |version: &&Version| from.finds(&format!("{version}+amd64"));
    let all: Vec<&Version> = edges.get(&one.to).into_iter().flatten().collect();
    let mut releases: Vec<Version> = all.iter().copied().filter(there).cloned().collect();
    if !releases.iter().any(|version| found(&version)) {
        releases.extend(all.into_iter().filter(found).cloned());
        releases.sort();
        releases.dedup();
    }
    releases
}

impl Incident {
    /// From which releases how many clusters come: a fifth from the minor version before, and of each minor version half from its
    /// newest three.
    pub fn weights(&self) -> Vec<(Version, u64)> {
        let own = Minor::of(&self.release);
        let (here, before): (Vec<&Version>, Vec<&Version>) = self
            .from_releases
            .iter()
            .partition(|version| Minor::of(version) == own);
        let of = |releases: &[&Version], weight: u64| {
            let newest = releases.len().saturating_sub(3);
            let half = |count: usize| weight / 2 / (count.max(1) as u64);
            let one = |(number, version): (usize, &&Version)| {
                let extra = if number >= newest {
                    half(releases.len() - newest)
                } else {
                    0
                };
                ((*version).clone(), half(releases.len()) + extra)
            };
            releases.iter().enumerate().map(one).collect::<Vec<_>>()
        };
        [of(&here, 4_000_000), of(&before, 1_000_000)].concat()
    }
}

fn entries(text: &str) -> Result<Entries, String> {
    let mut entries = Entries {
        stable: BTreeMap::new(),
        any: BTreeMap::new(),
    };
    for row in csv::rows(text)? {
        let Ok(version) = row["version"].parse::<Version>() else {
            continue;
        };
        let at = time(&row["entered"])?;
        let mut maps = vec![&mut entries.any];
        if row["channel"].starts_with("stable-") {
            maps.push(&mut entries.stable);
        }
        for map in maps {
            let first = map.entry(version.clone()).or_insert(at);
            *first = at.min(*first);
        }
    }
    Ok(entries)
}

fn declared(text: &str) -> Result<Vec<Declared>, String> {
    let rows = csv::rows(text)?;
    let named = rows.into_iter().filter(|row| !row["name"].is_empty());
    let declared = named.map(|mut row| {
        let mut take = |name: &str| row.remove(name).unwrap_or_default();
        let to = take("to");
        Ok(Declared {
            at: time(&take("declared"))?,
            to: to.parse().map_err(|_| format!("{to} is no version"))?,
            file: take("file"),
            name: take("name"),
            from: take("from"),
            kinds: take("kind"),
        })
    });
    declared.collect()
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

/// The releases with an edge into each.
fn edges(text: &str) -> Result<BTreeMap<Version, BTreeSet<Version>>, String> {
    let graph: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let nodes = graph["nodes"].as_array().ok_or("no nodes")?;
    let version = |node: &Value| {
        let text = node["version"].as_str()?;
        text.split('+').next()?.parse::<Version>().ok()
    };
    let versions: Vec<Option<Version>> = nodes.iter().map(version).collect();
    let mut edges: BTreeMap<Version, BTreeSet<Version>> = BTreeMap::new();
    for edge in graph["edges"].as_array().ok_or("no edges")? {
        let end = |place: usize| versions.get(edge[place].as_u64()? as usize)?.clone();
        if let (Some(from), Some(to)) = (end(0), end(1)) {
            edges.entry(to).or_default().insert(from);
        }
    }
    Ok(edges)
}
