//! A pool of nodes with a machine-config operator, an eviction API and people, on a clock of its own.
//!
//! A seed says what fails, and when whoever takes the steps dies.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use towpath_core::duration::MaxUnavailable;
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{
    Cordon, DrainedPod, NodeAct, NodeMark, NodeUpdate, RebootPace, RebootProgress, RebootRecord,
    RebootSettings, RebootStep, RebootView, RebootedNode, next_reboot_step, undo_step,
};

use crate::cluster::start;
use towpath_core::verdict::Reason;
use towpath_testing_feedback::Chance;

/// What becomes of a node that the operator works on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Fails,
    Hangs,
}

#[derive(Debug)]
struct Machine {
    name: Name,
    config: Name,
    unready_since: Option<Timestamp>,
    cordon: Option<Cordon>,
    mark: NodeMark,
    is_handed: bool,
    /// What the operator does with it: until when, and to which configuration.
    work: Option<(Timestamp, Name)>,
    failed: Option<Name>,
}

/// A pod of an application; each has a budget of its own that lets one pod go at a time.
#[derive(Debug)]
struct Pod {
    name: Name,
    app: usize,
    node: Option<usize>,
    ready_at: Timestamp,
    /// When it is gone.
    leaves_at: Option<Timestamp>,
    refused: Option<Name>,
    waits_since: Option<Timestamp>,
}

pub(crate) struct Pool {
    machines: Vec<Machine>,
    pods: Vec<Pod>,
    pub(crate) now: Timestamp,
    pub(crate) is_paused: bool,
    pub(crate) was_paused: bool,
    wanted: Name,
    pub(crate) record: Option<RebootRecord>,
    pub(crate) settings: RebootSettings,
    pub(crate) fates: BTreeMap<Name, Fate>,
    /// Pods that a budget never lets go.
    locked: BTreeSet<Name>,
    /// Whether budgets are known before anybody is asked to go.
    pub(crate) foreseen: bool,
    pub(crate) always_waiting: Option<Timestamp>,
    pub(crate) blocked: Option<Reason>,
    pub(crate) begun: Vec<(Timestamp, Name)>,
    pub(crate) most_away: usize,
    pub(crate) broken: Vec<String>,
    made: usize,
}

const STEP: i64 = 10;
const REBOOT: SignedDuration = SignedDuration::from_mins(4);

impl Pool {
    /// So many nodes with so many pods each.
    pub(crate) fn new(nodes: usize, pods: usize, settings: RebootSettings) -> Self {
        let machine = |number: usize| Machine {
            name: format!("n{number:02}").into(),
            config: "rendered-0".into(),
            unready_since: None,
            cordon: None,
            mark: NodeMark::None,
            is_handed: false,
            work: None,
            failed: None,
        };
        let pod = |number: usize| Pod {
            name: format!("p{number}").into(),
            app: number / 2,
            node: Some(number % nodes),
            ready_at: start(),
            leaves_at: None,
            refused: None,
            waits_since: None,
        };
        Self {
            machines: (0..nodes).map(machine).collect(),
            pods: (0..nodes * pods).map(pod).collect(),
            now: start() + SignedDuration::from_hours(1),
            is_paused: false,
            was_paused: false,
            wanted: "rendered-1".into(),
            record: None,
            settings,
            fates: BTreeMap::new(),
            locked: BTreeSet::new(),
            foreseen: false,
            always_waiting: None,
            blocked: None,
            begun: Vec::new(),
            most_away: 0,
            broken: Vec::new(),
            made: nodes * pods,
        }
    }

    pub(crate) fn random(seed: u64) -> Self {
        let mut chance = Chance::of(seed);
        let nodes = 2 + chance.below(14) as usize;
        let mut pool = Self::new(
            nodes,
            1 + chance.below(3) as usize,
            RebootSettings::default(),
        );
        pool.settings.at_most_away = match chance.below(3) {
            0 => MaxUnavailable::Count(1),
            1 => MaxUnavailable::Count(1 + chance.below(4) as u32),
            _ => MaxUnavailable::Percent(10 + chance.below(40) as u32),
        };
        pool.settings.harden_after =
            (chance.below(2) == 0).then(|| chance.below(nodes as u64) as usize);
        pool.settings.pace = (chance.below(2) == 0).then(|| RebootPace {
            nodes: MaxUnavailable::Percent(10 + chance.below(60) as u32),
            within: SignedDuration::from_mins(5 + chance.below(15) as i64),
        });
        pool.is_paused = chance.below(2) == 0;
        pool.was_paused = pool.is_paused;
        pool.foreseen = chance.below(2) == 0;
        for number in 0..nodes {
            let fate = match chance.below(60) {
                0 => Fate::Fails,
                1 => Fate::Hangs,
                _ => continue,
            };
            pool.fates.insert(pool.machines[number].name.clone(), fate);
        }
        pool
    }

