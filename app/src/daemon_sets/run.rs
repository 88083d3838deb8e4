//! `towpath daemonsets run`: one loop. Read a snapshot, one pure call, act, report.
//!
//! What is about to be done is written on the DaemonSet first, under the resource version that was read. Whoever dies after that has
//! lost nothing: the next pass reads the pods as they are. While the pods that a pass names are being deleted, a second runner counts
//! them as gone.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use towpath_core::fleet::Name;
use towpath_core::nodes::{DaemonStep, next_step};
use towpath_core::verdict::Reason;
use towpath_formats::daemon_sets::{
    Going, RECORD, STATUS, WaveObjects, WavePass, WaveRecord, WaveSet, WaveStatus, Waved,
    pass_json, pass_text, read_waves,
};
use towpath_kube::{DaemonSets, Event, KubeError, SetWrite, Settings, Severity};

use crate::example::Origin;
use crate::output::OutputArgs;
use crate::passes::{WorkedOn, repeat};
use crate::ready::inputs::runtime;

/// For how long the pods that a pass names count as gone.
const GOING: SignedDuration = SignedDuration::from_secs(60);
/// Nobody deletes a pod later than this after it was named.
const DELETE_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    cluster: WorkedOn,
    /// Only DaemonSets of this namespace. [default: all]
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Make one pass, and say what came of it.
    #[arg(long)]
    once: bool,
    /// Say what would be done, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Seconds from one pass to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, conflicts_with = "once", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    interval: u64,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &RunArgs) -> anyhow::Result<bool> {
    let access = args.cluster.access();
    runtime()?.block_on(async {
        let namespace = args.namespace.clone();
        let sets = DaemonSets::connect(&access, Settings::default(), namespace).await?;
        let runner = Runner {
            sets,
            is_dry_run: args.dry_run,
        };
        if args.once {
            let pass = runner.pass().await?;
            args.print(&pass)?;
            return Ok(pass.is_well());
        }
        let interval = Duration::from_secs(args.interval);
        let pass = async || runner.pass().await;
        repeat(
            interval,
            pass,
            pass_text,
            |pass| args.print(pass),
            |_| false,
        )
        .await?;
        Ok(true)
    })
}

impl RunArgs {
    fn print(&self, pass: &WavePass) -> anyhow::Result<()> {
        self.output
            .print(Origin::Named, || pass_text(pass), || pass_json(pass))
    }
}

struct Runner {
    sets: DaemonSets,
    is_dry_run: bool,
}

impl Runner {
    async fn pass(&self) -> Result<WavePass, KubeError> {
        let mut pass = WavePass {
            is_dry_run: self.is_dry_run,
            ..WavePass::default()
        };
        for objects in self.sets.in_waves().await? {
            let name = full_name(&objects);
            let waved = match read_waves(&objects) {
                Ok(None) => continue,
                Err(findings) => Waved::Refused(findings),
                Ok(Some(set)) => match self.step(&set, Timestamp::now()).await {
                    Ok(waved) => waved,
                    Err(problem) => Waved::Failed(problem.to_string()),
                },
            };
            pass.sets.push((name, waved));
        }
        Ok(pass)
    }

    /// The next step of one DaemonSet.
    async fn step(&self, set: &WaveSet, now: Timestamp) -> Result<Waved, KubeError> {
        let view = match &set.view {
            Ok(view) => view.clone(),
            Err(reason) => return self.told(set, (**reason).clone(), now).await,
        };
        let fresh = set.record.as_ref().and_then(|record| record.going.as_ref());
        let fresh = fresh.filter(|going| now < going.until);
        let view = match fresh {
            Some(going) => view.while_going(&going.pods),
            None => view,
        };
        let before = set.record.as_ref().map(|record| &record.rollout);
        let step = next_step(&view, &set.settings, before, now);
        self.act(set, step, now).await
    }

