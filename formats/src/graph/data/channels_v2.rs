//! Channels of schema 2.0.0 and 2.1.0: several channels share releases, and each phases them in on
//! its own terms.
//!
//! An unknown field is an error here, because it could change when clusters see an edge. So is a
//! field of 2.1.0 in data of 2.0.0: a service that knows only 2.0.0 would read it otherwise.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{Span, Timestamp};
use towpath_core::graph::{
    ChannelName, ChannelSpec, EdgeMatch, FromVersion, Member, Ramp, Ring, RolloutRule, RuleRings,
};
use towpath_core::version::{ReleaseName, Version};

use super::channels_v1::{channel_name, release_name};
use super::ramps;
use super::rings;
use super::schema::Schema;
use super::time::{parse_duration, parse_start};
use crate::read::{Node, Reader, Record, Value};

/// `feeder` and `tombstones` are for promotion tooling, and no business of a service.
const FILE_FIELDS: [&str; 4] = ["channels", "versions", "feeder", "tombstones"];
const CHANNEL_FIELDS: [&str; 4] = ["name", "phasedRollouts", "start", "rings"];
const RULE_FIELDS: [&str; 10] = [
    "duration",
    "fromVersion",
    "ramp",
    "stages",
    "from",
    "to",
    "start",
    "held",
    "rings",
    "after",
];
const RELEASE_FIELDS: [&str; 6] = ["name", "start", "locked", "replaces", "held", "starts"];
/// The rules of a channel are looked through for each edge.
const MAX_RULES: usize = 1_000;

/// A release of the file, with its starts in single channels.
struct FileMember {
    member: Member,
    starts: BTreeMap<ChannelName, Timestamp>,
}

pub(super) fn read(reader: &mut Reader, node: &Node, schema: Schema) -> Vec<ChannelSpec> {
    let Some(file) = reader.record(node, "a file of channels", &FILE_FIELDS) else {
        return Vec::new();
    };
    let versions = optional_list(reader, file, "versions", usize::MAX);
    let members = members(reader, versions, schema);
    let Some(channels) = file.get("channels") else {
        let remedy = "add `channels:` with a list of names; schema 2.0.0 has no `name` at the top";
        reader.missing(&reader.place.clone(), "the file has no `channels`", remedy);
        return Vec::new();
    };
    let nodes = reader.list(channels, "channels", usize::MAX);
    let read: Vec<Option<ChannelSpec>> = nodes
        .iter()
        .map(|node| channel(reader, node, &members, schema))
        .collect();
    let is_whole = read.iter().all(Option::is_some);
    let channels: Vec<ChannelSpec> = read.into_iter().flatten().collect();
    // What could not be read may be what is named.
    if is_whole && members.len() == versions.len() {
        check_starts(reader, versions, &channels);
        check_rules(reader, nodes, &channels);
    }
    channels
}

/// A field that came with 2.1.0 is an error in data of 2.0.0.
fn refuse_newer(reader: &mut Reader, record: Record<'_>, fields: &[&str], schema: Schema) {
    if schema == Schema::V2_1 {
        return;
    }
    for (field, node) in fields
        .iter()
        .filter_map(|field| Some((field, record.given(field)?)))
    {
        let problem = format!("`{field}` came with schema 2.1.0, and `version` says 2.0.0");
        let remedy = "write 2.1.0 into `version` once every service that reads these files knows it, or remove the field";
        reader.error("newer-field", node, problem, remedy);
    }
}

/// The items of an optional list. One with nothing after its colon is more likely a mistake than an empty list.
fn optional_list<'n>(
    reader: &mut Reader,
    record: Record<'n>,
    name: &str,
    most: usize,
) -> &'n [Node] {
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
        Some(node) => reader.list(node, name, most),
    }
}

