//! Is this cluster ready? Each update of a sequence with its obstacles, and what to do before
//! which update.

use std::collections::BTreeSet;

use crate::cluster::AcceptedReasons;
use crate::cluster::objects::{Facts, MachineConfigPool};
use crate::cluster::rules::{PoolStanding, is_unjudged, judge_all, standings};
use crate::cluster::way::{Step, Way, Workers};
use crate::fleet::Name;
use crate::verdict::{Answer, Code, Reason, Verdict};
use crate::version::{Minor, ShippedKubernetes};

/// What there is to say about a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Its updates, in order.
    pub hops: Vec<ReadyHop>,
    /// What is left to be done when the way is over.
    pub after: Vec<Task>,
    /// Names that somebody accepts, and that nothing here has.
    pub accepted_in_vain: Vec<String>,
}

/// What is to be done with pools of worker nodes, as the schedule of a way has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolTasks {
    /// Before each update.
    pub before: Vec<Vec<Task>>,
    /// When the way is over.
    pub after: Vec<Task>,
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
    /// The Kubernetes of that, if it is known.
    pub kubernetes: Option<ShippedKubernetes>,
    /// Whether it can be taken, and all that stands against it.
    pub verdict: Verdict,
    /// What stood against it, and somebody accepts.
    pub accepted: Vec<Reason>,
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
    /// The command that shows whether it is done.
    pub check: Option<String>,
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

/// What a plan that holds worker pools back asks for.
static POOL_TO_PAUSE: Code = Code::new(
    "PoolToPause",
    "pool {pool} has to be paused",
    "pause pool {pool}, so that its nodes are updated once, after the minor versions between",
)
.by(MachineConfigPool::PAUSE)
.with(&[("pool", "worker")])
.note();

static POOL_TO_CATCH_UP: Code = Code::new(
    "PoolToCatchUp",
    "pool {pool} has to catch up with {release}",
    "unpause pool {pool}, so that its nodes catch up with {release}",
)
.by(MachineConfigPool::UNPAUSE)
.with(&[("pool", "worker"), ("release", "4.16.30")])
.note();

/// The next minor version comes only after all nodes of a pool.
static POOL_TO_WAIT_FOR: Code = Code::new(
    "PoolToWaitFor",
    "pool {pool} has to be at {release} first",
    "wait until all of pool {pool} is at {release}",
)
.by(MachineConfigPool::WAIT)
.with(&[("pool", "worker"), ("release", "4.16.30")])
.note();

/// Judges every update of a way.
pub fn ready(way: &Way, facts: &Facts) -> Readiness {
    ready_but_for(way, facts, &AcceptedReasons::default())
}

/// Judges every update of a way, but for what somebody accepts.
pub fn ready_but_for(way: &Way, facts: &Facts, accepted: &AcceptedReasons) -> Readiness {
    let mut asked = BTreeSet::new();
    let pools = facts.pools.known().cloned().unwrap_or_default();
    let PoolTasks { before, after } = pool_tasks(way, pools);
    let mut hops = Vec::new();
    for (step, of_pools) in way.steps().zip(before) {
        let judged = accepted.taken_from(judge_all(step, facts));
        let standings = standings(step, facts);
        hops.push(hop(step, judged, standings, of_pools, &mut asked));
    }
    let taken = hops.iter().flat_map(|hop| &hop.accepted);
    let accepted_in_vain = accepted.unused(taken);
    Readiness {
        hops,
        after,
        accepted_in_vain,
    }
}

fn hop(
    step: Step<'_>,
    (verdict, accepted): (Verdict, Vec<Reason>),
    pools: Vec<PoolStanding>,
    of_pools: Vec<Task>,
    asked: &mut BTreeSet<String>,
) -> ReadyHop {
    let is_task = |reason: &&Reason| !is_unjudged(reason.code());
    let against = verdict.objections().filter(is_task).map(Task::of);
    let against = against.filter(|task| asked.insert(task.text.clone()));
    let tasks = against.chain(of_pools).collect();
    let enters = step.is_minor().then(|| step.to_minor());
    let kubernetes = enters.and_then(|_| step.kubernetes_after());
    ReadyHop {
        from: step.begins_at(),
        to: step.to().to_string(),
        enters,
        kubernetes,
        verdict,
        accepted,
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
            check: reason.check(),
        }
    }

    fn of_pool(code: &'static Code, pool: &Name, release: &str) -> Self {
        Self::of(&code.because([("pool", pool.into()), ("release", release.into())]))
    }
}