    async fn act(
        &self,
        set: &WaveSet,
        step: DaemonStep,
        now: Timestamp,
    ) -> Result<Waved, KubeError> {
        let reason = step.progress.reason();
        let told = |step: DaemonStep, reason: Reason| Waved::Told {
            reason: Box::new(reason),
            deleted: step.delete,
            rolled_back_to: step.roll_back_to,
        };
        if self.is_dry_run {
            return Ok(told(step, reason));
        }
        let began = Instant::now();
        let record = record(set, &step, now);
        let version = match self.write(set, Some(&record), &reason, now).await? {
            SetWrite::Written(version) => version,
            SetWrite::Conflict => return Ok(Waved::Changed),
        };
        if let Some(revision) = &step.roll_back_to {
            let Some(template) = set.templates.get(revision) else {
                let problem = format!(
                    "the revision {revision} to go back to is gone; set a template that works"
                );
                return Ok(Waved::Failed(problem));
            };
            if self.sets.set_template(set, &version, template).await? == SetWrite::Conflict {
                return Ok(Waved::Changed);
            }
        }
        for pod in &step.delete {
            // Others take it for alive again soon.
            if began.elapsed() > DELETE_WITHIN {
                break;
            }
            if let Some(uid) = set.pods.get(pod) {
                self.sets.delete_pod(set, pod, uid).await?;
            }
        }
        Ok(told(step, reason))
    }

    async fn told(
        &self,
        set: &WaveSet,
        reason: Reason,
        now: Timestamp,
    ) -> Result<Waved, KubeError> {
        if !self.is_dry_run && self.write(set, None, &reason, now).await? == SetWrite::Conflict {
            return Ok(Waved::Changed);
        }
        Ok(Waved::Told {
            reason: Box::new(reason),
            deleted: Vec::new(),
            rolled_back_to: None,
        })
    }

    /// Writes what has changed of the record and of what is told, and an Event where something new began.
    async fn write(
        &self,
        set: &WaveSet,
        record: Option<&WaveRecord>,
        reason: &Reason,
        now: Timestamp,
    ) -> Result<SetWrite, KubeError> {
        let status = WaveStatus::of(reason);
        let mut annotations = BTreeMap::new();
        if let Some(record) = record.filter(|record| Some(*record) != set.record.as_ref()) {
            annotations.insert(RECORD, record.written());
        }
        let written = status.written();
        if set.status.as_ref() != Some(&written) {
            annotations.insert(STATUS, written);
        }
        if annotations.is_empty() {
            return Ok(SetWrite::Written(set.resource_version.to_string()));
        }
        let version = &set.resource_version;
        let outcome = self.sets.annotate(set, version, &annotations).await?;
        let is_new = set
            .status
            .as_deref()
            .is_none_or(|before| !is_about(before, &status.code));
        if is_new && matches!(outcome, SetWrite::Written(_)) {
            let event = Event {
                severity: match reason.code().is_note {
                    true => Severity::Normal,
                    false => Severity::Warning,
                },
                reason: status.code,
                message: status.text,
            };
            self.sets.tell(set, &event, now).await?;
        }
        Ok(outcome)
    }
}

/// What is written before the step is taken.
fn record(set: &WaveSet, step: &DaemonStep, now: Timestamp) -> WaveRecord {
    let fresh = set.record.as_ref().and_then(|record| record.going.clone());
    let fresh = fresh.filter(|going| now < going.until);
    let pods: BTreeSet<Name> = step.delete.iter().cloned().collect();
    let until = now.checked_add(GOING).unwrap_or(now);
    let going = match (pods.is_empty(), fresh) {
        (true, fresh) => fresh,
        // Another pass may still be at it.
        (false, Some(fresh)) => Some(Going {
            until,
            pods: pods.into_iter().chain(fresh.pods).collect(),
        }),
        (false, None) => Some(Going { until, pods }),
    };
    WaveRecord {
        rollout: step.record.clone(),
        going: going.map(|going| still_there(set, going)),
    }
    .without_empty()
}

/// Those that are gone need no mention.
fn still_there(set: &WaveSet, going: Going) -> Going {
    Going {
        pods: going
            .pods
            .into_iter()
            .filter(|pod| set.pods.contains_key(pod))
            .collect(),
        ..going
    }
}

/// Whether what was told last has this code.
fn is_about(written: &str, code: &str) -> bool {
    let status: Result<WaveStatus, _> = serde_json::from_str(written);
    status.is_ok_and(|status| status.code == code)
}

fn full_name(objects: &WaveObjects) -> Name {
    let part = |name: &str| {
        let value = objects.daemon_set.pointer(&format!("/metadata/{name}"));
        value
            .and_then(|value| value.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    format!("{}/{}", part("namespace"), part("name")).into()
}
