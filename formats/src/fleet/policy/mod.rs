//! Fleet policy files: the organisation and cluster files of AppSRE's Advanced Upgrade Service
//! (AUS).
//!
//! All files are read and all problems reported at once. A mistake in a cluster's entry holds back
//! that cluster. A mistake in a sector holds back the sector's clusters. A mistake at the top of
//! an organisation holds back all of its clusters. Nothing else is held back. Labels on clusters
//! can say the same (`cluster_list::labels`).

mod checks;
mod inheritance;
mod known;
mod organisation;
mod references;
mod sectors;
mod upgrade_policy;

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{ClusterPolicy, FleetPolicy, Name, UnknownClusters};

use crate::SourceFile;
use crate::read::{Node, Reader, Value, too_large, yaml};

pub(crate) use checks::warnings;
pub(crate) use known::SharedValues;
pub use known::{MAX_PATTERNS, MAX_SCHEDULES};
use organisation::Draft;
pub use organisation::MAX_CLUSTERS;
pub(crate) use organisation::{Rules, cluster};
use references::Directory;
pub(crate) use references::PolicyReference;
pub use sectors::MAX_SECTORS;

/// Fields of a cluster file that have a meaning here, and those that AUS users have for other tools.
const CLUSTER_FIELDS: [&str; 39] = [
    "name",
    "id",
    "ocm",
    "organisation",
    "organization",
    "spec",
    "upgradePolicy",
    "disable",
    "unknownClusters",
    "$schema",
    "labels",
    "description",
    "path",
    "auth",
    "consoleUrl",
    "kibanaUrl",
    "grafanaUrl",
    "prometheusUrl",
    "alertmanagerUrl",
    "serverUrl",
    "elbFQDN",
    "prometheus",
    "observabilityNamespace",
    "managedGroups",
    "managedClusterRoles",
    "externalConfiguration",
    "additionalRouters",
    "network",
    "machinePools",
    "peering",
    "addons",
    "insecureSkipTLSVerify",
    "jumpHost",
    "automationToken",
    "clusterAdminAutomationToken",
    "clusterAdmin",
    "internal",
    "awsInfrastructureAccess",
    "awsInfrastructureManagementAccounts",
];

/// The most files that are read.
pub const MAX_FILES: usize = 1_000_000;

/// What all files say together.
#[derive(Debug, Default)]
pub struct PolicyRead {
    /// The policy. Entries with problems are in it, and held back.
    pub policy: FleetPolicy,
    /// Everything that was found, errors first, then by place.
    pub findings: Vec<Finding>,
    /// The paths of files that could not be read as a whole: what they say is not in the policy.
    pub unreadable: Vec<String>,
    /// What clusters see that nobody knows, if a file says it; `hold` if files disagree.
    pub unknown_clusters: Option<UnknownClusters>,
    /// The ids of clusters whose file names no organisation that exists: the policy lacks them, and they are held.
    pub strays: BTreeSet<ClusterId>,
    /// What clusters that are read later, from their labels, are held against.
    pub(crate) rules: BTreeMap<Name, Rules>,
    directory: Directory,
}

/// Whether a path can be that of a policy file, or of a folder that may have some (with a `/` at its end); adapters need not
/// bring others. What starts with a dot (`.git`) is not part, nor is what a file system keeps for itself.
pub fn is_part(path: &str) -> bool {
    if path
        .split('/')
        .any(|name| name.starts_with('.') || name == "lost+found")
    {
        return false;
    }
    let path = path.to_ascii_lowercase();
    path.ends_with('/')
        || [".yaml", ".yml", ".json"]
            .iter()
            .any(|ending| path.ends_with(ending))
}

impl PolicyRead {
    fn take(&mut self, drafts: BTreeMap<Name, Draft>) {
        for (id, draft) in drafts {
            let organisations = &mut self.policy.organisations;
            organisations.insert(id.clone(), draft.organisation);
            self.rules.insert(id, draft.rules);
        }
    }
}

