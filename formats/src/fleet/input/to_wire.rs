//! From domain values to JSON values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use towpath_core::cluster::{ClusterId, Fact};
use towpath_core::graph::Pattern;
use towpath_core::verdict::{Answer, Reason, Value};
use towpath_core::version::Version;
use towpath_core::{finding, fleet as core};

use super::wire::{self, Part, Rest, Text};

/// The parts of all organisations, by id, and the rest; every list sorted.
pub(super) fn split(input: &core::FleetInput) -> (BTreeMap<&str, Part<'_>>, Rest<'_>) {
    let mut clusters: BTreeMap<&str, Vec<&core::ClusterState>> = BTreeMap::new();
    let mut home: BTreeMap<&ClusterId, &str> = BTreeMap::new();
    for cluster in &input.clusters {
        clusters
            .entry(&cluster.organisation)
            .or_default()
            .push(cluster);
        home.insert(&cluster.id, &cluster.organisation);
    }
    let mut parts: BTreeMap<&str, Part<'_>> = BTreeMap::new();
    for (id, organisation) in &input.policy.organisations {
        let part = parts.entry(id).or_default();
        let policies = policies(organisation);
        part.policies = policies.0.iter().map(|entry| policy(entry)).collect();
        part.organisation = Some(self::organisation(organisation, &policies));
    }
    for (id, mut clusters) in clusters {
        clusters.sort_by(|a, b| a.id.cmp(&b.id));
        let part = parts.entry(id).or_default();
        let offers = Table::of(clusters.iter().map(|cluster| &*cluster.offers));
        part.offers = offers
            .0
            .iter()
            .map(|list| list.iter().map(offer).collect())
            .collect();
        part.clusters = clusters
            .into_iter()
            .map(|cluster| self::cluster(cluster, &offers))
            .collect();
    }
    let mut rest = Rest::default();
    let mut upgrades: Vec<&core::Upgrade> = input.upgrades.iter().collect();
    upgrades.sort_by(|a, b| (a.id, &a.cluster, &a.pool).cmp(&(b.id, &b.cluster, &b.pool)));
    for upgrade in upgrades {
        match home.get(&upgrade.cluster) {
            Some(id) => parts
                .entry(id)
                .or_default()
                .upgrades
                .push(self::upgrade(upgrade)),
            None => rest.upgrades.push(self::upgrade(upgrade)),
        }
    }
    for sum in sorted(&input.soak) {
        let soak = wire::Soak {
            workload: text(&sum.workload),
            version: said(&sum.version),
            seconds: sum.seconds,
        };
        parts.entry(&sum.organisation).or_default().soak.push(soak);
    }
    for approval in sorted(&input.approvals) {
        parts
            .entry(&approval.organisation)
            .or_default()
            .approvals
            .push(self::approval(approval));
    }
    rest.gates = sorted(&input.gates).into_iter().map(gate).collect();
    rest.pauses = sorted(&input.pauses).into_iter().map(pause).collect();
    rest.inherited = input
        .inherited
        .iter()
        .map(|(id, minimum)| (text(id), self::minimum(minimum)))
        .collect();
    (parts, rest)
}

fn sorted<T: Ord>(values: &[T]) -> Vec<&T> {
    let mut sorted: Vec<&T> = values.iter().collect();
    sorted.sort();
    sorted
}

fn text(text: &str) -> Text<'_> {
    Cow::Borrowed(text)
}

fn said(value: &impl ToString) -> Text<'static> {
    Cow::Owned(value.to_string())
}

fn texts<'a>(names: impl IntoIterator<Item = &'a core::Name>) -> Vec<Text<'a>> {
    names.into_iter().map(|name| text(name)).collect()
}

fn optional(name: Option<&core::Name>) -> Option<Text<'_>> {
    name.map(|name| text(name))
}

fn pattern_texts(patterns: &[Pattern]) -> Vec<Text<'_>> {
    patterns
        .iter()
        .map(|pattern| text(pattern.as_str()))
        .collect()
}

fn label_texts(labels: &core::Labels) -> BTreeMap<Text<'_>, Text<'_>> {
    labels
        .iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// Each value once, in order; its number is its place.
struct Table<'a, T: ?Sized>(Vec<&'a T>);

impl<'a, T: Ord + ?Sized> Table<'a, T> {
    fn of(values: impl Iterator<Item = &'a T>) -> Self {
        let mut all: Vec<&T> = values.collect();
        all.sort();
        all.dedup();
        Self(all)
    }

