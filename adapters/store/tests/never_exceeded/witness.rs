//! The witness: remembers what was acknowledged, looks at what is stored through a connection of its own, and objects.
//!
//! What was not acknowledged may have happened or not. Between two looks the order of starts is that of their numbers; whoever
//! was under way at both looks was so at each of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Pause, Span, Upgrade, UpgradeId, UpgradeState};
use towpath_core::version::Version;
use towpath_store::{
    Claim, ClaimOutcome, ClusterReport, Lease, RecordOutcome, Store, StoreError, UpgradeSelection,
};

use crate::fleet::Fleet;
use towpath_testing_store::TWO_HOURS;

/// The newest upgrades, as many as are looked at each time: more than can be new, and most of the active ones.
const WINDOW: u32 = 60;

/// What a pause stops: an organisation, a sector.
type PauseScope = (Option<String>, Option<String>);

/// Pauses that hold for certain, each with the number of its beginning.
type Pauses = BTreeMap<PauseScope, (u64, Pause)>;

/// How often a place was resumed, and how many such calls are under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Resumes {
    begun: u64,
    under_way: u64,
}

#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) tally: BTreeMap<String, u64>,
    tokens: BTreeMap<i64, String>,
    pauses: Pauses,
    pauses_at_last_look: Pauses,
    pauses_begun: u64,
    resumes: BTreeMap<PauseScope, Resumes>,
    /// Acknowledged starts, and how far each is known to be.
    started: BTreeMap<UpgradeId, (Claim, UpgradeState)>,
    decisions: BTreeMap<i64, Vec<u8>>,
    /// What clusters have tried to say.
    said: BTreeMap<ClusterId, BTreeMap<Timestamp, (Version, bool)>>,
    /// When each was last seen, as acknowledged.
    seen: BTreeMap<ClusterId, Timestamp>,
    /// When each was last seen, as looked up.
    last_seen: BTreeMap<ClusterId, Timestamp>,
    /// Upgrades as they were when last looked at.
    upgrades: BTreeMap<UpgradeId, Upgrade>,
}

/// What was so before a call.
pub(crate) struct Before {
    token: i64,
    pauses: Pauses,
}

