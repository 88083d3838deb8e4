//! Channels of schema 2.0.0: several channels share releases, and each phases them in on its own
//! terms.
//!
//! An unknown field is an error here, because it could change when clusters see an edge.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::graph::{ChannelSpec, FromVersion, Member, Ramp, RolloutRule};
use towpath_core::version::{ReleaseName, Version};

use super::channels_v1::{channel_name, release_name};
use super::time::{parse_duration, parse_start};
use crate::read::{Node, Reader, Record};

/// `feeder` and `tombstones` are for promotion tooling, and no business of a service.
const FILE_FIELDS: [&str; 4] = ["channels", "versions", "feeder", "tombstones"];
const RULE_FIELDS: [&str; 3] = ["duration", "fromVersion", "ramp"];
const RELEASE_FIELDS: [&str; 4] = ["name", "start", "locked", "replaces"];

pub(super) fn read(reader: &mut Reader, node: &Node) -> Vec<ChannelSpec> {
    let Some(file) = reader.record(node, "a file of channels", &FILE_FIELDS) else {
        return Vec::new();
    };
    let versions = optional_list(reader, file, "versions");
    let members = members(reader, versions);
    let Some(channels) = file.get("channels") else {
        let remedy = "add `channels:` with a list of names; schema 2.0.0 has no `name` at the top";
        reader.missing(&reader.place.clone(), "the file has no `channels`", remedy);
        return Vec::new();
    };
    let channels = reader.list(channels, "channels", usize::MAX);
    channels
        .iter()
        .filter_map(|node| channel(reader, node, &members))
        .collect()
}

/// The items of an optional list. One with nothing after its colon is more likely a mistake than an empty list.
fn optional_list<'n>(reader: &mut Reader, record: Record<'n>, name: &str) -> &'n [Node] {
    match record.given(name) {
        None => &[],
        Some(node) if node.is_nothing() => {
            let problem = format!("`{name}` has nothing in it");
            reader.error(
                "missing-field",
                node,
                problem,
                "list something, or write `[]`",
            );
            &[]
        }
        Some(node) => reader.list(node, name, usize::MAX),
    }
}

fn channel(reader: &mut Reader, node: &Node, members: &[Member]) -> Option<ChannelSpec> {
    let record = reader.record(node, "a channel", &["name", "phasedRollouts"])?;
    let origin = reader.at(node);
    let name = channel_name(reader, record, &origin);
    let rules = optional_list(reader, record, "phasedRollouts");
    let rollouts = rollouts(reader, rules);
    Some(ChannelSpec {
        name: name?,
        rollouts,
        members: members.to_vec(),
        origin,
    })
}

fn rollouts(reader: &mut Reader, nodes: &[Node]) -> Vec<RolloutRule> {
    let mut seen: BTreeSet<Option<FromVersion>> = BTreeSet::new();
    let mut rules = Vec::new();
    for node in nodes {
        let Some(rule) = rollout(reader, node) else {
            continue;
        };
        if !seen.insert(rule.from_version.clone()) {
            let problem = match &rule.from_version {
                None => "there are two rules with only a duration".to_owned(),
                Some(criterion) => {
                    format!("there are two rules for fromVersion {}", shown(criterion))
                }
            };
            reader.error("duplicate-rule", node, problem, "keep one of them");
        }
        rules.push(rule);
    }
    rules
}

fn rollout(reader: &mut Reader, node: &Node) -> Option<RolloutRule> {
    let record = reader.open_record(node, "a rollout rule")?;
    let [duration, from_version, ramp] = RULE_FIELDS.map(|name| reader.given_text(record, name));
    let Some((duration, text)) = duration else {
        let problem = "the rollout rule has no duration";
        let remedy = "add `duration: P2D`, or the like";
        reader.error("missing-field", node, problem, remedy);
        return None;
    };
    let span = parse_duration(text).map_err(|problem| {
        let remedy = "write it as in P2D or PT48H, at most P366D";
        reader.error("bad-duration", duration, problem, remedy);
    });
    let ramp = match ramp {
        None | Some((_, "linear")) => Some(Ramp::Linear),
        Some((_, "exponential")) => Some(Ramp::Exponential),
        Some((node, other)) => {
            let problem = format!("{other:?} is not a ramp");
            reader.error("bad-ramp", node, problem, "use linear or exponential");
            None
        }
    };
    Some(RolloutRule {
        from_version: criterion(reader, record, from_version),
        duration: span.ok()?,
        ramp: ramp?,
        origin: reader.at(node),
    })
}