    fn number(&self, value: &T) -> usize {
        self.0.binary_search(&value).unwrap_or_default()
    }
}

fn known(fact: &Fact<bool>) -> Option<bool> {
    match fact {
        Fact::Known(value) => Some(*value),
        Fact::Unknown => None,
    }
}

fn policies(organisation: &core::Organisation) -> Table<'_, core::UpgradePolicy> {
    let clusters = organisation.clusters.iter().map(|entry| &entry.policy);
    Table::of(clusters.chain(organisation.defaults.iter().map(|entry| &entry.policy)))
}

fn organisation<'a>(
    from: &'a core::Organisation,
    policies: &Table<'a, core::UpgradePolicy>,
) -> wire::Organisation<'a> {
    let cluster = |entry: &'a core::ClusterPolicy| wire::ClusterPolicy {
        name: text(&entry.name),
        id: entry.id.as_ref().map(|id| text(id.as_str())),
        policy: policies.number(&entry.policy),
        left_alone: entry
            .left_alone
            .as_ref()
            .map(|left| (text(&left.integration), place(&left.origin))),
        problems: entry.problems.iter().map(finding).collect(),
        origin: place(&entry.origin),
    };
    let default = |entry: &'a core::PolicyDefault| wire::PolicyDefault {
        name: text(&entry.name),
        match_labels: label_texts(&entry.match_labels),
        policy: policies.number(&entry.policy),
        problems: entry.problems.iter().map(finding).collect(),
        origin: place(&entry.origin),
    };
    wire::Organisation {
        id: text(&from.id),
        name: text(&from.name),
        environment: optional(from.environment.as_ref()),
        blocked_versions: pattern_texts(&from.blocked_versions),
        sectors: from
            .sectors
            .iter()
            .map(|(name, sector)| (text(name), self::sector(sector)))
            .collect(),
        clusters: from.clusters.iter().map(cluster).collect(),
        defaults: from.defaults.iter().map(default).collect(),
        inherits_from: texts(&from.inherits_from),
        shared_mutexes: texts(&from.shared_mutexes),
        disabled: from.disabled,
        origin: place(&from.origin),
    }
}

fn place(from: &finding::Place) -> wire::Place<'_> {
    (text(&from.file), from.line, from.column)
}

fn finding(from: &finding::Finding) -> wire::Finding<'_> {
    wire::Finding {
        error: from.is_error(),
        place: place(&from.place),
        code: text(from.code),
        problem: text(&from.problem),
        remedy: text(&from.remedy),
    }
}

fn sector(from: &core::Sector) -> wire::Sector<'_> {
    wire::Sector {
        name: text(&from.name),
        depends_on: texts(&from.depends_on),
        max_parallel: from.max_parallel.map(|limit| match limit {
            core::Parallel::Count(count) => wire::Parallel::Count(count),
            core::Parallel::Percent(percent) => wire::Parallel::Percent(percent),
        }),
        max_failures: from.max_failures,
        straggler_days: from.straggler_days,
        origin: place(&from.origin),
    }
}

fn policy(from: &core::UpgradePolicy) -> wire::Policy<'_> {
    let window = |window: &core::MaintenanceWindow| wire::Window {
        begins: said(&window.begins.as_str()),
        lasts: said(&window.lasts),
        time_zone: said(&window.time_zone.name()),
    };
    wire::Policy {
        workloads: texts(&from.workloads),
        schedule: from
            .schedule
            .as_ref()
            .map(|schedule| text(schedule.as_str())),
        soak_days: from.soak_days,
        mutexes: texts(&from.mutexes),
        sector: optional(from.sector.as_ref()),
        blocked_versions: pattern_texts(&from.blocked_versions),
        gate_approvals: texts(&from.gate_approvals),
        windows: from.windows.iter().map(window).collect(),
        exclusions: from.exclusions.iter().map(exclusion).collect(),
        needs_approval: from.needs_approval,
        pin: from.pin.as_ref().map(said),
        accepted_risks: texts(&from.accepted_risks),
    }
}

fn exclusion(from: &core::Exclusion) -> wire::Exclusion<'_> {
    wire::Exclusion {
        from: said(&from.from),
        until: said(&from.until),
        time_zone: text(from.time_zone.name()),
        why: optional(from.why.as_ref()),
    }
}

