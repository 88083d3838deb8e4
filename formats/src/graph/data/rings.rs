//! Rings of channels, and when they go by a rule.
//!
//! A cluster that is not known to be in a ring goes with everybody else. So no ring may go later
//! than a ring after it in the list, or than everybody else: somebody would gain by hiding what
//! ring they are in.

use std::collections::BTreeSet;

use jiff::{Span, Timestamp};
use towpath_core::cluster::Group;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Ramp, Ring, RingId, RingName, RingTurn, RolloutRule, RuleRings};

use super::ramps;
use super::time::parse_duration;
use crate::read::{Node, Reader, Record};

const RING_FIELDS: [&str; 3] = ["name", "sector", "label"];
const TURN_FIELDS: [&str; 5] = ["name", "after", "duration", "ramp", "stages"];

/// The rings of a channel, and whether all could be read.
pub(super) fn of_channel(reader: &mut Reader, nodes: &[Node]) -> (Vec<Ring>, bool) {
    let mut rings: Vec<Ring> = Vec::new();
    for node in nodes {
        let Some(ring) = ring(reader, node) else {
            continue;
        };
        let earlier = |same: &dyn Fn(&Ring) -> bool| rings.iter().find(|ring| same(ring));
        if earlier(&|one| one.name == ring.name).is_some() {
            let problem = format!("there are two rings {}", ring.name);
            reader.error("bad-ring", node, problem, "give each a name of its own");
        } else if let Some(first) = earlier(&|one| one.of == ring.of) {
            let problem = format!(
                "nobody is in ring {}: all clusters with {} are in ring {}",
                ring.name, ring.of, first.name
            );
            reader.error("bad-ring", node, problem, "remove one of them");
        }
        rings.push(ring);
    }
    let is_whole = rings.len() == nodes.len();
    (rings, is_whole)
}

fn ring(reader: &mut Reader, node: &Node) -> Option<Ring> {
    let record = reader.record(node, "a ring", &RING_FIELDS)?;
    let name = ring_name(reader, record);
    let sector = reader.given_text(record, "sector");
    let label = record.given("label");
    let of = match (sector, label) {
        (Some((node, sector)), None) => {
            let is_long = check_length(reader, node, "sector", sector);
            (!is_long).then(|| Group::Sector(sector.into()))
        }
        (None, Some(node)) => one_label(reader, node),
        (None, None) => {
            let problem = "the ring does not say who is in it";
            let remedy = "add `sector: <name>` or `label: {<name>: <value>}`";
            reader.error("bad-ring", node, problem, remedy);
            None
        }
        (Some(_), Some(_)) => {
            let problem = "the ring has a sector and a label, and who is in it is not clear";
            reader.error("bad-ring", node, problem, "make two rings of it");
            None
        }
    };
    Some(Ring {
        name: name?,
        of: of?,
        origin: reader.at(node),
    })
}

fn ring_name(reader: &mut Reader, record: Record<'_>) -> Option<RingName> {
    let Some((node, text)) = reader.given_text(record, "name") else {
        let problem = "the ring has no name";
        reader.error("bad-ring", record.node, problem, "add `name: <name>`");
        return None;
    };
    let name = RingName::new(text);
    if name.is_none() {
        let shown: String = text.chars().take(RingName::MAX_BYTES).collect();
        let problem = format!("{shown:?} cannot be the name of a ring");
        let remedy = "use at most 63 lower-case letters, digits, '-' and '.'";
        reader.error("bad-ring", node, problem, remedy);
    }
    name
}

fn one_label(reader: &mut Reader, node: &Node) -> Option<Group> {
    let labels = reader.labels(node, "the label of a ring", 1);
    let Some((name, value)) = labels.into_iter().next() else {
        let problem = "the ring's `label` names none";
        let remedy = "write it as in `label: {tier: dev}`";
        reader.error("bad-ring", node, problem, remedy);
        return None;
    };
    let is_long = [&name, &value].map(|text| check_length(reader, node, "label", text));
    (is_long == [false; 2]).then(|| Group::Label {
        name: name.into(),
        value: value.into(),
    })
}

/// Says so if a text cannot be what clusters are sorted by; whether that is so.
fn check_length(reader: &mut Reader, node: &Node, what: &str, text: &str) -> bool {
    let is_wrong = text.is_empty() || text.len() > Group::MAX_BYTES;
    if is_wrong {
        let problem = format!(
            "the {what} of a ring has {} bytes; 1 to {} are allowed",
            text.len(),
            Group::MAX_BYTES
        );
        reader.error("bad-ring", node, problem, "correct it");
    }
    is_wrong
}

/// The rings of a rule, read against those of its channel. None if that cannot be read.
pub(super) fn of_rule(
    reader: &mut Reader,
    rule: Record<'_>,
    ramp: Ramp,
    rings: &[Ring],
) -> Option<RuleRings> {
    let after = length(reader, rule, "after");
    let given = rule.given("rings");
    let Some(given) = given else {
        if let Some(node) = rule.given("after") {
            let problem =
                "`after` is how long everybody else waits for rings, and the rule has none";
            let remedy = "add `rings`, or set the `start` of the release or the rule";
            reader.error("bad-rule", node, problem, remedy);
        }
        return Some(RuleRings::default());
    };
    let nodes = reader.list(given, "rings", Ring::MAX);
    if nodes.is_empty() {
        let problem = "`rings` has nothing in it";
        reader.error("bad-ring", given, problem, "name a ring, or remove it");
        return None;
    }
    let turns: Vec<Option<RingTurn>> = nodes
        .iter()
        .map(|node| turn(reader, node, ramp, rings))
        .collect();
    let mut turns = turns.into_iter().collect::<Option<Vec<_>>>()?;
    turns.sort_by_key(|turn| turn.ring);
    for (first, second) in turns.iter().zip(turns.iter().skip(1)) {
        if first.ring == second.ring {
            let problem = "the rule names a ring twice";
            reader.error("bad-ring", given, problem, "keep one of them");
            return None;
        }
    }
    Some(RuleRings {
        after: after?,
        turns,
    })
}

