//! A plan for 1,000 nodes and 30,000 pods.

use std::time::Instant;

use towpath_core::duration::{Ground, Machines, MaxUnavailable, Parameters};
use towpath_core::nodes::{Model, PlanRequest, plan};
use towpath_testing_nodes::RandomCluster;

pub(crate) fn measure(rounds: u64) {
    for most in [MaxUnavailable::Count(1), MaxUnavailable::Percent(10)] {
        let random = RandomCluster {
            nodes: 1_000,
            pods_per_node: 32,
            fill_percent: 80,
            max_unavailable: most,
            ..RandomCluster::default()
        };
        let health = random.placed(1);
        let (mut times, mut pods) = (Vec::new(), 0);
        for seed in 0..rounds {
            let began = Instant::now();
            let model = Model::of(&health).unwrap();
            pods = model.pods().filter(|(_, pod)| pod.is_evicted).count();
            let request = PlanRequest {
                seed,
                ..PlanRequest::default()
            };
            let machines = Machines::on(Ground::Cloud);
            let plan = plan(model, &request, &machines, &Parameters::usual()).unwrap();
            assert_eq!(plan.outcome.stuck, 0);
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{{\"nodes\":1000,\"pods\":{pods},\"maxUnavailable\":\"{most}\",\"seconds\":{:.3}}}",
            times[times.len() / 2],
        );
    }
}
