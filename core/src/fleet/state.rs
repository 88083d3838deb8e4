//! What is known of clusters: their reports, their offers, and what people have said about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Binding, Name};
use crate::cluster::{ClusterId, Fact, Platform};
use crate::graph::ChannelName;
use crate::verdict::Verdict;
use crate::version::{Arch, Minor, Version};

pub type Labels = BTreeMap<String, String>;

/// The label of a cluster whose agent sets its channel when the fleet orders that. The agent reports it.
pub const SETS_CHANNELS: &str = "towpath.dev/sets-channels";

/// A cluster as it was last seen.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterState {
    /// Its id. A cluster that is reinstalled under its old name is another cluster.
    pub id: ClusterId,
    /// Its name, by which policy files find it.
    pub name: Name,
    /// The organisation it belongs to.
    pub organisation: Name,
    /// Who says that it has this organisation and name.
    pub binding: Binding,
    pub version: Version,
    /// What it is on its way to, as it says itself.
    pub going_to: Option<Version>,
    /// Since when it has been seen on that version.
    pub version_since: Timestamp,
    /// When it was last seen at all.
    pub last_seen: Timestamp,
    pub health: Health,
    pub channel: Option<ChannelName>,
    /// The channels that it may be switched to, where it is managed by an API that limits them.
    pub available_channels: Fact<BTreeSet<ChannelName>>,
    /// The architecture of its payload.
    pub arch: Arch,
    pub platform: Fact<Platform>,
    pub labels: Labels,
    /// What kind of cluster it is.
    pub product: Product,
    /// Whether it uses short-lived tokens of AWS (STS), which has gates of its own.
    pub sts: Fact<bool>,
    /// Whether it uses Workload Identity Federation of GCP (WIF), which has gates of its own.
    pub wif: Fact<bool>,
    /// The versions it could go to, each with what stands in its way whatever the fleet's policy is.
    pub offers: Arc<[Offer]>,
    /// The ids of gates that were acknowledged for it.
    pub acknowledged_gates: BTreeSet<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Well: its time counts as soak.
    Healthy,
    /// Not well: its time does not count, and nothing is started on it.
    Unhealthy {
        /// What is wrong, for people.
        why: Name,
    },
}

/// What kind of cluster it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    /// Control plane and workers are one.
    Standalone,
    /// The control plane runs elsewhere; its node pools follow it, one at a time.
    HostedControlPlane {
        /// The node pools, in the order in which they follow.
        pools: Vec<NodePool>,
    },
}

/// A node pool of a hosted control plane.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodePool {
    pub id: Name,
    pub version: Version,
}

/// A version that a cluster could go to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offer {
    pub version: Version,
    /// The channel that the cluster has to be switched to for it; none: it is in the cluster's own.
    pub channel: Option<ChannelName>,
    /// What the graph says against it, if anything.
    pub objection: Option<Box<GraphObjection>>,
}

/// What the graph says against an offer, for this cluster, now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GraphObjection {
    /// To wait, or no.
    pub verdict: Verdict,
    /// Names of risks that the policy can accept, if accepting them is all it takes.
    pub risks: BTreeSet<Name>,
}

impl Offer {
    /// In the cluster's own channel, with nothing against it.
    pub fn free(version: Version) -> Self {
        Self {
            version,
            channel: None,
            objection: None,
        }
    }
}

impl ClusterState {
    /// Whether its agent sets its channel when the fleet orders that.
    pub fn sets_channels(&self) -> bool {
        self.labels
            .get(SETS_CHANNELS)
            .is_some_and(|set| set == "true")
    }
}

impl GraphObjection {
    /// When it ends by itself, if it does.
    pub fn until(&self) -> Option<Timestamp> {
        self.verdict.answer.until()
    }
}