    /// Hours in which anything happens.
    pub(crate) fn live(&mut self, seed: u64) {
        let mut chance = Chance::of(seed ^ 0x5EED);
        let passes = 20 + chance.below(160);
        for _ in 0..passes {
            let parts = match chance.below(4) {
                0 => chance.below(6) as usize,
                _ => usize::MAX,
            };
            self.take(parts);
            self.disturb(&mut chance);
            self.wait(1 + chance.below(90) as i64);
        }
    }

    fn disturb(&mut self, chance: &mut Chance) {
        let number = chance.below(self.machines.len() as u64) as usize;
        let (now, locked) = (self.now, self.pods[number % self.pods.len()].name.clone());
        let machine = &mut self.machines[number];
        match chance.below(60) {
            0 if machine.unready_since.is_none() => machine.unready_since = Some(now),
            1 | 2 if machine.work.is_none() => machine.unready_since = None,
            3 if machine.cordon.is_none() && !machine.is_handed => {
                machine.cordon = Some(Cordon::Others)
            }
            4 | 5 if machine.work.is_none() && machine.cordon == Some(Cordon::Others) => {
                machine.cordon = None
            }
            6 => drop(self.locked.insert(locked)),
            7 | 8 => self.locked.clear(),
            _ => {}
        }
    }

    /// From now on nothing goes wrong that has not already.
    pub(crate) fn calm_down(&mut self) {
        self.locked.clear();
        for machine in &mut self.machines {
            if machine.work.is_none() && machine.failed.is_none() {
                machine.unready_since = None;
                machine.cordon = machine.cordon.filter(|cordon| *cordon == Cordon::Ours);
            }
        }
    }

    pub(crate) fn view(&self) -> RebootView {
        let waiting = self.pods.iter().filter_map(|pod| pod.waits_since);
        RebootView {
            pool: "worker".into(),
            is_paused: self.is_paused,
            wanted: self.wanted.clone(),
            nodes: (0..self.machines.len())
                .map(|number| self.node(number))
                .collect(),
            waiting: waiting.chain(self.always_waiting).collect(),
            blocked: self.blocked.clone(),
        }
    }

    fn node(&self, number: usize) -> RebootedNode {
        let machine = &self.machines[number];
        let own = || self.pods.iter().filter(|pod| pod.node == Some(number));
        let update = match (&machine.failed, &machine.work) {
            (Some(why), _) => NodeUpdate::Failed(why.clone()),
            (None, Some(_)) => NodeUpdate::Working,
            (None, None) if machine.config == self.wanted => NodeUpdate::Done,
            (None, None) => NodeUpdate::Waiting,
        };
        let refused_by = own().find(|pod| self.foreseen && !self.lets_go(pod));
        RebootedNode {
            name: machine.name.clone(),
            unready_since: machine.unready_since,
            cordon: machine.cordon,
            mark: machine.mark,
            is_handed: machine.is_handed,
            update,
            pods: own()
                .map(|pod| DrainedPod {
                    namespace: "shop".into(),
                    name: pod.name.clone(),
                    is_leaving: pod.leaves_at.is_some(),
                    refused: pod.refused.clone(),
                })
                .collect(),
            refused_by: refused_by.map(|pod| format!("shop/a{}", pod.app).into()),
        }
    }

    pub(crate) fn step(&self) -> RebootStep {
        next_reboot_step(&self.view(), &self.settings, self.record.as_ref(), self.now)
    }

    pub(crate) fn progress(&self) -> RebootProgress {
        self.step().progress
    }

    /// Takes a step, or only its first so many parts: the record, and each act.
    pub(crate) fn take(&mut self, parts: usize) -> RebootProgress {
        let step = self.step();
        if parts > 0 {
            self.record = Some(step.record);
        }
        let is_stopped = self
            .record
            .as_ref()
            .is_some_and(|record| record.stopped.is_some());
        for act in step.acts.into_iter().take(parts.saturating_sub(1)) {
            let begins = matches!(act, NodeAct::Cordon(_) | NodeAct::HandOver(_));
            if is_stopped && begins {
                self.broken.push(format!("{act:?} after a bad sign"));
            }
            self.act(act);
        }
        step.progress
    }

