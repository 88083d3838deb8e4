//! What stands in the way on a cluster: with names, and with what has to be done about it.

use std::fmt;

use super::fleet::Name;
use super::readiness::{ApiName, ApiUser, Objection, Operator, Range};
use super::{Minor, Version};

/// So many names are written out; the others are counted.
const MAX_NAMES: usize = 5;

/// What a rule about the cluster itself has against an update.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadyReason {
    /// Objects that a rule asks about were not given.
    NotGiven { kind: ObjectKind },
    /// An update has not completed.
    UpdateInProgress {
        to: Version,
        /// The last one that did complete.
        completed: Option<Version>,
    },
    /// Somebody in the cluster says so.
    NotUpgradeable {
        by: Name,
        reason: Name,
        message: Name,
    },
    /// A gate was not acknowledged.
    AckRequired { gate: Name, description: Name },
    /// A gate's name does not say which updates it is for, so it is for all.
    GateNotUnderstood { gate: Name },
    /// An API is in use that the update removes.
    ApiRemoved(RemovedApi),
    /// An API is in use that a later update of the way removes. Nothing is refused for that.
    ApiRemovedLater {
        /// The update that removes it leads there.
        at: Name,
        removed: RemovedApi,
    },
    /// Nodes would be too far behind the API server.
    KubeletTooOld {
        /// Their pool, if that is known.
        pool: Option<Name>,
        lag: Lag,
        nodes: Vec<Name>,
        /// The Kubernetes that their kubelets are of then.
        kubelet: Minor,
        /// The Kubernetes that they have to be updated to, at least.
        needed: Minor,
        /// The Kubernetes of the API server after the update.
        api_server: Minor,
        /// So many minor versions older they may be.
        limit: u64,
    },
    /// Nodes are ahead of the API server, which is never right.
    KubeletAhead {
        nodes: Vec<Name>,
        /// The Kubernetes that their kubelets are of.
        kubelet: Minor,
        /// The Kubernetes of the API server.
        api_server: Minor,
    },
    /// Nodes do not say what their kubelet is.
    KubeletUnknown { nodes: Vec<Name> },
    /// The control plane's pool is paused.
    ControlPlanePaused { pool: Name },
    /// The control plane's pool is paused, and this is a patch. Nothing is refused for that.
    ControlPlaneStays { pool: Name },
    /// Operators are not made for the version that the update leads to.
    Operators {
        to: Minor,
        /// The minor version at the end of the way.
        goal: Minor,
        operators: Vec<OperatorLimit>,
    },
    /// Nobody has told us which Kubernetes a minor version has.
    KubernetesUnknown { minor: Minor },
}

/// Kinds of objects that rules ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// The cluster's version and history.
    ClusterVersion,
    /// The parts of the platform.
    ClusterOperator,
    Node,
    MachineConfigPool,
    ClusterServiceVersion,
    ApiRequestCount,
    AdminGates,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lag {
    Paused,
    /// They are in no pool that we know of.
    NoPool,
    /// They follow the cluster's updates, and have not been updated yet.
    Behind,
}

/// An API that is in use, and goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemovedApi {
    pub api: ApiName,
    /// The Kubernetes that no longer has it.
    pub removed_in: Minor,
    /// What to use instead, if there is anything.
    pub replacement: Option<Name>,
    /// Who uses it; those who do so most come first.
    pub users: Vec<ApiUser>,
    /// Requests of users whose names nobody has kept.
    pub unnamed_requests: u64,
}

/// What an operator says about the versions that it is made for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperatorLimit {
    /// The operator, with its version.
    pub name: Name,
    pub namespace: Name,
    pub says: Name,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What it is about. It is done once, however many updates ask for it.
    pub about: String,
    pub text: String,
    /// The command that does it, or a part of it.
    pub command: Option<String>,
}

impl Task {
    fn new(about: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            text: text.into(),
            command: None,
        }
    }

    fn by(self, command: impl Into<String>) -> Self {
        Self {
            command: Some(command.into()),
            ..self
        }
    }

    /// With a command that names something of the cluster's. A name that no such object can have may be meant for the shell that somebody pastes the
    /// command into, so there is no command then.
    fn by_naming(self, name: &str, command: impl Into<String>) -> Self {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name =
            name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part);
        if is_name { self.by(command) } else { self }
    }

    /// A paused pool lets its nodes be updated again.
    pub fn unpause(pool: &str) -> Self {
        Self::new(
            format!("pool {pool}"),
            format!("unpause pool {pool}, so that its nodes follow"),
        )
        .by_naming(pool, unpausing(pool))
    }
}

fn unpausing(pool: &str) -> String {
    format!("oc patch machineconfigpool {pool} --type=merge -p '{{\"spec\":{{\"paused\":false}}}}'")
}