/// A gate: a minor version that must be acknowledged before it is entered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionGate {
    pub id: Name,
    /// The minor version it stands before: `4.13`.
    pub version_prefix: Name,
    /// What kind of gate it is: `api.openshift.com/gate-ocp`, …
    pub label: Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateScope {
    All,
    /// Clusters that use short-lived tokens of AWS.
    Sts,
    /// Clusters that use Workload Identity Federation of GCP.
    Wif,
}

/// Whether a gate concerns a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateConcern {
    Concerned,
    Unconcerned,
    /// What the gate asks of the cluster is not known, so the gate holds.
    Unknown,
}

/// A person's consent that a version is started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Approval {
    pub organisation: Name,
    /// For this cluster alone, by name; none: for all of the organisation.
    pub cluster: Option<Name>,
    pub version: Version,
    pub by: Name,
    pub at: Timestamp,
}

/// Where people have stopped new starts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pause {
    /// In this organisation; none: everywhere.
    pub organisation: Option<Name>,
    /// In this sector; none: in all of them.
    pub sector: Option<Name>,
    pub by: Name,
    pub at: Timestamp,
    pub why: Name,
}

/// The lowest versions among other organisations' clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Minimum {
    pub version: Option<Version>,
    /// Of those with the workload.
    pub of_workload: BTreeMap<Name, Version>,
}

impl VersionGate {
    /// The id of a gate that tells none. Nobody can acknowledge it at its source.
    pub const NO_ID: &str = "gate-without-an-id";
    /// The label of a gate that tells none.
    pub const NO_LABEL: &str = "no label";

    /// A gate of which not everything is known. What is not known holds: without a prefix it stands before every minor version, and
    /// without a label it is for all clusters.
    pub fn of(id: Option<Name>, version_prefix: Option<Name>, label: Option<Name>) -> Self {
        Self {
            id: id.unwrap_or_else(|| Self::NO_ID.into()),
            version_prefix: version_prefix.unwrap_or_else(|| "".into()),
            label: label.unwrap_or_else(|| Self::NO_LABEL.into()),
        }
    }

    /// Whom it concerns. A label that we do not know concerns every cluster: OCM refuses a start behind any gate.
    pub fn scope(&self) -> GateScope {
        match &*self.label {
            "api.openshift.com/gate-sts" => GateScope::Sts,
            "api.openshift.com/gate-wif" => GateScope::Wif,
            _ => GateScope::All,
        }
    }

    /// The minor version that it stands before: `4.13`. None if its prefix is no minor version; then it stands before all.
    pub fn before(&self) -> Option<Minor> {
        Minor::parse(&self.version_prefix)
    }
}

impl GateScope {
    /// Whether it takes in a cluster. STS is AWS's and WIF is GCP's: a cluster elsewhere uses neither.
    pub fn concerns(self, cluster: &ClusterState) -> GateConcern {
        let (fact, cloud) = match self {
            Self::All => return GateConcern::Concerned,
            Self::Sts => (&cluster.sts, "aws"),
            Self::Wif => (&cluster.wif, "gcp"),
        };
        match (fact, &cluster.platform) {
            (Fact::Known(true), _) => GateConcern::Concerned,
            (Fact::Known(false), _) => GateConcern::Unconcerned,
            (Fact::Unknown, Fact::Known(platform)) if !platform.is_named(cloud) => {
                GateConcern::Unconcerned
            }
            (Fact::Unknown, _) => GateConcern::Unknown,
        }
    }

    /// What clusters that it takes in use.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Sts => "STS",
            Self::Wif => "WIF",
        }
    }
}

impl Pause {
    /// Whether it is about that place.
    pub fn covers(&self, organisation: &str, sector: Option<&str>) -> bool {
        self.organisation
            .as_deref()
            .is_none_or(|only| only == organisation)
            && self
                .sector
                .as_deref()
                .is_none_or(|only| Some(only) == sector)
    }
}

impl Health {
    pub fn is_healthy(&self) -> bool {
        matches!(self, Self::Healthy)
    }
}
