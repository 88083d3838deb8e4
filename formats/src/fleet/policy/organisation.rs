//! Organisation files: everything that holds for all clusters of an organisation.
//!
//! A mistake at the top of an organisation holds back all its clusters. Otherwise a block, a limit
//! or an inheritance that we did not understand would be ignored.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    ClusterPolicy, LeftAlone, Name, Organisation, PolicyDefault, UpgradePolicy,
};

use super::known::SharedValues;
use super::references::PolicyReference;
use super::sectors::{self, Sectors};
use super::upgrade_policy;
use crate::read::{Node, Reader, Record, Value};

/// The most clusters that one organisation may name.
pub const MAX_CLUSTERS: usize = 1_000_000;
/// The most defaults of an organisation.
const MAX_DEFAULTS: usize = 1_000;
/// The most items of any other list.
const MAX_ITEMS: usize = 10_000;
/// The most labels that a default may look for.
const MAX_LABELS: usize = 64;
/// How many problems of its organisation a cluster is told.
const MAX_TOLD: usize = 8;

/// Fields that have a meaning here, and those that AUS users have for other tools.
const FIELDS: [&str; 31] = [
    "name",
    "orgId",
    "environment",
    "blockedVersions",
    "sectors",
    "upgradePolicyClusters",
    "upgradePolicyDefaults",
    "upgradePolicyAllowedWorkloads",
    "upgradePolicyAllowedMutexes",
    "inheritVersionData",
    "publishVersionData",
    "sharedMutexes",
    "unknownClusters",
    "disable",
    "ausClusterHealthChecks",
    "$schema",
    "labels",
    "description",
    "path",
    "url",
    "accessTokenClientId",
    "accessTokenUrl",
    "accessTokenClientSecret",
    "offlineToken",
    "addonManagedUpgrades",
    "addonUpgradeTests",
    "upgradePolicyAddons",
    "recommendedVersions",
    "recommendedVersionWeight",
    "externalOrgId",
    "allowedClusterExternalConfigLabels",
];

/// Fields of AUS that change nothing here, and why.
const WITHOUT_EFFECT: [(&str, &str); 12] = [
    (
        "ausClusterHealthChecks",
        "Towpath always leaves unhealthy clusters alone",
    ),
    ("addonManagedUpgrades", ADDONS),
    ("addonUpgradeTests", ADDONS),
    ("upgradePolicyAddons", ADDONS),
    ("recommendedVersions", RECOMMENDED),
    ("recommendedVersionWeight", RECOMMENDED),
    (
        "allowedClusterExternalConfigLabels",
        "Towpath writes no labels",
    ),
    ("externalOrgId", "clusters belong to the `orgId`"),
    ("accessTokenClientId", LOGIN),
    ("accessTokenUrl", LOGIN),
    ("accessTokenClientSecret", LOGIN),
    ("offlineToken", LOGIN),
];
const ADDONS: &str = "Towpath upgrades no add-ons";
const RECOMMENDED: &str = "Towpath recommends no versions for new clusters";
const LOGIN: &str = "the login to the API stands on the command line (--ocm-token)";

/// An organisation that is being read.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) organisation: Organisation,
    pub(crate) rules: Rules,
}

/// What the clusters of an organisation are held against.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rules {
    pub(crate) workloads: Option<BTreeSet<Name>>,
    pub(crate) mutexes: Option<BTreeSet<Name>>,
    pub(crate) sectors: BTreeSet<Name>,
    /// What holds back every cluster.
    pub(crate) problems: Vec<Finding>,
    /// What holds back the clusters of a sector.
    pub(crate) sector_problems: BTreeMap<Name, Vec<Finding>>,
    /// The organisations to inherit version data from, if they say so too.
    pub(super) inherits: Vec<PolicyReference>,
    /// Who may inherit version data.
    pub(super) publishes: Vec<PolicyReference>,
}