fn channel(
    reader: &mut Reader,
    node: &Node,
    members: &[FileMember],
    schema: Schema,
) -> Option<ChannelSpec> {
    let record = reader.record(node, "a channel", &CHANNEL_FIELDS)?;
    refuse_newer(reader, record, &["start", "rings"], schema);
    let origin = reader.at(node);
    let name = channel_name(reader, record, &origin);
    let start = reader.given_text(record, "start");
    let start = start.map(|start| time(reader, start));
    let rings = optional_list(reader, record, "rings", Ring::MAX);
    let (rings, are_whole) = rings::of_channel(reader, rings);
    if !are_whole {
        // Rules may name one that could not be read.
        return None;
    }
    let rules = optional_list(reader, record, "phasedRollouts", MAX_RULES);
    let rollouts = rollouts(reader, rules, &rings, schema);
    let (name, opens) = (name?, start.map_or(Some(None), |start| start.map(Some))?);
    let members = members.iter().map(|listed| {
        let own = listed.starts.get(&name).copied();
        let entered = own.or(listed.member.start);
        Member {
            start: entered.max(opens),
            ..listed.member.clone()
        }
    });
    Some(ChannelSpec {
        members: members.collect(),
        name,
        rings,
        rollouts,
        origin,
    })
}

fn time(reader: &mut Reader, (node, text): (&Node, &str)) -> Option<Timestamp> {
    let wrong = |problem| {
        let remedy = "write it as in 2020-05-12T00:00Z";
        reader.error("bad-time", node, problem, remedy);
    };
    parse_start(text).map_err(wrong).ok()
}

fn rollouts(
    reader: &mut Reader,
    nodes: &[Node],
    rings: &[Ring],
    schema: Schema,
) -> Vec<RolloutRule> {
    let mut seen: BTreeSet<EdgeMatch> = BTreeSet::new();
    let mut rules = Vec::new();
    for node in nodes {
        let Some(rule) = rollout(reader, node, rings, schema) else {
            continue;
        };
        if !seen.insert(rule.edges.clone()) {
            let problem = match &rule.edges {
                EdgeMatch::Any => "there are two rules with only a duration".to_owned(),
                EdgeMatch::Kind(kind) => {
                    format!("there are two rules for fromVersion {}", kind.name())
                }
                named @ (EdgeMatch::To(..) | EdgeMatch::Edge { .. }) => {
                    format!("there are two rules for {named}")
                }
            };
            reader.error("duplicate-rule", node, problem, "keep one of them");
        }
        rules.push(rule);
    }
    if rules.len() == nodes.len() {
        rings::check_used(reader, rings, &rules);
    }
    rules
}

fn rollout(
    reader: &mut Reader,
    node: &Node,
    rings: &[Ring],
    schema: Schema,
) -> Option<RolloutRule> {
    let record = reader.open_record(node, "a rollout rule")?;
    let newer = ["from", "to", "start", "held", "rings", "after", "stages"];
    refuse_newer(reader, record, &newer, schema);
    let [duration, from_version, from, to, start] =
        ["duration", "fromVersion", "from", "to", "start"]
            .map(|name| reader.given_text(record, name));
    let held = record.given("held");
    let held = held
        .and_then(|node| reader.flag(node, "`held`"))
        .unwrap_or_default();
    if held {
        return held_rule(reader, node, record, (from_version, from, to));
    }
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
    let ramp = ramps::read(reader, record, Ramp::Linear);
    let of_rings = rings::of_rule(reader, record, ramp.unwrap_or_default(), rings);
    let edges = edges(reader, record, (from_version, from, to));
    if let (Some((node, _)), None) = (start, to) {
        let problem = "a rule for all releases cannot have a start";
        let remedy = "add `to: <version>`, or set the `start` of releases";
        reader.error("bad-rule", node, problem, remedy);
    }
    let start = start.map(|start| time(reader, start));
    let rule = RolloutRule {
        edges: edges?,
        start: start.map_or(Some(None), |start| start.map(Some))?,
        duration: span.ok()?,
        ramp: ramp?,
        rings: of_rings?,
        origin: reader.at(node),
    };
    rings::check(reader, record, &rule, rings);
    Some(rule)
}