impl ReadyReason {
    /// The stable name: for JSON, metrics and conditions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotGiven { .. } => "ObjectsNotGiven",
            Self::UpdateInProgress { .. } => "UpdateInProgress",
            Self::NotUpgradeable { .. } => "NotUpgradeable",
            Self::AckRequired { .. } => "AdminAckRequired",
            Self::GateNotUnderstood { .. } => "AdminGateNotUnderstood",
            Self::ApiRemoved(_) => "ApiRemoved",
            Self::ApiRemovedLater { .. } => "ApiRemovedLater",
            Self::KubeletTooOld { .. } => "KubeletTooOld",
            Self::KubeletAhead { .. } => "KubeletAhead",
            Self::KubeletUnknown { .. } => "KubeletUnknown",
            Self::ControlPlanePaused { .. } => "ControlPlanePaused",
            Self::ControlPlaneStays { .. } => "ControlPlaneStays",
            Self::Operators { .. } => "OperatorsIncompatible",
            Self::KubernetesUnknown { .. } => "KubernetesUnknown",
        }
    }

    /// Whether it only informs. Every other reason refuses.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Self::ApiRemovedLater { .. } | Self::ControlPlaneStays { .. }
        )
    }

    /// What has to be done so that it stands in the way no longer.
    pub fn tasks(&self) -> Vec<Task> {
        let task = match self {
            Self::Operators { to, goal, operators } => {
                return operators.iter().map(|one| one.task(*to, *goal)).collect();
            }
            Self::NotGiven { kind } => {
                Task::new(format!("objects {kind}"), format!("give the {kind} too")).by(kind.command())
            }
            Self::UpdateInProgress { to, .. } => Task::new(
                format!("update {to}"),
                format!("let the update to {to} complete, or a patch that follows it"),
            ),
            Self::NotUpgradeable { by, reason, message } => Task::new(
                format!("objection {by}"),
                format!("settle what {by} says: {reason}: {}", first_line(message)),
            ),
            Self::AckRequired { gate, description } => {
                let text = format!("read what {gate} is about, and acknowledge it: {}", first_line(description));
                let patch = format!("{{\"data\":{{\"{gate}\":\"true\"}}}}");
                let command = format!("oc -n openshift-config patch configmap admin-acks --type=merge -p '{patch}'");
                Task::new(format!("gate {gate}"), text).by_naming(gate, command)
            }
            Self::GateNotUnderstood { gate } => Task::new(
                format!("gate {gate}"),
                format!("find out who has put {gate:?} into the gates; no gate has such a name"),
            )
            .by("oc -n openshift-config-managed get configmap admin-gates -o yaml --show-managed-fields"),
            Self::ApiRemoved(removed) | Self::ApiRemovedLater { removed, .. } => removed.task(),
            Self::KubeletTooOld { pool: Some(pool), lag: Lag::Paused, nodes, needed, .. } => {
                let nodes = counted(nodes.len(), "node");
                let text = format!(
                    "unpause pool {pool}, wait until all of it ({nodes}) is at Kubernetes {needed}, and pause it again if it shall skip more"
                );
                Task::new(format!("pool {pool} {needed}"), text).by_naming(pool, unpausing(pool))
            }
            Self::KubeletTooOld { pool: Some(pool), nodes, needed, .. } => Task::new(
                format!("pool {pool} {needed}"),
                format!("wait until all of pool {pool} is at Kubernetes {needed}; {} behind", are_behind(nodes)),
            ),
            Self::KubeletTooOld { pool: None, nodes, needed, .. } => Task::new(
                format!("nodes {needed} {}", listed(nodes)),
                format!("update {} to Kubernetes {needed}", listed(nodes)),
            ),
            Self::KubeletAhead { nodes, api_server, .. } => Task::new(
                format!("ahead {}", listed(nodes)),
                format!("find out why {} ahead of the API server's {api_server}", are(nodes)),
            ),
            Self::KubeletUnknown { nodes } => Task::new(
                format!("kubelets {}", listed(nodes)),
                format!("give the Nodes with `status.nodeInfo`: {} lack it", listed(nodes)),
            )
            .by(ObjectKind::Node.command()),
            Self::ControlPlanePaused { pool } | Self::ControlPlaneStays { pool } => {
                let text = format!("unpause pool {pool}, and wait until all nodes of the control plane are updated");
                Task::new(format!("pool {pool}"), text).by_naming(pool, unpausing(pool))
            }
            Self::KubernetesUnknown { minor } => {
                Task::new(format!("kubernetes {minor}"), format!("use a towpath that knows OpenShift {minor}"))
            }
        };
        vec![task]
    }
}