/// Reads an organisation with all its clusters; none if it cannot be told which organisation it is.
pub(crate) fn read(
    place: &Place,
    node: &Node,
    known: &mut SharedValues,
    findings: &mut Vec<Finding>,
) -> Option<Draft> {
    let mut reader = Reader::new(place);
    let draft = head(&mut reader, known, node);
    let Some((mut draft, record)) = draft else {
        findings.append(&mut reader.findings);
        return None;
    };
    let errors = reader.findings.iter().filter(|finding| finding.is_error());
    draft.rules.problems.extend(errors.take(MAX_TOLD).cloned());
    // A sector's problems are its own; only its clusters are held back.
    if let Some(node) = record.get("sectors") {
        let Sectors { sectors, problems } = sectors::read(&mut reader, known, node);
        draft.rules.sectors = sectors.keys().cloned().collect();
        draft.organisation.sectors = sectors;
        draft.rules.sector_problems = problems;
    }
    if let Some(node) = record.get("upgradePolicyClusters") {
        let entries = reader.list(node, "upgradePolicyClusters", MAX_CLUSTERS);
        let clusters = entries
            .iter()
            .filter_map(|entry| cluster(place, entry, known, &draft.rules, findings));
        draft.organisation.clusters = clusters.collect();
    }
    if let Some(node) = record.get("upgradePolicyDefaults") {
        let entries = reader.list(node, "upgradePolicyDefaults", MAX_DEFAULTS);
        let defaults = entries
            .iter()
            .filter_map(|entry| default(place, entry, known, &draft.rules, findings));
        draft.organisation.defaults = defaults.collect();
    }
    findings.append(&mut reader.findings);
    Some(draft)
}

/// All but sectors, clusters and defaults.
fn head<'n>(
    reader: &mut Reader,
    known: &mut SharedValues,
    node: &'n Node,
) -> Option<(Draft, Record<'n>)> {
    let record = reader.open_record(node, "an organisation")?;
    reader.warn_unknown(record, &FIELDS);
    for (field, why) in WITHOUT_EFFECT {
        without_effect(reader, record, field, why);
    }
    let id = reader.required(record, "orgId", "add `orgId: <the organisation's id>`")?;
    let id = known.name(reader.name(id, "an organisation's id")?);
    let name = record
        .get("name")
        .and_then(|node| reader.name(node, "an organisation's name"));
    let name = name.map_or_else(|| id.clone(), |name| known.name(name));
    let mut draft = Draft {
        organisation: Organisation {
            id,
            name,
            environment: None,
            blocked_versions: Vec::new(),
            sectors: BTreeMap::new(),
            clusters: Vec::new(),
            defaults: Vec::new(),
            inherits_from: BTreeSet::new(),
            shared_mutexes: BTreeSet::new(),
            disabled: false,
            origin: reader.at(node),
        },
        rules: Rules::default(),
    };
    let organisation = &mut draft.organisation;
    organisation.environment = record
        .get("environment")
        .and_then(environment)
        .map(|name| known.name(name));
    if let Some(node) = record.get("blockedVersions") {
        organisation.blocked_versions = upgrade_policy::patterns(reader, known, node);
    }
    if let Some(node) = record.get("sharedMutexes") {
        organisation.shared_mutexes = names(reader, known, node, "sharedMutexes");
    }
    if let Some(node) = record.get("disable") {
        organisation.disabled = disabled(reader, node).is_some();
    }
    // What is no list allows nothing and forbids nothing; that it is none holds back everybody.
    let mut allowed = |field: &str| {
        let node = record.get(field)?;
        let names = names(reader, known, node, field);
        matches!(node.value, Value::List(_)).then_some(names)
    };
    draft.rules.workloads = allowed("upgradePolicyAllowedWorkloads");
    draft.rules.mutexes = allowed("upgradePolicyAllowedMutexes");
    let mut references = |field: &str| match record.get(field) {
        None => Vec::new(),
        Some(node) => {
            let items = reader.list(node, field, MAX_ITEMS);
            items
                .iter()
                .filter_map(|item| PolicyReference::read(reader, known, item))
                .collect()
        }
    };
    draft.rules.inherits = references("inheritVersionData");
    draft.rules.publishes = references("publishVersionData");
    Some((draft, record))
}

