//! A scheduler: reads, decides, and acts as `towpath fleet run` does, but one small piece at a time.
//!
//! Between two pieces anything may happen: others take the lease, people pause, clusters move, hours go by.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    Decision, FleetInput, FleetPlanner, Ledger, Name, Start, Tenure, UpgradeId, UpgradeState,
    sector_key,
};
use towpath_store::{Claim, InputPart, Lease, Lock, Need, Store, StoreError, UpgradeSelection};

use crate::fleet::{Fleet, offers};
use crate::witness::Witness;

/// A process that would schedule.
pub(crate) struct Scheduler {
    pub(crate) store: Store,
    /// A process that is started anew is another.
    pub(crate) name: String,
    /// How wrong its clock is.
    pub(crate) skew: SignedDuration,
    stage: Stage,
}

/// How a scheduler goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) pieces: u64,
    /// With a lease of so long.
    pub(crate) ttl: Duration,
    /// It takes the lease anew and goes on with what it had decided, however long ago.
    pub(crate) renews: bool,
    /// The clusters that it has heard of, by bits; it knows nothing of the others and of their upgrades.
    pub(crate) known: u64,
}

/// How far it is with its pass.
#[derive(Default)]
enum Stage {
    #[default]
    Idle,
    Leads(Lease),
    Acts(Lease, VecDeque<Act>),
}

/// A piece of a decision that is to be carried out.
enum Act {
    WriteDown(Timestamp, Vec<InputPart>, Vec<u8>),
    Move {
        at: Timestamp,
        upgrade: UpgradeId,
        before: UpgradeState,
        to: UpgradeState,
        note: Option<Name>,
    },
    Claim(Timestamp, Vec<Claim>),
}

impl Scheduler {
    /// Opens its own connections, under its own name.
    pub(crate) async fn begin(url: &str, name: String, skew: SignedDuration) -> Self {
        let store = Store::open(&format!("{url}&application_name={name}"))
            .await
            .unwrap();
        Self {
            store,
            name,
            skew,
            stage: Stage::Idle,
        }
    }

    /// Goes on with its pass. A scheduler that fails begins again.
    ///
    /// Now and then it acts on what has long ceased to be so: the store must not rely on its callers.
    pub(crate) async fn go_on(
        &mut self,
        turn: Turn,
        now: Timestamp,
        fleet: &Fleet,
        seen: &RefCell<Witness>,
    ) {
        for piece in 0..turn.pieces {
            // Whoever is dropped, or fails, in the middle of a piece is idle.
            let done = match std::mem::take(&mut self.stage) {
                Stage::Idle => self.lead(turn.ttl, seen).await,
                Stage::Leads(lease) => self.decide(lease, turn.known, now + self.skew, fleet).await,
                Stage::Acts(_, acts) if turn.renews && piece == 0 => {
                    self.renew(turn.ttl, acts, seen).await
                }
                Stage::Acts(lease, acts) => self.act(lease, acts, seen).await,
            };
            match done {
                Ok(stage) => self.stage = stage,
                Err(error) => seen.borrow_mut().failed(&error),
            }
        }
    }

    async fn renew(
        &self,
        ttl: Duration,
        acts: VecDeque<Act>,
        seen: &RefCell<Witness>,
    ) -> Result<Stage, StoreError> {
        Ok(match self.lead(ttl, seen).await? {
            Stage::Leads(lease) => Stage::Acts(lease, acts),
            other => other,
        })
    }

    async fn lead(&self, ttl: Duration, seen: &RefCell<Witness>) -> Result<Stage, StoreError> {
        let before = seen.borrow().highest_token();
        let lease = self.store.acquire("scheduler", &self.name, ttl).await?;
        Ok(match lease {
            None => Stage::Idle,
            Some(lease) => {
                seen.borrow_mut().leads(&lease, before);
                Stage::Leads(lease)
            }
        })
    }

    async fn decide(
        &self,
        lease: Lease,
        known: u64,
        now: Timestamp,
        fleet: &Fleet,
    ) -> Result<Stage, StoreError> {
        let mut input = self.read(fleet).await?;
        let is_known = |id: &ClusterId| {
            fleet
                .members
                .keys()
                .position(|key| key == id)
                .is_some_and(|n| known >> n & 1 == 1)
        };
        input.clusters.retain(|state| is_known(&state.id));
        input.upgrades.retain(|upgrade| is_known(&upgrade.cluster));
        let body = format!("{:?}{:?}", input.upgrades, input.pauses).into_bytes();
        let part = InputPart {
            name: "state".into(),
            digest: Sha256::digest(&body).into(),
            body: body.into(),
        };
        let states: BTreeMap<UpgradeId, UpgradeState> = input
            .upgrades
            .iter()
            .map(|one| (one.id, one.state))
            .collect();
        let decision = FleetPlanner::new(input).pass(now);
        Ok(Stage::Acts(lease, acts(decision, &states, part)))
    }

