//! Random clusters: nodes of one size in zones, Deployments and StatefulSets up to a given fill, DaemonSets, and budgets.

use std::collections::BTreeMap;
use std::sync::Arc;

use towpath_core::chance::Chance;
use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{
    Amount, ClusterHealth, DisruptionBudget, NodeState, Pod, PoolState, Room, Selector,
};
use towpath_core::cluster::placement::ZONE_LABEL;
use towpath_core::duration::MaxUnavailable;
use towpath_core::nodes::{Model, Simulation};

/// What a random cluster is like.
#[derive(Debug, Clone)]
pub struct RandomCluster {
    pub nodes: usize,
    pub zones: usize,
    /// How much of the room is asked for, in percent.
    pub fill_percent: u64,
    /// How many pods each node has in the mean, DaemonSets aside.
    pub pods_per_node: u64,
    /// So many of a hundred Deployments have a budget that allows one eviction.
    pub budgets_percent: u64,
    pub max_unavailable: MaxUnavailable,
}

/// The room of each node.
const ROOM: Room = Room {
    cpu_milli: 16_000,
    memory_bytes: 64 << 30,
    pods: 250,
};
const DAEMONS: usize = 2;
const NAMESPACE: &str = "shop";

impl Default for RandomCluster {
    fn default() -> Self {
        Self {
            nodes: 6,
            zones: 3,
            fill_percent: 60,
            pods_per_node: 30,
            budgets_percent: 30,
            max_unavailable: MaxUnavailable::Count(1),
        }
    }
}

impl RandomCluster {
    /// A cluster whose pods run where the simulated scheduler put them.
    pub fn placed(&self, seed: u64) -> ClusterHealth {
        let mut health = self.unplaced(seed);
        let model = Model::of(&health).unwrap();
        let mut simulation = Simulation::new(&model, seed);
        simulation.place_pending();
        let nodes: BTreeMap<(Arc<str>, Arc<str>), Arc<str>> = model
            .pods()
            .filter_map(|(pod, of)| {
                let node = model.node(simulation.place(pod)?).name.clone();
                Some(((of.namespace.clone(), of.name.clone()), node))
            })
            .collect();
        let Fact::Known(pods) = &mut health.pods else {
            unreachable!("the pods are made here");
        };
        for pod in pods.iter_mut() {
            let key = (pod.namespace.clone(), pod.name.clone());
            pod.node = nodes.get(&key).cloned();
        }
        // What found no place is not there.
        pods.retain(|pod| pod.node.is_some());
        health
    }

    /// The same before anything is scheduled, for a scheduler that is not simulated. Only DaemonSets' pods have a node.
    pub fn unplaced(&self, seed: u64) -> ClusterHealth {
        let mut chance = Chance::of(seed);
        let nodes: Vec<NodeState> = (0..self.nodes).map(|number| self.node(number)).collect();
        let mut pods: Vec<Pod> = nodes.iter().flat_map(daemons).collect();
        let mut budgets = Vec::new();
        let used = pods.iter().map(|pod| pod.requests);
        let used = used.fold(Room::default(), Room::and);
        let all = nodes.len() as u64;
        let wanted = |whole: u64| whole * all * self.fill_percent / 100;
        let mut cpu = wanted(ROOM.cpu_milli).saturating_sub(used.cpu_milli);
        let mut memory = wanted(ROOM.memory_bytes).saturating_sub(used.memory_bytes);
        let mean = Room {
            cpu_milli: cpu / (all * self.pods_per_node).max(1),
            memory_bytes: memory / (all * self.pods_per_node).max(1),
            pods: 1,
        };
        for app in 0.. {
            let replicas = 1 + chance.below(2 * all.min(10));
            // From a third of the mean to twice as much, and a bit.
            let mut part = |mean: u64| (mean / 3 + chance.below(mean * 4 / 3 + 1)).max(1);
            let requests = Room {
                cpu_milli: part(mean.cpu_milli),
                memory_bytes: part(mean.memory_bytes) >> 20 << 20,
                pods: 1,
            };
            let left = (cpu / requests.cpu_milli).min(memory / requests.memory_bytes.max(1));
            let replicas = replicas.min(left);
            if replicas == 0 {
                break;
            }
            cpu -= replicas * requests.cpu_milli;
            memory -= replicas * requests.memory_bytes;
            let kind = if chance.below(5) == 0 {
                "StatefulSet"
            } else {
                "Deployment"
            };
            let name = format!("app-{app}");
            pods.extend((0..replicas).map(|replica| Pod {
                namespace: NAMESPACE.into(),
                name: format!("{name}-{replica}").into(),
                owner: Some(format!("{kind} {name}").into()),
                labels: labels(&name),
                requests,
                is_ready: true,
                ..Pod::default()
            }));
            if replicas > 1 && chance.below(100) < self.budgets_percent {
                budgets.push(budget(&name, replicas));
            }
        }
        ClusterHealth {
            nodes: Fact::Known(nodes),
            pods: Fact::Known(pods),
            budgets: Fact::Known(budgets),
            volumes: Fact::Known(Vec::new()),
            pools: Fact::Known(vec![PoolState {
                name: "worker".into(),
                max_unavailable: Fact::Known(self.max_unavailable),
                ..PoolState::default()
            }]),
            ..ClusterHealth::default()
        }
    }

    fn node(&self, number: usize) -> NodeState {
        let name: Arc<str> = format!("w{number:04}").into();
        let zone = |zones: usize| (ZONE_LABEL.into(), format!("z{}", number % zones).into());
        let host = ("kubernetes.io/hostname".into(), name.clone());
        let zone = (self.zones > 0).then(|| zone(self.zones));
        NodeState {
            labels: zone.into_iter().chain([host]).collect(),
            name,
            pool: Fact::Known("worker".into()),
            is_ready: Fact::Known(true),
            allocatable: Fact::Known(ROOM),
            ..NodeState::default()
        }
    }
}

fn labels(app: &str) -> BTreeMap<Arc<str>, Arc<str>> {
    [("app".into(), app.into())].into()
}

fn daemons(node: &NodeState) -> Vec<Pod> {
    let daemon = |number: usize| Pod {
        namespace: "platform".into(),
        name: format!("daemon-{number}-{}", node.name).into(),
        owner: Some(format!("DaemonSet daemon-{number}").into()),
        node: Some(node.name.clone()),
        requests: Room {
            cpu_milli: 100,
            memory_bytes: 256 << 20,
            pods: 1,
        },
        stays: true,
        is_ready: true,
        ..Pod::default()
    };
    (0..DAEMONS).map(daemon).collect()
}

fn budget(app: &str, replicas: u64) -> DisruptionBudget {
    DisruptionBudget {
        namespace: NAMESPACE.into(),
        name: app.into(),
        selector: Selector::Those {
            labels: labels(app),
            expressions: Vec::new(),
        },
        min_available: None,
        max_unavailable: Some(Amount::Count(1)),
        allowed: Fact::Known(1),
        healthy: Fact::Known(replicas),
        desired: Fact::Known(replicas - 1),
        expected: Fact::Known(replicas),
    }
}
