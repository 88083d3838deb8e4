//! Which policy selects which cluster: policies without a cluster, clusters that share a name,
//! clusters that two entries select, workloads on several kinds of channel.
//!
//! These are findings for people, and hold no cluster back. A rule holds clusters that share a
//! name.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Place};
use crate::fleet::roster::Entries;
use crate::fleet::{ClusterPolicy, ClusterState, FleetPolicy, Name, UpgradePolicy, name_findings};

/// The codes of these findings.
pub const COVERAGE_CODES: [&str; 5] = [
    "no-clusters",
    "matches-no-cluster",
    "name-disputed",
    "name-taken",
    "selected-twice",
];

/// The most findings of each kind that are listed one by one.
const MAX_OF_A_KIND: usize = 50;

/// Oddities in which clusters the policies select. The clusters come from a list, a store or an
/// API.
pub fn coverage(policy: &FleetPolicy, clusters: &[ClusterState]) -> Vec<Finding> {
    if policy.organisations.is_empty() {
        return Vec::new();
    }
    if clusters.is_empty() {
        return vec![no_clusters(policy)];
    }
    let entries = Entries::new(policy);
    let mut findings = few(matching_nobody(policy, clusters, &entries));
    findings.extend(few(name_findings(clusters)));
    findings.extend(few(selected_twice(policy, clusters, &entries)));
    findings.extend(few(mixed_channels(policy, clusters, &entries)));
    findings.sort();
    findings
}

/// Workloads whose clusters follow different streams of channels, such as `stable` and `candidate`. What one soaks, the other may
/// never be offered.
fn mixed_channels(
    policy: &FleetPolicy,
    clusters: &[ClusterState],
    entries: &Entries<'_>,
) -> Vec<Finding> {
    let mut streams: BTreeMap<(&Name, &Name), BTreeMap<&str, &Name>> = BTreeMap::new();
    for cluster in clusters {
        let (Some(wanted), Some(channel)) = (entries.of(cluster), &cluster.channel) else {
            continue;
        };
        for workload in &wanted.policy.workloads {
            let of_workload = streams.entry((&cluster.organisation, workload));
            let first = of_workload.or_default().entry(channel.stream());
            let name = first.or_insert(&cluster.name);
            *name = (*name).min(&cluster.name);
        }
    }
    let mixed = streams.into_iter().filter(|(_, streams)| streams.len() > 1);
    let finding = |((id, workload), streams): ((&Name, &Name), BTreeMap<&str, &Name>)| {
        let origin = &policy.organisations.get(id)?.origin;
        let each = streams
            .iter()
            .map(|(stream, name)| format!("{stream} ({name})"));
        let problem = format!(
            "the clusters of workload {:?} are on different channels: {}",
            &**workload,
            each.collect::<Vec<_>>().join(", ")
        );
        let remedy = "put them on channels of one kind, or give them workloads of their own: a version soaks only where it is offered";
        Some(Finding::warning(
            "mixed-channels",
            origin.clone(),
            problem,
            remedy,
        ))
    };
    mixed.filter_map(finding).collect()
}

fn no_clusters(policy: &FleetPolicy) -> Finding {
    let place = policy
        .organisations
        .values()
        .map(|organisation| &organisation.origin)
        .min();
    let problem = "no cluster is known, so nobody can check which policies match one";
    let remedy =
        "give a list of clusters (--clusters), or a store that clusters have reported to (--store)";
    Finding::warning(
        "no-clusters",
        place.cloned().unwrap_or_else(|| Place::file(".")),
        problem,
        remedy,
    )
}

