//! One pass over the pools that have opted in: read a snapshot, one pure call, act, report. For `towpath nodes run` and the agent.
//!
//! What is about to be done is written on the pool first, under the resource version that was read, and so is the pause, in the same write.
//! Whoever dies after that has lost nothing: the next pass reads the nodes as they are. A pool that has opted out, and of which a run
//! still remembers something, is put back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use towpath_core::duration::MaxUnavailable;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{
    NodeAct, NodeUpdate, RebootProgress, RebootView, RebootedNode, next_reboot_step, refused,
    undo_step, undoing, undone,
};
use towpath_core::verdict::Reason;
use towpath_formats::nodes::run::{
    PodOnNode, PoolObjects, PoolPlace, PoolStatus, REBOOTS, RECORD, RebootPass, RebootPool,
    Rebooted, STATUS, changed_conditions, is_ours, node_changes, pods_of, read_pool, waiting_since,
    written_record,
};
use towpath_kube::{Event, EvictOutcome, KubeError, NodeWrite, Reboots, Severity};

/// Nobody writes to a node later than this after the record: others take it for done soon.
const ACT_WITHIN: Duration = Duration::from_secs(30);
/// Of so many nodes beyond those that may begin, the pods are looked at first: some may be held by budgets. One further on would be
/// cordoned unseen, and given up if a budget refuses.
const LOOKED_AT: usize = 30;
/// How often a pool is read again that changed while its run was resumed.
const RESUMED_AGAIN: usize = 5;

pub(crate) struct Runner {
    pub(crate) reboots: Reboots,
    /// Only this one.
    pub(crate) pool: Option<String>,
    pub(crate) is_dry_run: bool,
    pub(crate) is_undo: bool,
}

/// What a pass is to do about a pool.
struct Due {
    /// What is remembered from now on. None: nothing.
    record: Option<String>,
    /// Whether anything is left on the pool to be told about.
    is_told: bool,
    acts: Vec<NodeAct>,
    progress: Reason,
    reasons: Vec<Reason>,
}

/// What came of writing to the pool.
enum PoolWrite {
    /// What it is now.
    Written(PoolPlace),
    /// There was nothing new.
    Nothing,
    /// It has changed since it was read.
    Conflict,
}

/// The uid of each pod that may be evicted, by namespace and name.
type Uids = BTreeMap<(Name, Name), Name>;

impl Runner {
    pub(crate) async fn pass(&self) -> Result<RebootPass, KubeError> {
        let mut pass = RebootPass {
            is_dry_run: self.is_dry_run,
            ..RebootPass::default()
        };
        let objects = self.reboots.look().await?;
        let names = objects.pools.iter().filter(|pool| is_ours(pool));
        let names = names.filter_map(|pool| pool.pointer("/metadata/name")?.as_str());
        let mut names: BTreeSet<&str> = names.collect();
        if let Some(only) = &self.pool {
            names = BTreeSet::from([only.as_str()]);
        }
        for name in names {
            let rebooted = match read_pool(&objects, name) {
                Err(mut findings) => {
                    let told = self.tell_refused(&objects, name, &findings).await;
                    findings.extend(told.err().map(|problem| not_told(name, &problem)));
                    Rebooted::Refused(findings)
                }
                Ok(pool) if self.is_left_alone(&pool) => {
                    match self.forget_condition(&pool.place).await {
                        Ok(()) => continue,
                        Err(problem) => Rebooted::Failed(problem.to_string()),
                    }
                }
                Ok(pool) => match self.take(pool).await {
                    Ok(rebooted) => rebooted,
                    Err(problem) => Rebooted::Failed(problem.to_string()),
                },
            };
            pass.pools.push((name.into(), rebooted));
        }
        Ok(pass)
    }

    /// It has not opted in, and nothing is remembered of it.
    fn is_left_alone(&self, pool: &RebootPool) -> bool {
        !pool.has_asked && pool.record.is_none() && !self.is_undo
    }

