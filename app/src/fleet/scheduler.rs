//! The scheduler: one loop that reads the state of the fleet, decides, and carries out the decision.
//!
//! Every replica reads and decides, so that each can answer questions and show managed clusters their edges. Only the one that
//! holds the lease acts. The store checks the lease, pauses, mutexes and limits again in the transaction of each start.
//! While the store is unavailable nothing starts, and the last decision can still be read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use towpath_core::cluster::ClusterId;
use towpath_core::feedback::{FleetOutcomes, KEPT_FOR};
use towpath_core::finding::Finding;
use towpath_core::fleet::{
    ChannelFollowers, ClusterState, Decision, FleetInput, FleetPlanner, Name, OfferBook, Start,
    Upgrade, UpgradeEnd, UpgradeId, UpgradeState, coverage, oldest_needed, pruning_clock,
    sector_key,
};
use towpath_core::version::Minors;
use towpath_formats::fleet::{input, log};
use towpath_store::{
    ActMark, ChangeMark, Claim, ClaimOutcome, ClusterReport, InputPart, Lease, Lock, Need,
    PruningCounts, Retention, StartPlace, Store,
};
use towpath_web::{Clock, Service};

use super::facts::{self, Files, FleetReading, Offers, StoredFleet};
use super::hands::{self, Hands, hands_of};
use super::kept_attempts::KeptAttempts;
use super::lease::{LeaseKeeper, new_owner};
use super::log_signing::BackgroundSigning;
use super::outcomes_file::OutcomesFile;
use super::published_fleet::{DecidedFleet, GraphHandle, GraphSource, PassOutcome, PublishedFleet};
use crate::config::FleetSettings;
use crate::minors;

/// Offers change with time alone (a release enters a channel), so they are looked up anew this often.
const REREAD: SignedDuration = SignedDuration::from_mins(10);
/// How often it is looked for what nobody needs any more, …
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// … and in how many steps: a clock that is ahead for an hour costs a few hundred old decisions, and not all of them.
const PRUNE_STEPS: u32 = 5;
/// An upgrade that the API does not let go is given up again after this time.
const GIVE_UP_AGAIN: Duration = Duration::from_hours(1);
/// Clusters per transaction.
const BATCH: usize = 500;

/// The loop's memory.
pub(crate) struct Scheduler {
    pub(crate) store: Store,
    pub(crate) published_fleet: Arc<PublishedFleet>,
    settings: FleetSettings,
    keeper: LeaseKeeper,
    /// Under which the keeper holds the lease.
    owner: String,
    signing: Option<BackgroundSigning>,
    files: Files,
    graph: GraphSource,
    hands: Option<Box<dyn Hands>>,
    minors: Minors,
    read: FleetReading,
    /// What is odd about whom the policies select.
    coverage: Vec<Finding>,
    known: StoredFleet,
    /// What this process has kept of the list.
    kept_list: Option<String>,
    /// Upgrades that were to be given up and that the API did not let go, and since when. They are overdue.
    stuck: BTreeMap<UpgradeId, Instant>,
    mark: ChangeMark,
    attempts: KeptAttempts,
    outcomes_file: Option<OutcomesFile>,
    /// What the planner was made of: the graph, and when.
    made_of: Option<(String, Timestamp)>,
    lease: Option<Lease>,
    /// When it was last looked for what nobody needs any more.
    pruned: Option<Instant>,
}

impl Scheduler {
    /// A scheduler that has read nothing yet.
    pub(crate) fn new(
        store: Store,
        settings: FleetSettings,
        graph: GraphSource,
        published_fleet: Arc<PublishedFleet>,
    ) -> anyhow::Result<Self> {
        let files = Files::new(&settings.policy, settings.clusters.as_deref());
        let hands = hands_of(settings.hands.as_ref())?;
        let minors = minors::of(settings.minors.as_deref())?;
        let owner = new_owner();
        let outcomes_file = settings.outcomes.file.clone().map(OutcomesFile::new);
        let keeper = LeaseKeeper::new(store.clone(), owner.clone(), settings.pass_every);
        Ok(Self {
            store,
            published_fleet,
            settings,
            keeper,
            owner,
            signing: None,
            files,
            graph,
            hands,
            minors,
            read: FleetReading::default(),
            coverage: Vec::new(),
            known: StoredFleet::default(),
            kept_list: None,
            stuck: BTreeMap::new(),
            mark: ChangeMark::default(),
            attempts: KeptAttempts::default(),
            outcomes_file,
            made_of: None,
            lease: None,
            pruned: None,
        })
    }