/// What is to be done with pools so that the way goes as its schedule says: who is paused when, who catches up, and whom the
/// next minor version waits for.
pub fn pool_tasks(way: &Way, pools: Vec<MachineConfigPool>) -> PoolTasks {
    let mut pools = WorkerPools::new(pools);
    let before = way.steps().map(|step| pools.before(step)).collect();
    let paused = pools.paused_at_the_end(way);
    let last = way.steps().last().map(|step| step.to().to_string());
    let last = last.unwrap_or_default();
    let after = paused.iter().flat_map(|pool| {
        [
            Task::of(&POOL_STAYS_PAUSED.because([("pool", pool.into())])),
            Task::of_pool(&POOL_TO_WAIT_FOR, pool, &last),
        ]
    });
    PoolTasks {
        before,
        after: after.collect(),
    }
}

/// The pools, and which of them are paused, as the way goes on.
struct WorkerPools {
    pools: Vec<MachineConfigPool>,
}

impl WorkerPools {
    fn new(mut pools: Vec<MachineConfigPool>) -> Self {
        let mut names = BTreeSet::new();
        pools.retain(|pool| names.insert(pool.name.clone()));
        Self { pools }
    }

    /// What is to be done with worker pools before a step: those that were held back catch up, those that follow are waited for
    /// before another minor version, and those that are to be held back are paused.
    fn before(&mut self, step: Step<'_>) -> Vec<Task> {
        let last = step.earlier().last();
        let is_held_back = step.workers() != Workers::AsTheyAre;
        let workers = self.pools.iter_mut();
        let workers = workers.filter(|pool| !pool.is_of_control_plane());
        let mut tasks = Vec::new();
        for pool in workers {
            if let Some(last) = last {
                let release = last.to().to_string();
                let catches_up = last.workers() == Workers::CatchUpAfter;
                if catches_up {
                    tasks.push(Task::of_pool(&POOL_TO_CATCH_UP, &pool.name, &release));
                    pool.is_paused = false;
                }
                let is_waited_for = step.is_minor() || is_held_back || catches_up;
                if is_waited_for && !pool.is_paused {
                    tasks.push(Task::of_pool(&POOL_TO_WAIT_FOR, &pool.name, &release));
                }
            }
            if is_held_back && !pool.is_paused {
                let pause = POOL_TO_PAUSE.because([("pool", (&pool.name).into())]);
                tasks.push(Task::of(&pause));
                pool.is_paused = true;
            }
        }
        tasks
    }

    /// The control plane's pool is unpaused before the first minor update, and not only at the end.
    fn paused_at_the_end(&self, way: &Way) -> Vec<Name> {
        let has_minor = way.steps().any(Step::is_minor);
        let waits = |pool: &&MachineConfigPool| {
            pool.is_paused && !(has_minor && pool.is_of_control_plane())
        };
        let pools = self.pools.iter();
        pools.filter(waits).map(|pool| pool.name.clone()).collect()
    }
}

impl Readiness {
    /// Whether every update can be taken as the cluster is.
    pub fn is_ready(&self) -> bool {
        self.hops.iter().all(ReadyHop::is_ready)
    }

    /// What could not be judged, for lack of something. Each is told once.
    pub fn unjudged(&self) -> BTreeSet<&Reason> {
        let reasons = self.hops.iter().flat_map(|hop| &hop.verdict.reasons);
        reasons
            .filter(|reason| is_unjudged(reason.code()))
            .collect()
    }

    /// Whether something that was found stands in the way, and not only that something is not known.
    pub fn has_objections(&self) -> bool {
        self.hops.iter().any(ReadyHop::has_objections)
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

    /// The same without what could not be judged.
    pub fn judged_reasons(&self) -> impl Iterator<Item = &Reason> {
        self.reasons().filter(|reason| !is_unjudged(reason.code()))
    }

    /// Whether something that was found stands against it.
    pub fn has_objections(&self) -> bool {
        self.judged_reasons().any(|reason| !reason.code().is_note)
    }
}
