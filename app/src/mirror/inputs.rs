//! What was asked for, from flags and files: who, where to, through which channels. What cannot be understood is an error, never a shorter list.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use towpath_core::domain::{Arch, ChannelName, Fact, Graph, Platform, Version};
use towpath_core::finding::{Finding, Place};
use towpath_core::plan::mirror::{Have, Traveller};
use towpath_core::plan::ways::TakenRisks;
use towpath_formats::{SourceFile, cluster_list, mirror};
use towpath_sources::read_file;

use crate::example;

/// The largest list of what is there that we read.
const MAX_HAVE_BYTES: u64 = 256 << 20;
/// The stream where nobody names one.
const USUAL_STREAM: &str = "stable";

/// Who has to get there, and the streams that they follow.
pub(super) struct Who {
    pub(super) travellers: Vec<Traveller>,
    streams: BTreeSet<String>,
}

impl Who {
    /// One cluster.
    pub(super) fn one(version: Version, arch: Arch) -> Self {
        let travellers = vec![Traveller { arch, version, name: String::new() }];
        Self { travellers, streams: [USUAL_STREAM.to_owned()].into() }
    }

    /// All clusters of a list, or of the example's; only those of an architecture if one is named.
    pub(super) fn listed(file: Option<&Path>, arch: Option<&Arch>, now: Timestamp) -> anyhow::Result<Self> {
        let file = match file {
            None => example::clusters(),
            Some(path) => {
                let bytes = read_file(path, cluster_list::MAX_BYTES as u64).map_err(|finding| anyhow!("{finding}"))?;
                SourceFile { path: path.display().to_string(), bytes: bytes.into() }
            }
        };
        let (list, findings) = cluster_list::read(&Place::file(file.path.as_str()), &file.bytes, now);
        wrong(&findings)?;
        let clusters = list.clusters.into_iter().filter(|cluster| arch.is_none_or(|arch| cluster.arch == *arch));
        let (mut travellers, mut streams) = (Vec::new(), BTreeSet::new());
        for cluster in clusters {
            streams.insert(cluster.channel.as_ref().map_or(USUAL_STREAM, |channel| stream(channel)).to_owned());
            travellers.push(Traveller { arch: cluster.arch, version: cluster.version, name: cluster.name.to_string() });
        }
        if travellers.is_empty() {
            bail!("{}: there are no clusters to get anywhere; list some, or name another --arch", file.path);
        }
        travellers.sort();
        Ok(Self { travellers, streams })
    }
}

/// The `eus` of `eus-4.14`.
fn stream(channel: &ChannelName) -> &str {
    let name = channel.as_str();
    name.rsplit_once('-').map_or(name, |(stream, _)| stream)
}

/// The channels that are meant: each a name, or a stream of them. They are looked at together; their order says nothing.
pub(super) fn channels(graph: &Graph, via: &[String], who: &Who) -> anyhow::Result<Vec<ChannelName>> {
    let wanted: Vec<&String> = if via.is_empty() { who.streams.iter().collect() } else { via.iter().collect() };
    let mut channels = BTreeSet::new();
    for name in wanted {
        let is_meant = |channel: &&ChannelName| channel.as_str() == name || stream(channel) == name;
        let meant: Vec<&ChannelName> = graph.channels().keys().filter(is_meant).collect();
        if meant.is_empty() {
            let streams: BTreeSet<&str> = graph.channels().keys().map(stream).collect();
            let streams: Vec<&str> = streams.into_iter().collect();
            bail!(
                "there is no channel or stream {name:?}; there are the streams {}; name some with --via",
                streams.join(", ")
            );
        }
        channels.extend(meant.into_iter().cloned());
    }
    let mut channels: Vec<ChannelName> = channels.into_iter().collect();
    channels.sort_by(|a, b| a.display_order().cmp(&b.display_order()));
    Ok(channels)
}

/// Where to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Version(Version),
    /// The newest of a minor version.
    NewestOf(u64, u64),
    /// The newest of the channels.
    Newest,
}