impl Witness {
    fn count(&mut self, what: &str) {
        *self.tally.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn failed(&mut self, error: &StoreError) {
        assert!(
            matches!(error, StoreError::Fenced | StoreError::Unavailable(_)),
            "nobody may see this: {error}"
        );
        self.count(error.code());
    }

    pub(crate) fn lost(&mut self) {
        self.count("lost answers");
    }

    pub(crate) fn highest_token(&self) -> i64 {
        self.tokens.last_key_value().map_or(0, |(token, _)| *token)
    }

    pub(crate) fn before(&self) -> Before {
        Before {
            token: self.highest_token(),
            pauses: self.pauses.clone(),
        }
    }

    pub(crate) fn leads(&mut self, lease: &Lease, before: i64) {
        assert!(
            lease.token >= before,
            "{lease:?}: there was a token {before} already"
        );
        let owner = self
            .tokens
            .entry(lease.token)
            .or_insert_with(|| lease.owner.clone());
        assert_eq!(*owner, lease.owner, "a token belongs to one");
        self.count("leases");
    }

    pub(crate) fn acted(&mut self, lease: &Lease, before: &Before) {
        assert!(
            lease.token >= before.token,
            "{lease:?} acted, but {} had been given out",
            before.token
        );
    }

    pub(crate) fn wrote_down(&mut self, seq: i64, body: Vec<u8>) {
        assert!(
            self.decisions.insert(seq, body).is_none(),
            "decision {seq} was written twice"
        );
    }

    pub(crate) fn moved(&mut self, upgrade: UpgradeId, to: UpgradeState, done: bool) {
        if !done {
            return self.count("moved by another");
        }
        self.count(to.code());
        if let Some((_, state)) = self.started.get_mut(&upgrade) {
            *state = to;
        }
    }

    pub(crate) fn claimed(&mut self, claims: &[Claim], claimed: &[ClaimOutcome], before: &Before) {
        for (claim, claimed) in claims.iter().zip(claimed) {
            match claimed {
                ClaimOutcome::Started(id) => {
                    self.count("starts");
                    let lasting = self.pauses.iter().filter(|(place, (begun, _))| {
                        before
                            .pauses
                            .get(*place)
                            .is_some_and(|(earlier, _)| earlier == begun)
                    });
                    for (_, (_, pause)) in lasting {
                        let covers =
                            pause.covers(&claim.place.organisation, claim.place.sector.as_deref());
                        assert!(!covers, "{id:?} of {claim:?} was started during {pause:?}");
                    }
                    let earlier = self
                        .started
                        .insert(*id, (claim.clone(), UpgradeState::Planned));
                    assert!(earlier.is_none(), "{id:?} was given out twice");
                }
                ClaimOutcome::Refused(refusal) => {
                    self.count(&format!("refused: {}", refusal.code()))
                }
            }
        }
    }

    pub(crate) fn resumes(&self, pause: &Pause) -> Resumes {
        self.resumes.get(&place(pause)).copied().unwrap_or_default()
    }

    /// A pause is certain only if nobody resumed the place while it was being said.
    pub(crate) fn paused(&mut self, pause: &Pause, before: Resumes) {
        self.count("pauses");
        if before.under_way > 0 || self.resumes(pause) != before {
            return;
        }
        self.pauses_begun += 1;
        let begun = self.pauses_begun;
        self.pauses
            .entry(place(pause))
            .or_insert_with(|| (begun, pause.clone()));
    }

    /// Said before it is tried: from then on nobody knows.
    pub(crate) fn will_resume(&mut self, pause: &Pause) {
        self.pauses.remove(&place(pause));
        let resumes = self.resumes.entry(place(pause)).or_default();
        resumes.begun += 1;
        resumes.under_way += 1;
    }

    pub(crate) fn resumed(&mut self, pause: &Pause) {
        self.resumes.entry(place(pause)).or_default().under_way -= 1;
    }

    /// Said before it is tried.
    pub(crate) fn will_record(&mut self, reports: &[ClusterReport]) {
        for ClusterReport { state, .. } in reports {
            let said = (state.version.clone(), state.health.is_healthy());
            self.said
                .entry(state.id.clone())
                .or_default()
                .insert(state.last_seen, said);
        }
    }

    pub(crate) fn recorded(&mut self, reports: &[ClusterReport], recorded: &[RecordOutcome]) {
        for (ClusterReport { state, .. }, recorded) in reports.iter().zip(recorded) {
            match recorded {
                RecordOutcome::Extended | RecordOutcome::Began => {
                    let seen = self.seen.entry(state.id.clone()).or_insert(state.last_seen);
                    *seen = state.last_seen.max(*seen);
                }
                RecordOutcome::Nothing => {}
                RecordOutcome::Unfit => panic!("{state:?} is fit"),
                RecordOutcome::NotAsBound => panic!("{state:?} is who it is bound to be"),
            }
            self.count(&format!("reports: {recorded:?}"));
        }
    }
}

impl Witness {
    /// Looks at everything that may have changed; what is under way now.
    pub(crate) fn look(&mut self, fleet: &Fleet, newest: Vec<Upgrade>) -> Vec<Upgrade> {
        let was: BTreeMap<UpgradeId, Upgrade> = std::mem::take(&mut self.upgrades);
        let last = was.keys().last().copied().unwrap_or(UpgradeId(0));
        let (new, old): (Vec<Upgrade>, Vec<Upgrade>) =
            newest.into_iter().partition(|upgrade| upgrade.id > last);
        for upgrade in &old {
            if let Some(before) = was.get(&upgrade.id) {
                assert!(
                    may_become(before.state, upgrade.state),
                    "{before:?} became {upgrade:?}"
                );
            }
        }
        let mut now: BTreeMap<UpgradeId, Upgrade> = old
            .into_iter()
            .map(|upgrade| (upgrade.id, upgrade))
            .collect();
        now.extend(new.iter().map(|upgrade| (upgrade.id, upgrade.clone())));
        let active: Vec<&Upgrade> = now
            .values()
            .filter(|upgrade| upgrade.state.is_active())
            .collect();
        let clusters: BTreeSet<&ClusterId> =
            active.iter().map(|upgrade| &upgrade.cluster).collect();
        assert_eq!(
            clusters.len(),
            active.len(),
            "a cluster has two active upgrades: {active:?}"
        );
        assert_eq!(fleet.excess(&clusters), None, "{active:?}");
        for start in &new {
            let others = active.iter().filter(|other| other.id < start.id);
            let others: BTreeSet<&ClusterId> = others.map(|other| &other.cluster).collect();
            assert_eq!(
                fleet.objection(&start.cluster, &others),
                None,
                "{start:?} beside {active:?}"
            );
            self.start_was_allowed(fleet, start);
        }
        for (id, (claim, state)) in &self.started {
            let Some(found) = now.get(id) else { continue };
            let start = &claim.start;
            let same = (&found.cluster, &found.from, &found.to)
                == (&start.cluster, &start.from, &start.to);
            assert!(
                same && may_become(*state, found.state),
                "{claim:?} was acknowledged as {state:?}; {found:?}"
            );
        }
        if let Some((newest, _)) = self.started.last_key_value() {
            assert!(
                now.contains_key(newest),
                "{newest:?} was acknowledged and is lost"
            );
        }
        self.pauses_at_last_look = self.pauses.clone();
        let active = active.into_iter().cloned().collect();
        self.upgrades = now;
        active
    }

