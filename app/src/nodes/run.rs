//! `towpath nodes run`: one loop. Read a snapshot, one pure call, act, report.
//!
//! What is about to be done is written on the pool first, under the resource version that was read, and so is the pause, in the same write.
//! Whoever dies after that has lost nothing: the next pass reads the nodes as they are. A pool that has opted out, and of which a run
//! still remembers something, is put back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, json};
use towpath_core::duration::MaxUnavailable;
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{
    NodeAct, NodeUpdate, RebootProgress, RebootView, RebootedNode, next_reboot_step, undo_step,
    undoing, undone,
};
use towpath_core::verdict::Reason;
use towpath_formats::nodes::run::{
    PodOnNode, PoolStatus, REBOOTS, RECORD, RebootPass, RebootPool, Rebooted, STATUS, is_ours,
    node_changes, pass_json, pass_text, pods_of, read_pool, waiting_since, written_record,
};
use towpath_kube::{Event, EvictOutcome, KubeError, NodeWrite, Reboots, Settings, Severity};

use crate::example::Origin;
use crate::output::OutputArgs;
use crate::passes::{WorkedOn, repeat};
use crate::ready::inputs::runtime;

/// Nobody writes to a node later than this after the record: others take it for done soon.
const ACT_WITHIN: Duration = Duration::from_secs(30);
/// Of so many nodes beyond those that may begin, the pods are looked at first: some may be held by budgets. One further on would be
/// cordoned unseen, and given up if a budget refuses.
const LOOKED_AT: usize = 30;

#[derive(Debug, Args)]
pub(crate) struct RebootArgs {
    #[command(flatten)]
    cluster: WorkedOn,
    /// Only this pool. [default: all that have opted in]
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Make one pass, and say what came of it.
    #[arg(long)]
    once: bool,
    /// Say what would be done, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Opt the pool out, put everything back, and end.
    #[arg(long, conflicts_with = "resume")]
    undo: bool,
    /// Go on after a run has stopped at a bad sign.
    #[arg(long, conflicts_with = "dry_run")]
    resume: bool,
    /// Seconds from one pass to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, conflicts_with = "once", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    interval: u64,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RebootArgs) -> anyhow::Result<bool> {
    let access = args.cluster.access();
    runtime()?.block_on(async {
        let runner = Runner {
            reboots: Reboots::connect(&access, Settings::default()).await?,
            pool: args.pool.clone(),
            is_dry_run: args.dry_run,
            is_undo: args.undo,
        };
        if args.resume {
            runner.resume(Timestamp::now()).await?;
        }
        let is_undone = |pass: &RebootPass| args.undo && pass.all_are("RebootsUndone");
        if args.once {
            let pass = runner.pass().await?;
            args.print(&pass)?;
            return Ok(match args.undo {
                true => is_undone(&pass),
                false => pass.is_well(),
            });
        }
        let interval = Duration::from_secs(args.interval);
        let pass = async || runner.pass().await;
        repeat(
            interval,
            pass,
            pass_text,
            |pass| args.print(pass),
            is_undone,
        )
        .await?;
        Ok(true)
    })
}

impl RebootArgs {
    fn print(&self, pass: &RebootPass) -> anyhow::Result<()> {
        self.output
            .print(Origin::Named, || pass_text(pass), || pass_json(pass))
    }
}

struct Runner {
    reboots: Reboots,
    pool: Option<String>,
    is_dry_run: bool,
    is_undo: bool,
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
    Written,
    /// There was nothing new.
    Nothing,
    /// It has changed since it was read.
    Conflict,
}

/// The uid of each pod that may be evicted, by namespace and name.
type Uids = BTreeMap<(Name, Name), Name>;

impl Runner {
    async fn pass(&self) -> Result<RebootPass, KubeError> {
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
                Err(findings) => Rebooted::Refused(findings),
                Ok(pool) if self.is_left_alone(&pool) => continue,
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
            match self.write(pool, &due).await? {
                PoolWrite::Conflict => return Ok(Rebooted::Changed),
                PoolWrite::Nothing => {}
                // Nodes do not wait for news that cannot be told.
                PoolWrite::Written => failed.extend(self.tell_news(pool, &due).await.err()),
            }
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
        Ok(match self.reboots.change_pool(pool, &change).await? {
            NodeWrite::Written => PoolWrite::Written,
            NodeWrite::Conflict => PoolWrite::Conflict,
        })
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
            let event = Event {
                severity: match reason.code().is_note {
                    true => Severity::Normal,
                    false => Severity::Warning,
                },
                reason: reason.code().name.to_owned(),
                message: reason.text(),
            };
            self.reboots.tell(pool, &event, Timestamp::now()).await?;
        }
        Ok(())
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

    /// Forgets the bad sign of each pool. What is still bad stops it again.
    async fn resume(&self, now: Timestamp) -> Result<(), KubeError> {
        let objects = self.reboots.look().await?;
        let ours = objects.pools.iter().filter(|pool| is_ours(pool));
        for pool in ours.filter_map(|pool| pool.pointer("/metadata/name")?.as_str()) {
            // What cannot be read is told by the pass that follows.
            let Ok(pool) = read_pool(&objects, pool) else {
                continue;
            };
            let is_other = self.pool.as_ref().is_some_and(|only| **only != *pool.name);
            let stopped = pool
                .record
                .clone()
                .filter(|record| record.stopped.is_some());
            let Some(mut record) = stopped.filter(|_| !is_other) else {
                continue;
            };
            record.stopped = None;
            record.started = now;
            record.handed.clear();
            let annotations = json!({RECORD: written_record(&record)});
            let change = json!({"metadata": {"annotations": annotations}});
            self.reboots.change_pool(&pool, &change).await?;
        }
        Ok(())
    }
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
