//! What a cluster wants: workloads, schedule, conditions, and Towpath's additions to AUS.

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime};
use towpath_core::fleet::{CHANNEL_GROUPS, Exclusion, Name, PreflightDemand, UpgradePolicy};
use towpath_core::graph::Pattern;
use towpath_core::moment::WallClock;
use towpath_core::version::Version;

use super::known::SharedValues;
use super::organisation::Rules;
use crate::fleet::{accepted_risks, maintenance};
use crate::read::{Node, Reader, Record, shown};

/// The most items of any list of a cluster's policy.
const MAX_ITEMS: usize = 200;
/// More soak days than any fleet can have.
const MAX_SOAK_DAYS: u32 = 1_000_000;

const FIELDS: [&str; 12] = [
    "workloads",
    "schedule",
    "conditions",
    "versionGateApprovals",
    "maintenanceWindows",
    "exclusions",
    "approval",
    "pin",
    "acceptedRisks",
    "channel",
    "schedule_type",
    "$schema",
];

/// Reads `upgradePolicy`, and holds it against what its organisation allows.
pub(super) fn read(
    reader: &mut Reader,
    known: &mut SharedValues,
    rules: &Rules,
    node: &Node,
) -> UpgradePolicy {
    let Some(record) = reader.record(node, "an upgrade policy", &FIELDS) else {
        return UpgradePolicy::default();
    };
    let mut policy = UpgradePolicy {
        workloads: workloads(reader, known, rules, record),
        ..UpgradePolicy::default()
    };
    if let Some(node) = reader.required(
        record,
        "schedule",
        "add `schedule: \"0 10 * * 1-5\"`, or the like",
    ) {
        policy.schedule =
            reader
                .text(node, "a schedule")
                .and_then(|text| match known.schedule(text) {
                    Ok(schedule) => Some(schedule),
                    Err(why) => {
                        let problem = format!("{:?} is not a schedule: {why}", shown(text));
                        let remedy =
                            "write minute, hour, day of month, month, day of week: `0 10 * * 1-5`";
                        reader.error("bad-schedule", node, problem, remedy);
                        None
                    }
                });
    }
    if let Some(node) = record.get("schedule_type") {
        schedule_type(reader, node);
    }
    if let Some(node) = record.get("conditions") {
        conditions(reader, known, rules, node, &mut policy);
    }
    if let Some(node) = record.get("versionGateApprovals") {
        policy.gate_approvals = names(
            reader,
            known,
            node,
            "versionGateApprovals",
            "a gate's label",
        );
    }
    beyond_aus(reader, known, record, &mut policy);
    policy
}

/// AUS knows `automatic` alone, which is what a schedule does here. Who writes another means something that we do not do.
fn schedule_type(reader: &mut Reader, node: &Node) {
    match reader.text(node, "`schedule_type`") {
        Some("automatic") | None => {}
        Some(other) => {
            let problem = format!("`schedule_type` is {:?}, which is not known", shown(other));
            let remedy = "write `automatic`, or remove it";
            reader.error("bad-value", node, problem, remedy);
        }
    }
}

fn workloads(
    reader: &mut Reader,
    known: &mut SharedValues,
    rules: &Rules,
    record: Record<'_>,
) -> BTreeSet<Name> {
    let remedy = "add `workloads:` with a list of what runs on the cluster";
    let Some(node) = reader.required(record, "workloads", remedy) else {
        return BTreeSet::new();
    };
    let before = reader.findings.len();
    let workloads = allowed(reader, known, node, rules.workloads.as_ref(), "workload");
    if workloads.is_empty() && reader.findings.len() == before {
        reader.error(
            "missing-field",
            node,
            "there are no workloads",
            "name at least one: soak days count per workload",
        );
    }
    workloads
}

