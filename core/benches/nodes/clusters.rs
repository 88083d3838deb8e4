//! Random clusters of 6 to 60 nodes: pods that move more than once against the bound, budgets, pods that wait, and how even the
//! nodes are in the end. Beside it, what the machine-config operator's own order and soft mark would do.

use towpath_core::chance::Chance;
use towpath_core::duration::{Ground, Machines, MaxUnavailable, Parameters};
use towpath_core::nodes::{Model, NodesPlan, PlanRequest, plan};
use towpath_testing_nodes::{RandomCluster, overdrawn};

pub(crate) fn measure(clusters: u64) {
    for (fill, has_surge) in [(60, false), (80, false), (60, true), (80, true)] {
        let mut sum = Sum::default();
        for seed in 0..clusters {
            sum.add(&planned(fill, has_surge, seed));
        }
        println!(
            "{{\"fill\":{fill},\"surge\":{has_surge},\"clusters\":{clusters},\"pods\":{},\"bound\":{},\"again\":{},\"worstTimesBound\":{:.3},\"overBar\":{},\"unplannedAgain\":{},\"waited\":{},\"unplannedWaited\":{},\"stuck\":{},\"overdrawn\":{},\"uneven\":{}}}",
            sum.pods,
            sum.bound,
            sum.again,
            sum.worst,
            sum.over,
            sum.unplanned,
            sum.waited,
            sum.unplanned_waited,
            sum.stuck,
            sum.overdrawn,
            sum.uneven,
        );
    }
}

#[derive(Default)]
struct Sum {
    pods: usize,
    bound: usize,
    again: usize,
    unplanned: usize,
    /// The most of any cluster, as a multiple of its bound.
    worst: f64,
    /// Clusters above 1.5 times their bound.
    over: usize,
    waited: usize,
    unplanned_waited: usize,
    stuck: usize,
    /// Steps in which a budget was overdrawn.
    overdrawn: usize,
    /// Clusters whose nodes are not even in the end.
    uneven: usize,
}

impl Sum {
    fn add(&mut self, plan: &NodesPlan) {
        let pool = &plan.pools[0];
        let times = plan.outcome.moved_again as f64 / pool.bound.max(1) as f64;
        self.pods += pool.pods;
        self.bound += pool.bound;
        self.again += plan.outcome.moved_again;
        self.unplanned += plan.unplanned.moved_again;
        self.worst = self.worst.max(times);
        self.over += usize::from(pool.bound > 0 && times > 1.5);
        self.waited += plan.outcome.waited;
        self.unplanned_waited += plan.unplanned.waited;
        self.stuck += plan.outcome.stuck;
        self.overdrawn += overdrawn(plan);
        self.uneven += usize::from(!pool.loads[1].are_even());
    }
}

fn planned(fill_percent: u64, has_surge: bool, seed: u64) -> NodesPlan {
    let mut chance = Chance::of(seed);
    let nodes = 6 + chance.below(55) as usize;
    let away = 1 + chance.below(1 + nodes as u64 / 10) as u32;
    let random = RandomCluster {
        nodes,
        zones: chance.below(4) as usize,
        fill_percent,
        pods_per_node: 15 + chance.below(30),
        budgets_percent: chance.below(60),
        max_unavailable: MaxUnavailable::Count(away),
    };
    let model = Model::of(&random.placed(seed)).unwrap();
    let request = PlanRequest {
        surge: if has_surge { away } else { 0 },
        seed,
        ..PlanRequest::default()
    };
    let machines = Machines::on(Ground::Cloud);
    plan(model, &request, &machines, &Parameters::usual()).unwrap()
}