impl ObjectKind {
    pub fn command(self) -> &'static str {
        match self {
            Self::ClusterVersion => "oc get clusterversions -o yaml > clusterversions.yaml",
            Self::ClusterOperator => "oc get clusteroperators -o yaml > clusteroperators.yaml",
            Self::Node => "oc get nodes -o yaml > nodes.yaml",
            Self::MachineConfigPool => {
                "oc get machineconfigpools -o yaml > machineconfigpools.yaml"
            }
            Self::ClusterServiceVersion => {
                "oc get clusterserviceversions --all-namespaces -o yaml > clusterserviceversions.yaml"
            }
            Self::ApiRequestCount => "oc get apirequestcounts -o yaml > apirequestcounts.yaml",
            Self::AdminGates => {
                "oc -n openshift-config-managed get configmap admin-gates -o yaml > admin-gates.yaml; oc -n openshift-config get configmap admin-acks -o yaml > admin-acks.yaml"
            }
        }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClusterVersion => "ClusterVersion",
            Self::ClusterOperator => "ClusterOperators",
            Self::Node => "Nodes",
            Self::MachineConfigPool => "MachineConfigPools",
            Self::ClusterServiceVersion => "ClusterServiceVersions",
            Self::ApiRequestCount => "APIRequestCounts",
            Self::AdminGates => "ConfigMap openshift-config-managed/admin-gates",
        })
    }
}

impl RemovedApi {
    fn task(&self) -> Task {
        let Self {
            api, replacement, ..
        } = self;
        let instead = match replacement {
            Some(replacement) => format!(", to {replacement}"),
            None => "; nothing replaces it as it is".to_owned(),
        };
        Task::new(
            format!("api {api}"),
            format!("move {} off {api}{instead}", self.who()),
        )
        .by_naming(
            &api.to_string(),
            format!("oc get apirequestcounts {api} -o yaml"),
        )
    }

    /// Who uses it, most requests first.
    fn who(&self) -> String {
        let names = listed(
            &self
                .users
                .iter()
                .map(|user| user.name.clone())
                .collect::<Vec<_>>(),
        );
        match (self.users.is_empty(), self.unnamed_requests) {
            (false, 0) => names,
            (false, _) => format!("{names} and others"),
            (true, _) => "whoever still uses it (nobody has kept their names)".to_owned(),
        }
    }
}

impl fmt::Display for RemovedApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            api, removed_in, ..
        } = self;
        write!(f, "{api} goes in Kubernetes {removed_in} and is in use: ")?;
        let shown = self.users.iter().take(MAX_NAMES).map(ToString::to_string);
        let hidden = self.users.len().saturating_sub(MAX_NAMES);
        let more = (hidden > 0).then(|| format!("{} more", counted(hidden, "user")));
        let unnamed = (self.unnamed_requests > 0).then(|| {
            format!(
                "{} of users whose names were not kept",
                counted_u64(self.unnamed_requests, "request")
            )
        });
        f.write_str(
            &shown
                .chain(more)
                .chain(unnamed)
                .collect::<Vec<_>>()
                .join("; "),
        )
    }
}

impl fmt::Display for ApiUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            agent,
            requests,
            last,
        } = self;
        f.write_str(name)?;
        agent.iter().try_for_each(|agent| write!(f, " ({agent})"))?;
        write!(f, ", {} in a day", counted_u64(*requests, "request"))?;
        last.iter().try_for_each(|last| {
            write!(
                f,
                ", last in the hour from {}",
                last.strftime("%Y-%m-%d %H:%MZ")
            )
        })
    }
}

impl OperatorLimit {
    /// What an operator says if that is against the version; none if it is not.
    pub fn of(operator: &Operator, to: Minor, kubernetes: Option<Minor>) -> Option<Self> {
        let outside = |range: Range, minor: Minor, of: &str| match (range.min, range.max) {
            _ if range.contains(minor) => None,
            (_, Some(max)) if max < minor => Some(format!("{of} {max} at most")),
            (Some(min), _) => Some(format!("{of} {min} at least")),
            _ => None,
        };
        let has_range = operator.kubernetes != Range::default();
        let of_kubernetes = match (has_range, kubernetes) {
            (true, Some(minor)) => outside(operator.kubernetes, minor, "Kubernetes"),
            (true, None) => {
                Some("something about Kubernetes, and nobody knows which one that is".to_owned())
            }
            (false, _) => None,
        };
        let problems = operator.problems.iter().map(ToString::to_string);
        let says: Vec<String> = problems
            .chain(outside(operator.openshift, to, "OpenShift"))
            .chain(of_kubernetes)
            .collect();
        (!says.is_empty()).then(|| Self {
            name: operator.name.clone(),
            namespace: operator.namespace.clone(),
            says: says.join(", ").into(),
        })
    }