fn conditions(
    reader: &mut Reader,
    known: &mut SharedValues,
    rules: &Rules,
    node: &Node,
    policy: &mut UpgradePolicy,
) {
    let fields = [
        "soakDays",
        "mutexes",
        "sector",
        "blockedVersions",
        "preflight",
    ];
    let Some(record) = reader.record(node, "`conditions`", &fields) else {
        return;
    };
    if let Some(node) = record.get("soakDays") {
        policy.soak_days = reader.count(node, "soakDays", 0..=MAX_SOAK_DAYS);
    }
    if let Some(node) = record.get("mutexes") {
        policy.mutexes = allowed(reader, known, node, rules.mutexes.as_ref(), "mutex");
    }
    if let Some(node) = record.get("blockedVersions") {
        policy.blocked_versions = patterns(reader, known, node);
    }
    if let Some(node) = record.get("preflight") {
        policy.preflight = preflight(reader, node);
    }
    let Some(node) = record.get("sector") else {
        return;
    };
    let Some(name) = reader.name(node, "a sector's name") else {
        return;
    };
    policy.sector = Some(known.name(name));
    if !rules.sectors.contains(name) {
        let problem = format!("there is no sector {name:?} in this organisation");
        let remedy = format!(
            "correct its name, or declare it; there are: {}",
            listed(&rules.sectors)
        );
        reader.error("unknown-sector", node, problem, &remedy);
    }
}

/// What cannot be understood is the strictest.
fn preflight(reader: &mut Reader, node: &Node) -> PreflightDemand {
    let text = reader.text(node, "`preflight`");
    let demand = text.and_then(PreflightDemand::of_code);
    if let (Some(text), None) = (text, demand) {
        let problem = format!("`preflight` is {:?}, which is not known", shown(text));
        let remedy = "write `required`, `where-supported` or `none`";
        reader.error("bad-value", node, problem, remedy);
    }
    demand.unwrap_or(PreflightDemand::Required)
}

/// What AUS does not have.
fn beyond_aus(
    reader: &mut Reader,
    known: &mut SharedValues,
    record: Record<'_>,
    policy: &mut UpgradePolicy,
) {
    if let Some(node) = record.get("maintenanceWindows") {
        let entries = reader.list(node, "maintenanceWindows", MAX_ITEMS);
        policy.windows = entries
            .iter()
            .filter_map(|entry| {
                maintenance::window(reader, entry, &mut |text| known.schedule(text))
            })
            .collect();
    }
    if let Some(node) = record.get("exclusions") {
        let entries = reader.list(node, "exclusions", MAX_ITEMS);
        policy.exclusions = entries
            .iter()
            .filter_map(|entry| exclusion(reader, known, entry))
            .collect();
    }
    if let Some(node) = record.get("approval") {
        policy.needs_approval = reader.flag(node, "approval").unwrap_or(true);
    }
    if let Some(node) = record.get("pin") {
        policy.pin = version(reader, node);
    }
    if let Some(node) = record.get("acceptedRisks") {
        policy.accepted_risks = accepted_risks::read(reader, node, &mut |name| known.name(name));
    }
    if let Some(node) = record.get("channel") {
        policy.follows = followed_channels(reader, known, node);
    }
}

/// `channel: {follow: stable}`
fn followed_channels(reader: &mut Reader, known: &mut SharedValues, node: &Node) -> Option<Name> {
    let record = reader.record(node, "channel", &["follow"])?;
    let groups = CHANNEL_GROUPS.join(", ");
    let remedy = format!("add `follow` with one of {groups}");
    let node = reader.required(record, "follow", &remedy)?;
    let group = reader.text(node, "follow")?;
    if !CHANNEL_GROUPS.contains(&group) {
        let problem = format!("{:?} is no group of channels", shown(group));
        let remedy = format!("write one of {groups}");
        reader.error("unknown-channel-group", node, problem, &remedy);
        return None;
    }
    Some(known.name(group))
}