    fn act(&mut self, act: NodeAct) {
        match act {
            NodeAct::Pause(is_paused) => self.is_paused = is_paused,
            NodeAct::Cordon(name) => self.cordon(&name),
            NodeAct::Uncordon(name) => self.machine(&name).cordon = None,
            NodeAct::Evict { pod, .. } => self.evict(&pod),
            NodeAct::Mark(name, mark) => self.machine(&name).mark = mark,
            NodeAct::HandOver(name) => {
                let machine = self.machine(&name);
                machine.cordon = None;
                machine.mark = NodeMark::KeepOut;
                machine.is_handed = true;
            }
            NodeAct::TakeBack(name) => self.machine(&name).is_handed = false,
        }
    }

    fn cordon(&mut self, name: &Name) {
        self.machine(name).cordon = Some(Cordon::Ours);
        self.begun.push((self.now, name.clone()));
        let view = self.view();
        let nodes = view.nodes.len() as u32;
        let limit = self.settings.at_most_away.rounded_down(nodes) as usize;
        if view.away() > limit {
            self.broken
                .push(format!("{} are away, and {limit} may be", view.away()));
        }
        self.most_away = self.most_away.max(view.away());
        if let Some(pace) = self.settings.pace {
            let most = pace.nodes.rounded_down(nodes) as usize;
            let begun = self.begun_within(self.now, pace.within);
            if begun > most {
                self.broken
                    .push(format!("{begun} have begun, and {most} may"));
            }
        }
    }

    fn begun_within(&self, end: Timestamp, within: SignedDuration) -> usize {
        let is_within = |at: Timestamp| at <= end && end.duration_since(at) < within;
        let names = self.begun.iter().filter(|(at, _)| is_within(*at));
        names.map(|(_, name)| name).collect::<BTreeSet<_>>().len()
    }

    pub(crate) fn most_begun_within(&self, within: SignedDuration) -> usize {
        let ends = self
            .begun
            .iter()
            .map(|(at, _)| self.begun_within(*at, within));
        ends.max().unwrap_or(0)
    }

    /// The eviction API: a budget lets one pod of an application go while all others are ready.
    fn evict(&mut self, name: &Name) {
        let Some(at) = self.pods.iter().position(|pod| pod.name == *name) else {
            return;
        };
        let lets_go = self.lets_go(&self.pods[at]);
        let leaves_at = self.now + SignedDuration::from_secs(15);
        let pod = &mut self.pods[at];
        match lets_go {
            true => (pod.leaves_at, pod.refused) = (Some(leaves_at), None),
            false => {
                pod.refused =
                    Some(format!("the budget shop/a{} allows no eviction", pod.app).into())
            }
        }
    }

    fn lets_go(&self, pod: &Pod) -> bool {
        let is_well = |other: &Pod| {
            other.node.is_some() && other.leaves_at.is_none() && other.ready_at <= self.now
        };
        let mut others = self
            .pods
            .iter()
            .filter(|other| other.app == pod.app && other.name != pod.name);
        !self.locked.contains(&pod.name) && others.all(is_well)
    }

    /// Time passes, in small steps.
    pub(crate) fn wait(&mut self, seconds: i64) {
        let end = self.now + SignedDuration::from_secs(seconds);
        while self.now < end {
            self.now = end.min(self.now + SignedDuration::from_secs(STEP));
            self.end_pods();
            self.schedule();
            self.operate();
        }
    }

    /// A pod that is gone is replaced by one that waits.
    fn end_pods(&mut self) {
        let now = self.now;
        for pod in &mut self.pods {
            if pod.leaves_at.is_some_and(|at| at <= now) {
                self.made += 1;
                pod.name = format!("p{}", self.made).into();
                (pod.node, pod.leaves_at, pod.refused) = (None, None, None);
            }
        }
    }

    /// Pods go to the emptiest node that is open; to one that is marked only if there is no other.
    fn schedule(&mut self) {
        let now = self.now;
        for at in 0..self.pods.len() {
            if self.pods[at].node.is_some() {
                continue;
            }
            let load = |number: usize| {
                self.pods
                    .iter()
                    .filter(|pod| pod.node == Some(number))
                    .count()
            };
            let open = (0..self.machines.len()).filter(|number| {
                let machine = &self.machines[*number];
                let is_open = machine.unready_since.is_none() && machine.cordon.is_none();
                is_open && machine.mark != NodeMark::KeepOut
            });
            let best =
                open.min_by_key(|number| (self.machines[*number].mark, load(*number), *number));
            let pod = &mut self.pods[at];
            pod.node = best;
            pod.ready_at = now + SignedDuration::from_secs(20);
            pod.waits_since = match best {
                Some(_) => None,
                None => pod.waits_since.or(Some(now)),
            };
        }
    }