    /// Takes the next step of one pool.
    async fn take(&self, mut pool: RebootPool) -> Result<Rebooted, KubeError> {
        if self.is_undo || !pool.has_asked {
            return self.act(&pool, putting_back(&pool), &Uids::new()).await;
        }
        let uids = self.look_at_pods(&mut pool).await?;
        let now = Timestamp::now();
        let step = next_reboot_step(&pool.view, &pool.settings, pool.record.as_ref(), now);
        let is_done = step.progress == RebootProgress::Done;
        let due = Due {
            record: (!is_done).then(|| written_record(&step.record)),
            is_told: true,
            acts: step.acts,
            progress: step.progress.reason(),
            reasons: step.reasons,
        };
        self.act(&pool, due, &uids).await
    }

    /// Adds what is only looked at where it matters: pods of nodes that are drained or could be next, and those that wait for a node.
    async fn look_at_pods(&self, pool: &mut RebootPool) -> Result<Uids, KubeError> {
        let mut uids = Uids::new();
        let budgets = &pool.budgets;
        let began = pool.record.as_ref().map(|record| &record.began);
        let mut left = ahead(&pool.view, pool.settings.at_most_away);
        for node in &mut pool.view.nodes {
            let is_begun = began.is_some_and(|began| began.contains_key(&node.name));
            let is_next = is_candidate(node) && left > 0;
            if !(node.is_draining() || is_next || is_begun && is_candidate(node)) {
                continue;
            }
            left -= usize::from(is_next);
            let pods = pods_of(&self.reboots.pods_on(&node.name).await?, budgets);
            for PodOnNode {
                mut pod,
                uid,
                held_by,
            } in pods
            {
                if node.is_draining() && !pod.is_leaving {
                    pod.refused = self.refusal(&pod.namespace, &pod.name, &uid).await?;
                }
                node.refused_by = node.refused_by.take().or(held_by);
                uids.insert((pod.namespace.clone(), pod.name.clone()), uid);
                node.pods.push(pod);
            }
        }
        pool.view.waiting = waiting_since(&self.reboots.pods_without_node().await?);
        Ok(uids)
    }

    /// What the API would say to an eviction now.
    async fn refusal(
        &self,
        namespace: &str,
        pod: &str,
        uid: &str,
    ) -> Result<Option<Name>, KubeError> {
        let asked = self.reboots.evict(namespace, pod, uid, true).await?;
        Ok(match asked {
            EvictOutcome::Refused(why) => Some(why.into()),
            EvictOutcome::Evicted | EvictOutcome::Gone => None,
        })
    }

    async fn act(&self, pool: &RebootPool, due: Due, uids: &Uids) -> Result<Rebooted, KubeError> {
        let mut failed: Vec<KubeError> = Vec::new();
        if !self.is_dry_run {
            // Nodes do not wait for news that cannot be told.
            let now = match self.write(pool, &due).await? {
                PoolWrite::Conflict => return Ok(Rebooted::Changed),
                PoolWrite::Nothing => pool.place.clone(),
                PoolWrite::Written(now) => {
                    failed.extend(self.tell_news(pool, &due).await.err());
                    now
                }
            };
            failed.extend(self.tell_condition(&now, &due).await.err());
            let mut failed_acts = self.carry_out(pool, &due.acts, uids).await;
            failed.append(&mut failed_acts);
        }
        Ok(Rebooted::Told {
            progress: Box::new(due.progress),
            reasons: due.reasons,
            acts: due.acts,
            failed: failed.iter().map(ToString::to_string).collect(),
        })
    }

    /// Writes what has changed of the record, of what is told and of the pause, all at once.
    async fn write(&self, pool: &RebootPool, due: &Due) -> Result<PoolWrite, KubeError> {
        let status = PoolStatus::of(&due.progress, &due.reasons);
        let told = due.is_told.then(|| status.written());
        let [record_before, status_before] = &pool.written;
        let mut annotations = Map::new();
        for (name, before, now) in [
            (RECORD, record_before, &due.record),
            (STATUS, status_before, &told),
        ] {
            if before != now {
                annotations.insert(name.to_owned(), json!(now));
            }
        }
        if self.is_undo && pool.has_asked {
            annotations.insert(REBOOTS.to_owned(), json!("false"));
        }
        let pause = due.acts.iter().find_map(|act| match act {
            NodeAct::Pause(is_paused) => Some(*is_paused),
            _ => None,
        });
        if annotations.is_empty() && pause.is_none() {
            return Ok(PoolWrite::Nothing);
        }
        let mut change = json!({"metadata": {"annotations": annotations}});
        if let Some(is_paused) = pause {
            change["spec"] = json!({"paused": is_paused});
        }
        Ok(
            match self.reboots.change_pool(&pool.place, &change).await? {
                Some(now) => PoolWrite::Written(now),
                None => PoolWrite::Conflict,
            },
        )
    }