fn turn(reader: &mut Reader, node: &Node, ramp: Ramp, rings: &[Ring]) -> Option<RingTurn> {
    let record = reader.record(node, "a ring of a rule", &TURN_FIELDS)?;
    let name = ring_name(reader, record);
    let after = length(reader, record, "after");
    if record.given("duration").is_none() {
        let problem = "the ring has no duration";
        let remedy = "add `duration: PT6H`, or the like; `P0S` is all of it at once";
        reader.error("missing-field", node, problem, remedy);
        return None;
    }
    let duration = length(reader, record, "duration");
    let ramp = ramps::read(reader, record, ramp);
    let name = name?;
    let Some(place) = rings.iter().position(|ring| ring.name == name) else {
        let problem = format!("the channel has no ring {name}");
        let remedy = "correct the name, or list it under the channel's `rings`";
        reader.error("unknown-ring", node, problem, remedy);
        return None;
    };
    Some(RingTurn {
        ring: RingId::at(place),
        after: after?,
        duration: duration?,
        ramp: ramp?,
        origin: reader.at(node),
    })
}

/// A length of time that the calendar does not change; nothing is none.
fn length(reader: &mut Reader, record: Record<'_>, field: &str) -> Option<Span> {
    let Some((node, text)) = reader.given_text(record, field) else {
        return Some(Span::new());
    };
    match parse_duration(text) {
        Ok(span) if is_even(&span) => Some(span),
        Ok(_) => {
            uneven(reader, node, text);
            None
        }
        Err(problem) => {
            let remedy = "write it as in P2D or PT48H, at most P366D";
            reader.error("bad-duration", node, problem, remedy);
            None
        }
    }
}

/// Whether it is as long wherever it begins.
fn is_even(span: &Span) -> bool {
    span.get_years() == 0 && span.get_months() == 0
}

fn uneven(reader: &mut Reader, node: &Node, text: &str) {
    let problem = format!("{text} differs from month to month, so nobody can tell who goes first");
    let remedy = "where a rule has rings, count weeks, days, hours, minutes and seconds";
    reader.error("bad-ring", node, problem, remedy);
}

/// Everything about a rule with rings that only its whole can show.
pub(super) fn check(reader: &mut Reader, record: Record<'_>, rule: &RolloutRule, rings: &[Ring]) {
    if !rule.has_rings() {
        return;
    }
    if let (false, Some((node, text))) = (
        is_even(&rule.duration),
        reader.given_text(record, "duration"),
    ) {
        uneven(reader, node, text);
        return;
    }
    let window = |ring| rule.window_of(ring, Timestamp::UNIX_EPOCH);
    let opens = rule.opens(Timestamp::UNIX_EPOCH);
    let turns = rule
        .rings
        .turns
        .iter()
        .map(|turn| (turn.ring, &turn.origin));
    let groups: Vec<(RingId, &Place)> = turns.chain([(RingId::REST, &rule.origin)]).collect();
    let named = |id: RingId| match id {
        RingId::REST => "everybody else".to_owned(),
        id => {
            let known = (0..).map(RingId::at).zip(rings).find(|(at, _)| *at == id);
            known.map_or_else(String::new, |(_, ring)| format!("ring {}", ring.name))
        }
    };
    for (ring, place) in &groups {
        let length = window(*ring).end.duration_since(opens);
        if length > jiff::SignedDuration::from_hours(24 * RolloutRule::MAX_DAYS) {
            let problem = format!(
                "{} would wait for more than {} days in all",
                named(*ring),
                RolloutRule::MAX_DAYS
            );
            reader.error_at(
                "bad-ring",
                place,
                problem,
                "make `after` or `duration` shorter",
            );
        }
    }
    for pair in groups.windows(2) {
        let [(first, place), (second, _)] = pair else {
            continue;
        };
        if !window(*first).is_never_behind(&window(*second)) {
            let problem = format!(
                "{} would at some time have a smaller share than {}, so who hides their ring could gain by it",
                named(*first),
                named(*second)
            );
            let remedy = "let rings that come first in the channel's list begin and end first, and grow no slower";
            reader.error_at("ring-order", place, problem, remedy);
        }
    }
}

/// A ring that no rule of its channel names goes with others.
pub(super) fn check_used(reader: &mut Reader, rings: &[Ring], rules: &[RolloutRule]) {
    let turns = rules.iter().flat_map(|rule| &rule.rings.turns);
    let used: BTreeSet<RingId> = turns.map(|turn| turn.ring).collect();
    for (id, ring) in (0..).map(RingId::at).zip(rings) {
        if !used.contains(&id) {
            let problem = format!(
                "no rule says when ring {} goes, so it goes with others",
                ring.name
            );
            let remedy = "name it under `rings` of a rule, or remove it";
            let finding = Finding::warning("unused-ring", ring.origin.clone(), problem, remedy);
            reader.findings.push(finding);
        }
    }
}