impl Target {
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        if text == "newest" {
            return Ok(Self::Newest);
        }
        if let Ok(version) = text.parse() {
            return Ok(Self::Version(version));
        }
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let minor =
            text.split_once('.').and_then(|(major, minor)| Some(Self::NewestOf(number(major)?, number(minor)?)));
        minor.with_context(|| format!("{text:?} is no target; write a version, a minor version (4.20), or newest"))
    }

    /// The version that is meant: of the newest, the newest final release that the channels have for all architectures.
    pub(super) fn version(
        self,
        graph: &Graph,
        channels: &[ChannelName],
        who: &Who,
        now: Timestamp,
    ) -> anyhow::Result<Version> {
        let wanted = match self {
            Self::Version(version) => return Ok(version),
            Self::NewestOf(major, minor) => Some((major, minor)),
            Self::Newest => None,
        };
        let fits = |version: &&Version| {
            version.pre_release().is_empty() && wanted.is_none_or(|wanted| wanted == (version.major(), version.minor()))
        };
        let of_arch = |arch: &Arch| -> BTreeSet<&Version> {
            let channels = channels.iter().filter_map(|name| graph.channel(name.as_str()));
            let members = channels.flat_map(|channel| graph.members(channel, arch));
            let entered = members.filter(|(_, place)| place.start <= now);
            entered.map(|(id, _)| &graph.release(*id).version).filter(fits).collect()
        };
        let arches: BTreeSet<&Arch> = who.travellers.iter().map(|traveller| &traveller.arch).collect();
        let common = arches.into_iter().map(of_arch).reduce(|a, b| &a & &b).unwrap_or_default();
        let what = wanted.map_or_else(String::new, |(major, minor)| format!("{major}.{minor} "));
        common.last().map(|version| (*version).clone()).with_context(|| {
            format!("these channels have no final {what}release for all architectures; name a version, or other channels with --via")
        })
    }
}

/// Reads `never`, `unknown` or `accepted:NAME,…`.
pub(super) fn taken_risks(text: &str) -> Result<TakenRisks, String> {
    match text.split_once(':') {
        None if text == "never" => Ok(TakenRisks::Never),
        None if text == "unknown" => Ok(TakenRisks::Unknown),
        Some(("accepted", names)) if names.split(',').all(|name| !name.trim().is_empty()) => {
            Ok(TakenRisks::Accepted(names.split(',').map(|name| name.trim().to_owned()).collect()))
        }
        _ => Err("write never, unknown, or accepted:NAME,…".to_owned()),
    }
}

/// An architecture that there are releases for.
pub(super) fn arch(graph: &Graph, name: &str) -> anyhow::Result<Arch> {
    let known = graph.arches().find(|arch| arch.as_str() == name).cloned();
    known.with_context(|| {
        let known: Vec<&str> = graph.arches().map(Arch::as_str).collect();
        format!("there are no releases for {name}; there are for {}", known.join(", "))
    })
}

pub(super) fn platform(name: Option<&str>) -> anyhow::Result<Fact<Platform>> {
    let platform =
        |name: &str| Platform::new(name).with_context(|| format!("--platform {name:?} is not the name of a platform"));
    Ok(Fact::from(name.map(platform).transpose()?))
}

/// What is there already.
pub(super) fn have(path: &Path) -> anyhow::Result<Have> {
    let bytes = read_file(path, MAX_HAVE_BYTES).map_err(|finding| anyhow!("{finding}"))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{}: this is not text; list digests", path.display()))?;
    mirror::read_have(&Place::file(path.display().to_string()), &text).map_err(|findings| all(&findings))
}

/// A list that cannot be read whole would make an answer that is not.
fn wrong(findings: &[Finding]) -> anyhow::Result<()> {
    if findings.iter().any(Finding::is_error) { Err(all(findings)) } else { Ok(()) }
}

fn all(findings: &[Finding]) -> anyhow::Error {
    let lines: Vec<String> = findings.iter().filter(|f| f.is_error()).take(10).map(ToString::to_string).collect();
    anyhow!("{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read() {
        assert_eq!(Target::read("4.20").unwrap(), Target::NewestOf(4, 20));
        assert_eq!(Target::read("newest").unwrap(), Target::Newest);
        assert_eq!(Target::read("4.20.1").unwrap(), Target::Version("4.20.1".parse().unwrap()));
        for text in ["", "4", "4.x", "4.20.x", "latest"] {
            assert!(Target::read(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn risks_are_read() {
        assert_eq!(taken_risks("accepted:B, A"), Ok(TakenRisks::Accepted(["A".to_owned(), "B".to_owned()].into())));
        for text in ["", "accepted", "accepted:", "accepted:A,,B", "never:A"] {
            assert!(taken_risks(text).is_err(), "{text:?}");
        }
    }
}