    /// Signs the head of the log from now on, whenever this scheduler holds the lease, and tells the service of it.
    pub(crate) fn sign_log(
        &mut self,
        clock: Clock,
        service: Option<Arc<Service>>,
    ) -> anyhow::Result<()> {
        let (store, signing) = (self.store.clone(), self.settings.log_signing.clone());
        let owner = self.owner.clone();
        self.signing = Some(BackgroundSigning::start(
            store, signing, owner, clock, service,
        )?);
        Ok(())
    }

    /// Reads, decides, acts, publishes.
    pub(crate) async fn pass(&mut self, now: Timestamp) -> anyhow::Result<PassOutcome> {
        let outcome = self.try_pass(now).await;
        if outcome.is_err() {
            // Nobody knows how much of what had changed was followed.
            self.made_of = None;
            self.keeper.pass_failed();
        }
        outcome
    }

    /// Told when this scheduler has taken over from another between two passes. Then it is time for one.
    pub(crate) fn taken_over(&self) -> Arc<Notify> {
        self.keeper.taken()
    }

    async fn try_pass(&mut self, now: Timestamp) -> anyhow::Result<PassOutcome> {
        let begun = Instant::now();
        // Before the store is asked for anything: whom a policy names is held also while the store is away.
        let policy_changed = self.read_files(now).await?;
        let lease = self
            .keeper
            .acquire()
            .await
            .context("the lease cannot be acquired")?;
        self.lease.clone_from(&lease);
        let lease_taken_ahead = lease.as_ref().and_then(|lease| lease.taken_ahead);
        if let Some(ahead) = lease_taken_ahead {
            let ahead_seconds = ahead.as_secs();
            tracing::warn!(
                ahead_seconds,
                "took over a lease that would have lasted longer than any lease does: a clock was ahead"
            );
        }
        self.attempts.follow(&self.store).await?;
        if let Some(lease) = &lease {
            self.record_list(lease, now).await?;
            if let Some(file) = &mut self.outcomes_file {
                let limits = self.attempts.limits();
                file.record(&self.store, lease, &limits, now).await?;
            }
        }
        let published = self.bring_up_to_date(now, policy_changed).await?;
        let decision = tokio::task::block_in_place(|| {
            let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
            published.is_scheduler = lease.is_some();
            let decision = published.planner.pass(now);
            published.decision = decision.clone();
            decision
        });
        if let (Some(lease), Some(hands)) = (&lease, &self.hands) {
            hands::carry_out(
                &**hands,
                &self.store,
                lease,
                &kept(&self.known.upgrades, &decision),
                &gates_to_agree_to(&published),
                now,
            )
            .await?;
        }
        let mut outcome = PassOutcome {
            at: now,
            is_scheduler: lease.is_some(),
            lease_taken_ahead,
            overdue: decision.overdue.len(),
            ..PassOutcome::default()
        };
        if let Some(lease) = lease {
            self.act(&lease, &published, &decision, &mut outcome)
                .await?;
            self.prune(&lease, now).await;
        }
        self.attempts.follow(&self.store).await?;
        self.published_fleet.learned(self.attempts.limits());
        outcome.clusters = published
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .planner
            .roster()
            .len();
        outcome.took = begun.elapsed();
        Ok(outcome)
    }

    /// Clears away what nobody needs any more, now and then, and a bounded part of it. What fails here is tried again later.
    async fn prune(&mut self, lease: &Lease, now: Timestamp) {
        let is_due = self.pruned.is_none_or(|last| last.elapsed() >= PRUNE_EVERY);
        let Some(keep_for) = self.settings.keep_for.filter(|_| is_due) else {
            return;
        };
        self.pruned = Some(Instant::now());
        let clock = match self.pruning_clock(lease, now, keep_for).await {
            Ok(clock) => clock,
            Err(error) => {
                return tracing::error!(%error, "data older than --keep-for could not be pruned");
            }
        };
        let Ok(before) = clock.checked_sub(keep_for) else {
            return;
        };
        let clusters = self.known.clusters.values().chain(&self.read.list.clusters);
        let keep = Retention {
            now,
            before,
            attempts_before: clock.checked_sub(KEPT_FOR).unwrap_or(before),
            oldest_needed: oldest_needed(clusters).cloned(),
        };
        for _ in 0..PRUNE_STEPS {
            match self.store.prune(lease, &keep).await {
                Ok(pruned) if pruned == PruningCounts::default() => return,
                Ok(pruned) => {
                    let (spans, sums, decisions) = (pruned.spans, pruned.sums, pruned.decisions);
                    let attempts = pruned.attempts;
                    // Whoever keeps the log can tell whether somebody else has cut the chain.
                    let checkpoint = pruned
                        .checkpoint
                        .map(|checkpoint| format!("{} {}", checkpoint.seq, checkpoint.hex()));
                    tracing::info!(
                        spans,
                        sums,
                        decisions,
                        attempts,
                        checkpoint,
                        "data older than --keep-for was pruned"
                    );
                }
                Err(error) => {
                    return tracing::error!(%error, "data older than --keep-for could not be pruned");
                }
            }
        }
    }