/// Reads all files that can be policy files. Their order does not matter.
pub fn read(files: &[SourceFile]) -> PolicyRead {
    if files.len() > MAX_FILES {
        let problem = format!("there are more than {MAX_FILES} files");
        let finding = too_large(
            &Place::file("."),
            problem,
            "point at the policy files alone",
        );
        return PolicyRead {
            findings: vec![finding],
            ..PolicyRead::default()
        };
    }
    let mut reading = PolicyReading::default();
    let mut files: Vec<&SourceFile> = files.iter().filter(|file| is_part(&file.path)).collect();
    files.sort_by(|a, b| (&a.path, &a.bytes).cmp(&(&b.path, &b.bytes)));
    for file in files {
        reading.file(file);
    }
    reading.finish()
}

/// Adds organisations that are described elsewhere than in files, in the words of files.
pub(crate) fn add_organisations(
    read: &mut PolicyRead,
    described: Vec<(Place, Node)>,
    known: &mut SharedValues,
    findings: &mut Vec<Finding>,
) {
    let directory = std::mem::take(&mut read.directory);
    let mut reading = PolicyReading {
        known: std::mem::take(known),
        directory,
        ..PolicyReading::default()
    };
    for (place, node) in described {
        reading.organisation(&place, &node);
    }
    *known = reading.known;
    findings.append(&mut reading.findings);
    read.directory = reading.directory;
    read.take(reading.drafts);
    // What one side has said may have its answer now.
    read.findings
        .retain(|finding| finding.code != inheritance::ONE_SIDED);
    inheritance::settle(&mut read.policy, &read.rules, &read.directory, findings);
}

/// What has been read so far.
#[derive(Default)]
struct PolicyReading {
    known: SharedValues,
    drafts: BTreeMap<Name, Draft>,
    directory: Directory,
    /// Clusters of cluster files; their organisations may come later.
    clusters: Vec<ClusterFile>,
    findings: Vec<Finding>,
    unreadable: Vec<String>,
    /// What files say of unknown clusters, and the first that said it.
    unknown_clusters: Option<(UnknownClusters, Place)>,
    strays: BTreeSet<ClusterId>,
}

/// What concerns us of a cluster file.
struct ClusterFile {
    place: Place,
    organisation: PolicyReference,
    /// As an item of `upgradePolicyClusters`.
    entry: Node,
}

/// What kind of file it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PolicyFileKind {
    Organisation,
    Cluster,
}

impl PolicyReading {
    fn file(&mut self, file: &SourceFile) {
        let place = Place::file(file.path.as_str());
        let read = yaml::tree(&place, &file.bytes)
            .and_then(|node| kind(&place, &node).map(|kind| (kind, node)));
        if let Ok((_, node)) = &read {
            self.unknown_clusters(&place, node);
        }
        let was_read = match read {
            Ok((PolicyFileKind::Organisation, node)) => self.organisation(&place, &node),
            Ok((PolicyFileKind::Cluster, node)) => self.cluster(place, &node),
            Err(finding) => {
                self.findings.push(finding);
                false
            }
        };
        if !was_read {
            self.unreadable.push(file.path.clone());
        }
    }

    /// `unknownClusters`, in any file. What cannot be understood, and what files disagree about, is `hold`.
    fn unknown_clusters(&mut self, place: &Place, node: &Node) {
        let Some(node) = node.get("unknownClusters") else {
            return;
        };
        let mut reader = Reader::new(place);
        let text = reader.text(node, "`unknownClusters`");
        let written = text.and_then(UnknownClusters::parse);
        if let (Some(text), None) = (text, written) {
            let problem = format!(
                "`unknownClusters` is {:?}; unknown clusters are held",
                crate::read::shown(text)
            );
            reader.error("bad-value", node, problem, "write `hold` or `serve`");
        }
        let (written, at) = (written.unwrap_or(UnknownClusters::Hold), reader.at(node));
        self.findings.append(&mut reader.findings);
        match &mut self.unknown_clusters {
            None => self.unknown_clusters = Some((written, at)),
            Some((first, _)) if *first == written => {}
            Some((first, first_at)) => {
                let (here, there) = (written.as_str(), first.as_str());
                let problem = format!(
                    "`unknownClusters` is {here} here and {there} at {first_at}; hold counts"
                );
                self.findings.push(Finding::warning(
                    "unknown-clusters",
                    at,
                    problem,
                    "write the same in all files",
                ));
                *first = UnknownClusters::Hold;
            }
        }
    }

