//! Policies from labels: the other way in which AUS users write policies.
//!
//! Labels are translated to the fields of the policy files and read as those are. So both mean the
//! same and have the same checks. If a cluster has a file too, the file wins.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{ClusterPolicy, Labels, Name};

use super::{ClusterList, ListedOrganisation};
use crate::fleet::policy::{self, PolicyRead, SharedValues};
use crate::read::{Node, Value};

/// What all labels of AUS begin with.
pub const PREFIX: &str = "sre-capabilities.aus.";

/// Adds what labels say to what files say. Returns what is new to say, and puts it among the findings too.
pub fn policies(list: &ClusterList, read: &mut PolicyRead) -> Vec<Finding> {
    let mut known = SharedValues::default();
    let mut findings = Vec::new();
    let mut of_organisation: BTreeMap<&Name, Vec<usize>> = BTreeMap::new();
    for (index, cluster) in list.clusters.iter().enumerate() {
        if has_policy(&cluster.labels) {
            of_organisation
                .entry(&cluster.organisation)
                .or_default()
                .push(index);
        }
    }
    let listed: BTreeMap<&Name, &ListedOrganisation> =
        list.organisations.iter().map(|o| (&o.id, o)).collect();
    let labelled = listed
        .values()
        .filter(|organisation| has_policy(&organisation.labels))
        .map(|o| &o.id);
    let wanted: BTreeSet<&Name> = of_organisation.keys().copied().chain(labelled).collect();
    let nobody = Place::file("labels");
    let mut made = Vec::new();
    for id in wanted {
        let organisation = listed.get(id).copied();
        if read.policy.organisations.contains_key(id) {
            findings.extend(organisation.and_then(ignored_labels));
            continue;
        }
        let first = of_organisation
            .get(id)
            .and_then(|clusters| list.origins.get(*clusters.first()?));
        let place = organisation
            .map(|organisation| &organisation.origin)
            .or(first)
            .unwrap_or(&nobody);
        let node = organisation_node(id, organisation);
        made.push((place.clone(), node));
    }
    let from_files: BTreeSet<Name> = read.policy.organisations.keys().cloned().collect();
    policy::add_organisations(read, made, &mut known, &mut findings);
    for (id, clusters) in of_organisation {
        clusters_of(list, read, id, &clusters, &mut known, &mut findings);
    }
    for (_, organisation) in read
        .policy
        .organisations
        .iter()
        .filter(|(id, _)| !from_files.contains(*id))
    {
        policy::warnings(organisation, &mut findings);
    }
    findings.sort();
    findings.dedup();
    read.findings.extend(findings.iter().cloned());
    read.findings.sort();
    read.findings.dedup();
    findings
}

fn clusters_of(
    list: &ClusterList,
    read: &mut PolicyRead,
    id: &Name,
    clusters: &[usize],
    known: &mut SharedValues,
    findings: &mut Vec<Finding>,
) {
    let Some(organisation) = read.policy.organisations.get_mut(id) else {
        return;
    };
    let rules = read.rules.get(id).cloned().unwrap_or_default();
    let by_name: BTreeSet<Name> = organisation
        .clusters
        .iter()
        .filter(|entry| entry.id.is_none())
        .map(|entry| entry.name.clone())
        .collect();
    let by_id: BTreeSet<_> = organisation
        .clusters
        .iter()
        .filter_map(|entry| entry.id.clone())
        .collect();
    for index in clusters {
        let (cluster, place) = (&list.clusters[*index], &list.origins[*index]);
        if by_id.contains(&cluster.id) || by_name.contains(&cluster.name) {
            let problem = format!(
                "cluster {:?} has a policy in a file and in its labels; the file counts",
                &*cluster.name
            );
            let remedy = "remove one of them";
            findings.push(Finding::warning(
                "two-policies",
                place.clone(),
                problem,
                remedy,
            ));
            continue;
        }
        let node = cluster_node(&cluster.name, cluster.id.as_str(), &cluster.labels);
        let mut entry = policy::cluster(place, &node, known, &rules, findings);
        if let Some(ClusterPolicy {
            policy, problems, ..
        }) = &mut entry
        {
            problems.extend(rules.problems_of(policy.sector.as_ref()).cloned());
            unknown_labels(
                &cluster.labels,
                &CLUSTER_LABELS,
                &[],
                place,
                "a cluster",
                problems,
                findings,
            );
            problems.sort();
            problems.dedup();
        }
        organisation.clusters.extend(entry);
    }
    organisation
        .clusters
        .sort_by_cached_key(|entry| (entry.name.clone(), entry.origin.clone()));
}

const CLUSTER_LABELS: [&str; 7] = [
    "soak-days",
    "workloads",
    "schedule",
    "mutexes",
    "sector",
    "blocked-versions",
    "version-gate-approvals",
];

fn has_policy(labels: &Labels) -> bool {
    labels
        .range(PREFIX.to_owned()..)
        .next()
        .is_some_and(|(name, _)| name.starts_with(PREFIX))
}