/// The texts of `fromVersion`, `from` and `to`.
type Criteria<'n> = (
    Option<(&'n Node, &'n str)>,
    Option<(&'n Node, &'n str)>,
    Option<(&'n Node, &'n str)>,
);

/// A rule by which nobody is offered its edges. It names a release, and has no window.
fn held_rule(
    reader: &mut Reader,
    node: &Node,
    record: Record<'_>,
    criteria: Criteria<'_>,
) -> Option<RolloutRule> {
    for field in ["duration", "ramp", "stages", "start", "rings", "after"] {
        if let Some(node) = record.given(field) {
            let problem = format!("what is held has no window, so `{field}` means nothing");
            reader.error("bad-rule", node, problem, "remove it, or `held`");
        }
    }
    if criteria.2.is_none() {
        let problem = "the rule does not say which release is held";
        reader.error("bad-rule", node, problem, "add `to: <version>`");
        return None;
    }
    Some(RolloutRule {
        edges: edges(reader, record, criteria)?,
        start: None,
        duration: Span::new(),
        ramp: Ramp::Held,
        rings: RuleRings::default(),
        origin: reader.at(node),
    })
}

/// Which edges the rule is about; none if that cannot be read.
fn edges(
    reader: &mut Reader,
    record: Record<'_>,
    (from_version, from, to): Criteria<'_>,
) -> Option<EdgeMatch> {
    let kind = criterion(reader, record, from_version);
    let [from, to] = [from, to].map(|name| match name {
        None => Some(None),
        Some((node, _)) => version(reader, node).map(Some),
    });
    match (from?, to?, kind) {
        (None, None, None) => Some(EdgeMatch::Any),
        (None, None, Some(kind)) => Some(EdgeMatch::Kind(kind)),
        (None, Some(to), kind) => Some(EdgeMatch::To(to, kind)),
        (Some(from), Some(to), None) => Some(EdgeMatch::Edge { from, to }),
        (Some(_), Some(_), Some(_)) => {
            let problem = "`from` and `to` name one update, so `fromVersion` means nothing";
            reader.error("bad-rule", record.node, problem, "remove it, or `from`");
            None
        }
        (Some(_), None, _) => {
            let problem = "the rule has `from` and no `to`";
            let remedy = "add `to: <version>`; to keep clusters of a release from all others, block the edges";
            reader.error("bad-rule", record.node, problem, remedy);
            None
        }
    }
}

