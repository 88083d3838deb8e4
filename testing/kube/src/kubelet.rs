//! Plays the kubelets of all nodes: pods that the scheduler binds become ready, and pods that are deleted end.
//!
//! Nothing runs. A pod is what its status says: it becomes ready after [`Pace::start`], ends [`Pace::stop`] after it was deleted, and
//! breaks where a test said so ([`Kubelets::fail`]). Node leases are renewed; a node that was lost ([`Kubelets::lose`]) does nothing.
//! Each decision is read off the pod itself, so a watch that breaks loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Preconditions;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::server::KubeApi;

/// How long pods take.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From bound to ready.
    pub start: Duration,
    /// From deleted to gone.
    pub stop: Duration,
}

impl Pace {
    /// As fast as the API takes it.
    pub const FAST: Self = Self {
        start: Duration::ZERO,
        stop: Duration::ZERO,
    };
}

/// Pods that fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodsWith {
    Name(String),
    Image(String),
    /// A revision of a DaemonSet (`controller-revision-hash`) or of a Deployment (`pod-template-hash`).
    Revision(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It runs and never becomes ready.
    Unready,
    /// It ends and is started again, for ever.
    Crashes,
}

/// All kubelets, until they are dropped.
pub struct Kubelets {
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

struct State {
    client: kube::Client,
    pace: Pace,
    wakes: Notify,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    pods: BTreeMap<String, Pod>,
    faults: Vec<(PodsWith, Fault)>,
    lost: BTreeSet<String>,
    /// Pods about which something is being done, by their uid.
    busy: BTreeSet<String>,
}

/// What a kubelet does about a pod.
#[derive(Debug, Clone, PartialEq)]
enum Deed {
    End,
    Say(Value),
}

/// A watch can lose a change, and a request can fail. Everything is looked at again after this.
const AGAIN: Duration = Duration::from_secs(1);
const LEASE_EVERY: Duration = Duration::from_secs(10);
const LEASES: &str = "kube-node-lease";

impl KubeApi {
    /// Starts the kubelets of all nodes, of those too that are added later.
    pub fn start_kubelets(&self, pace: Pace) -> Kubelets {
        let state = Arc::new(State {
            client: self.admin.clone(),
            pace,
            wakes: Notify::new(),
            known: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(watch_pods(state.clone()));
        tasks.spawn(act(state.clone()));
        tasks.spawn(renew_leases(state.clone()));
        Kubelets {
            state,
            _tasks: tasks,
        }
    }
}

impl Kubelets {
    /// These pods fail from now on, those too that run already.
    pub fn fail(&self, pods: PodsWith, fault: Fault) {
        self.change(|known| known.faults.push((pods, fault)));
    }

    /// They work again.
    pub fn mend(&self, pods: &PodsWith) {
        self.change(|known| known.faults.retain(|(faulty, _)| faulty != pods));
    }

    /// The kubelet of this node does nothing any more.
    pub fn lose(&self, node: &str) {
        self.change(|known| known.lost.extend([node.to_owned()]));
    }

    /// It is back.
    pub fn find(&self, node: &str) {
        self.change(|known| known.lost.retain(|lost| lost != node));
    }

    /// Looks at all pods as the watch has brought them. That is a state of a moment ago, and costs the API nothing.
    pub fn look<T>(&self, look: impl FnOnce(&mut dyn Iterator<Item = &Pod>) -> T) -> T {
        look(&mut self.state.known().pods.values())
    }

    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.state.known());
        self.state.wakes.notify_one();
    }
}

impl State {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }

    fn pods(&self) -> Api<Pod> {
        Api::all(self.client.clone())
    }
}