    /// The time that pruning goes by: the clock's, unless that has jumped ahead.
    async fn pruning_clock(
        &self,
        lease: &Lease,
        now: Timestamp,
        keep_for: SignedDuration,
    ) -> towpath_store::Result<Timestamp> {
        let times = self.store.pruning_times().await?;
        let clock = pruning_clock(times.last, times.oldest_decision, now, keep_for);
        if clock < now {
            tracing::warn!(
                "the clock has jumped ahead to {now}; pruning uses {clock} and follows by 7 days at a time. If the clock is wrong, correct it"
            );
        }
        if let Some(latest) = times.latest_decision.filter(|latest| *latest > now) {
            tracing::warn!(
                "a decision in the log has the time {latest}, which is in the future: a clock was ahead. It is kept like one made now"
            );
        }
        self.store.keep_pruning_time(lease, clock).await?;
        Ok(clock)
    }

    /// What became of updates, as of the last pass. None before the first one.
    pub(crate) fn outcomes(&self, now: Timestamp) -> Option<FleetOutcomes> {
        let published = self.published_fleet.published()?;
        let published = published.read().unwrap_or_else(PoisonError::into_inner);
        let roster = published.planner.roster();
        let managed = roster.clusters().map(|(state, _)| state);
        let clusters = managed.chain(roster.unmanaged());
        let attempts = self.attempts.attempts(now);
        Some(FleetOutcomes::of(clusters, attempts, now))
    }

