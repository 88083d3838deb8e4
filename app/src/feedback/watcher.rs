//! One pass of the watch: read what changed, judge, write down what is new, act.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{
    Assessment, Attempt, Followed, Halt, HaltsSoFar, KEPT_FOR, WatchAct, WatchDecision, WatchInput,
    watch, watched_releases,
};
use towpath_core::fleet::{Actor, Doer};
use towpath_core::hex;
use towpath_core::version::Version;
use towpath_formats::feedback::kept::{self, KeptJudgement};
use towpath_formats::feedback::policy::FeedbackFile;
use towpath_formats::feedback::{halt_message, proposal, record, scope_words, sentence};
use towpath_store::{ChangeMark, HaltOutcome, InputPart, KeptAnswer, Lease, NewHalt, Store};

use super::proposals::Proposals;
use super::published_watch::PublishedWatch;
use crate::fleet::lease::new_owner;
use crate::fleet::published_fleet::GraphSource;
use crate::sources::Access;

/// The lease's name in the store.
pub(super) const LEASE: &str = "watch";
/// How long the lease lasts without being renewed, …
const TERM: Duration = Duration::from_secs(8);
/// … and how often it is renewed, or tried for.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// Time alone makes an update fail that takes too long, so it is looked at this often though no report came.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// A change-mark tells nothing of what was pruned or lost, so everything is read again this often.
const READ_AGAIN: Duration = Duration::from_secs(600);

/// The watch's memory.
pub(crate) struct Watcher {
    store: Store,
    file: FeedbackFile,
    graph: GraphSource,
    published: Arc<PublishedWatch>,
    proposals: Proposals,
    owner: String,
    lease: Option<Lease>,
    asked_for_lease: Option<Instant>,
    mark: ChangeMark,
    read_all: Option<Instant>,
    followed: BTreeMap<(ClusterId, Version), Followed>,
    /// When it was last judged, and on which graph.
    judged: Option<(Instant, String)>,
}

/// How a pass went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WatchPass {
    /// Releases that were judged.
    pub(crate) judged: usize,
    /// Decisions that were written down.
    pub(crate) recorded: usize,
    /// Halts that were proposed, …
    pub(crate) proposed: usize,
    /// … and halts that were made.
    pub(crate) enforced: usize,
}

