//! Is this cluster ready? Each update of a sequence with its obstacles, and what to do before
//! which update.

use std::collections::BTreeSet;

use crate::cluster::objects::{Facts, MachineConfigPool};
use crate::cluster::rules::{MaxSkew, PoolStanding, judge, standings};
use crate::cluster::way::{Step, Way};
use crate::fleet::Name;
use crate::verdict::{Answer, Code, Reason, Verdict};
use crate::version::Minor;

/// What there is to say about a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Its updates, in order.
    pub hops: Vec<ReadyHop>,
    /// Pools that are paused now, and have to be unpaused at the end.
    pub paused_at_the_end: Vec<Name>,
}

/// An update of a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyHop {
    /// From, as people name it.
    pub from: String,
    /// To, as people name it.
    pub to: String,
    /// The minor version it leads into; none if it is a patch.
    pub enters: Option<Minor>,
    /// Whether it can be taken, and all that stands against it.
    pub verdict: Verdict,
    /// What has to be done for it that was not to be done for one before it.
    pub tasks: Vec<Task>,
    /// How nodes stand right after its control plane is updated.
    pub pools: Vec<PoolStanding>,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub text: String,
    /// The command that does it, or a part of it.
    pub command: Option<String>,
}

/// What is left to be done when the way is over.
static POOL_STAYS_PAUSED: Code = Code::new(
    "PoolStaysPaused",
    "pool {pool} is still paused",
    "unpause pool {pool}, so that its nodes follow",
)
.by(MachineConfigPool::UNPAUSE)
.with(&[("pool", "worker")])
.note();

/// Judges every update of a way.
pub fn ready(way: &Way, facts: &Facts, max_skew: MaxSkew) -> Readiness {
    let mut asked = BTreeSet::new();
    let hops = way
        .steps()
        .map(|step| hop(step, facts, max_skew, &mut asked))
        .collect();
    Readiness {
        hops,
        paused_at_the_end: paused(way, facts),
    }
}

fn hop(step: Step<'_>, facts: &Facts, max_skew: MaxSkew, asked: &mut BTreeSet<String>) -> ReadyHop {
    let verdict = judge(step, facts, max_skew);
    let tasks = verdict
        .objections()
        .map(Task::of)
        .filter(|task| asked.insert(task.text.clone()))
        .collect();
    let pools = standings(step, facts, max_skew);
    let enters = step.is_minor().then(|| step.to_minor());
    ReadyHop {
        from: step.begins_at(),
        to: step.to().to_string(),
        enters,
        verdict,
        tasks,
        pools,
    }
}

impl Task {
    /// What helps against a reason.
    fn of(reason: &Reason) -> Self {
        Self {
            text: reason.help(),
            command: reason.command(),
        }
    }

    /// A paused pool lets its nodes be updated again.
    pub fn unpause(pool: &Name) -> Self {
        Self::of(&POOL_STAYS_PAUSED.because([("pool", pool.into())]))
    }
}

/// The control plane's pool is unpaused before the first minor update, and not only at the end.
fn paused(way: &Way, facts: &Facts) -> Vec<Name> {
    let has_minor = way.steps().any(Step::is_minor);
    let waits =
        |pool: &&MachineConfigPool| pool.is_paused && !(has_minor && pool.is_of_control_plane());
    let pools = facts.pools.known().into_iter().flatten();
    pools.filter(waits).map(|pool| pool.name.clone()).collect()
}

impl Readiness {
    /// Whether every update can be taken as the cluster is.
    pub fn is_ready(&self) -> bool {
        self.hops.iter().all(ReadyHop::is_ready)
    }
}

impl ReadyHop {
    /// Whether it can be taken as the cluster is.
    pub fn is_ready(&self) -> bool {
        self.verdict.answer == Answer::Recommend
    }

    /// What stands against it, and what it only tells.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        self.verdict.reasons.iter()
    }
}