/// A note, if the field is there: it is one of AUS's, and has no effect here.
pub(super) fn without_effect(reader: &mut Reader, record: Record<'_>, field: &str, why: &str) {
    if let Some(node) = record.get(field) {
        let problem = format!("`{field}` has no effect: {why}");
        reader.warning(NO_EFFECT, node, problem, NO_EFFECT_REMEDY);
    }
}

const NO_EFFECT: &str = "no-effect";
const NO_EFFECT_REMEDY: &str =
    "nothing, if AUS or another tool still reads it; otherwise remove it";

fn names(reader: &mut Reader, known: &mut SharedValues, node: &Node, list: &str) -> BTreeSet<Name> {
    let items = reader.list(node, list, MAX_ITEMS);
    items
        .iter()
        .filter_map(|item| reader.name(item, "a name").map(|name| known.name(name)))
        .collect()
}

/// `production`, or a reference to where it is described.
fn environment(node: &Node) -> Option<&str> {
    let of_reference = || ["name", "$ref"].iter().find_map(|field| node.get(field));
    node.as_text()
        .or_else(|| of_reference().and_then(environment))
}

/// Why an organisation or a cluster is left alone: `disable` names one of the integrations whose work this is. What is not understood is an
/// error, and holds back whom it is about.
pub(super) fn disabled(reader: &mut Reader, node: &Node) -> Option<LeftAlone> {
    let list = reader
        .record(node, "`disable`", &["integrations", "e2eTests"])
        .and_then(|record| record.get("integrations"))?;
    let ours = |name: &str| {
        let name = name.trim().to_lowercase();
        let starts = ["aus-", "ocm-upgrade", "advanced-upgrade"];
        name.contains("upgrade-scheduler") || starts.iter().any(|start| name.starts_with(start))
    };
    let items = reader.list(list, "integrations", MAX_ITEMS);
    let named: Vec<(&Node, &str)> = items
        .iter()
        .filter_map(|item| Some((item, reader.text(item, "an integration's name")?)))
        .collect();
    let (item, name) = named.into_iter().find(|(_, name)| ours(name))?;
    Some(LeftAlone {
        integration: name.into(),
        origin: reader.at(item),
    })
}

/// An item of `upgradePolicyClusters`.
pub(crate) fn cluster(
    place: &Place,
    node: &Node,
    known: &mut SharedValues,
    rules: &Rules,
    findings: &mut Vec<Finding>,
) -> Option<ClusterPolicy> {
    let mut reader = Reader::new(place);
    let fields = [
        "name",
        "id",
        "serverUrl",
        "spec",
        "upgradePolicy",
        "disable",
    ];
    let entry = reader
        .record(node, "a cluster", &fields)
        .and_then(|record| {
            let id = record
                .get("id")
                .and_then(|node| cluster_id(&mut reader, node));
            if let Some(node) = record.get("spec") {
                findings.extend(spec(&mut reader, node));
            }
            let name = reader.required(record, "name", "add `name: <cluster>`");
            let name = name.and_then(|node| reader.name(node, "a cluster's name"));
            // An entry that lacks a name is still about the cluster with its id, and holds it back.
            let name: Name = name.or(id.as_ref().map(ClusterId::as_str))?.into();
            let before = reader.findings.len();
            let left_alone = record
                .get("disable")
                .and_then(|node| disabled(&mut reader, node));
            let may_be_left_alone = left_alone.is_some() || reader.findings.len() > before;
            // A cluster that is left alone needs no policy. Its entry keeps the defaults away from it.
            let policy = match (may_be_left_alone, record.get("upgradePolicy")) {
                (true, None) => UpgradePolicy::default(),
                _ => policy(&mut reader, known, rules, record),
            };
            Some(ClusterPolicy {
                name,
                id,
                policy,
                left_alone,
                problems: Vec::new(),
                origin: reader.at(node),
            })
        });
    findings.extend(reader.findings.iter().cloned());
    entry.map(|entry| ClusterPolicy {
        problems: errors(reader.findings),
        ..entry
    })
}

