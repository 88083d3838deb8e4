//! The commands that carry out a plan, hop by hop, in order: the channel, what is to be done before, the update, and what is
//! left at the end. Commands that only show something stand apart.
//!
//! With a cluster's objects they are its tasks. Without, only pools are told, `worker` if nobody has named others.

use towpath_core::cluster::health::KnownGate;
use towpath_core::cluster::objects::MachineConfigPool;
use towpath_core::cluster::{PoolTasks, Readiness, Task, pool_tasks};
use towpath_core::duration::Rollout;
use towpath_core::graph::ChannelName;
use towpath_core::path::{Hop, Plan};
use towpath_core::version::{Minor, Version};

use super::{PathReport, ShapeIs};
use crate::cluster::objects::known_gates;

/// The pool of workers that every cluster has.
const WORKER_POOL: &str = "worker";

/// For each hop, what is run before it and to begin it; and what is run at the end.
pub(super) struct PlanCommands {
    pub(super) hops: Vec<HopCommands>,
    pub(super) after: Vec<String>,
}

#[derive(Default)]
pub(super) struct HopCommands {
    /// Acknowledgements that the release it begins with is known to ask for.
    pub(super) gates: Vec<KnownGate>,
    /// What shows something, and changes nothing.
    pub(super) look: Vec<String>,
    pub(super) run: Vec<String>,
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
        let set = (!is_set).then(|| of_channel(told, hop));
        let before = tasks.get(number).into_iter().flatten();
        let before = before.filter_map(|task| task.command.clone());
        let (look, before): (Vec<String>, Vec<String>) =
            before.partition(|command| only_looks(command));
        let gates = gates(told, number, hop);
        // What only some clusters are asked for, nobody acknowledges without a look.
        let is_for_all = |gate: &&KnownGate| gate.only.is_none() && gate.is_verified;
        let acks = gates.iter().filter(is_for_all).map(KnownGate::command);
        let begin = begin_hop(told, hop);
        let all = set.into_iter().chain(before).chain(acks).chain([begin]);
        let (mut run, mut look) = (all.collect::<Vec<_>>(), look);
        // Two tasks may have one command.
        run.dedup();
        look.dedup();
        HopCommands { gates, look, run }
    });
    PlanCommands {
        hops: hops.collect(),
        after: after.into_iter().filter_map(|task| task.command).collect(),
    }
}

/// Has the cluster follow a channel.
pub(crate) fn set_channel(channel: &ChannelName) -> String {
    format!("oc adm upgrade channel {channel}")
}

/// Begins an update. `oc` wants to hear that its risks are known.
pub(crate) fn begin(to: &Version, has_risks: bool) -> String {
    let accepts = match has_risks {
        true => " --allow-not-recommended",
        false => "",
    };
    format!("oc adm upgrade{accepts} --to={to}")
}

/// Sets the channel. That of a hosted control plane is set on the cluster that hosts it.
fn of_channel(told: &PathReport<'_>, hop: &Hop) -> String {
    match told.is_hosted() {
        true => of_hosted(&format!("\"channel\":\"{}\"", hop.channel)),
        false => set_channel(&hop.channel),
    }
}

fn begin_hop(told: &PathReport<'_>, hop: &Hop) -> String {
    let release = told.graph.release(hop.to);
    match told.is_hosted() {
        true => of_hosted(&format!(
            "\"release\":{{\"image\":\"{}\"}}",
            release.payload
        )),
        false => begin(&release.version, !hop.risks.is_empty()),
    }
}

fn of_hosted(spec: &str) -> String {
    format!("oc -n NAMESPACE patch hostedcluster NAME --type=merge -p '{{\"spec\":{{{spec}}}}}'")
}

/// The acknowledgements that a hop is known to need, but for those that the cluster shows or has: they are tasks, or done.
fn gates(told: &PathReport<'_>, number: usize, hop: &Hop) -> Vec<KnownGate> {
    let version = |id| &told.graph.release(id).version;
    let (from, to) = (version(hop.from), version(hop.to));
    let facts = told.cluster.as_ref().map(|cluster| &cluster.objects.facts);
    let is_open = |gate: &KnownGate| {
        facts.is_none_or(|facts| {
            let shown = facts.gates.known();
            let acks = facts.acks.known();
            // Of the release that it runs, the cluster speaks for itself.
            number > 0
                && !shown.is_some_and(|shown| shown.contains_key(&gate.name))
                && !acks.is_some_and(|acks| acks.contains(&gate.name))
        })
    };
    let is_asked = |gate: &KnownGate| {
        let has_it = gate.since.as_ref().is_none_or(|since| since <= from);
        gate.keeps_in == Minor::of(from) && !from.same_minor(to) && has_it && is_open(gate)
    };
    known_gates::read().into_iter().filter(is_asked).collect()
}

/// Whether a command only shows something: `oc get …`, `oc -n NAMESPACE get …`.
fn only_looks(command: &str) -> bool {
    let mut words = command.split_whitespace().skip(1);
    let verb = match words.next() {
        Some("-n") => words.nth(1),
        first => first,
    };
    matches!(verb, Some("get" | "describe" | "logs"))
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
