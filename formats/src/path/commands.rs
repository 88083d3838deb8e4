//! The commands that carry out a plan, hop by hop, in order: the channel, what is to be done before, the update, and what is
//! left at the end.
//!
//! With a cluster's objects they are its tasks. Without, only pools are told, `worker` if nobody has named others.

use towpath_core::cluster::objects::MachineConfigPool;
use towpath_core::cluster::{PoolTasks, Readiness, Task, pool_tasks};
use towpath_core::duration::Rollout;
use towpath_core::graph::ChannelName;
use towpath_core::path::Plan;

use super::{PathReport, ShapeIs};

/// The pool of workers that every cluster has.
const WORKER_POOL: &str = "worker";

/// For each hop, what is run before it and to begin it; and what is run at the end.
pub(super) struct PlanCommands {
    pub(super) hops: Vec<Vec<String>>,
    pub(super) after: Vec<String>,
}

pub(super) fn commands(
    told: &PathReport<'_>,
    plan: &Plan,
    judged: Option<&Readiness>,
) -> PlanCommands {
    let (tasks, after) = match judged {
        Some(readiness) => (
            readiness.hops.iter().map(|hop| hop.tasks.clone()).collect(),
            readiness.after.clone(),
        ),
        None => of_schedule(told, plan),
    };
    let mut channel: Option<&ChannelName> = None;
    let hops = plan.hops.iter().enumerate().map(|(number, hop)| {
        let is_set = channel.replace(&hop.channel) == Some(&hop.channel);
        let set = (!is_set).then(|| format!("oc adm upgrade channel {}", hop.channel));
        let before = tasks.get(number).into_iter().flatten();
        let accepts = match hop.risks.is_empty() {
            true => "",
            false => " --allow-not-recommended",
        };
        let to = &told.graph.release(hop.to).version;
        let begin = format!("oc adm upgrade{accepts} --to={to}");
        let before = before.filter_map(|task| task.command.clone());
        let mut all: Vec<String> = set.into_iter().chain(before).chain([begin]).collect();
        // Two tasks may have one command.
        all.dedup();
        all
    });
    PlanCommands {
        hops: hops.collect(),
        after: after.into_iter().filter_map(|task| task.command).collect(),
    }
}

/// What the plan's own schedule has pools do.
fn of_schedule(told: &PathReport<'_>, plan: &Plan) -> (Vec<Vec<Task>>, Vec<Task>) {
    let shape = match told.shape {
        ShapeIs::Given => told.pace.shape.pools.as_slice(),
        ShapeIs::Assumed => &[],
    };
    let named = shape.iter().map(|pool| {
        let is_paused = pool.rollout == Rollout::Paused;
        MachineConfigPool::new(pool.name.as_str().into(), is_paused)
    });
    let mut pools: Vec<MachineConfigPool> = named.collect();
    if pools.is_empty() {
        pools.push(MachineConfigPool::new(WORKER_POOL.into(), false));
    }
    match plan.way(told.graph, &told.request.minors) {
        Ok(way) => {
            let PoolTasks { before, after } = pool_tasks(&way, pools);
            (before, after)
        }
        // There are too many hops for a cluster to be asked about.
        Err(_) => (Vec::new(), Vec::new()),
    }
}
