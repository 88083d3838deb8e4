//! A cluster with one DaemonSet, on a clock of its own: a seed says what fails, and when whoever rolls out dies.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use towpath_core::fleet::Name;
use towpath_core::nodes::{
    DaemonNode, DaemonPod, DaemonProgress, DaemonSettings, DaemonStep, DaemonView, RolloutRecord,
    next_step,
};

/// How pods of a revision do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Conduct {
    Works,
    /// Every pod breaks at once.
    Breaks,
    /// Pods of one zone never become ready.
    HangsIn(usize),
    /// One pod in so many breaks.
    BreaksOften(u64),
}

pub(crate) struct Cluster {
    pub(crate) view: DaemonView,
    pub(crate) now: Timestamp,
    pub(crate) record: Option<RolloutRecord>,
    pub(crate) settings: DaemonSettings,
    pub(crate) conduct: BTreeMap<Name, Conduct>,
    /// When each pod that is not ready becomes so, or breaks.
    due: BTreeMap<Name, (Timestamp, bool)>,
    /// When nodes that are not well are well again.
    repairs: BTreeMap<Name, Timestamp>,
    made: u64,
    /// The most nodes without a ready pod that our own deletions led to.
    pub(crate) most_away: usize,
    /// How many nodes have ever got a pod of each revision.
    pub(crate) reached: BTreeMap<Name, std::collections::BTreeSet<Name>>,
}

pub(crate) fn start() -> Timestamp {
    Timestamp::from_second(1_700_000_000).expect("a time that there is")
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

impl Cluster {
    /// So many nodes in three zones, all on revision `a`; `b` is wanted.
    pub(crate) fn new(nodes: usize) -> Self {
        let node = |number: usize| DaemonNode {
            name: format!("n{number:03}").into(),
            zone: format!("z{}", number % 3).into(),
            arch: "amd64".into(),
            pool: "worker".into(),
            is_ready: true,
        };
        let pod = |number: usize| DaemonPod {
            name: format!("p{number:03}").into(),
            node: format!("n{number:03}").into(),
            revision: "a".into(),
            created_at: start(),
            ready_since: Some(start()),
            broken: None,
            is_leaving: false,
        };
        Self {
            view: DaemonView {
                wanted: "b".into(),
                nodes: (0..nodes).map(node).collect(),
                pods: (0..nodes).map(pod).collect(),
            },
            now: start() + seconds(3600),
            record: None,
            settings: DaemonSettings::default(),
            conduct: BTreeMap::new(),
            due: BTreeMap::new(),
            repairs: BTreeMap::new(),
            made: 0,
            most_away: 0,
            reached: BTreeMap::new(),
        }
    }

    pub(crate) fn away(&self) -> usize {
        let works = |node: &DaemonNode| {
            let mut own = self.view.pods.iter().filter(|pod| pod.node == node.name);
            own.any(DaemonPod::works)
        };
        self.view.nodes.iter().filter(|node| !works(node)).count()
    }

    pub(crate) fn step(&self) -> DaemonStep {
        next_step(&self.view, &self.settings, self.record.as_ref(), self.now)
    }

    /// Takes a step, or only its first so many parts: the record, the template, each pod.
    pub(crate) fn take(&mut self, parts: usize) -> DaemonProgress {
        let step = self.step();
        if parts > 0 {
            self.record = Some(step.record);
        }
        if parts > 1
            && let Some(good) = step.roll_back_to
        {
            self.view.wanted = good;
        }
        let names = step.delete.iter().take(parts.saturating_sub(2));
        for name in names.cloned().collect::<Vec<_>>() {
            self.replace(&name);
            self.most_away = self.most_away.max(self.away());
        }
        step.progress
    }

    /// A pod is deleted, and its node gets one of the wanted revision. The more are under way, the longer each takes.
    fn replace(&mut self, name: &Name) {
        let place = self.view.pods.iter().position(|pod| pod.name == *name);
        let node = self
            .view
            .pods
            .remove(place.expect("a pod that there is"))
            .node;
        self.due.remove(name);
        self.made += 1;
        let name: Name = format!("q{:05}", self.made).into();
        let revision = self.view.wanted.clone();
        let number: usize = node[1..].parse().expect("its number is in its name");
        let conduct = self.conduct.get(&revision).copied();
        let under_way = self.due.len() as i64 + 1;
        // 19.2 s for one alone, 60 s for each of 25 together: facts/nodes.md.
        let takes = SignedDuration::from_millis(19_200 + 40_800 * (under_way - 1) / 24);
        let fate = match conduct.unwrap_or(Conduct::Works) {
            Conduct::Works => Some((self.now + takes, true)),
            Conduct::Breaks => Some((self.now + takes, false)),
            Conduct::HangsIn(zone) => (number % 3 != zone).then_some((self.now + takes, true)),
            Conduct::BreaksOften(one_in) => {
                Some((self.now + takes, !self.made.is_multiple_of(one_in)))
            }
        };
        if let Some(fate) = fate {
            self.due.insert(name.clone(), fate);
        }
        self.reached
            .entry(revision.clone())
            .or_default()
            .insert(node.clone());
        self.view.pods.push(DaemonPod {
            name,
            node,
            revision,
            created_at: self.now,
            ready_since: None,
            broken: None,
            is_leaving: false,
        });
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, by: i64) {
        self.now += seconds(by);
        let now = self.now;
        for pod in &mut self.view.pods {
            if let Some((_, works)) = self.due.get(&pod.name).filter(|(at, _)| *at <= now) {
                match works {
                    true => pod.ready_since = Some(now),
                    false => pod.broken = Some("CrashLoopBackOff".into()),
                }
                self.due.remove(&pod.name);
            }
        }
        for node in &mut self.view.nodes {
            if self.repairs.get(&node.name).is_some_and(|at| *at <= now) {
                node.is_ready = true;
                self.repairs.remove(&node.name);
                let mut own = self.view.pods.iter_mut();
                if let Some(pod) = own.find(|pod| pod.node == node.name) {
                    pod.ready_since = Some(now);
                }
            }
        }
    }

    /// A node is lost for a while, with its pod.
    pub(crate) fn lose(&mut self, number: usize, for_seconds: i64) {
        let node = &mut self.view.nodes[number];
        node.is_ready = false;
        self.repairs
            .insert(node.name.clone(), self.now + seconds(for_seconds));
        let mut own = self.view.pods.iter_mut();
        if let Some(pod) = own.find(|pod| pod.node == node.name) {
            pod.ready_since = None;
            self.due.remove(&pod.name);
        }
    }

    /// Steps every few seconds until it is over. How long it took, and how it ended.
    pub(crate) fn run(&mut self) -> (SignedDuration, DaemonProgress) {
        let began = self.now;
        for _ in 0..20_000 {
            let progress = self.take(usize::MAX);
            let is_over = matches!(
                progress,
                DaemonProgress::Done | DaemonProgress::RolledBack { .. }
            );
            if is_over || matches!(progress, DaemonProgress::Stuck { .. }) {
                return (self.now.duration_since(began), progress);
            }
            self.wait(2);
        }
        panic!("it does not end: {:?}", self.step().progress);
    }

    pub(crate) fn on(&self, revision: &str) -> usize {
        let own = self
            .view
            .pods
            .iter()
            .filter(|pod| &*pod.revision == revision);
        own.filter(|pod| pod.works()).count()
    }
}