    fn organisation(&mut self, place: &Place, node: &Node) -> bool {
        let Some(draft) = organisation::read(place, node, &mut self.known, &mut self.findings)
        else {
            return false;
        };
        let organisation = &draft.organisation;
        self.directory
            .add(&organisation.id, &organisation.name, &place.file);
        let Some(first) = self.drafts.get_mut(&organisation.id) else {
            self.drafts.insert(organisation.id.clone(), draft);
            return true;
        };
        let id = &*organisation.id;
        let problem = format!(
            "organisation {id:?} is declared here and at {}",
            first.organisation.origin
        );
        let remedy = "keep one of them; until then none of its clusters is started";
        let finding = Finding::error(
            "duplicate-organisation",
            organisation.origin.clone(),
            problem,
            remedy,
        );
        first.rules.problems.push(finding.clone());
        self.findings.push(finding);
        false
    }

    /// A cluster file without a policy is none of our business, unless it says that we leave the cluster alone: then no default is for it.
    fn cluster(&mut self, place: Place, node: &Node) -> bool {
        let (policy, disable) = (node.get("upgradePolicy"), node.get("disable"));
        let mut reader = Reader::new(&place);
        if let Some(record) = reader.open_record(node, "a cluster file") {
            reader.warn_unknown(record, &CLUSTER_FIELDS);
        }
        let was_understood = !reader.findings.iter().any(Finding::is_error);
        self.findings.append(&mut reader.findings);
        if !was_understood {
            return false;
        }
        let concerns_us = |disable: &Node| {
            let mut reader = Reader::new(&place);
            // What is not understood holds the cluster back.
            organisation::disabled(&mut reader, disable).is_some() || !reader.findings.is_empty()
        };
        if policy.is_none() && !disable.is_some_and(concerns_us) {
            return true;
        }
        let mut reader = Reader::new(&place);
        let organisation = ["organisation", "organization", "ocm"]
            .iter()
            .find_map(|field| node.get(field));
        let organisation = match organisation {
            Some(named) => PolicyReference::read(&mut reader, &mut self.known, named),
            None => {
                let problem = "the cluster has a policy or is disabled, and has no organisation";
                reader.error(
                    "missing-field",
                    node,
                    problem,
                    "add `ocm:` with the organisation's id, name or file",
                );
                None
            }
        };
        self.findings.append(&mut reader.findings);
        let Some(organisation) = organisation else {
            return false;
        };
        let Some(id) = self.id_of(&place, node) else {
            return false;
        };
        let fields = [
            ("name", node.get("name")),
            ("id", id),
            ("upgradePolicy", policy),
            ("disable", disable),
        ];
        let entry = Node::map(
            fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?.clone()))),
        );
        let entry = Node {
            line: node.line,
            column: node.column,
            ..entry
        };
        self.clusters.push(ClusterFile {
            place,
            organisation,
            entry,
        });
        true
    }

    /// The cluster's id, if the file tells one: the one that the cluster itself sends comes before the one that its API gave it. None if the
    /// file tells two.
    fn id_of<'n>(&mut self, place: &Place, node: &'n Node) -> Option<Option<&'n Node>> {
        let of_spec = |field: &str| node.get("spec").and_then(|spec| spec.get(field));
        let (own, external) = (node.get("id"), of_spec("external_id"));
        if let (Some(own), Some(external)) = (own, external)
            && cluster_id(own) != cluster_id(external)
        {
            let mut reader = Reader::new(place);
            let problem = "`id` and `spec.external_id` are not the same";
            reader.error(
                "two-ids",
                own,
                problem,
                "keep the one that the cluster sends",
            );
            self.findings.append(&mut reader.findings);
            return None;
        }
        Some(external.or(own).or(of_spec("id")))
    }

    fn finish(mut self) -> PolicyRead {
        for file in std::mem::take(&mut self.clusters) {
            self.place_cluster(&file);
        }
        let mut read = PolicyRead {
            unreadable: self.unreadable,
            findings: self.findings,
            ..PolicyRead::default()
        };
        read.unknown_clusters = self.unknown_clusters.map(|(written, _)| written);
        read.strays = self.strays;
        read.directory = self.directory;
        read.take(self.drafts);
        inheritance::settle(
            &mut read.policy,
            &read.rules,
            &read.directory,
            &mut read.findings,
        );
        for (id, organisation) in &mut read.policy.organisations {
            let rules = read.rules.get(id).cloned().unwrap_or_default();
            finish(organisation, &rules, &mut read.findings);
        }
        read.findings.sort();
        read.findings.dedup();
        read
    }

    fn place_cluster(&mut self, file: &ClusterFile) {
        let draft = self
            .directory
            .find(&file.organisation)
            .and_then(|id| self.drafts.get_mut(&id));
        let Some(draft) = draft else {
            let problem = format!(
                "there is no organisation {:?}, or there are several",
                file.organisation.shown()
            );
            let remedy = "correct it, or add the organisation's file";
            let place = file.organisation.place.clone();
            self.findings.push(Finding::error(
                "unknown-organisation",
                place,
                problem,
                remedy,
            ));
            self.strays
                .extend(file.entry.get("id").and_then(cluster_id));
            return;
        };
        let entry = organisation::cluster(
            &file.place,
            &file.entry,
            &mut self.known,
            &draft.rules,
            &mut self.findings,
        );
        draft.organisation.clusters.extend(entry);
    }
}