    /// A pause that had returned when one last looked, and holds still, has let nobody through.
    fn start_was_allowed(&self, fleet: &Fleet, start: &Upgrade) {
        for (place, (begun, pause)) in &self.pauses_at_last_look {
            let lasts = self.pauses.get(place).is_some_and(|(now, _)| now == begun);
            let covers = fleet.member(&start.cluster).is_covered_by(pause);
            assert!(!(lasts && covers), "{start:?} was started during {pause:?}");
        }
    }

    /// What is known of clusters is what they last said, and never goes back.
    pub(crate) async fn look_at_clusters(&mut self, store: &Store) {
        for stored in store.clusters().await.unwrap() {
            let state = stored.state;
            let before = self.last_seen.insert(state.id.clone(), state.last_seen);
            assert!(
                before <= Some(state.last_seen),
                "{state:?} was seen at {before:?}"
            );
            let acknowledged = self.seen.get(&state.id).copied();
            assert!(
                acknowledged <= Some(state.last_seen),
                "{state:?}, but {acknowledged:?} was acknowledged"
            );
            let said = self.said[&state.id].get(&state.last_seen);
            assert_eq!(
                said,
                Some(&(state.version.clone(), state.health.is_healthy())),
                "{state:?} was never said"
            );
        }
    }

    /// A cluster's spans lie beside each other, and none is longer than what was watched.
    pub(crate) async fn look_at_soak(&self, store: &Store, cluster: &ClusterId) {
        let spans = store.spans(cluster).await.unwrap();
        for two in spans.windows(2) {
            assert!(two[0].until < two[1].from, "{two:?} overlap");
        }
        let mut credits: BTreeMap<&Version, SignedDuration> = BTreeMap::new();
        for span in &spans {
            *credits.entry(&span.version).or_default() += span.credit();
        }
        let said = &self.said[cluster];
        let whole: SignedDuration = spans.iter().map(Span::credit).sum();
        let (first, last) = (said.keys().next().unwrap(), said.keys().last().unwrap());
        assert!(
            whole <= first.duration_until(*last),
            "{cluster:?} is credited {whole:?} from {first} to {last}"
        );
        for (version, credit) in &credits {
            let most = watched(
                said.iter()
                    .filter(|(_, what)| **what == ((*version).clone(), true))
                    .map(|(at, _)| *at),
            );
            assert!(
                *credit <= most,
                "{cluster:?} is credited {credit:?} on {version}; it was watched for {most:?}"
            );
        }
        for (_, version, seconds) in store
            .soak_totals_of(std::slice::from_ref(cluster))
            .await
            .unwrap()
        {
            assert_eq!(
                seconds,
                credits[&version].as_secs(),
                "the sum of {cluster:?} on {version}"
            );
        }
    }

