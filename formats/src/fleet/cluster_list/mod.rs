//! A list of clusters, as another system exports it, in JSON or YAML.
//!
//! An unreadable entry becomes a finding and is left out. The rest is taken. A cluster that is not
//! in the list is not upgraded, so leaving it out is safe for it. But its sector no longer counts
//! it, so the finding is an error.

mod entries;
pub mod labels;
mod untold;
mod upgrades;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    ClusterState, Labels, Minimum, Name, Offer, SoakSum, Upgrade, VersionGate,
};
use towpath_core::version::Version;

pub use untold::{CHANNEL_NOT_FOLLOWED, LIST_IS_GONE, NOT_TOLD, untold};
pub use write::json;

use crate::fleet::policy::SharedValues;
use crate::read::{Node, Reader, Value, too_large, yaml};

/// The largest list that is read.
pub const MAX_BYTES: usize = 2 << 30;
/// The most clusters of a list.
pub const MAX_CLUSTERS: usize = 2_000_000;
/// The most entries of any other kind.
const MAX_ENTRIES: usize = 10_000_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusterList {
    pub organisations: Vec<ListedOrganisation>,
    /// The clusters, by organisation and id.
    pub clusters: Vec<ClusterState>,
    /// Clusters of which an API told too little. They stand for themselves until they are understood: nothing starts there, and
    /// others wait for them.
    pub not_understood: Vec<ClusterState>,
    /// Where each of `clusters` stands, in the same order.
    pub origins: Vec<Place>,
    pub gates: Vec<VersionGate>,
    /// Upgrades that somebody has planned or started.
    pub upgrades: Vec<Upgrade>,
    /// The lowest versions elsewhere, by organisation.
    pub inherited: BTreeMap<Name, Minimum>,
    /// How long releases have run.
    pub soak: Vec<SoakSum>,
    /// The parts that the list has, empty ones too.
    pub parts: BTreeSet<&'static str>,
    /// The ids of clusters that were left out because of an error in their entry.
    pub left_out: BTreeSet<ClusterId>,
    /// How many parts of the list could not be read. Nobody knows which clusters they name.
    pub unread: usize,
    /// Whether nothing of it could be read: then it says nothing, not even that there are no clusters.
    pub is_unusable: bool,
}

/// An organisation of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedOrganisation {
    pub id: Name,
    pub name: Name,
    pub labels: Labels,
    pub origin: Place,
}

/// Reads a list. Times that it does not tell are `now`.
pub fn read(place: &Place, bytes: &[u8], now: Timestamp) -> (ClusterList, Vec<Finding>) {
    let mut reading = ListReading {
        now,
        known: SharedValues::default(),
        list: ClusterList::default(),
        ids: BTreeMap::new(),
        versions: BTreeMap::new(),
        offers: BTreeSet::new(),
        findings: Vec::new(),
    };
    match sections(place, bytes) {
        Ok((sections, mut findings)) => {
            // A part that cannot be read may be that of the clusters.
            reading.list.unread += findings.iter().filter(|finding| finding.is_error()).count();
            reading.findings.append(&mut findings);
            reading.sections(place, sections);
        }
        Err(finding) => {
            reading.findings.push(finding);
            (reading.list.unread, reading.list.is_unusable) = (1, true);
            reading.missed("versionGates");
        }
    }
    reading.findings.sort();
    (reading.list, reading.findings)
}

/// A list as it is read.
struct ListReading {
    now: Timestamp,
    known: SharedValues,
    list: ClusterList,
    /// The clusters so far, by id: where each stands in the list.
    ids: BTreeMap<ClusterId, usize>,
    versions: BTreeMap<Box<str>, Version>,
    /// Lists of offers: most clusters have one of a few.
    offers: BTreeSet<Arc<[Offer]>>,
    findings: Vec<Finding>,
}

/// Part of a list, by its name.
type ListSection<'b> = (&'static str, entries::Entries<'b>);