fn cluster<'a>(
    from: &'a core::ClusterState,
    offers: &Table<'a, [core::Offer]>,
) -> wire::Cluster<'a> {
    wire::Cluster {
        id: text(from.id.as_str()),
        name: text(&from.name),
        version: said(&from.version),
        going_to: from.going_to.as_ref().map(said),
        version_since: said(&from.version_since),
        last_seen: said(&from.last_seen),
        unhealthy: match &from.health {
            core::Health::Healthy => None,
            core::Health::Unhealthy { why } => Some(text(why)),
        },
        channel: from.channel.as_ref().map(|channel| text(channel.as_str())),
        arch: text(from.arch.as_str()),
        platform: match &from.platform {
            Fact::Known(platform) => Some(text(platform.as_str())),
            Fact::Unknown => None,
        },
        labels: label_texts(&from.labels),
        pools: match &from.product {
            core::Product::Standalone => None,
            core::Product::HostedControlPlane { pools } => Some(
                pools
                    .iter()
                    .map(|pool| (text(&pool.id), said(&pool.version)))
                    .collect(),
            ),
        },
        sts: known(&from.sts),
        wif: known(&from.wif),
        offers: offers.number(&from.offers),
        acknowledged_gates: texts(&from.acknowledged_gates),
        unbound: !from.binding.is_bound(),
    }
}

fn offer(from: &core::Offer) -> wire::Offer<'_> {
    wire::Offer {
        version: said(&from.version),
        hold: None,
        objection: from.objection.as_deref().map(objection),
    }
}

fn objection(from: &core::GraphObjection) -> wire::Objection<'_> {
    wire::Objection {
        is_no: from.verdict.answer == Answer::Refuse,
        until: from.until().as_ref().map(said),
        risks: texts(&from.risks),
        reasons: from.verdict.reasons.iter().map(reason).collect(),
    }
}

fn reason(from: &Reason) -> wire::Reason<'_> {
    let facts = from.facts().iter();
    wire::Reason {
        code: text(from.code().name),
        facts: facts
            .map(|(name, fact)| (text(name), value(fact)))
            .collect(),
        place: from
            .place()
            .map(|place| (text(&place.file), place.line, place.column)),
        until: from.ends().as_ref().map(said),
    }
}

fn value(from: &Value) -> wire::FactValue<'_> {
    match from {
        Value::Text(from) => wire::FactValue::Text(text(from)),
        Value::Number(number) => wire::FactValue::Number(*number),
        Value::Seconds(seconds) => wire::FactValue::Seconds(*seconds),
        Value::Time(time) => wire::FactValue::Time(said(time)),
        Value::Share(share) => wire::FactValue::Share(said(&share.parts())),
        Value::List(values) => wire::FactValue::List(values.iter().map(value).collect()),
        // The graph's reasons have none of these; their words are kept.
        Value::Missing | Value::Command(_) | Value::Thing { .. } => {
            wire::FactValue::Text(said(from))
        }
    }
}

fn upgrade(from: &core::Upgrade) -> wire::Upgrade<'_> {
    wire::Upgrade {
        id: from.id.0,
        cluster: text(from.cluster.as_str()),
        pool: optional(from.pool.as_ref()),
        from: said(&from.from),
        to: said(&from.to),
        state: text(from.state.code()),
        owner: text(from.owner.code()),
        start_at: said(&from.start_at),
        changed_at: said(&from.changed_at),
        failures: from.failures,
        note: optional(from.note.as_ref()),
    }
}

fn approval(from: &core::Approval) -> wire::Approval<'_> {
    wire::Approval {
        cluster: optional(from.cluster.as_ref()),
        version: said(&from.version),
        by: text(&from.by),
        at: said(&from.at),
    }
}

fn gate(from: &core::VersionGate) -> wire::GateEntry<'_> {
    wire::GateEntry {
        id: text(&from.id),
        version_prefix: text(&from.version_prefix),
        label: text(&from.label),
    }
}

fn pause(from: &core::Pause) -> wire::Pause<'_> {
    wire::Pause {
        organisation: optional(from.organisation.as_ref()),
        sector: optional(from.sector.as_ref()),
        by: text(&from.by),
        at: said(&from.at),
        why: text(&from.why),
    }
}

fn minimum(from: &core::Minimum) -> wire::Minimum<'_> {
    let of_workload =
        |(workload, version): (&'_ core::Name, &Version)| (said(workload), said(version));
    wire::Minimum {
        version: from.version.as_ref().map(said),
        of_workload: from.of_workload.iter().map(of_workload).collect(),
    }
}
