//! Channels of schema 1.x: one file each, with a list of releases that have always been there.

use std::collections::BTreeSet;

use towpath_core::finding::Place;
use towpath_core::graph::{ChannelName, ChannelSpec, Member};
use towpath_core::version::ReleaseName;

use crate::SourceFile;
use crate::read::{Node, Reader, Record};

/// `feeder` and `tombstones` are for promotion tooling, and no business of a service.
const FIELDS: [&str; 4] = ["name", "versions", "feeder", "tombstones"];

/// The channel of a file, whatever is wrong with some of its releases.
pub(super) fn of_file(file: &SourceFile) -> Option<ChannelSpec> {
    let (mut reader, node) = Reader::strict(file).ok()?;
    let channel = read(&mut reader, &node);
    reader.finish().ok()?;
    channel
}

pub(super) fn read(reader: &mut Reader, node: &Node) -> Option<ChannelSpec> {
    let record = reader.open_record(node, "a channel")?;
    reader.warn_unknown(record, &FIELDS);
    let place = reader.place.clone();
    let name = channel_name(reader, record, &place);
    // Nothing after the colon is not an empty list.
    let Some(versions) = record.get("versions") else {
        let remedy = "list its releases, or write `versions: []`";
        reader.missing(&place, "the channel has no `versions`", remedy);
        return None;
    };
    let versions = reader.list(versions, "versions", usize::MAX);
    let members = members(reader, versions);
    Some(ChannelSpec {
        name: name?,
        rings: Vec::new(),
        rollouts: Vec::new(),
        members,
        origin: place.at(1, 0),
    })
}

/// The name of a channel, or a finding.
pub(super) fn channel_name(
    reader: &mut Reader,
    channel: Record<'_>,
    origin: &Place,
) -> Option<ChannelName> {
    let Some((node, text)) = reader.given_text(channel, "name") else {
        reader.missing(origin, "the channel has no name", "add `name: <channel>`");
        return None;
    };
    let name = ChannelName::new(text);
    if name.is_none() {
        let problem = format!("{text:?} cannot be a channel's name");
        let remedy = "use lower-case letters, digits, `-` and `.`";
        reader.error("bad-channel-name", node, problem, remedy);
    }
    name
}

/// A release's name, or a finding.
pub(super) fn release_name(reader: &mut Reader, node: &Node) -> Option<ReleaseName> {
    let name = ReleaseName::parse(reader.text(node, "a release")?);
    let remedy = "write it as in 4.9.7 or 4.9.7+amd64";
    name.map_err(|error| reader.error("bad-version", node, error.to_string(), remedy))
        .ok()
}

fn members(reader: &mut Reader, versions: &[Node]) -> Vec<Member> {
    let mut seen = BTreeSet::new();
    let mut members = Vec::new();
    for node in versions {
        let Some(name) = release_name(reader, node) else {
            continue;
        };
        if !seen.insert(name.clone()) {
            let problem = format!("{name} is listed twice");
            reader.warning("duplicate-version", node, problem, "remove one of them");
        }
        members.push(Member {
            name,
            start: None,
            locked: false,
            held: false,
            replaces: None,
            origin: reader.at(node),
        });
    }
    members
}