    /// What the store knows, with what the clusters could go to.
    async fn read(&self, fleet: &Fleet) -> Result<FleetInput, StoreError> {
        let (mut clusters, mut tenures, mut ledger) =
            (Vec::new(), BTreeMap::new(), Ledger::default());
        for stored in self.store.clusters().await? {
            let mut state = stored.state;
            let tenure = Tenure {
                organisation: state.organisation.clone(),
                workloads: stored.workloads,
            };
            tenures.insert(state.id.clone(), tenure);
            state.offers = offers(&state.version).into();
            clusters.push(state);
        }
        for (cluster, version, seconds) in self.store.soak_totals().await? {
            ledger.set(&cluster, &version, seconds);
        }
        let mut upgrades = self.store.upgrades(&UpgradeSelection::Active).await?;
        upgrades.extend(self.store.newest_failures().await?);
        let policy = fleet.policy();
        Ok(FleetInput {
            soak: ledger.sums(&policy, &clusters, &tenures),
            pauses: self.store.pauses().await?,
            approvals: self.store.approvals().await?,
            policy,
            clusters,
            upgrades,
            ..FleetInput::default()
        })
    }

    async fn act(
        &self,
        lease: Lease,
        mut acts: VecDeque<Act>,
        seen: &RefCell<Witness>,
    ) -> Result<Stage, StoreError> {
        let Some(act) = acts.pop_front() else {
            return Ok(Stage::Idle);
        };
        let before = seen.borrow().before();
        match act {
            Act::WriteDown(at, parts, body) => {
                let seq = self
                    .store
                    .append_decision(&lease, at, &parts, &body)
                    .await?;
                seen.borrow_mut().wrote_down(seq, body);
            }
            Act::Move {
                at,
                upgrade,
                before,
                to,
                note,
            } => {
                let moved = self
                    .store
                    .transition(&lease, upgrade, before, to, at, note.as_deref())
                    .await?;
                seen.borrow_mut().moved(upgrade, to, moved);
            }
            Act::Claim(at, claims) => {
                let claimed = self.store.claim(&lease, &claims, at).await?;
                seen.borrow_mut().claimed(&claims, &claimed, &before);
            }
        }
        seen.borrow_mut().acted(&lease, &before);
        Ok(Stage::Acts(lease, acts))
    }
}

/// The pieces in which a decision is carried out: it is written down before anything of it is done.
fn acts(
    decision: Decision,
    states: &BTreeMap<UpgradeId, UpgradeState>,
    part: InputPart,
) -> VecDeque<Act> {
    let at = decision.at;
    let body = format!("{decision:?}").into_bytes();
    let planned = UpgradeState::Planned;
    let cancels = decision
        .cancels
        .iter()
        .map(|cancel| (cancel.upgrade, planned, UpgradeState::Cancelled, None));
    let begins = decision
        .begins
        .iter()
        .map(|begin| (*begin, planned, UpgradeState::Started, None));
    let ended = decision.ended.iter().map(|end| {
        (
            end.upgrade,
            states[&end.upgrade],
            end.state,
            end.note.clone(),
        )
    });
    let moves = cancels.chain(begins).chain(ended);
    let mut acts: VecDeque<Act> = moves
        .map(|(upgrade, before, to, note)| Act::Move {
            at,
            upgrade,
            before,
            to,
            note,
        })
        .collect();
    acts.push_back(Act::Claim(at, decision.starts.iter().map(claim).collect()));
    acts.push_front(Act::WriteDown(at, vec![part], body));
    acts
}

/// A start as the store wants it.
fn claim(start: &Start) -> Claim {
    let sector = start
        .sector
        .as_ref()
        .map(|sector| sector_key(&start.organisation, sector));
    let lock = |mutex: &Name| Lock {
        mutex: mutex.clone(),
        sector: sector.clone(),
    };
    Claim {
        start: towpath_store::Start {
            cluster: start.cluster.clone(),
            pool: start.pool().cloned(),
            from: start.from.clone(),
            to: start.to.clone(),
            channel: start.channel.clone(),
            start_at: start.at,
        },
        place: towpath_store::StartPlace {
            sector: start.sector.clone(),
            ..towpath_testing_store::place(&start.organisation, None)
        },
        takes: start
            .locks
            .iter()
            .map(|needed| lock(&needed.mutex))
            .collect(),
        needs: (start.locks.iter())
            .map(|needed| Need {
                mutex: needed.mutex.clone(),
                within_sector: needed.within_sector.clone(),
                at_most: needed.at_most,
            })
            .collect(),
    }
}
