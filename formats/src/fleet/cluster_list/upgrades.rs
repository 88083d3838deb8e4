//! Clusters of a list, and the upgrades that are under way on them.

use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::finding::Finding;
use towpath_core::fleet::{
    Binding, ClusterState, Health, Name, NodePool, Offer, Owner, Product, Upgrade, UpgradeId,
    UpgradeState,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::Arch;

use super::ListReading;
use crate::graph::data::parse_time;
use crate::read::{Node, Reader, Record, Value, shown};

/// All that an entry can say of a cluster.
const CLUSTER_FIELDS: [&str; 19] = [
    "id",
    "name",
    "organisation",
    "version",
    "availableUpgrades",
    "goingTo",
    "versionSince",
    "lastSeen",
    "healthy",
    "unhealthyReason",
    "channel",
    "arch",
    "platform",
    "labels",
    "sts",
    "wif",
    "acknowledgedGates",
    "hostedControlPlane",
    "nodePools",
];
/// The most offers, pools and gates of a cluster.
const MAX_ITEMS: usize = 1_000;

impl ListReading {
    /// Takes in a cluster, unless there is an error in its entry.
    pub(super) fn cluster(&mut self, reader: &mut Reader, node: &Node) {
        let cluster = self.cluster_state(reader, node);
        let cluster = cluster.filter(|_| !reader.findings.iter().any(Finding::is_error));
        let Some(cluster) = cluster else {
            return self.leave_out(node);
        };
        if let Some(first) = self.ids.get(&cluster.id) {
            let problem = format!(
                "cluster {} stands here and at {}",
                cluster.id, self.list.origins[*first]
            );
            reader.error(
                "duplicate-cluster",
                node,
                problem,
                "keep one of them; the first counts",
            );
            return;
        }
        self.ids
            .insert(cluster.id.clone(), self.list.clusters.len());
        self.list.clusters.push(cluster);
        self.list.origins.push(reader.at(node));
    }

    /// An entry with an error still tells of which cluster it is.
    fn leave_out(&mut self, node: &Node) {
        let id = node.get("id").and_then(|node| match &node.value {
            Value::Text(id) => ClusterId::new(id),
            _ => None,
        });
        match id {
            Some(id) => drop(self.list.left_out.insert(id)),
            None => self.list.unread += 1,
        }
    }

    fn cluster_state(&mut self, reader: &mut Reader, node: &Node) -> Option<ClusterState> {
        let record = reader.open_record(node, "a cluster")?;
        reader.warn_unknown(record, &CLUSTER_FIELDS);
        let id = reader
            .required(record, "id", "add `id`")
            .and_then(|node| cluster_id(reader, node));
        let organisation = reader.required(record, "organisation", "add the organisation's id");
        let organisation = organisation.and_then(|node| reader.name(node, "an organisation's id"));
        let version = reader.required(record, "version", "add `version`");
        let version = version.and_then(|node| self.version(reader, node));
        let name = record
            .get("name")
            .and_then(|node| reader.name(node, "a cluster's name"));
        let name: Option<Name> = name.or(id.as_ref().map(|id| id.as_str())).map(Into::into);
        Some(ClusterState {
            name: name?,
            organisation: organisation.map(|name| self.known.name(name))?,
            binding: Binding::Bound,
            version: version?,
            going_to: record
                .get("goingTo")
                .and_then(|node| self.version(reader, node)),
            version_since: self.time(reader, record, "versionSince"),
            // Nobody has been seen in the future; what is said to have been would hide all that comes before.
            last_seen: self.time(reader, record, "lastSeen").min(self.now),
            health: self.health(reader, record),
            channel: channel(reader, record),
            arch: arch(reader, record),
            platform: platform(reader, record),
            labels: self.labels(reader, record.get("labels")),
            product: self.product(reader, record),
            sts: flag(reader, record, "sts").into(),
            wif: flag(reader, record, "wif").into(),
            offers: self.offers(reader, record),
            acknowledged_gates: self.gates(reader, record),
            available_channels: Fact::Unknown,
            id: id?,
        })
    }

    fn time(&mut self, reader: &mut Reader, record: Record<'_>, field: &str) -> Timestamp {
        let Some(node) = record.get(field) else {
            return self.now;
        };
        let Some(text) = reader.text(node, field) else {
            return self.now;
        };
        parse_time(text).unwrap_or_else(|problem| {
            reader.error(
                "bad-time",
                node,
                problem,
                "write it as in 2026-05-12T00:00:00Z",
            );
            self.now
        })
    }

    fn health(&mut self, reader: &mut Reader, record: Record<'_>) -> Health {
        if flag(reader, record, "healthy").unwrap_or(true) {
            return Health::Healthy;
        }
        let why = record
            .get("unhealthyReason")
            .and_then(|node| reader.text(node, "a reason"));
        Health::Unhealthy {
            why: self
                .known
                .name(why.unwrap_or("its list says so, and gives no reason")),
        }
    }

    fn product(&mut self, reader: &mut Reader, record: Record<'_>) -> Product {
        let hosted = flag(reader, record, "hostedControlPlane");
        let pools = record
            .get("nodePools")
            .map_or(&[][..], |node| reader.list(node, "nodePools", MAX_ITEMS));
        if !hosted.unwrap_or(!pools.is_empty()) {
            return Product::Standalone;
        }
        Product::HostedControlPlane {
            pools: pools
                .iter()
                .filter_map(|node| self.pool(reader, node))
                .collect(),
        }
    }

    fn pool(&mut self, reader: &mut Reader, node: &Node) -> Option<NodePool> {
        let record = reader.open_record(node, "a node pool")?;
        let id = reader.required(record, "id", "add `id`")?;
        let id = self.known.name(reader.name(id, "a node pool's id")?);
        let version = reader.required(record, "version", "add `version`")?;
        Some(NodePool {
            id,
            version: self.version(reader, version)?,
        })
    }

    /// A version that cannot be read is not offered; the cluster is taken all the same.
    fn offers(&mut self, reader: &mut Reader, record: Record<'_>) -> Arc<[Offer]> {
        let Some(node) = record.get("availableUpgrades") else {
            return Arc::new([]);
        };
        let mut offers = Vec::new();
        for item in reader.list(node, "availableUpgrades", MAX_ITEMS) {
            let mut of_item = Reader::new(&reader.place);
            offers.extend(self.version(&mut of_item, item).map(Offer::free));
            let warnings = of_item.findings.into_iter().map(|finding| {
                let problem = format!("{}; it is not offered", finding.problem);
                Finding::warning(finding.code, finding.place, problem, finding.remedy)
            });
            reader.findings.extend(warnings);
        }
        offers.sort();
        offers.dedup();
        if let Some(shared) = self.offers.get(&*offers) {
            return shared.clone();
        }
        let shared: Arc<[Offer]> = offers.into();
        self.offers.insert(shared.clone());
        shared
    }

    fn gates(
        &mut self,
        reader: &mut Reader,
        record: Record<'_>,
    ) -> std::collections::BTreeSet<Name> {
        let Some(node) = record.get("acknowledgedGates") else {
            return Default::default();
        };
        let items = reader.list(node, "acknowledgedGates", MAX_ITEMS);
        items
            .iter()
            .filter_map(|item| reader.name(item, "a gate's id"))
            .map(|id| self.known.name(id))
            .collect()
    }

    /// Takes in an upgrade. One that is not all clear still counts as under way: its cluster must not be started.
    pub(super) fn upgrade(&mut self, reader: &mut Reader, node: &Node) {
        let Some(record) = reader.open_record(node, "an upgrade") else {
            return;
        };
        let id = reader
            .required(record, "cluster", "add the cluster's id")
            .and_then(|node| cluster_id(reader, node));
        let Some(id) = id else { return };
        let Some(cluster) = self.ids.get(&id).map(|at| self.list.clusters[*at].clone()) else {
            let problem = format!("there is an upgrade of cluster {id}, which is not in the list");
            let finding = Finding::warning(
                "unknown-cluster",
                reader.at(node),
                problem,
                "add the cluster",
            );
            reader.findings.push(finding);
            return;
        };
        let from = record
            .get("from")
            .and_then(|node| self.version(reader, node));
        let to = reader
            .required(record, "to", "add `to: <version>`")
            .and_then(|node| self.version(reader, node));
        let pool = record
            .get("nodePool")
            .and_then(|node| reader.name(node, "a node pool's id"));
        let start_at = self.time(reader, record, "startAt");
        let number = i64::try_from(self.list.upgrades.len()).unwrap_or(i64::MAX - 1) + 1;
        self.list.upgrades.push(Upgrade {
            id: UpgradeId(number),
            cluster: id,
            pool: pool.map(|pool| self.known.name(pool)),
            from: from.unwrap_or_else(|| cluster.version.clone()),
            to: to.unwrap_or(cluster.version),
            channel: None,
            state: state(reader, record),
            owner: Owner::Other,
            start_at,
            changed_at: start_at.min(self.now),
            failures: 0,
            note: None,
        });
    }
}

/// The state of an upgrade, in our words or in those of OCM. What we do not know is under way.
fn state(reader: &mut Reader, record: Record<'_>) -> UpgradeState {
    let Some(node) = record.get("state") else {
        return UpgradeState::Planned;
    };
    let Some(text) = reader.text(node, "a state") else {
        return UpgradeState::Started;
    };
    match text {
        "scheduled" | "pending" => UpgradeState::Planned,
        "delayed" => UpgradeState::Started,
        "completed" => UpgradeState::Finished,
        "canceled" => UpgradeState::Cancelled,
        other => UpgradeState::of_code(other).unwrap_or_else(|| {
            let problem = format!(
                "{:?} is not a state of an upgrade; it counts as started",
                shown(other)
            );
            let remedy = "write planned, started, finished, failed or cancelled";
            let finding = Finding::warning("unknown-state", reader.at(node), problem, remedy);
            reader.findings.push(finding);
            UpgradeState::Started
        }),
    }
}

fn cluster_id(reader: &mut Reader, node: &Node) -> Option<ClusterId> {
    let text = reader.name(node, "a cluster's id")?;
    let id = ClusterId::new(text);
    if id.is_none() {
        let remedy = format!("use at most {} characters", ClusterId::MAX_CHARACTERS);
        reader.error("bad-name", node, "this cannot be a cluster's id", &remedy);
    }
    id
}

fn flag(reader: &mut Reader, record: Record<'_>, field: &str) -> Option<bool> {
    record.get(field).and_then(|node| reader.flag(node, field))
}

fn channel(reader: &mut Reader, record: Record<'_>) -> Option<ChannelName> {
    let node = record.get("channel")?;
    let text = reader
        .text(node, "a channel")
        .filter(|text| !text.is_empty())?;
    let channel = ChannelName::new(text);
    if channel.is_none() {
        let problem = format!("{:?} cannot be a channel's name", shown(text));
        reader.error(
            "bad-name",
            node,
            problem,
            "use lower-case letters, digits, `-` and `.`",
        );
    }
    channel
}

fn arch(reader: &mut Reader, record: Record<'_>) -> Arch {
    let arch = record
        .get("arch")
        .and_then(|node| reader.name(node, "an architecture"));
    arch.map(Arch::new).unwrap_or_default()
}

fn platform(reader: &mut Reader, record: Record<'_>) -> Fact<Platform> {
    let Some(node) = record.get("platform") else {
        return Fact::Unknown;
    };
    let Some(text) = reader
        .text(node, "a platform")
        .filter(|text| !text.is_empty())
    else {
        return Fact::Unknown;
    };
    let platform = Platform::new(text);
    if platform.is_none() {
        let problem = format!("{:?} cannot be a platform's name", shown(text));
        reader.error(
            "bad-name",
            node,
            problem,
            "use letters, digits, `.`, `_` and `-`",
        );
    }
    platform.into()
}