    /// The machine-config operator takes nodes of the pool beside at once, and of the pool itself where it is not paused.
    fn operate(&mut self) {
        let (now, wanted) = (self.now, self.wanted.clone());
        for machine in &mut self.machines {
            if let Some((until, config)) = machine.work.clone() {
                if until <= now {
                    machine.work = None;
                    machine.config = config;
                    machine.unready_since = None;
                    machine.cordon = None;
                }
                continue;
            }
            let is_old = machine.config != wanted && machine.failed.is_none();
            if !(is_old && machine.is_handed && machine.unready_since.is_none()) {
                continue;
            }
            machine.cordon = Some(Cordon::Others);
            match self.fates.get(&machine.name) {
                Some(Fate::Fails) => machine.failed = Some("unexpected on-disk state".into()),
                Some(Fate::Hangs) => {
                    machine.work = Some((Timestamp::MAX, wanted.clone()));
                    machine.unready_since = Some(now);
                }
                None => {
                    machine.work = Some((now + REBOOT, wanted.clone()));
                    machine.unready_since = Some(now);
                }
            }
        }
    }

    /// Steps until it is over: nothing more can happen by itself.
    pub(crate) fn run(&mut self) {
        for _ in 0..20_000 {
            let progress = self.take(usize::MAX);
            match progress {
                RebootProgress::Done | RebootProgress::Stopped { .. } => return,
                _ => self.wait(3 * STEP),
            }
        }
        panic!("it does not end: {:?}", self.step());
    }

    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..20_000 {
            if is_so(self) {
                return;
            }
            self.take(usize::MAX);
            self.wait(STEP);
        }
        panic!("{what}: {:?}", self.step());
    }

    /// So many passes.
    pub(crate) fn passes(&mut self, count: usize) {
        for _ in 0..count {
            self.take(usize::MAX);
            self.wait(STEP);
        }
    }

    /// What is stopped goes on being put back, until nothing is left to do.
    pub(crate) fn settle(&mut self) {
        self.work_off("it does not settle", |pool| {
            let acts = pool.step().acts;
            pool.take(usize::MAX);
            acts.len()
        });
    }

    /// Somebody undoes the run.
    pub(crate) fn undo(&mut self) {
        self.work_off("it cannot be undone", |pool| {
            let acts = undo_step(&pool.view(), pool.record.as_ref());
            let count = acts.len();
            acts.into_iter().for_each(|act| pool.act(act));
            count
        });
    }

    /// Goes on until nothing was to do, and the operator is done with what it will ever be done with.
    fn work_off(&mut self, what: &str, mut pass: impl FnMut(&mut Self) -> usize) {
        for _ in 0..2_000 {
            let ends = |machine: &Machine| {
                machine
                    .work
                    .as_ref()
                    .is_some_and(|(until, _)| *until < Timestamp::MAX)
            };
            let is_at_work = self.machines.iter().any(ends);
            if pass(self) == 0 && !is_at_work {
                return;
            }
            self.wait(STEP);
        }
        panic!("{what}: {:?}", self.left_behind());
    }

    /// What is still ours, in words.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let mut left = Vec::new();
        for machine in &self.machines {
            let name = &machine.name;
            if machine.is_handed {
                left.push(format!("{name} is handed over"));
            }
            if machine.mark != NodeMark::None {
                left.push(format!("{name} is marked"));
            }
            if machine.cordon == Some(Cordon::Ours) {
                left.push(format!("{name} is cordoned"));
            }
        }
        left
    }

    /// Whether the operator has a node and will never give it back.
    pub(crate) fn is_stuck(&self, name: &str) -> bool {
        let mut own = self
            .machines
            .iter()
            .filter(|machine| &*machine.name == name);
        own.any(|machine| {
            machine.failed.is_some() || self.fates.get(&machine.name) == Some(&Fate::Hangs)
        })
    }

    /// A budget never lets the first pod of this node go.
    pub(crate) fn lock(&mut self, name: &str) {
        let number = self
            .machines
            .iter()
            .position(|machine| &*machine.name == name);
        let mut own = self.pods.iter().filter(|pod| pod.node == number);
        let first = own.next().expect("a node with a pod").name.clone();
        self.locked.insert(first);
    }

    pub(crate) fn unlock(&mut self) {
        self.locked.clear();
    }

    pub(crate) fn cordon_by_hand(&mut self, name: &str) {
        self.machine(&name.into()).cordon = Some(Cordon::Others);
    }

    pub(crate) fn want(&mut self, config: &str) {
        self.wanted = config.into();
    }

    fn machine(&mut self, name: &Name) -> &mut Machine {
        let mut machines = self.machines.iter_mut();
        machines
            .find(|machine| machine.name == *name)
            .expect("a node that there is")
    }
}