/// What the rule matches. A criterion of a later schema is acceptable and matches nothing.
fn criterion(
    reader: &mut Reader,
    rule: Record<'_>,
    from_version: Option<(&Node, &str)>,
) -> Option<FromVersion> {
    for field in rule.unknown(&RULE_FIELDS) {
        let problem = format!(
            "a rollout rule has no field {:?}; the rule matches nothing",
            field.text
        );
        let remedy = "correct its name, or remove the rule";
        reader.note_field("unknown-criterion", field, problem, remedy);
    }
    if let Some(field) = rule.unknown(&RULE_FIELDS).next() {
        return Some(FromVersion::Other(format!(
            "{}:{}:{}",
            field.text, field.line, field.column
        )));
    }
    Some(match from_version? {
        (_, "minor") => FromVersion::Minor,
        (_, "patch") => FromVersion::Patch,
        (node, other) => {
            let problem =
                format!("fromVersion {other:?} is not known, so the rule matches nothing");
            let remedy =
                "minor and patch match edges; without a default rule, the others are there at once";
            reader.warning("unknown-criterion", node, problem, remedy);
            FromVersion::Other(other.to_owned())
        }
    })
}

fn members(reader: &mut Reader, nodes: &[Node]) -> Vec<Member> {
    let mut seen: BTreeMap<Version, Vec<ReleaseName>> = BTreeMap::new();
    let mut members = Vec::new();
    for node in nodes {
        let Some(member) = member(reader, node) else {
            continue;
        };
        let earlier = seen.entry(member.name.version.clone()).or_default();
        if earlier.iter().any(|name| overlap(name, &member.name)) {
            let problem = format!("{} is listed twice, so its start is not clear", member.name);
            reader.error("duplicate-version", node, problem, "keep one of them");
        }
        earlier.push(member.name.clone());
        members.push(member);
    }
    check_replacements(reader, nodes, &members);
    members
}

fn member(reader: &mut Reader, node: &Node) -> Option<Member> {
    let record = reader.record(node, "a release of a channel", &RELEASE_FIELDS)?;
    let [name, start, replaces] =
        ["name", "start", "replaces"].map(|name| reader.given_text(record, name));
    let locked = record.given("locked");
    let locked = locked.and_then(|node| reader.flag(node, "`locked`"));
    let Some((name, text)) = name else {
        let problem = "the release has no name";
        reader.error("missing-field", node, problem, "add `name: <version>`");
        return None;
    };
    let parsed = release_name(reader, name);
    let Some((start, start_text)) = start else {
        let problem = format!("version {text} has no start");
        let remedy = "add `start: <RFC 3339 time>`";
        reader.error("missing-field", node, problem, remedy);
        return None;
    };
    let time = parse_start(start_text).map_err(|problem| {
        let remedy = "write it as in 2020-05-12T00:00Z";
        reader.error("bad-time", start, problem, remedy);
    });
    let replaces = match replaces {
        None => Some(None),
        Some((node, _)) => release_name(reader, node).map(|name| Some(name.version)),
    };
    Some(Member {
        name: parsed?,
        start: Some(time.ok()?),
        locked: locked.unwrap_or_default(),
        replaces: replaces?,
        origin: reader.at(name),
    })
}

/// A replacement must be of an earlier entry of the same file, so that there can be no loop.
fn check_replacements(reader: &mut Reader, nodes: &[Node], members: &[Member]) {
    let starts: BTreeMap<&Version, _> =
        members.iter().map(|m| (&m.name.version, m.start)).collect();
    fn text<'n>(node: &'n Node, field: &str) -> Option<&'n str> {
        node.given(field).and_then(Node::as_text)
    }
    let given: BTreeSet<&str> = nodes.iter().filter_map(|node| text(node, "name")).collect();
    for node in nodes {
        let Some(replaced_node) = node.given("replaces") else {
            continue;
        };
        let (Some(name), Some(replaced)) = (text(node, "name"), replaced_node.as_text()) else {
            continue;
        };
        let start = |text: &str| {
            ReleaseName::parse(text)
                .ok()
                .and_then(|name| starts.get(&name.version).copied().flatten())
        };
        let fits = match (start(replaced), start(name)) {
            (Some(first), Some(second)) => first < second,
            // One of them has been reported already.
            (None, Some(_)) => given.contains(replaced),
            (_, None) => true,
        };
        if !fits {
            let problem = format!("{name} cannot replace {replaced}");
            let remedy = "name a release of this file with an earlier start";
            reader.error("bad-replacement", replaced_node, problem, remedy);
        }
    }
}

/// Whether both names mean a common release.
fn overlap(a: &ReleaseName, b: &ReleaseName) -> bool {
    a.version == b.version && (a.arch.is_none() || b.arch.is_none() || a.arch == b.arch)
}

fn shown(criterion: &FromVersion) -> &str {
    match criterion {
        FromVersion::Minor => "minor",
        FromVersion::Patch => "patch",
        FromVersion::Other(other) => other,
    }
}