/// Keeps what is known of pods, by list and watch.
async fn watch_pods(state: Arc<State>) {
    loop {
        if let Ok(list) = state.pods().list(&ListParams::default()).await {
            let version = list.metadata.resource_version.unwrap_or_default();
            let pods = list.items.into_iter().map(|pod| (uid(&pod), pod));
            state.known().pods = pods.collect();
            state.wakes.notify_one();
            follow(&state, &version).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Follows changes until the watch ends.
async fn follow(state: &State, version: &str) {
    let pods = state.pods();
    let Ok(watch) = pods.watch(&WatchParams::default(), version).await else {
        return;
    };
    let mut watch = watch.boxed();
    while let Some(Ok(event)) = watch.next().await {
        match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                state.known().pods.insert(uid(&pod), pod);
            }
            WatchEvent::Deleted(pod) => {
                state.known().pods.remove(&uid(&pod));
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => return,
        }
        state.wakes.notify_one();
    }
}

/// Does what is due about each pod, one thing at a time.
async fn act(state: Arc<State>) {
    loop {
        let due: Vec<(Pod, Deed)> = {
            let known = &mut *state.known();
            let due = known
                .pods
                .values()
                .filter(|pod| !known.busy.contains(&uid(pod)));
            let due: Vec<_> = due
                .filter_map(|pod| Some((pod.clone(), known.deed(pod)?)))
                .collect();
            known.busy.extend(due.iter().map(|(pod, _)| uid(pod)));
            due
        };
        for (pod, deed) in due {
            let state = state.clone();
            tokio::spawn(async move {
                let uid = uid(&pod);
                let is_done = state.carry_out(&pod, &deed).await;
                if !is_done {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                state.known().busy.remove(&uid);
                state.wakes.notify_one();
            });
        }
        let _ = tokio::time::timeout(AGAIN, state.wakes.notified()).await;
    }
}

impl State {
    /// Whether it was done; else it is looked at again.
    async fn carry_out(&self, pod: &Pod, deed: &Deed) -> bool {
        let metadata = &pod.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        match deed {
            Deed::End => {
                tokio::time::sleep(self.pace.stop).await;
                let parameters = DeleteParams::default().grace_period(0);
                let parameters = parameters.preconditions(Preconditions {
                    uid: metadata.uid.clone(),
                    resource_version: None,
                });
                let deleted = pods.delete(name, &parameters).await.is_ok();
                self.known().pods.remove(&uid(pod));
                deleted
            }
            Deed::Say(status) => {
                let is_new = pod
                    .status
                    .as_ref()
                    .is_some_and(|status| status.phase.as_deref() == Some("Pending"));
                if is_new {
                    tokio::time::sleep(self.pace.start).await;
                }
                let patch = json!({"metadata": {"uid": metadata.uid}, "status": status});
                let (parameters, patch) = (PatchParams::default(), Patch::Strategic(&patch));
                match pods.patch_status(name, &parameters, &patch).await {
                    Ok(pod) => {
                        // The watch may bring an older state after this one; that costs a second patch that changes nothing.
                        self.known().pods.insert(uid(&pod), pod);
                        true
                    }
                    Err(kube::Error::Api(status)) if status.code == 404 => {
                        self.known().pods.remove(&uid(pod));
                        true
                    }
                    Err(_) => false,
                }
            }
        }
    }
}

impl Known {
    /// What there is to do about a pod, if anything.
    fn deed(&self, pod: &Pod) -> Option<Deed> {
        let node = pod.spec.as_ref()?.node_name.as_ref()?;
        if self.lost.contains(node) {
            return None;
        }
        if pod.metadata.deletion_timestamp.is_some() {
            return Some(Deed::End);
        }
        let wanted = self.fault(pod);
        (said(pod) != Some(wanted)).then(|| Deed::Say(status(pod, wanted)))
    }

    fn fault(&self, pod: &Pod) -> Option<Fault> {
        let mut faults = self.faults.iter();
        let found = faults.find(|(pods, _)| pods.include(pod));
        found.map(|(_, fault)| *fault)
    }
}

impl PodsWith {
    fn include(&self, pod: &Pod) -> bool {
        match self {
            Self::Name(name) => pod.metadata.name.as_ref() == Some(name),
            Self::Image(image) => {
                let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
                containers
                    .into_iter()
                    .any(|one| one.image.as_ref() == Some(image))
            }
            Self::Revision(revision) => {
                let labels = pod.metadata.labels.iter().flatten();
                let is_revision = |(name, value): (&String, &String)| {
                    let names = ["controller-revision-hash", "pod-template-hash"];
                    names.contains(&name.as_str()) && value == revision
                };
                labels.into_iter().any(is_revision)
            }
        }
    }
}

/// The fault that a pod's status tells. None: it has not started yet.
fn said(pod: &Pod) -> Option<Option<Fault>> {
    let status = pod.status.as_ref()?;
    if status.phase.as_deref() != Some("Running") {
        return None;
    }
    let mut conditions = status.conditions.iter().flatten();
    let is_ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
    let mut containers = status.container_statuses.iter().flatten();
    let waits = containers.any(|one| {
        let state = one.state.as_ref();
        state.is_some_and(|state| state.waiting.is_some())
    });
    Some(match (is_ready, waits) {
        (true, _) => None,
        (false, true) => Some(Fault::Crashes),
        (false, false) => Some(Fault::Unready),
    })
}

fn status(pod: &Pod, fault: Option<Fault>) -> Value {
    let now = now();
    let ready = if fault.is_none() { "True" } else { "False" };
    let state = match fault {
        Some(Fault::Crashes) => {
            json!({"running": null, "waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting failed container"}})
        }
        Some(Fault::Unready) | None => json!({"waiting": null, "running": {"startedAt": now}}),
    };
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers: Vec<Value> = containers
        .map(|one| {
            json!({
                "name": one.name, "image": one.image, "imageID": "", "ready": fault.is_none(),
                "restartCount": i32::from(fault == Some(Fault::Crashes)), "state": state,
            })
        })
        .collect();
    let condition = |name: &str, status: &str| json!({"type": name, "status": status, "lastTransitionTime": now});
    json!({
        "phase": "Running", "startTime": now, "containerStatuses": containers,
        "conditions": [
            condition("Initialized", "True"), condition("Ready", ready), condition("ContainersReady", ready),
        ],
    })
}

/// Renews the lease of each node that is not lost.
async fn renew_leases(state: Arc<State>) {
    let leases: Api<Lease> = Api::namespaced(state.client.clone(), LEASES);
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(state.client.clone());
    loop {
        let all = nodes.list(&ListParams::default()).await;
        for node in all.map(|all| all.items).unwrap_or_default() {
            let name = node.metadata.name.unwrap_or_default();
            if state.known().lost.contains(&name) {
                continue;
            }
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name, "namespace": LEASES},
                "spec": {
                    "holderIdentity": name, "leaseDurationSeconds": 40,
                    "renewTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
                },
            });
            let parameters = PatchParams::apply("towpath-test-kubelet").force();
            // A lease that cannot be written now is written the next time.
            let _ = leases
                .patch(&name, &parameters, &Patch::Apply(&lease))
                .await;
        }
        tokio::time::sleep(LEASE_EVERY).await;
    }
}

fn uid(pod: &Pod) -> String {
    pod.metadata.uid.clone().unwrap_or_default()
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
