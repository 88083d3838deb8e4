//! Graphs as a service answered them, one file per channel: the releases of a file are in its
//! channel.
//!
//! Such a file has no edges that were not offered, so it says nothing about blocks. If two files
//! disagree about an edge between releases that both hold, it counts as offered, with the risks of
//! both.

use std::path::Path;

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{ChannelName, ChannelSpec, Graph, GraphData, Releases};

use crate::SourceFile;
use crate::graph::explain::text::listed;
use crate::graph::releases;

/// Where a service names the channels of a release.
const CHANNELS_KEY: &str = "io.openshift.upgrades.graph.release.channels";

/// The graph of some files, each `CHANNEL.json` or `CHANNEL@DATE.json`, or else of the one channel that all its releases name.
pub fn read_graphs(files: &[SourceFile]) -> Result<Graph, Vec<Finding>> {
    let (mut data, mut all) = (GraphData::default(), Releases::default());
    for file in files {
        let place = Place::file(file.path.as_str());
        let (read, _) = releases::read(&place, &file.bytes)?;
        let name = channel(&file.path, &read).map_err(|known| vec![nameless(&place, &known)])?;
        let members = releases::members(&read, &place).collect();
        data.channels.push(ChannelSpec {
            name,
            rings: Vec::new(),
            rollouts: Vec::new(),
            members,
            origin: place.clone(),
        });
        append(&mut all, read);
    }
    data.channels.sort_by(|a, b| a.name.cmp(&b.name));
    match data
        .channels
        .windows(2)
        .find(|pair| pair[0].name == pair[1].name)
    {
        Some(pair) => Err(vec![twice(&pair[1])]),
        None => Ok(Graph::build(data, all).0),
    }
}

/// The channel after which a file is named, unless its releases say that they are not in it; then the only one that all of them name.
/// A name that merely could be a channel's makes none: `releases.json` has releases of many. The error has those that it may be.
fn channel(path: &str, read: &Releases) -> Result<ChannelName, Vec<ChannelName>> {
    let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str());
    let named = stem.and_then(|stem| ChannelName::new(stem.split('@').next()?));
    let lists: Vec<&str> = read
        .releases
        .iter()
        .filter_map(|one| Some(one.metadata.get(CHANNELS_KEY)?.as_str()))
        .collect();
    let in_all = |name: &str| {
        lists
            .iter()
            .all(|list| list.split(',').any(|listed| listed == name))
    };
    let is_told = |name: &ChannelName| match lists.is_empty() {
        true => name.has_version(),
        false => in_all(name.as_str()),
    };
    if let Some(name) = named.filter(is_told) {
        return Ok(name);
    }
    let first = lists.first().into_iter().flat_map(|list| list.split(','));
    let common = first.filter(|name| in_all(name));
    let common: Vec<ChannelName> = common.filter_map(ChannelName::new).collect();
    match <[ChannelName; 1]>::try_from(common) {
        Ok([only]) => Ok(only),
        Err(common) => Err(common),
    }
}

fn append(all: &mut Releases, read: Releases) {
    let offset = all.releases.len() as u32;
    all.releases.extend(read.releases);
    all.edges.extend(read.edges.into_iter().map(|mut edge| {
        (edge.from, edge.to) = (edge.from + offset, edge.to + offset);
        edge
    }));
}

fn nameless(place: &Place, known: &[ChannelName]) -> Finding {
    let (problem, example) = match known {
        [] => (
            "neither its name nor its releases say which channel it is of".to_owned(),
            "stable-4.20",
        ),
        [first, ..] => (
            format!(
                "its releases are in {}, and its name does not say which is meant",
                listed(known.iter().map(ChannelName::as_str))
            ),
            first.as_str(),
        ),
    };
    let remedy = format!(
        "name the file after its channel, as in {example}.json; for a file of releases, use --releases with --graph-data"
    );
    Finding::error("no-channel", place.clone(), problem, remedy)
}

fn twice(spec: &ChannelSpec) -> Finding {
    let problem = format!("{} is the channel of two files", spec.name);
    Finding::error(
        "channel-twice",
        spec.origin.clone(),
        problem,
        "give one of them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, channels: &str) -> SourceFile {
        let node = |version: &str| {
            format!(
                r#"{{"version":"{version}","payload":"p{version}","metadata":{{"{CHANNELS_KEY}":"{channels}"}}}}"#
            )
        };
        let text = format!(
            r#"{{"nodes":[{},{}],"edges":[[0,1]]}}"#,
            node("4.9.1"),
            node("4.9.2")
        );
        SourceFile {
            path: path.into(),
            bytes: text.into_bytes().into(),
        }
    }

    fn channels(files: &[SourceFile]) -> Vec<String> {
        read_graphs(files)
            .unwrap()
            .channels()
            .keys()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_file_is_named_after_its_channel() {
        let both = "fast-4.9,stable-4.9";
        assert_eq!(
            channels(&[file("x/stable-4.9@2021-01-12.json", both)]),
            ["stable-4.9"]
        );
        assert_eq!(
            channels(&[file("fast-4.9.json", both), file("stable-4.9.json", both)]),
            ["fast-4.9", "stable-4.9"]
        );
        let one = "fast-4.9";
        assert_eq!(channels(&[file("download.json", one)]), ["fast-4.9"]);
        let wrong = read_graphs(&[file("download.json", both)]).unwrap_err();
        assert_eq!(
            wrong[0].problem,
            "its releases are in fast-4.9, stable-4.9, and its name does not say which is meant"
        );
        let wrong = read_graphs(&[file("GRAPH.json", "")]).unwrap_err();
        assert!(
            wrong[0].problem.starts_with("neither its name"),
            "{wrong:?}"
        );
        let wrong = read_graphs(&[file("a/fast-4.9.json", both), file("b/fast-4.9.json", both)])
            .unwrap_err();
        assert_eq!(wrong[0].code, "channel-twice");
    }

    #[test]
    fn a_file_of_releases_is_no_channel() {
        let releases = |path: &str| {
            let text = r#"{"nodes":[{"version":"4.9.1","payload":"p"}],"edges":[]}"#;
            read_graphs(&[SourceFile::new(path, text.as_bytes())])
        };
        let wrong = releases("releases.json").unwrap_err();
        assert_eq!(wrong[0].code, "no-channel");
        assert!(
            wrong[0].remedy.contains("as in stable-4.20.json"),
            "{wrong:?}"
        );
        assert!(releases("stable-4.9.json").is_ok());
    }
}