fn cluster_id(node: &Node) -> Option<ClusterId> {
    match &node.value {
        Value::Text(id) => ClusterId::new(id),
        _ => None,
    }
}

/// The last look at an organisation, when all its clusters are there.
fn finish(
    organisation: &mut towpath_core::fleet::Organisation,
    rules: &Rules,
    findings: &mut Vec<Finding>,
) {
    let key = |cluster: &ClusterPolicy| (cluster.name.clone(), cluster.origin.clone());
    organisation.clusters.sort_by_cached_key(key);
    checks::duplicates(organisation, findings);
    checks::tell(organisation, rules);
    checks::warnings(organisation, findings);
}

/// Tells organisation files from cluster files by what stands in them.
fn kind(place: &Place, node: &Node) -> Result<PolicyFileKind, Finding> {
    let has = |names: &[&str]| names.iter().any(|name| node.get(name).is_some());
    match node.get("$schema").and_then(Node::as_text) {
        Some(schema) if schema.starts_with("/openshift/cluster-") => {
            return Ok(PolicyFileKind::Cluster);
        }
        Some(schema) if schema.starts_with("/openshift/openshift-cluster-manager") => {
            return Ok(PolicyFileKind::Organisation);
        }
        _ => {}
    }
    if has(&[
        "orgId",
        "upgradePolicyClusters",
        "upgradePolicyDefaults",
        "sectors",
    ]) {
        return Ok(PolicyFileKind::Organisation);
    }
    if has(&[
        "upgradePolicy",
        "spec",
        "ocm",
        "organisation",
        "organization",
    ]) {
        return Ok(PolicyFileKind::Cluster);
    }
    let problem = "this is neither an organisation (`orgId`) nor a cluster (`upgradePolicy`)";
    Err(Finding::error(
        "not-a-policy",
        place.clone(),
        problem,
        "complete the file, or keep it elsewhere",
    ))
}