/// What holds back: a note does not.
fn errors(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(Finding::is_error).collect()
}

/// `spec: {id: …}` has the id that the API gave the cluster, and not the one that the cluster sends. It is told once for each file.
fn spec(reader: &mut Reader, node: &Node) -> Option<Finding> {
    reader.record(node, "`spec`", &["id"])?.get("id")?;
    let problem =
        "`spec.id` of clusters has no effect: it is the API's own id. Clusters are found by `name`";
    let remedy = "nothing; to find a cluster by the id that it sends, add `id` beside `name`";
    let place = Place::file(reader.place.file.clone());
    Some(Finding::warning(NO_EFFECT, place, problem, remedy))
}

/// The policy of an entry, which must have one.
pub(super) fn policy(
    reader: &mut Reader,
    known: &mut SharedValues,
    rules: &Rules,
    record: Record<'_>,
) -> UpgradePolicy {
    let node = reader.required(
        record,
        "upgradePolicy",
        "add `upgradePolicy:` with workloads and a schedule",
    );
    node.map(|node| upgrade_policy::read(reader, known, rules, node))
        .unwrap_or_default()
}

/// An id as a cluster sends it.
pub(super) fn cluster_id(reader: &mut Reader, node: &Node) -> Option<ClusterId> {
    let text = reader.name(node, "a cluster's id")?;
    let id = ClusterId::new(text);
    if id.is_none() {
        let remedy = format!("use at most {} characters", ClusterId::MAX_CHARACTERS);
        reader.error("bad-name", node, "this cannot be a cluster's id", &remedy);
    }
    id
}

/// An item of `upgradePolicyDefaults`.
fn default(
    place: &Place,
    node: &Node,
    known: &mut SharedValues,
    rules: &Rules,
    findings: &mut Vec<Finding>,
) -> Option<PolicyDefault> {
    let mut reader = Reader::new(place);
    let entry = reader
        .record(node, "a default", &DEFAULT_FIELDS)
        .and_then(|record| {
            let name = reader.required(record, "name", "add `name: <default>`")?;
            let name = known.name(reader.name(name, "a default's name")?);
            let match_labels = match record.get("matchLabels") {
                Some(node) => reader.labels(node, "matchLabels", MAX_LABELS),
                None => BTreeMap::new(),
            };
            let template = record.get("upgradePolicyTemplate");
            let template = template.filter(|_| record.get("upgradePolicy").is_none());
            let (policy, problems) = match template {
                Some(node) => (
                    UpgradePolicy::default(),
                    vec![unread_template(&mut reader, node)],
                ),
                None => (policy(&mut reader, known, rules, record), Vec::new()),
            };
            Some(PolicyDefault {
                name,
                match_labels,
                policy,
                problems,
                origin: reader.at(node),
            })
        });
    findings.extend(reader.findings.iter().cloned());
    entry.map(|mut entry| {
        entry.problems.extend(errors(reader.findings));
        entry
    })
}

const DEFAULT_FIELDS: [&str; 4] = [
    "name",
    "matchLabels",
    "upgradePolicy",
    "upgradePolicyTemplate",
];

/// A template holds only clusters that no entry names: nobody knows what it says of them. AUS itself writes entries from it.
fn unread_template(reader: &mut Reader, node: &Node) -> Finding {
    let problem = "`upgradePolicyTemplate` is not read: a cluster that only this default is for is not started";
    let remedy = "name the cluster in `upgradePolicyClusters`, or write `upgradePolicy` in place of the template";
    reader.warning("template", node, problem.to_owned(), remedy);
    Finding::error("template", reader.at(node), problem, remedy)
}

impl Rules {
    /// What holds back a cluster of that sector, besides what is wrong with the cluster itself.
    pub(crate) fn problems_of(&self, sector: Option<&Name>) -> impl Iterator<Item = &Finding> {
        let of_sector = sector.and_then(|sector| self.sector_problems.get(sector));
        self.problems.iter().chain(of_sector.into_iter().flatten())
    }
}
