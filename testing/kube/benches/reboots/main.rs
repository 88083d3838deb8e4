//! How many pods a rolling reboot moves, on the real scheduler: `cargo xtask prove nodes` runs this and draws the table.
//!
//! Arguments: `nodes=6,fill=60,seed=1,taint=none`, one for each run. Each run prints a line of JSON.
//! The API server, the scheduler with its defaults and the controllers are Kubernetes' own. Nodes are objects, and pods start and end
//! at once: what is counted does not depend on time. Each line also tells the cluster as it was before the
//! first reboot, in the language of `testing/nodes`, so that the simulator can begin where the real scheduler did.

mod reboot;
mod workload;

use std::io::Write;

use towpath_testing_kube::{KubeApi, Pace};

use reboot::Taint;
use workload::Workload;

/// One cluster, rebooted once.
#[derive(Debug, Clone, Copy)]
struct Run {
    nodes: usize,
    /// How much of the nodes' CPU is requested, in percent.
    fill: u64,
    seed: u64,
    taint: Taint,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments = std::env::args().skip(1).filter(|one| !one.starts_with('-'));
    for argument in arguments {
        let line = measure(&Run::read(&argument)).await;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}")
            .and_then(|()| out.flush())
            .expect("output can be written");
    }
}

impl Run {
    /// `nodes=6,fill=60,seed=1,taint=none`.
    fn read(argument: &str) -> Self {
        let mut run = Self {
            nodes: 6,
            fill: 60,
            seed: 1,
            taint: Taint::None,
        };
        for part in argument.split(',') {
            let (name, value) = part.split_once('=').expect("name=value");
            let number = || value.parse::<u64>().expect("a number");
            match name {
                "nodes" => run.nodes = usize::try_from(number()).expect("so many nodes"),
                "fill" => run.fill = number(),
                "seed" => run.seed = number(),
                "taint" => run.taint = Taint::of(value).expect("none, soft or hard"),
                other => panic!("{other} is no part of a run: nodes, fill, seed, taint"),
            }
        }
        run
    }
}

async fn measure(run: &Run) -> serde_json::Value {
    let workload = Workload::random(run.nodes, run.fill, run.seed);
    let api = KubeApi::start().await;
    let _control_plane = api.start_control_plane();
    let kubelets = api.start_kubelets(Pace::FAST);
    api.add_machines(&workload.machines).await;
    let began = std::time::Instant::now();
    reboot::deploy(&api, &kubelets, &workload).await;
    let cluster = reboot::told(&api, &workload).await;
    let outcome = reboot::reboot_all(&api, &kubelets, &workload, run.taint).await;
    serde_json::json!({
        "nodes": run.nodes, "fill": run.fill, "seed": run.seed, "taint": run.taint.as_str(),
        "pods": workload.pods(), "moves": outcome.moves, "pending": outcome.most_pending,
        "leastLoaded": outcome.least_loaded, "mostLoaded": outcome.most_loaded,
        "seconds": began.elapsed().as_secs(), "cluster": cluster,
    })
}