/// Entries and defaults that no cluster takes its policy from.
fn matching_nobody(
    policy: &FleetPolicy,
    clusters: &[ClusterState],
    entries: &Entries<'_>,
) -> Vec<Finding> {
    let mut used: BTreeSet<*const UpgradePolicy> = BTreeSet::new();
    let mut homes: BTreeMap<&str, &str> = BTreeMap::new();
    for cluster in clusters {
        let selecting = [entries.of(cluster), entries.by_name(cluster)];
        used.extend(
            selecting
                .into_iter()
                .flatten()
                .map(|wanted| std::ptr::from_ref(wanted.policy)),
        );
        homes.insert(&cluster.name, &cluster.organisation);
    }
    let is_unused = |policy: &UpgradePolicy| !used.contains(&std::ptr::from_ref(policy));
    let mut findings = Vec::new();
    for organisation in policy.organisations.values() {
        for entry in organisation
            .clusters
            .iter()
            .filter(|entry| is_unused(&entry.policy))
        {
            let (problem, remedy) =
                unmatched(entry, &organisation.id, homes.get(&*entry.name).copied());
            findings.push(Finding::warning(
                "matches-no-cluster",
                entry.origin.clone(),
                problem,
                remedy,
            ));
        }
        for default in organisation
            .defaults
            .iter()
            .filter(|default| is_unused(&default.policy))
        {
            let problem = format!(
                "no cluster takes its policy from default {:?}",
                &*default.name
            );
            let remedy =
                "correct its labels, or remove it; named clusters and earlier defaults come first";
            findings.push(Finding::warning(
                "matches-no-cluster",
                default.origin.clone(),
                problem,
                remedy,
            ));
        }
    }
    findings
}

fn unmatched(entry: &ClusterPolicy, organisation: &str, home: Option<&str>) -> (String, String) {
    let name = &*entry.name;
    match (&entry.id, home) {
        (Some(id), Some(home)) if home == organisation => (
            format!("this policy matches no cluster: {name:?} is known, and not by the id {id}"),
            "correct the id, or remove it so that the name counts".to_owned(),
        ),
        (_, Some(home)) if home != organisation => (
            format!(
                "this policy matches no cluster: {name:?} belongs to organisation {home:?}, not to {organisation:?}"
            ),
            "move the policy to the cluster's organisation".to_owned(),
        ),
        _ => (
            format!(
                "this policy matches no cluster: no cluster {name:?} is known in organisation {organisation:?}"
            ),
            "correct its name, let the cluster report, or remove the policy".to_owned(),
        ),
    }
}

/// Clusters that one entry selects by id and another by name.
fn selected_twice(
    policy: &FleetPolicy,
    clusters: &[ClusterState],
    entries: &Entries<'_>,
) -> Vec<Finding> {
    let by_policy = by_policy(policy);
    let entry = |policy: &UpgradePolicy| by_policy.get(&std::ptr::from_ref(policy)).copied();
    let twice = clusters.iter().filter_map(|cluster| {
        let (id, name) = (
            entry(entries.by_id(cluster)?.policy)?,
            entry(entries.by_name(cluster)?.policy)?,
        );
        let problem = format!(
            "cluster {:?} is selected twice: by its name here, and by its id at {}, which counts",
            &*cluster.name, id.origin
        );
        Some(Finding::warning(
            "selected-twice",
            name.origin.clone(),
            problem,
            "keep one of them",
        ))
    });
    twice.collect()
}

fn by_policy(policy: &FleetPolicy) -> BTreeMap<*const UpgradePolicy, &ClusterPolicy> {
    let entries = policy
        .organisations
        .values()
        .flat_map(|organisation| &organisation.clusters);
    entries
        .map(|entry| (std::ptr::from_ref(&entry.policy), entry))
        .collect()
}

/// The first of them, and how many more there are.
fn few(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort();
    let more = findings.len().saturating_sub(MAX_OF_A_KIND);
    findings.truncate(MAX_OF_A_KIND);
    if let (Some(last), true) = (findings.last().cloned(), more > 0) {
        let problem = format!("there are {more} more like the {MAX_OF_A_KIND} above");
        findings.push(Finding {
            problem,
            remedy: "correct those first".to_owned(),
            ..last
        });
    }
    findings
}