    /// At the end everything is looked at.
    pub(crate) async fn look_back(&mut self, store: &Store, fleet: &Fleet) {
        let all = store
            .upgrades(&UpgradeSelection::Recent(10_000))
            .await
            .unwrap();
        let numbers: Vec<i64> = all.iter().rev().map(|upgrade| upgrade.id.0).collect();
        assert_eq!(
            numbers,
            (1..=all.len() as i64).collect::<Vec<_>>(),
            "upgrades are numbered without a gap"
        );
        self.look(fleet, all);
        for id in self.started.keys() {
            assert!(
                self.upgrades.contains_key(id),
                "{id:?} was acknowledged and is lost"
            );
        }
        self.look_at_clusters(store).await;
        for cluster in fleet.members.keys() {
            self.look_at_soak(store, cluster).await;
        }
        for (seq, body) in &self.decisions {
            let stored = store
                .decision(*seq)
                .await
                .unwrap()
                .map(|decision| decision.body);
            assert_eq!(
                stored.as_ref(),
                Some(body),
                "decision {seq} was acknowledged and is lost"
            );
        }
        assert_eq!(store.verify_chain().await.unwrap().problems, [""; 0]);
        assert_eq!(store.check().await.unwrap(), [""; 0]);
    }

    /// The newest upgrades, and those before them that were active when last looked at.
    pub(crate) async fn newest(&self, store: &Store) -> Vec<Upgrade> {
        let mut newest = store
            .upgrades(&UpgradeSelection::Recent(WINDOW))
            .await
            .unwrap();
        let oldest = newest.last().map(|upgrade| upgrade.id);
        let older = self
            .upgrades
            .values()
            .filter(|upgrade| Some(upgrade.id) < oldest && upgrade.state.is_active());
        for upgrade in older {
            newest.extend(store.upgrade(upgrade.id).await.unwrap());
        }
        newest
    }
}

/// The most that a row of reports is worth: from one to the next, where that is no longer than the allowance.
fn watched(mut times: impl Iterator<Item = Timestamp>) -> SignedDuration {
    let (mut most, mut last) = (SignedDuration::ZERO, times.next());
    for time in times {
        let gap = last.map_or(SignedDuration::ZERO, |last| last.duration_until(time));
        if gap <= TWO_HOURS {
            most += gap;
        }
        last = Some(time);
    }
    most
}

/// What has ended has ended, and what has begun is not planned again.
fn may_become(before: UpgradeState, now: UpgradeState) -> bool {
    match before {
        UpgradeState::Planned => true,
        UpgradeState::Started => !matches!(
            now,
            UpgradeState::Planned | UpgradeState::Cancelled | UpgradeState::Refused
        ),
        // It was given up, and completed later all the same.
        UpgradeState::Failed => matches!(now, UpgradeState::Failed | UpgradeState::Finished),
        UpgradeState::Finished | UpgradeState::Cancelled | UpgradeState::Refused => now == before,
    }
}

fn place(pause: &Pause) -> PauseScope {
    (
        pause.organisation.as_deref().map(str::to_owned),
        pause.sector.as_deref().map(str::to_owned),
    )
}