/// A version, for all architectures.
fn version(reader: &mut Reader, node: &Node) -> Option<Version> {
    let name = release_name(reader, node)?;
    if name.arch.is_some() {
        let problem = format!("a rule is for all architectures, and {name} names one");
        let remedy = "write the version alone; a block can be for one architecture";
        reader.error("bad-version", node, problem, remedy);
        return None;
    }
    Some(name.version)
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

fn members(reader: &mut Reader, nodes: &[Node], schema: Schema) -> Vec<FileMember> {
    let mut seen: BTreeMap<Version, Vec<ReleaseName>> = BTreeMap::new();
    let mut members = Vec::new();
    for node in nodes {
        let Some(listed) = member(reader, node, schema) else {
            continue;
        };
        let name = &listed.member.name;
        let earlier = seen.entry(name.version.clone()).or_default();
        if earlier.iter().any(|other| overlap(other, name)) {
            let problem = format!("{name} is listed twice, so its start is not clear");
            reader.error("duplicate-version", node, problem, "keep one of them");
        }
        earlier.push(name.clone());
        members.push(listed);
    }
    check_replacements(reader, nodes, &members);
    members
}

fn member(reader: &mut Reader, node: &Node, schema: Schema) -> Option<FileMember> {
    let record = reader.record(node, "a release of a channel", &RELEASE_FIELDS)?;
    refuse_newer(reader, record, &["held", "starts"], schema);
    let [name, start, replaces] =
        ["name", "start", "replaces"].map(|name| reader.given_text(record, name));
    let [locked, held] = ["locked", "held"].map(|name| {
        let given = record.given(name);
        given.and_then(|node| reader.flag(node, &format!("`{name}`")))
    });
    if locked == Some(true) && held == Some(true) {
        let problem = "`locked` says that everybody is offered it, and `held` that nobody is";
        reader.error("bad-rule", node, problem, "keep one of them");
    }
    let starts = record.given("starts");
    let starts = starts.map(|node| channel_starts(reader, node));
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
    let time = time(reader, (start, start_text));
    let replaces = match replaces {
        None => Some(None),
        Some((node, _)) => release_name(reader, node).map(|name| Some(name.version)),
    };
    let member = Member {
        name: parsed?,
        start: Some(time?),
        locked: locked.unwrap_or_default(),
        held: held.unwrap_or_default(),
        replaces: replaces?,
        origin: reader.at(name),
    };
    Some(FileMember {
        member,
        starts: starts.unwrap_or_default(),
    })
}

/// When a release enters single channels, by their names.
fn channel_starts(reader: &mut Reader, node: &Node) -> BTreeMap<ChannelName, Timestamp> {
    let mut starts = BTreeMap::new();
    let Some(record) = reader.open_record(node, "`starts`") else {
        return starts;
    };
    let Value::Map(fields) = &record.node.value else {
        return starts;
    };
    for (name, _) in fields {
        let Some(given) = reader.given_text(record, &name.text) else {
            continue;
        };
        // A name that no channel can have is told with those that none of the file has.
        if let (Some(start), Some(name)) = (time(reader, given), ChannelName::new(&name.text)) {
            starts.insert(name, start);
        }
    }
    starts
}

/// A start must be of a channel of this file, or it would have no effect.
fn check_starts(reader: &mut Reader, nodes: &[Node], channels: &[ChannelSpec]) {
    for starts in nodes.iter().filter_map(|node| node.given("starts")) {
        let Value::Map(fields) = &starts.value else {
            continue;
        };
        for (name, node) in fields {
            if !channels.iter().any(|one| *one.name.as_str() == *name.text) {
                let problem = format!("this file has no channel {:?}", name.text);
                let remedy = "name a channel of this file, or remove the start";
                reader.error("unknown-channel", node, problem, remedy);
            }
        }
    }
}

/// A rule must be about releases of this file: with a mistake in a name, it would hold or delay nothing.
fn check_rules(reader: &mut Reader, nodes: &[Node], channels: &[ChannelSpec]) {
    for (node, channel) in nodes.iter().zip(channels) {
        let listed: BTreeSet<&Version> = channel
            .members
            .iter()
            .map(|member| &member.name.version)
            .collect();
        let rules = node.given("phasedRollouts").map(|rules| &rules.value);
        let Some(Value::List(rules)) = rules else {
            continue;
        };
        for field in rules
            .iter()
            .flat_map(|rule| ["from", "to"].map(|name| rule.given(name)))
            .flatten()
        {
            let name = field
                .as_text()
                .and_then(|text| ReleaseName::parse(text).ok());
            if let Some(name) = name.filter(|name| !listed.contains(&name.version)) {
                let problem = format!("{} is not among the versions of this file", name.version);
                let remedy = "correct the version, or list it";
                reader.error("rule-without-release", field, problem, remedy);
            }
        }
    }
}

/// A replacement must be of an earlier entry of the same file, so that there can be no loop.
fn check_replacements(reader: &mut Reader, nodes: &[Node], members: &[FileMember]) {
    let starts = members.iter().map(|one| &one.member);
    let starts: BTreeMap<&Version, _> = starts.map(|m| (&m.name.version, m.start)).collect();
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