fn exclusion(reader: &mut Reader, known: &mut SharedValues, node: &Node) -> Option<Exclusion> {
    let record = reader.record(
        node,
        "an exclusion",
        &["from", "until", "timeZone", "reason"],
    )?;
    let remedy = |field: &str| format!("add `{field}: 2026-12-20T00:00`, or the like");
    let mut time = |field: &str| {
        let node = reader.required(record, field, &remedy(field))?;
        let text = reader.text(node, "a time")?;
        let civil = text
            .parse::<DateTime>()
            .or_else(|error| text.parse::<Date>().map(DateTime::from).map_err(|_| error));
        if civil.is_err() {
            let problem = format!("{:?} is not a local time", shown(text));
            reader.error(
                "bad-exclusion",
                node,
                problem,
                "write it as in 2026-12-20T00:00; the zone is in `timeZone`",
            );
        }
        civil.ok()
    };
    let (from, until) = (time("from"), time("until"));
    let time_zone = maintenance::time_zone(reader, record);
    let why = record
        .get("reason")
        .and_then(|node| reader.text(node, "a reason"))
        .map(|why| known.name(why));
    let (from, until) = (from?, until?);
    if from >= until {
        let problem = format!(
            "it ends at {}, which is not after its beginning at {}",
            WallClock(until),
            WallClock(from)
        );
        reader.error("bad-exclusion", node, problem, "correct `from` or `until`");
        return None;
    }
    Some(Exclusion {
        from,
        until,
        time_zone: time_zone?,
        why,
    })
}

fn version(reader: &mut Reader, node: &Node) -> Option<Version> {
    let version = reader.text(node, "a version")?.parse::<Version>();
    if let Err(why) = &version {
        reader.error(
            "bad-version",
            node,
            why.to_string(),
            "write it as in 4.16.3",
        );
    }
    version.ok()
}

/// Patterns of versions that may not be started. One that cannot be read is a finding, and left out.
pub(super) fn patterns(reader: &mut Reader, known: &mut SharedValues, node: &Node) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for item in reader.list(node, "blockedVersions", MAX_ITEMS) {
        let Some(text) = reader.text(item, "a pattern") else {
            continue;
        };
        match known.pattern(text) {
            Ok(pattern) => patterns.push(pattern),
            Err(why) => {
                let problem = format!("{:?} is not a pattern: {why}", shown(text));
                reader.error(
                    "bad-pattern",
                    item,
                    problem,
                    r"write a regular expression: ^4\.12\.1$",
                );
            }
        }
    }
    patterns
}

pub(super) fn names(
    reader: &mut Reader,
    known: &mut SharedValues,
    node: &Node,
    list: &str,
    what: &str,
) -> BTreeSet<Name> {
    let items = reader.list(node, list, MAX_ITEMS);
    items
        .iter()
        .filter_map(|item| reader.name(item, what).map(|name| known.name(name)))
        .collect()
}

/// Workloads or mutexes, those that are not allowed among them, each with a finding.
fn allowed(
    reader: &mut Reader,
    known: &mut SharedValues,
    node: &Node,
    allowed: Option<&BTreeSet<Name>>,
    what: &'static str,
) -> BTreeSet<Name> {
    let (list, code) = match what {
        "mutex" => ("mutexes", "unknown-mutex"),
        _ => ("workloads", "unknown-workload"),
    };
    let mut found = BTreeSet::new();
    for item in reader.list(node, list, MAX_ITEMS) {
        let Some(name) = reader.name(item, &format!("a {what}'s name")) else {
            continue;
        };
        found.insert(known.name(name));
        if let Some(allowed) = allowed.filter(|allowed| !allowed.contains(name)) {
            let problem = format!("there is no {what} {name:?} in this organisation");
            let remedy = format!(
                "correct its name, or allow it; there are: {}",
                listed(allowed)
            );
            reader.error(code, item, problem, &remedy);
        }
    }
    found
}

/// The first few names.
fn listed(names: &BTreeSet<Name>) -> String {
    const MAX_SHOWN: usize = 10;
    let shown: Vec<&str> = names.iter().take(MAX_SHOWN).map(|name| &**name).collect();
    match names.len() {
        0 => "none".to_owned(),
        1..=MAX_SHOWN => shown.join(", "),
        more => format!("{}, and {} more", shown.join(", "), more - MAX_SHOWN),
    }
}