/// The parts in the order in which they are read: upgrades are held against clusters.
const SECTIONS: [&str; 6] = [
    "organisations",
    "clusters",
    "versionGates",
    "upgrades",
    "inherited",
    "soak",
];

/// Finds the parts of a list, in JSON or YAML.
fn sections<'b>(
    place: &Place,
    bytes: &'b [u8],
) -> Result<(Vec<ListSection<'b>>, Vec<Finding>), Finding> {
    if bytes.len() > MAX_BYTES {
        let problem = format!("the list is larger than {MAX_BYTES} bytes");
        return Err(too_large(place, problem, "split it"));
    }
    let (sections, findings) = match bytes.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{' | b'[') => entries::of_json(place, bytes)?,
        _ => entries::of_yaml(place, yaml::tree(place, bytes)?)?,
    };
    // Somebody has named another file.
    if sections.is_empty()
        && findings
            .iter()
            .any(|finding| finding.code == "unknown-field")
    {
        let problem = "this is not a list of clusters: it has none of its parts";
        let remedy = "name a list (`clusters: …`)";
        return Err(Finding::error("wrong-kind", place.clone(), problem, remedy));
    }
    Ok((sections, findings))
}

impl ListReading {
    fn sections(&mut self, place: &Place, sections: Vec<ListSection<'_>>) {
        for (name, entries) in sections {
            self.list.parts.insert(name);
            let max = if name == "clusters" {
                MAX_CLUSTERS
            } else {
                MAX_ENTRIES
            };
            if entries.len() > max {
                let problem = format!(
                    "{name}: there are {}; at most {max} are allowed",
                    entries.len()
                );
                self.findings
                    .push(too_large(place, problem, "split the list"));
                self.missed(name);
                continue;
            }
            entries.for_each(place, |entry| match entry {
                Ok((origin, key, node)) => self.entry(name, &origin, key.as_deref(), &node),
                Err(finding) => {
                    self.findings.push(finding);
                    self.missed(name);
                }
            });
            if name == "clusters" {
                self.sort_clusters();
            }
        }
    }

    /// Something of this part could not be read: a cluster that nobody knows may stand there, or a gate, which holds.
    fn missed(&mut self, section: &str) {
        match section {
            "clusters" => self.list.unread += 1,
            "versionGates" => self.list.gates.push(VersionGate::of(None, None, None)),
            _ => {}
        }
    }

    fn entry(&mut self, section: &'static str, origin: &Place, key: Option<&str>, node: &Node) {
        let mut reader = Reader::new(origin);
        match section {
            "organisations" => {
                let organisation = self.organisation(&mut reader, node);
                self.list.organisations.extend(organisation);
            }
            "clusters" => self.cluster(&mut reader, node),
            "versionGates" => {
                let gate = self.gate(&mut reader, node);
                self.list.gates.push(gate);
            }
            "upgrades" => self.upgrade(&mut reader, node),
            "inherited" => self.minimum(&mut reader, key.unwrap_or_default(), node),
            _ => {
                let sum = self.soak(&mut reader, node);
                self.list.soak.extend(sum);
            }
        }
        self.findings.append(&mut reader.findings);
    }

    /// By organisation and id, whatever the order in the list was.
    fn sort_clusters(&mut self) {
        let clusters = std::mem::take(&mut self.list.clusters);
        let mut both: Vec<_> = clusters
            .into_iter()
            .zip(std::mem::take(&mut self.list.origins))
            .collect();
        both.sort_by(|(a, _), (b, _)| (&a.organisation, &a.id).cmp(&(&b.organisation, &b.id)));
        (self.list.clusters, self.list.origins) = both.into_iter().unzip();
        self.ids = self
            .list
            .clusters
            .iter()
            .enumerate()
            .map(|(at, cluster)| (cluster.id.clone(), at))
            .collect();
    }

    fn organisation(&mut self, reader: &mut Reader, node: &Node) -> Option<ListedOrganisation> {
        let record = reader.open_record(node, "an organisation")?;
        let id = reader.required(record, "id", "add `id`")?;
        let id = self.known.name(reader.name(id, "an organisation's id")?);
        let name = record
            .get("name")
            .and_then(|node| reader.name(node, "an organisation's name"));
        let name = name.map_or_else(|| id.clone(), |name| self.known.name(name));
        let labels = self.labels(reader, record.get("labels"));
        Some(ListedOrganisation {
            id,
            name,
            labels,
            origin: reader.at(node),
        })
    }

    /// A gate. A field that is not understood becomes a finding, and the gate still holds.
    fn gate(&mut self, reader: &mut Reader, node: &Node) -> VersionGate {
        let record = reader.open_record(node, "a gate");
        let mut text = |field: &'static str, remedy: &str| {
            let node = reader.required(record?, field, remedy)?;
            reader.name(node, field).map(|name| self.known.name(name))
        };
        VersionGate::of(
            text("id", "add it; until then nobody can acknowledge the gate"),
            text(
                "versionPrefix",
                "add it; until then the gate stands before every minor version",
            ),
            text(
                "label",
                "add it; until then the gate is for every cluster, and no policy can approve it",
            ),
        )
    }

    fn minimum(&mut self, reader: &mut Reader, organisation: &str, node: &Node) {
        let Some(record) = reader.open_record(node, "the lowest versions of an organisation")
        else {
            return;
        };
        let version = record
            .get("version")
            .and_then(|node| self.version(reader, node));
        let mut of_workload = BTreeMap::new();
        match record.get("ofWorkload").map(|node| &node.value) {
            None => {}
            Some(Value::Map(fields)) => {
                for (key, node) in fields {
                    if let Some(version) = self.version(reader, node) {
                        of_workload.insert(self.known.name(&key.text), version);
                    }
                }
            }
            Some(_) => reader.error(
                "wrong-kind",
                node,
                "`ofWorkload` is a mapping",
                "write `workload: version`",
            ),
        }
        let organisation = self.known.name(organisation);
        self.list.inherited.insert(
            organisation,
            Minimum {
                version,
                of_workload,
            },
        );
    }

    fn soak(&mut self, reader: &mut Reader, node: &Node) -> Option<SoakSum> {
        let record = reader.open_record(node, "soak days")?;
        let organisation = reader.required(record, "organisation", "add it")?;
        let organisation = self
            .known
            .name(reader.name(organisation, "an organisation's id")?);
        let workload = reader.required(record, "workload", "add it")?;
        let workload = self.known.name(reader.name(workload, "a workload's name")?);
        let version = reader.required(record, "version", "add it")?;
        let version = self.version(reader, version)?;
        let days = reader.required(record, "days", "add it")?;
        let number = match days.value {
            Value::Whole(number) => number as f64,
            Value::Fraction(number) => number,
            _ => f64::NAN,
        };
        // Ten million days: more than any fleet has.
        if !(0.0..=1e7).contains(&number) {
            reader.error(
                "bad-number",
                days,
                format!("{} is not a number of days", days.kind()),
                "write it as in 1.5",
            );
            return None;
        }
        let seconds = (number * 86_400.0).round() as i64;
        Some(SoakSum {
            organisation,
            workload,
            version,
            seconds,
        })
    }

    fn version(&mut self, reader: &mut Reader, node: &Node) -> Option<Version> {
        let text = reader.text(node, "a version")?;
        if let Some(version) = self.versions.get(text) {
            return Some(version.clone());
        }
        match text.parse::<Version>() {
            Ok(version) => {
                self.versions.insert(text.into(), version.clone());
                Some(version)
            }
            Err(why) => {
                reader.error(
                    "bad-version",
                    node,
                    why.to_string(),
                    "write it as in 4.16.3",
                );
                None
            }
        }
    }

    fn labels(&mut self, reader: &mut Reader, node: Option<&Node>) -> Labels {
        node.map(|node| reader.labels(node, "labels", 256))
            .unwrap_or_default()
    }
}