    /// The condition of the pool as it is now.
    async fn tell_condition(&self, pool: &PoolPlace, due: &Due) -> Result<(), KubeError> {
        let status = PoolStatus::of(&due.progress, &due.reasons);
        let told = due.is_told.then_some(&status);
        self.set_condition(pool, told).await.map(drop)
    }

    /// Whether it was new. If the pool has changed meanwhile, the next pass finds the condition old, and writes it.
    async fn set_condition(
        &self,
        pool: &PoolPlace,
        told: Option<&PoolStatus>,
    ) -> Result<bool, KubeError> {
        let Some(conditions) = changed_conditions(&pool.conditions, told, Timestamp::now()) else {
            return Ok(false);
        };
        let written = self.reboots.set_conditions(pool, &conditions).await?;
        Ok(written == NodeWrite::Written)
    }

    /// A pool that has opted out says nothing of runs any more.
    async fn forget_condition(&self, pool: &PoolPlace) -> Result<(), KubeError> {
        match self.is_dry_run {
            true => Ok(()),
            false => self.set_condition(pool, None).await.map(drop),
        }
    }

    /// A condition, and an Event when that is new, of a pool whose annotations cannot be followed.
    async fn tell_refused(
        &self,
        objects: &PoolObjects,
        name: &str,
        findings: &[Finding],
    ) -> Result<(), KubeError> {
        let is_it = |pool: &&Value| {
            pool.pointer("/metadata/name")
                .is_some_and(|own| own == name)
        };
        let pool = objects.pools.iter().find(is_it).map(PoolPlace::of);
        let Some(pool) = pool.filter(|_| !self.is_dry_run) else {
            return Ok(());
        };
        let why: Vec<&str> = findings.iter().map(|one| &*one.problem).collect();
        let reason = refused(&why.join("; "));
        if self
            .set_condition(&pool, Some(&PoolStatus::of(&reason, &[])))
            .await?
        {
            self.tell(&pool, &reason).await?;
        }
        Ok(())
    }

    /// An Event for each kind of news.
    async fn tell_news(&self, pool: &RebootPool, due: &Due) -> Result<(), KubeError> {
        let before = pool.written[1].as_deref().and_then(PoolStatus::read);
        let is_new = |reason: &&Reason| {
            let before = before.as_ref();
            !before.is_some_and(|before| before.tells(reason.code().name))
        };
        let mut told = BTreeSet::new();
        let all = [&due.progress].into_iter().chain(&due.reasons);
        for reason in all.filter(is_new) {
            if !told.insert(reason.code()) {
                continue;
            }
            self.tell(&pool.place, reason).await?;
        }
        Ok(())
    }

    async fn tell(&self, pool: &PoolPlace, reason: &Reason) -> Result<(), KubeError> {
        let event = Event {
            severity: match reason.code().is_note {
                true => Severity::Normal,
                false => Severity::Warning,
            },
            reason: reason.code().name.to_owned(),
            message: reason.text(),
        };
        self.reboots.tell(pool, &event, Timestamp::now()).await
    }

    /// Writes to nodes, then evicts. A node that has changed meanwhile is left to the next pass, with its pods. What the API refused.
    async fn carry_out(&self, pool: &RebootPool, acts: &[NodeAct], uids: &Uids) -> Vec<KubeError> {
        let began = Instant::now();
        let (mut failed, mut left) = (Vec::new(), BTreeSet::new());
        for (node, change) in node_changes(pool, acts) {
            if began.elapsed() > ACT_WITHIN {
                left.insert(node);
                continue;
            }
            match self.reboots.change_node(&node, &change).await {
                Ok(NodeWrite::Written) => continue,
                Ok(NodeWrite::Conflict) => {}
                Err(problem) => failed.push(problem),
            }
            left.insert(node);
        }
        for act in acts {
            let NodeAct::Evict {
                node,
                namespace,
                pod,
            } = act
            else {
                continue;
            };
            let uid = uids.get(&(namespace.clone(), pod.clone()));
            let Some(uid) = uid.filter(|_| !left.contains(node) && began.elapsed() <= ACT_WITHIN)
            else {
                continue;
            };
            // A refusal is seen by the next pass, which asks again.
            if let Err(problem) = self.reboots.evict(namespace, pod, uid, false).await {
                failed.push(problem);
            }
        }
        failed
    }