    /// What is wrong with the files, and with whom they select; errors first.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .read
            .findings
            .iter()
            .chain(&self.coverage)
            .chain(self.outcomes_file.iter().flat_map(|file| file.findings()))
            .cloned()
            .collect();
        findings.extend(self.published_fleet.outcomes_query.findings());
        findings.sort();
        findings
    }

    /// Lets another replica take over at once.
    pub(crate) async fn stop(&mut self) {
        if let Some(signing) = self.signing.take() {
            signing.stop().await;
        }
        self.keeper.stop().await;
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.store.release(&lease).await
        {
            tracing::debug!(%error, "the lease could not be given back; it ends by itself");
        }
    }

    /// Whether the files, and the API that manages the clusters, say something new.
    async fn read_files(&mut self, now: Timestamp) -> anyhow::Result<bool> {
        let mut raw = tokio::task::block_in_place(|| self.files.read_raw(now))?;
        if let Some(enrolment) = self.graph.enrolment() {
            enrolment.hold_named(raw.named_by_policies(), raw.named_by_list());
        }
        if let Some(hands) = &mut self.hands {
            let findings = hands::read_into(&mut **hands, now, &mut raw.list).await?;
            raw.findings.extend(findings);
            (raw.has_list, raw.has_hands) = (true, true);
        }
        let read = raw.finish();
        let changed = read.policy != self.read.policy
            || read.list != self.read.list
            || (read.is_partial, read.unknown_clusters, &read.strays)
                != (
                    self.read.is_partial,
                    self.read.unknown_clusters,
                    &self.read.strays,
                );
        if read.findings != self.read.findings {
            tell(&read.findings);
        }
        self.read = read;
        Ok(changed)
    }

    /// Clusters of a list count as seen, as if they had reported. What else it tells is kept for the time when there is no list.
    async fn record_list(&mut self, lease: &Lease, now: Timestamp) -> anyhow::Result<()> {
        let (list, limits) = (&self.read.list.clusters, self.attempts.limits());
        let listed = |state: &ClusterState| ClusterReport {
            limits: limits.clone(),
            ..ClusterReport::listed(state.clone())
        };
        for batch in list.chunks(BATCH) {
            let reports: Vec<ClusterReport> = batch.iter().map(listed).collect();
            self.store.record(&reports, self.settings.allowance).await?;
        }
        if let Some(list) = self.read.list_to_keep()
            && self.kept_list.as_ref() != Some(&list)
        {
            self.store.keep_list(lease, &list, now).await?;
            self.kept_list = Some(list);
        }
        Ok(())
    }

    /// Follows what has changed since the last pass, or reads everything.
    async fn bring_up_to_date(
        &mut self,
        now: Timestamp,
        policy_changed: bool,
    ) -> anyhow::Result<Arc<RwLock<DecidedFleet>>> {
        let held = self.graph.now();
        let stale = |made: &Timestamp| made.duration_until(now).abs() >= REREAD;
        let same = self
            .made_of
            .as_ref()
            .is_some_and(|(graph, made)| graph == held.name() && !stale(made));
        let followable = same && !policy_changed && self.hands.is_none();
        if let (true, Some(published)) = (followable, self.published_fleet.published())
            && self.follow(&published, &held, now).await?
        {
            return Ok(published);
        }
        // The mark first: what changes while everything is read is then told again.
        self.mark = self
            .store
            .clusters_changed_since(ChangeMark::default())
            .await
            .map(|changes| changes.mark)?;
        self.known = StoredFleet::read(&self.store, now).await?;
        let (planner, input_size, found) = tokio::task::block_in_place(|| {
            let input = facts::input(&self.read, &self.known, held.graph(), &self.minors, now);
            let mut found = coverage(&input.policy, &input.clusters);
            let policy = &self.settings.policy;
            found.extend(facts::list_is_gone(&self.read, &self.known, policy));
            let vain = facts::channels_in_vain(&self.read, held.graph(), &input.clusters, policy);
            found.extend(vain);
            found.extend(held.rings_without_clusters(&input));
            let size = input.clusters.len();
            (FleetPlanner::new(input), size, found)
        });
        if found != self.coverage {
            tell(&found);
            self.coverage = found;
        }
        tracing::debug!(clusters = input_size, "the fleet was read again");
        self.remember_workloads(&planner).await?;
        self.made_of = Some((held.name().to_owned(), now));
        Ok(self.published_fleet.publish(DecidedFleet {
            planner,
            decision: Decision::default(),
            policy: self.read.policy.clone(),
            inherited: self.read.list_in_force(&self.known).inherited.clone(),
            is_scheduler: false,
            is_partial: self.read.is_partial,
            unknown_clusters: self.read.unknown_clusters,
            strays: self.read.strays.clone(),
            left_out: self.read.list.left_out.clone(),
        }))
    }

    /// Tells the planner what has changed; `false` if it has to be made anew.
    async fn follow(
        &mut self,
        published: &Arc<RwLock<DecidedFleet>>,
        held: &GraphHandle,
        now: Timestamp,
    ) -> anyhow::Result<bool> {
        let changes = self.store.clusters_changed_since(self.mark).await?;
        self.mark = changes.mark;
        if !changes.forgotten.is_empty() {
            return Ok(false);
        }
        let ids: Vec<ClusterId> = changes
            .clusters
            .iter()
            .map(|stored| stored.state.id.clone())
            .collect();
        let mut credits: BTreeMap<ClusterId, Vec<(towpath_core::version::Version, i64)>> =
            BTreeMap::new();
        for (cluster, version, seconds) in self.store.soak_totals_of(&ids).await? {
            let more = self.known.ledger.set(&cluster, &version, seconds);
            if more != 0 {
                credits.entry(cluster).or_default().push((version, more));
            }
        }
        let before = std::mem::take(&mut self.known.upgrades);
        let preflights_before = std::mem::take(&mut self.known.preflights);
        self.known.read_small(&self.store, now).await?;
        let ended = self.ended_since(&before).await?;
        let (upgrades, pauses, approvals, taken_back, preflights) = (
            &self.known.upgrades,
            &self.known.pauses,
            &self.known.approvals,
            &self.known.taken_back,
            &self.known.preflights,
        );
        let listed: BTreeSet<&ClusterId> = self
            .read
            .list
            .clusters
            .iter()
            .map(|state| &state.id)
            .collect();
        tokio::task::block_in_place(|| {
            let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
            let book = |graph| OfferBook::new(graph, now).sorted_by(&self.read.policy);
            let mut book = held.graph().map(book);
            let followers = match changes.clusters.is_empty() {
                true => None,
                false => ChannelFollowers::of(&self.read.policy),
            };
            let unlisted = Offers::of_unlisted(self.read.has_list);
            for stored in changes.clusters {
                let mut state = stored.state;
                let of =
                    |known: &ClusterState| known.acknowledged_gates == state.acknowledged_gates;
                if listed.contains(&state.id) && !self.known.clusters.get(&state.id).is_some_and(of)
                {
                    // What people acknowledge or withdraw also counts for clusters of a list.
                    return Ok(false);
                }
                if self.known.clusters.get(&state.id) == Some(&state) || listed.contains(&state.id)
                {
                    continue;
                }
                self.known.clusters.insert(state.id.clone(), state.clone());
                facts::offer(&mut state, unlisted, book.as_mut());
                if state.sets_channels() {
                    let (followers, minors) = (followers.as_ref(), &self.minors);
                    facts::offer_elsewhere(&mut state, followers, minors, book.as_mut());
                }
                let credit = credits.remove(&state.id).unwrap_or_default();
                let one = credit.first().map(|(version, seconds)| (version, *seconds));
                if credit.len() > 1 || !published.planner.seen(state, one) {
                    return Ok(false);
                }
            }
            let new = upgrades
                .iter()
                .filter(|upgrade| !before.contains(upgrade))
                .chain(&ended)
                .cloned();
            for upgrade in new.collect::<Vec<Upgrade>>() {
                if !published.planner.upgrade_changed(upgrade) {
                    return Ok(false);
                }
            }
            let people = published.planner.pauses_changed(pauses.clone())
                && published.planner.approvals_changed(approvals.clone())
                && published.planner.taken_back_changed(taken_back.clone())
                && (*preflights == preflights_before
                    || published.planner.preflights_changed(preflights.clone()));
            // What was credited to a cluster that has not changed itself cannot be followed.
            Ok(people && credits.is_empty())
        })
    }

    /// How upgrades ended that were active before and no longer are, or had failed and then completed.
    async fn ended_since(&self, before: &[Upgrade]) -> anyhow::Result<Vec<Upgrade>> {
        let active: BTreeSet<_> = self
            .known
            .upgrades
            .iter()
            .map(|upgrade| upgrade.id)
            .collect();
        let mut ended = Vec::new();
        let could_end = |state: UpgradeState| state.is_active() || state == UpgradeState::Failed;
        for upgrade in before
            .iter()
            .filter(|upgrade| could_end(upgrade.state) && !active.contains(&upgrade.id))
        {
            let now = self.store.upgrade(upgrade.id).await?;
            ended.extend(now.filter(|now| now.state != upgrade.state));
        }
        Ok(ended)
    }

    /// The store knows what runs on a cluster even after its policy is gone.
    async fn remember_workloads(&mut self, planner: &FleetPlanner) -> anyhow::Result<()> {
        let mut news = Vec::new();
        for (state, policy) in planner.roster().clusters() {
            let known = self
                .known
                .tenures
                .get(&state.id)
                .map(|tenure| &tenure.workloads);
            if known.is_some_and(|known| *known != policy.workloads) {
                news.push((state.id.clone(), policy.workloads.clone()));
            }
        }
        for batch in news.chunks(BATCH) {
            self.store.remember_workloads(batch).await?;
        }
        Ok(())
    }

    /// Has carried out what was decided. There is nothing left to decide: each act holds or is refused by the store.
    async fn act(
        &mut self,
        lease: &Lease,
        published: &Arc<RwLock<DecidedFleet>>,
        decision: &Decision,
        outcome: &mut PassOutcome,
    ) -> anyhow::Result<()> {
        self.stuck
            .retain(|_, since| since.elapsed() < GIVE_UP_AGAIN);
        let is_stuck = |ended: &&UpgradeEnd| self.stuck.contains_key(&ended.upgrade);
        let stuck = decision.ended.iter().filter(is_stuck).count();
        outcome.overdue += stuck;
        let nothing = decision.starts.is_empty()
            && decision.cancels.is_empty()
            && decision.begins.is_empty()
            && decision.ended.len() == stuck;
        if nothing {
            return Ok(());
        }
        self.write_down(lease, published, decision).await?;
        let at = decision.at;
        for cancel in &decision.cancels {
            let why: Vec<String> = cancel
                .verdict
                .reasons
                .iter()
                .map(ToString::to_string)
                .collect();
            if let (Some(hands), Some(upgrade)) = (&self.hands, self.active(cancel.upgrade))
                && let Err(error) = hands.cancel(upgrade).await
            {
                // It may have started there. Others must not wait for it; the next pass sees how it is.
                tracing::error!(
                    upgrade = cancel.upgrade.0,
                    "a plan could not be cancelled: {error:#}"
                );
                continue;
            }
            let (planned, cancelled) = (UpgradeState::Planned, UpgradeState::Cancelled);
            let done = self
                .store
                .transition(
                    lease,
                    cancel.upgrade,
                    planned,
                    cancelled,
                    at,
                    Some(&why.join("; ")),
                )
                .await?;
            outcome.cancelled += usize::from(done);
            tracing::info!(
                upgrade = cancel.upgrade.0,
                why = why.join("; "),
                "a plan was cancelled"
            );
        }
        for begin in &decision.begins {
            let place = self.active(*begin).and_then(|upgrade| {
                let published = published.read().unwrap_or_else(PoisonError::into_inner);
                let roster = published.planner.roster();
                let member = roster.find(upgrade.cluster.as_str())?;
                let state = roster.cluster(member);
                Some(StartPlace {
                    organisation: state.organisation.clone(),
                    sector: roster.policy(member).sector.clone(),
                    name: state.name.clone(),
                    known: self.known.acts,
                })
            });
            if let Some(place) = place {
                let began = self.store.begin(lease, *begin, &place, at).await?;
                outcome.begun += usize::from(began);
                tracing::info!(upgrade = begin.0, began, "a plan's time has come");
            }
        }
        for ended in &decision.ended {
            let before = self
                .active(ended.upgrade)
                .map_or(UpgradeState::Started, |upgrade| upgrade.state);
            if self.stuck.contains_key(&ended.upgrade) {
                continue;
            }
            if ended.state == UpgradeState::Failed && !self.is_cancelled_there(ended.upgrade).await
            {
                self.stuck.insert(ended.upgrade, Instant::now());
                continue;
            }
            let done = self
                .store
                .transition(
                    lease,
                    ended.upgrade,
                    before,
                    ended.state,
                    at,
                    ended.note.as_deref(),
                )
                .await?;
            outcome.ended += usize::from(done);
            tracing::info!(
                upgrade = ended.upgrade.0,
                state = ended.state.code(),
                note = ended.note.as_deref(),
                "an upgrade ended"
            );
        }
        let mut all_claimed = Vec::with_capacity(decision.starts.len());
        for batch in decision.starts.chunks(BATCH) {
            let claims: Vec<Claim> = batch
                .iter()
                .map(|start| claim(start, self.known.acts))
                .collect();
            all_claimed.extend(self.store.claim(lease, &claims, at).await?);
        }
        for (start, claimed) in decision.starts.iter().zip(all_claimed) {
            match claimed {
                ClaimOutcome::Started(id) => {
                    outcome.planned += 1;
                    tracing::info!(upgrade = id.0, cluster = %start.name, from = %start.from, to = %start.to, at = %start.at, "an upgrade was planned");
                }
                ClaimOutcome::Refused(refusal) => {
                    outcome.refused += 1;
                    tracing::info!(cluster = %start.name, to = %start.to, refusal = refusal.code(), "a start was refused by the store");
                }
            }
        }
        self.follow_own_acts(published, at).await?;
        match &self.hands {
            Some(hands) => {
                let gates = gates_to_agree_to(published);
                let upgrades = kept(&self.known.upgrades, decision);
                hands::carry_out(&**hands, &self.store, lease, &upgrades, &gates, at).await
            }
            None => Ok(()),
        }
    }

    /// An upgrade that is given up must not wait in the API any longer. Otherwise it would begin unexpectedly.
    async fn is_cancelled_there(&self, id: UpgradeId) -> bool {
        let (Some(hands), Some(upgrade)) = (&self.hands, self.active(id)) else {
            return true;
        };
        match hands.cancel(upgrade).await {
            Ok(()) => true,
            Err(error) => {
                // It may have started there. The next pass sees how it is.
                tracing::error!(
                    upgrade = id.0,
                    "an upgrade could not be given up, because it could not be cancelled: {error:#}"
                );
                false
            }
        }
    }

    fn active(&self, id: UpgradeId) -> Option<&Upgrade> {
        self.known.upgrades.iter().find(|upgrade| upgrade.id == id)
    }

    /// The planner knows at once what this pass has done.
    async fn follow_own_acts(
        &mut self,
        published: &Arc<RwLock<DecidedFleet>>,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let before = std::mem::take(&mut self.known.upgrades);
        self.known.read_small(&self.store, now).await?;
        let ended = self.ended_since(&before).await?;
        let news = self
            .known
            .upgrades
            .iter()
            .filter(|upgrade| !before.contains(upgrade))
            .chain(&ended)
            .cloned();
        let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
        for upgrade in news.collect::<Vec<_>>() {
            if !published.planner.upgrade_changed(upgrade) {
                self.made_of = None;
            }
        }
        Ok(())
    }

    /// The decision goes to the log before anything of it is done.
    async fn write_down(
        &self,
        lease: &Lease,
        published: &Arc<RwLock<DecidedFleet>>,
        decision: &Decision,
    ) -> anyhow::Result<()> {
        let (parts, body) = tokio::task::block_in_place(|| {
            let published = published.read().unwrap_or_else(PoisonError::into_inner);
            let mut input = published
                .planner
                .roster()
                .input(&published.policy, &published.inherited);
            (
                input_parts(&mut input),
                log::logged(decision, &published.planner)
                    .to_string()
                    .into_bytes(),
            )
        });
        let seq = self
            .store
            .append_decision(lease, decision.at, &parts, &body)
            .await?;
        tracing::debug!(seq, "a decision was written down");
        Ok(())
    }
}