    fn task(&self, to: Minor, goal: Minor) -> Task {
        let Self {
            name,
            namespace,
            says,
        } = self;
        let further = if goal > to {
            format!(", or better {goal}, where the way ends")
        } else {
            String::new()
        };
        let text = format!(
            "update {name} in {namespace} (it says {says}) to a version for OpenShift {to}{further}"
        );
        Task::new(format!("operator {namespace}/{name}"), text)
    }
}

impl From<&Objection> for ReadyReason {
    fn from(objection: &Objection) -> Self {
        let Objection {
            by,
            reason,
            message,
        } = objection.clone();
        Self::NotUpgradeable {
            by,
            reason,
            message,
        }
    }
}

impl fmt::Display for ReadyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGiven { kind } => write!(f, "nobody can tell without these objects: {kind}"),
            Self::UpdateInProgress { to, completed } => {
                write!(f, "the update to {to} has not completed")?;
                completed
                    .iter()
                    .try_for_each(|completed| write!(f, "; the last that did is {completed}"))
            }
            Self::NotUpgradeable {
                by,
                reason,
                message,
            } => {
                write!(
                    f,
                    "{by} is not upgradeable: {reason}: {}",
                    first_line(message)
                )
            }
            Self::AckRequired { gate, description } => {
                write!(
                    f,
                    "{gate} has not been acknowledged: {}",
                    first_line(description)
                )
            }
            Self::GateNotUnderstood { gate } => {
                write!(f, "the gate {gate:?} does not say which updates it is for")
            }
            Self::ApiRemoved(removed) => removed.fmt(f),
            Self::ApiRemovedLater { at, removed } => write!(f, "later, at {at}: {removed}"),
            Self::KubeletTooOld {
                pool,
                lag,
                nodes,
                kubelet,
                api_server,
                limit,
                ..
            } => {
                match (pool, lag) {
                    (Some(pool), Lag::Paused) => write!(
                        f,
                        "pool {pool} is paused and its {} at",
                        counted(nodes.len(), "node")
                    )?,
                    (Some(pool), _) => {
                        write!(f, "{} of pool {pool} at", counted(nodes.len(), "node"))?
                    }
                    (None, _) => write!(f, "{} (in no pool that we know of) at", listed(nodes))?,
                }
                write!(
                    f,
                    " Kubernetes {kubelet} would be {} behind",
                    counted_u64(behind(*kubelet, *api_server), "minor version")
                )?;
                write!(
                    f,
                    " the API server's {api_server}; the limit there is {limit}"
                )
            }
            Self::KubeletAhead {
                nodes,
                kubelet,
                api_server,
            } => {
                write!(
                    f,
                    "{} at Kubernetes {kubelet}, ahead of the API server's {api_server}",
                    are(nodes)
                )
            }
            Self::KubeletUnknown { nodes } => {
                write!(
                    f,
                    "nobody can tell how old the kubelets of {} are",
                    listed(nodes)
                )
            }
            Self::ControlPlanePaused { pool } => {
                write!(
                    f,
                    "pool {pool} is paused, and the control plane's nodes must not skip a minor version"
                )
            }
            Self::ControlPlaneStays { pool } => {
                write!(
                    f,
                    "pool {pool} is paused: a patch leaves the control plane's nodes as they are, and the next minor update is refused"
                )
            }
            Self::Operators { to, operators, .. } => {
                let all: Vec<String> = operators
                    .iter()
                    .map(|one| format!("{} in {}: {}", one.name, one.namespace, one.says))
                    .collect();
                let are = if all.len() == 1 {
                    "operator is"
                } else {
                    "operators are"
                };
                write!(
                    f,
                    "{} {are} not made for OpenShift {to}: {}",
                    all.len(),
                    all.join("; ")
                )
            }
            Self::KubernetesUnknown { minor } => write!(
                f,
                "nobody has told us which Kubernetes OpenShift {minor} has"
            ),
        }
    }
}

/// How many minor versions a kubelet is behind.
pub(crate) fn behind(kubelet: Minor, api_server: Minor) -> u64 {
    match kubelet.major == api_server.major {
        true => api_server.minor.saturating_sub(kubelet.minor),
        // Another major version is further away than anything that is allowed.
        false => u64::MAX,
    }
}

fn are_behind(nodes: &[Name]) -> String {
    let are = if nodes.len() == 1 { "is" } else { "are" };
    format!("{} {are}", counted(nodes.len(), "node"))
}

fn are(nodes: &[Name]) -> String {
    format!(
        "{} {}",
        listed(nodes),
        if nodes.len() == 1 { "is" } else { "are" }
    )
}

/// `a, b and 3 more`.
fn listed(names: &[Name]) -> String {
    let shown = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| &**name)
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn counted(number: usize, noun: &str) -> String {
    counted_u64(number as u64, noun)
}

fn counted_u64(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Messages of operators can be pages long; the first line says what it is about.
fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("(it does not say why)")
}
