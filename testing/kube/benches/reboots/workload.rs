//! A random cluster with a random workload, from a seed.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use towpath_testing_kube::Machine;

/// Each node has this much; what pods ask for adds up to a part of it.
const CPU_MILLI: u64 = 8_000;
const MEMORY_MEBIBYTES: u64 = 32 << 10;
const ZONES: usize = 3;
/// What a pod asks for: CPU and memory.
const SIZES: [(u64, u64); 4] = [(100, 256), (250, 1_024), (500, 2_048), (1_000, 4_096)];
const MOST_REPLICAS: u64 = 6;

#[derive(Debug)]
pub(crate) struct Workload {
    /// In the order in which they are rebooted: by zone, then by age.
    pub(crate) machines: Vec<Machine>,
    pub(crate) deployments: Vec<Deployment>,
}

#[derive(Debug, Clone)]
pub(crate) struct Deployment {
    pub(crate) name: String,
    pub(crate) replicas: u64,
    pub(crate) cpu_milli: u64,
    pub(crate) memory_mebibytes: u64,
}

impl Workload {
    /// Deployments until this percentage of the CPU is asked for.
    pub(crate) fn random(nodes: usize, fill: u64, seed: u64) -> Self {
        let mut chance = Chance(seed ^ (nodes as u64) << 32 ^ fill << 48);
        let mut room = CPU_MILLI * nodes as u64 * fill / 100;
        let mut deployments = Vec::new();
        while let Some(largest) = SIZES.iter().rposition(|(cpu, _)| *cpu <= room) {
            let (cpu_milli, memory_mebibytes) = SIZES[chance.below(largest as u64 + 1) as usize];
            let replicas = (1 + chance.below(MOST_REPLICAS)).min(room / cpu_milli);
            room -= replicas * cpu_milli;
            deployments.push(Deployment {
                name: format!("d{:03}", deployments.len()),
                replicas,
                cpu_milli,
                memory_mebibytes,
            });
        }
        let machine = |number: usize| Machine {
            cpu_milli: CPU_MILLI,
            memory_mebibytes: MEMORY_MEBIBYTES,
            ..Machine::worker(
                &format!("n{number:03}"),
                &format!("z{}", number * ZONES / nodes),
            )
        };
        Self {
            machines: (0..nodes).map(machine).collect(),
            deployments,
        }
    }

    pub(crate) fn deployment_of(&self, pod: &Pod) -> Option<&Deployment> {
        let app = pod.metadata.labels.as_ref()?.get("app")?;
        self.deployments.iter().find(|one| one.name == *app)
    }

    pub(crate) fn pods(&self) -> u64 {
        self.deployments.iter().map(|one| one.replicas).sum()
    }
}

impl Deployment {
    pub(crate) fn object(&self, namespace: &str) -> Value {
        let labels = json!({"app": self.name});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": namespace},
            "spec": {
                "replicas": self.replicas, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {
                    "automountServiceAccountToken": false,
                    "containers": [{"name": "it", "image": "it:1", "resources": {"requests": {
                        "cpu": format!("{}m", self.cpu_milli), "memory": format!("{}Mi", self.memory_mebibytes),
                    }}}],
                }},
            },
        })
    }
}

/// SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}