impl Watcher {
    /// A watcher that has read nothing yet.
    pub(crate) fn new(
        store: Store,
        file: FeedbackFile,
        graph: GraphSource,
        published: Arc<PublishedWatch>,
        access: &Access,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            store,
            proposals: Proposals::new(file.destination.clone(), access)?,
            file,
            graph,
            published,
            owner: new_owner(),
            lease: None,
            asked_for_lease: None,
            mark: ChangeMark::default(),
            read_all: None,
            followed: BTreeMap::new(),
            judged: None,
        })
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Judges if anything changed. None: there was nothing to judge.
    pub(crate) async fn pass(&mut self, now: Timestamp) -> anyhow::Result<Option<WatchPass>> {
        let passed = self.try_pass(now).await;
        if passed.is_err() {
            // Nobody knows how much was done; the next pass looks again.
            (self.judged, self.lease, self.asked_for_lease) = (None, None, None);
        }
        passed
    }

    async fn try_pass(&mut self, now: Timestamp) -> anyhow::Result<Option<WatchPass>> {
        let is_new_holder = self.keep_lease().await?;
        self.published.acts(self.lease.is_some());
        let has_news = self.read(now).await?;
        let held = self.graph.now();
        let Some(graph) = held.graph() else {
            return Ok(None);
        };
        let is_same = self.judged.as_ref().is_some_and(|(at, name)| {
            at.elapsed() < LOOK_AGAIN && name == held.name() && !is_new_holder && !has_news
        });
        let may_propose = self.lease.is_some() && self.proposals.is_due();
        if is_same && !may_propose {
            return Ok(None);
        }
        let mut kept = self.kept().await?;
        let mut so_far: BTreeMap<Version, HaltsSoFar> = kept
            .iter()
            .map(|(release, kept)| (release.clone(), kept.so_far.clone()))
            .collect();
        // Those of people too while they stand. Of those that were undone the watch's own alone: what people undid before it saw
        // anything says nothing of what it sees later.
        for stored in self.store.halts().await? {
            let halt = stored.halt;
            if stored.undone.is_some() && halt.evidence.is_empty() {
                continue;
            }
            if let Some(scope) = proposal::scope_of(&halt.path, &halt.body) {
                so_far.entry(halt.release).or_default().made.insert(scope);
            }
        }
        let policy = &self.file.policy;
        let (attempts, watched, decisions) = tokio::task::block_in_place(|| {
            let attempts = self
                .followed
                .values()
                .filter_map(|one| one.attempt_without_limit(now));
            let attempts: Vec<Attempt> = attempts.collect();
            let watched = watched_releases(graph, policy, &attempts, now);
            let input = WatchInput {
                watched: &watched,
                attempts: &attempts,
                so_far: &so_far,
                at: now,
            };
            let decisions = watch(&input);
            (attempts, watched, decisions)
        });
        self.judged = Some((Instant::now(), held.name().to_owned()));
        let mut passed = WatchPass {
            judged: decisions.len(),
            ..WatchPass::default()
        };
        if let Some(lease) = self.lease.clone() {
            let input = WatchInput {
                watched: &watched,
                attempts: &attempts,
                so_far: &so_far,
                at: now,
            };
            for decision in &decisions {
                let known = kept.remove(&decision.watched.release);
                self.follow(&lease, &input, decision, known, &mut passed)
                    .await?;
            }
            for gone in kept.keys() {
                self.store.forget_watch_answer(&lease, gone).await?;
            }
            let proposes = |one: &WatchDecision| matches!(one.judgement.act, WatchAct::Propose(_));
            if !decisions.iter().any(proposes) {
                self.proposals.nothing_left();
            }
        }
        self.published.publish(decisions, now);
        Ok(Some(passed))
    }

    /// Whether this replica has just become the one that acts.
    async fn keep_lease(&mut self) -> anyhow::Result<bool> {
        let is_due = self
            .asked_for_lease
            .is_none_or(|last| last.elapsed() >= RENEW_EVERY);
        if !is_due {
            return Ok(false);
        }
        let lease = self.store.acquire(LEASE, &self.owner, TERM).await;
        let lease = lease.context("the watch's lease cannot be acquired")?;
        let is_new = lease.is_some() && self.lease.is_none();
        (self.lease, self.asked_for_lease) = (lease, Some(Instant::now()));
        Ok(is_new)
    }

    /// Reads what has changed since the last pass, or everything; whether there was anything.
    async fn read(&mut self, now: Timestamp) -> anyhow::Result<bool> {
        let reads_all = self
            .read_all
            .is_none_or(|last| last.elapsed() >= READ_AGAIN);
        let mark = match reads_all {
            true => ChangeMark::default(),
            false => self.mark,
        };
        let changes = self.store.attempts_changed_since(mark).await?;
        if reads_all {
            self.followed.clear();
            self.read_all = Some(Instant::now());
        }
        let mut has_news = reads_all;
        for followed in changes.attempts {
            let key = (followed.cluster.clone(), followed.evidence.to.clone());
            // What changed may be told again.
            has_news |= self.followed.get(&key) != Some(&followed);
            self.followed.insert(key, followed);
        }
        let oldest = now.checked_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
        self.followed.retain(|_, followed| {
            followed
                .evidence
                .first_at()
                .is_some_and(|first| first >= oldest)
        });
        self.mark = changes.mark;
        Ok(has_news)
    }

    async fn kept(&self) -> anyhow::Result<BTreeMap<Version, KeptJudgement>> {
        let answers = self.store.watch_answers().await?;
        let read = |answer: KeptAnswer| {
            let kept = kept::read(&answer.body).map_err(anyhow::Error::msg)?;
            Ok((answer.release, kept))
        };
        answers.into_iter().map(read).collect()
    }

    /// Writes a decision down if it says something new, and carries it out.
    async fn follow(
        &mut self,
        lease: &Lease,
        input: &WatchInput<'_>,
        decision: &WatchDecision,
        known: Option<KeptJudgement>,
        passed: &mut WatchPass,
    ) -> anyhow::Result<()> {
        let told = &decision.judgement.assessment;
        let said = kept::said(told);
        let is_silent = known.is_none()
            && told.halts.is_empty()
            && told.held_back.is_none()
            && told.answer == towpath_core::feedback::WatchAnswer::Inconclusive;
        if is_silent {
            return Ok(());
        }
        let mut kept = match known {
            Some(known) if known.said == said => known,
            known => {
                let number = self.write_down(lease, input, decision).await?;
                passed.recorded += 1;
                tracing::info!(
                    decision = number,
                    release = %told.release,
                    answer = told.answer.code(),
                    act = decision.judgement.act.code(),
                    "the watch says something new: {}",
                    sentence(told)
                );
                let kept = KeptJudgement {
                    said,
                    so_far: known.map(|known| known.so_far).unwrap_or_default(),
                    decision: number,
                    since: input.at,
                };
                self.keep(lease, decision, &kept, input.at).await?;
                kept
            }
        };
        match &decision.judgement.act {
            WatchAct::Nothing => {}
            WatchAct::Propose(halts) if self.proposals.is_ready() => {
                for halt in halts {
                    if self.proposals.propose(told, halt, kept.decision).await {
                        passed.proposed += 1;
                        kept.so_far.proposed.insert(halt.scope.clone());
                        self.keep(lease, decision, &kept, input.at).await?;
                    }
                }
            }
            WatchAct::Propose(_) => {}
            WatchAct::Enforce(halts) => {
                for halt in halts {
                    passed.enforced += usize::from(self.enforce(told, halt, input.at).await?);
                    kept.so_far.made.insert(halt.scope.clone());
                    self.keep(lease, decision, &kept, input.at).await?;
                }
            }
        }
        Ok(())
    }

    /// Has every replica stop offering the release; whether that is new.
    async fn enforce(&self, told: &Assessment, halt: &Halt, at: Timestamp) -> anyhow::Result<bool> {
        let file = proposal::file(told, halt);
        let body = String::from_utf8_lossy(&file.bytes).into_owned();
        let new = NewHalt {
            release: told.release.clone(),
            path: file.path,
            evidence: hex::encode(&Sha256::digest(body.as_bytes())),
            body,
            by: proposal::BY.to_owned(),
            why: halt_message(told, halt),
            at,
        };
        let store = self.store.acting_for(Doer {
            actor: Actor {
                name: proposal::BY.into(),
                known_by: "the watch of this service".into(),
            },
            from: "local".into(),
        });
        let is_new = matches!(store.halt(&new).await?, HaltOutcome::Made(_));
        if is_new {
            let (release, scope) = (&told.release, scope_words(&halt.scope));
            tracing::warn!(%release, "the watch halted a release, for {scope}");
        }
        Ok(is_new)
    }

    async fn keep(
        &self,
        lease: &Lease,
        decision: &WatchDecision,
        kept: &KeptJudgement,
        at: Timestamp,
    ) -> anyhow::Result<()> {
        let answer = KeptAnswer {
            release: decision.watched.release.clone(),
            body: kept::write(kept),
            at,
        };
        Ok(self.store.keep_watch_answer(lease, &answer).await?)
    }

    /// The decision and all that it depended on go to the log. Its number there.
    async fn write_down(
        &self,
        lease: &Lease,
        input: &WatchInput<'_>,
        decision: &WatchDecision,
    ) -> anyhow::Result<i64> {
        let (parts, body) = tokio::task::block_in_place(|| {
            let parts = record::parts(&input.case(&decision.watched));
            let parts = parts.map(|(name, body)| InputPart {
                name: name.to_owned(),
                digest: Sha256::digest(&body).into(),
                body: body.into(),
            });
            (parts, record::logged(&decision.judgement).to_string())
        });
        let appended = self
            .store
            .append_decision(lease, input.at, &parts, body.as_bytes());
        Ok(appended.await?)
    }
}