/// Those of these upgrades that a decision does not cancel: an API is not asked for what is to be taken back from it.
fn kept(upgrades: &[Upgrade], decision: &Decision) -> Vec<Upgrade> {
    let cancelled: BTreeSet<UpgradeId> = decision.cancels.iter().map(|one| one.upgrade).collect();
    let mut kept = upgrades.to_vec();
    kept.retain(|upgrade| !cancelled.contains(&upgrade.id));
    kept
}

fn tell(findings: &[Finding]) {
    for finding in findings.iter().take(20) {
        let (place, code, remedy) = (finding.place.to_string(), finding.code, &finding.remedy);
        tracing::warn!(place, code, remedy, "{}", finding.problem);
    }
}

/// Gates that plans pass because their policy approves them, and that nobody has agreed to yet.
fn gates_to_agree_to(published: &RwLock<DecidedFleet>) -> BTreeMap<UpgradeId, Vec<Name>> {
    let published = published.read().unwrap_or_else(PoisonError::into_inner);
    let roster = published.planner.roster();
    let planned = roster
        .upgrades()
        .iter()
        .filter(|upgrade| upgrade.state == UpgradeState::Planned);
    let gates = planned.filter_map(|upgrade| {
        let member = roster.find(upgrade.cluster.as_str())?;
        Some((
            upgrade.id,
            roster.gates_approved_by_policy(member, &upgrade.to),
        ))
    });
    gates.collect()
}