fn ignored_labels(organisation: &ListedOrganisation) -> Option<Finding> {
    has_policy(&organisation.labels).then(|| {
        let name = &*organisation.name;
        let problem = format!(
            "organisation {name:?} has a policy in a file and in its labels; the file counts"
        );
        Finding::warning(
            "two-policies",
            organisation.origin.clone(),
            problem,
            "remove one of them",
        )
    })
}

/// A label under our prefix that means nothing is a slip of the hand that could mean less caution than was meant.
fn unknown_labels(
    labels: &Labels,
    known: &[&str],
    families: &[&str],
    place: &Place,
    what: &str,
    problems: &mut Vec<Finding>,
    findings: &mut Vec<Finding>,
) {
    for label in labels.keys().filter_map(|label| label.strip_prefix(PREFIX)) {
        if known.contains(&label) || families.iter().any(|family| label.starts_with(family)) {
            continue;
        }
        let problem = format!(
            "{what} has no label {:?}",
            crate::read::shown(&format!("{PREFIX}{label}"))
        );
        let finding = Finding::error(
            "unknown-field",
            place.clone(),
            problem,
            "correct its name, or remove it",
        );
        problems.push(finding.clone());
        findings.push(finding);
    }
}

/// A cluster's labels in the words of a file.
fn cluster_node(name: &str, id: &str, labels: &Labels) -> Node {
    let text = |label: &str| {
        labels
            .get(&format!("{PREFIX}{label}"))
            .map(|value| Node::text(value.trim()))
    };
    let list = |label: &str| {
        labels
            .get(&format!("{PREFIX}{label}"))
            .map(|value| comma_list(value))
    };
    let conditions = [
        ("soakDays", text("soak-days")),
        ("mutexes", list("mutexes")),
        ("sector", text("sector")),
        ("blockedVersions", list("blocked-versions")),
    ];
    let policy = [
        ("workloads", list("workloads")),
        ("schedule", text("schedule")),
        ("conditions", Some(given(conditions))),
        ("versionGateApprovals", list("version-gate-approvals")),
    ];
    Node::map([
        ("name", Node::text(name)),
        ("id", Node::text(id)),
        ("upgradePolicy", given(policy)),
    ])
}

/// An organisation's labels in the words of a file.
fn organisation_node(id: &Name, organisation: Option<&ListedOrganisation>) -> Node {
    let none = Labels::new();
    let labels = organisation.map_or(&none, |organisation| &organisation.labels);
    let list = |label: &str| {
        labels
            .get(&format!("{PREFIX}{label}"))
            .map(|value| comma_list(value))
    };
    let name = organisation.map_or(id, |organisation| &organisation.name);
    let fields = [
        ("orgId", Some(Node::text(&**id))),
        ("name", Some(Node::text(&**name))),
        ("blockedVersions", list("blocked-versions")),
        ("inheritVersionData", list("version-data.inherit")),
        ("publishVersionData", list("version-data.publish")),
        ("sectors", Some(sectors_node(labels))),
    ];
    let mut node = given(fields);
    let ours = [
        "blocked-versions",
        "version-data.inherit",
        "version-data.publish",
    ];
    let families = ["sector-deps.", "sector-max-parallel-upgrades."];
    // What means nothing is passed on, and reported as a file's unknown field is.
    for label in labels.keys().filter_map(|label| label.strip_prefix(PREFIX)) {
        let known =
            ours.contains(&label) || families.iter().any(|family| label.starts_with(family));
        if let (false, Value::Map(fields)) = (known, &mut node.value) {
            let key = Node::text(format!("{PREFIX}{label}")).into();
            fields.push((key, Node::text("")));
        }
    }
    node
}

/// The sectors that an organisation's labels name: those that depend, those with a limit, and those depended upon.
fn sectors_node(labels: &Labels) -> Node {
    let of = |family: &str| -> BTreeMap<String, &str> {
        let named = labels
            .iter()
            .filter_map(|(label, value)| Some((label.strip_prefix(PREFIX)?, value)));
        named
            .filter_map(|(label, value)| {
                Some((label.strip_prefix(family)?.to_owned(), value.as_str()))
            })
            .collect()
    };
    let (dependencies, limits) = (of("sector-deps."), of("sector-max-parallel-upgrades."));
    let depended_upon = dependencies
        .values()
        .flat_map(|list| items(list))
        .map(str::to_owned);
    let names: BTreeSet<String> = dependencies
        .keys()
        .chain(limits.keys())
        .cloned()
        .chain(depended_upon)
        .collect();
    Node::list(names.into_iter().map(|name| {
        given([
            (
                "dependencies",
                dependencies.get(&name).map(|list| comma_list(list)),
            ),
            (
                "maxParallelUpgrades",
                limits.get(&name).map(|limit| Node::text(limit.trim())),
            ),
            ("name", Some(Node::text(name))),
        ])
    }))
}

fn given<const N: usize>(fields: [(&'static str, Option<Node>); N]) -> Node {
    Node::map(
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    )
}

fn comma_list(text: &str) -> Node {
    Node::list(items(text).map(Node::text))
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}