    /// Forgets the bad sign of each pool. What is still bad stops it again. How many runs had stopped.
    pub(crate) async fn resume(&self, now: Timestamp) -> anyhow::Result<usize> {
        let mut resumed = 0;
        for _ in 0..RESUMED_AGAIN {
            let (written, changed) = self.resume_once(now).await?;
            resumed += written;
            if changed == 0 {
                return Ok(resumed);
            }
        }
        anyhow::bail!("the pool keeps changing, so its run could not be resumed; try again")
    }

    /// How many were written, and how many changed meanwhile.
    async fn resume_once(&self, now: Timestamp) -> Result<(usize, usize), KubeError> {
        let objects = self.reboots.look().await?;
        let ours = objects.pools.iter().filter(|pool| is_ours(pool));
        let (mut written, mut changed) = (0, 0);
        for pool in ours.filter_map(|pool| pool.pointer("/metadata/name")?.as_str()) {
            // What cannot be read is told by the pass that follows.
            let Ok(pool) = read_pool(&objects, pool) else {
                continue;
            };
            let name = &pool.place.name;
            let is_other = self.pool.as_ref().is_some_and(|only| **only != **name);
            let stopped = pool.record.as_ref();
            let stopped = stopped.filter(|record| record.stopped.is_some() && !is_other);
            let Some(mut record) = stopped.cloned() else {
                continue;
            };
            record.stopped = None;
            record.started = now;
            record.handed.clear();
            let annotations = json!({RECORD: written_record(&record)});
            let change = json!({"metadata": {"annotations": annotations}});
            match self.reboots.change_pool(&pool.place, &change).await? {
                Some(_) => written += 1,
                None => changed += 1,
            }
        }
        Ok((written, changed))
    }
}

fn not_told(pool: &str, problem: &KubeError) -> Finding {
    let place = Place::file(format!("MachineConfigPool {pool}"));
    let remedy = "see to it that the API answers, and that deploy/nodes was applied";
    Finding::error("not-told", place, problem.to_string(), remedy)
}

/// What puts a pool back. Once that is done, nothing of ours is left on it.
fn putting_back(pool: &RebootPool) -> Due {
    let acts = undo_step(&pool.view, pool.record.as_ref());
    let taken_back: BTreeSet<&Name> = acts
        .iter()
        .filter_map(|act| match act {
            NodeAct::TakeBack(node) => Some(node),
            _ => None,
        })
        .collect();
    let handed = pool.view.nodes.iter().filter(|node| node.is_handed);
    let names = handed.map(|node| &node.name);
    let out: Vec<&Name> = names.filter(|name| !taken_back.contains(name)).collect();
    let is_whole = acts.is_empty() && out.is_empty();
    Due {
        record: pool.written[0].clone().filter(|_| !is_whole),
        is_told: !is_whole,
        progress: match is_whole {
            true => undone(),
            false => undoing(out),
        },
        acts,
        reasons: Vec::new(),
    }
}

/// Whether a node could begin, as far as it is known before its pods are.
fn is_candidate(node: &RebootedNode) -> bool {
    node.update == NodeUpdate::Waiting && !node.is_handed && node.is_well()
}

/// Of how many nodes the pods are looked at: none while no further node may begin.
fn ahead(view: &RebootView, most: MaxUnavailable) -> usize {
    let nodes = u32::try_from(view.nodes.len()).unwrap_or(u32::MAX);
    let room = (most.rounded_down(nodes) as usize).saturating_sub(view.away());
    match room {
        0 => 0,
        room => room.saturating_add(LOOKED_AT),
    }
}