/// An input in parts, each named by its digest.
pub(crate) fn input_parts(input: &mut FleetInput) -> Vec<InputPart> {
    use sha2::{Digest, Sha256};
    input::sort(input);
    let parts = input::parts(input).into_iter();
    parts
        .map(|(name, body)| InputPart {
            name,
            digest: Sha256::digest(&body).into(),
            body: body.into(),
        })
        .collect()
}

/// A start as the store wants it: what it takes, and what others may hold.
pub(crate) fn claim(start: &Start, known: ActMark) -> Claim {
    let sector = start
        .sector
        .as_ref()
        .map(|sector| sector_key(&start.organisation, sector));
    Claim {
        start: towpath_store::Start {
            cluster: start.cluster.clone(),
            pool: start.pool().cloned(),
            from: start.from.clone(),
            to: start.to.clone(),
            channel: start.channel.clone(),
            start_at: start.at,
        },
        place: StartPlace {
            organisation: start.organisation.clone(),
            sector: start.sector.clone(),
            name: start.name.clone(),
            known,
        },
        takes: start
            .locks
            .iter()
            .map(|lock| Lock {
                mutex: lock.mutex.clone(),
                sector: sector.clone(),
            })
            .collect(),
        needs: start
            .locks
            .iter()
            .map(|lock| Need {
                mutex: lock.mutex.clone(),
                within_sector: lock.within_sector.clone(),
                at_most: lock.at_most,
            })
            .collect(),
    }
}
