//! What people decide about a fleet, recorded in its store: from the command line, and over HTTP. A name that nobody knows is refused and
//! changes nothing.

use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    Actor, Approval, BadQuestion, KnownFleet, Name, Pause, Upgrade, UpgradeId, UpgradeState,
};
use towpath_core::graph::Graph;
use towpath_core::version::Version;
use towpath_formats::fleet::acts::{Act, Consent, PausePlace};
use towpath_formats::words::second;
use towpath_store::{CancelOutcome, CancelWhich, Store, StoreError, WithdrawOutcome};
use towpath_web::FleetRequest;

use super::published_fleet::DecidedFleet;

/// The reason of who gives none.
pub(super) const NO_REASON: &str = "no reason was given";

/// Who acts, and what is known of the fleet that they act on.
pub(super) struct People<'a> {
    pub(super) actor: Actor,
    pub(super) store: &'a Store,
    pub(super) known: &'a KnownFleet,
    /// Where releases are looked up that no cluster is offered yet.
    pub(super) graph: Option<&'a Graph>,
    pub(super) now: Timestamp,
}

/// Why nothing was changed.
#[derive(Debug)]
pub(super) enum NotDone {
    /// It names what nobody knows.
    Unknown(String),
    /// It is known, and it cannot be done.
    Refused {
        kind: &'static str,
        sentence: String,
    },
    Store(StoreError),
}

impl From<StoreError> for NotDone {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<NotDone> for anyhow::Error {
    fn from(why: NotDone) -> Self {
        match why {
            NotDone::Unknown(sentence) | NotDone::Refused { sentence, .. } => Self::msg(sentence),
            NotDone::Store(error) => error.into(),
        }
    }
}

impl People<'_> {
    /// Stops new starts. Whether anybody is there, the caller has checked.
    pub(super) async fn pause(
        &self,
        place: PausePlace,
        why: String,
        clusters: Option<usize>,
        unchecked: Option<String>,
    ) -> Result<Act, NotDone> {
        let pause = Pause {
            organisation: place.organisation.as_deref().map(Into::into),
            sector: place.sector.as_deref().map(Into::into),
            by: self.actor.name.clone(),
            at: self.now,
            why: why.into(),
        };
        self.store.pause(&pause, &self.actor.known_by).await?;
        Ok(Act::Paused {
            place,
            clusters,
            unchecked,
        })
    }

    pub(super) async fn resume(&self, place: PausePlace, why: &str) -> Result<Act, NotDone> {
        let (organisation, sector) = (place.organisation.as_deref(), place.sector.as_deref());
        let said = self.actor.says(why, self.now);
        let pauses = self.store.resume(organisation, sector, &said).await?;
        if pauses > 0 {
            return Ok(Act::Resumed { place, pauses });
        }
        let paused = self.store.pauses().await?;
        let told = paused.iter().map(|pause| {
            let place = PausePlace {
                organisation: pause.organisation.as_deref().map(str::to_owned),
                sector: pause.sector.as_deref().map(str::to_owned),
            };
            let (at, by, why) = (second(pause.at), &pause.by, &pause.why);
            format!("\n  paused {} since {at} by {by}: {why}", place.words())
        });
        let told: String = told.collect();
        let others = match told.is_empty() {
            true => "; nothing is paused".to_owned(),
            false => format!("; these are the pauses:{told}"),
        };
        let place = place.noun();
        Err(NotDone::Unknown(format!(
            "nothing was changed: there is no pause of {place}{others}"
        )))
    }

    /// Lets the cancelled upgrades of a cluster be planned again; of one version, or of all.
    pub(super) async fn lift(
        &self,
        cluster: &str,
        version: Option<&Version>,
        why: &str,
    ) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "lifted").await?;
        let said = self.actor.says(why, self.now);
        let lifted = self.store.lift(&id, version, &said).await?;
        if lifted.is_empty() {
            let to = version.map_or_else(String::new, |version| format!(" to {version}"));
            return Err(NotDone::Unknown(format!(
                "nothing was changed: no upgrade of {name}{to} is cancelled; `towpath fleet acts --cluster {name}` lists what is"
            )));
        }
        Ok(Act::Lifted {
            id: id.to_string(),
            name: name.to_string(),
            lifted,
        })
    }

    pub(super) async fn approve(
        &self,
        organisation: String,
        cluster: Option<String>,
        version: Version,
        why: &str,
    ) -> Result<Act, NotDone> {
        let cluster = self.name(cluster.as_deref(), &organisation);
        let approval = Approval {
            cluster: cluster.map_err(not("approved"))?,
            organisation: organisation.as_str().into(),
            version,
            by: self.actor.name.clone(),
            at: self.now,
        };
        let approved = self.known.approved(&approval, self.graph);
        let clusters = approved.map_err(not("approved"))?.len();
        let known_by = &self.actor.known_by;
        self.store.approve(&approval, known_by, why).await?;
        Ok(Act::Approved {
            version: approval.version,
            organisation,
            cluster: approval.cluster.map(|name| name.to_string()),
            clusters,
        })
    }

    /// An approval names its cluster, whichever way somebody called it.
    fn name(&self, called: Option<&str>, organisation: &str) -> Result<Option<Name>, BadQuestion> {
        let name = |called: &str| {
            let found = self.known.cluster(called, Some(organisation));
            found.map(|state| state.name.clone())
        };
        called.map(name).transpose()
    }

    pub(super) async fn acknowledge(
        &self,
        gate: &str,
        cluster: &str,
        why: &str,
    ) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "acknowledged").await?;
        self.known.gate(gate).map_err(not("acknowledged"))?;
        let said = self.actor.says(why, self.now);
        self.store.acknowledge_gate(&id, gate, &said).await?;
        Ok(Act::Acknowledged {
            gate: gate.to_owned(),
            id: id.to_string(),
            name: name.to_string(),
        })
    }

    /// Takes an approval back. A cluster that is no longer known can still be named by its name.
    pub(super) async fn withdraw_approval(
        &self,
        organisation: String,
        cluster: Option<String>,
        version: Version,
        why: &str,
    ) -> Result<Act, NotDone> {
        let known = self.name(cluster.as_deref(), &organisation);
        let cluster = match (known, &cluster) {
            (Ok(name), _) => name,
            (Err(_), Some(called)) => Some(called.as_str().into()),
            (Err(_), None) => None,
        };
        let said = self.actor.says(why, self.now);
        let store = self.store;
        let withdrawn = store.withdraw_approval(&organisation, cluster.as_deref(), &version, &said);
        let outcome = withdrawn.await?;
        let approvals = store.approvals().await?;
        let whose = approvals
            .iter()
            .filter(|one| *one.organisation == *organisation);
        let told = |one: &Approval| {
            let name = one.cluster.as_deref();
            let whom = name.map_or_else(|| format!("all of {organisation}"), str::to_owned);
            let (version, at, by) = (&one.version, second(one.at), &one.by);
            format!("the approval of {version} for {whom}, by {by} at {at}")
        };
        let WithdrawOutcome::Withdrawn(given) = outcome else {
            let others: Vec<String> = whose.map(told).collect();
            let others = match others.is_empty() {
                true => format!("nothing is approved in {organisation}"),
                false => format!("there are: {}", others.join("; ")),
            };
            let whom =
                cluster.map_or_else(|| format!("all of {organisation}"), |name| name.to_string());
            return Err(NotDone::Unknown(format!(
                "nothing was withdrawn: there is no approval of {version} for {whom}; {others}"
            )));
        };
        // An approval of the whole organisation goes on for the cluster, and so do those of single clusters for them.
        let same = whose.filter(|one| one.version == version);
        let concerned = same.filter(|one| one.cluster.is_none() || cluster.is_none());
        let still = concerned.map(told).collect();
        Ok(Act::Withdrawn {
            consent: Consent::Approval {
                version,
                organisation: organisation.clone(),
                cluster: cluster.map(|name| name.to_string()),
            },
            given,
            still,
        })
    }

    /// Takes an acknowledgement back. One that the cluster's API or its list tells stays, and is told.
    pub(super) async fn withdraw_acknowledgement(
        &self,
        gate: &str,
        cluster: &str,
        why: &str,
    ) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "withdrawn").await?;
        let said = self.actor.says(why, self.now);
        let outcome = self
            .store
            .withdraw_acknowledgement(&id, gate, &said)
            .await?;
        let stored = self.store.cluster(&id).await?;
        let reported = stored.is_some_and(|stored| stored.state.acknowledged_gates.contains(gate));
        let by_itself = format!(
            "{name} itself, or the API that manages it, says that gate {gate} is acknowledged; take that back there"
        );
        match outcome {
            WithdrawOutcome::Withdrawn(given) => Ok(Act::Withdrawn {
                consent: Consent::Acknowledgement {
                    gate: gate.to_owned(),
                    id: id.to_string(),
                    name: name.to_string(),
                },
                given,
                still: reported.then_some(by_itself).into_iter().collect(),
            }),
            WithdrawOutcome::Nothing => {
                let more = match reported {
                    true => by_itself,
                    false => format!("`towpath fleet acts --cluster {name}` lists what there is"),
                };
                Err(NotDone::Unknown(format!(
                    "nothing was withdrawn: nobody has acknowledged gate {gate} for {name} here; {more}"
                )))
            }
        }
    }

    /// Cancels the planned upgrade of a cluster.
    pub(super) async fn cancel_of(&self, cluster: &str, why: &str) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "cancelled").await?;
        self.cancel(CancelWhich::Of(id), Some(&name), why).await
    }

    /// Cancels the upgrade of this number.
    pub(super) async fn cancel_number(&self, number: i64, why: &str) -> Result<Act, NotDone> {
        let which = CancelWhich::Number(UpgradeId(number));
        self.cancel(which, None, why).await
    }

    async fn cancel(
        &self,
        which: CancelWhich,
        name: Option<&Name>,
        why: &str,
    ) -> Result<Act, NotDone> {
        let said = self.actor.says(why, self.now);
        let (upgrade, before) = match self.store.cancel(&which, &said).await? {
            CancelOutcome::Cancelled(upgrade) => (upgrade, None),
            CancelOutcome::Again(upgrade, before) => (upgrade, Some(before)),
            CancelOutcome::TooLate(upgrade) => {
                let state = self.known.cluster(upgrade.cluster.as_str(), None);
                let name =
                    state.map_or(upgrade.cluster.to_string(), |state| state.name.to_string());
                return Err(too_late(&upgrade, &name));
            }
            CancelOutcome::Nothing => {
                return Err(NotDone::Unknown(match (which, name) {
                    (CancelWhich::Number(UpgradeId(number)), _) => format!(
                        "nothing was cancelled: there is no upgrade {number}; `towpath fleet upgrades` lists them"
                    ),
                    (CancelWhich::Of(id), name) => {
                        let name = name.map_or(id.as_str(), |name| name);
                        format!(
                            "nothing was cancelled: no upgrade of {name} is planned; `towpath fleet pause` holds its organisation or sector back, and `pin` or `blockedVersions` in its policy the cluster"
                        )
                    }
                }));
            }
        };
        let state = self.known.cluster(upgrade.cluster.as_str(), None);
        let name = state.map_or(upgrade.cluster.to_string(), |state| state.name.to_string());
        Ok(Act::Cancelled {
            upgrade,
            name,
            before,
        })
    }

    pub(super) async fn forget(&self, cluster: &str) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "forgotten").await?;
        match self.store.forget(&id, &self.actor.name, self.now).await? {
            true => Ok(Act::Forgotten {
                id: id.to_string(),
                name: name.to_string(),
            }),
            // Somebody else was faster, and no pass has been made since.
            false => Err(NotDone::Unknown(format!("{name} is forgotten already"))),
        }
    }

    /// The cluster with this name or id. One that came after the last pass is found by its id.
    async fn cluster(
        &self,
        called: &str,
        done: &'static str,
    ) -> Result<(ClusterId, Name), NotDone> {
        let problem = match self.known.cluster(called, None) {
            Ok(state) => return Ok((state.id.clone(), state.name.clone())),
            Err(problem) => not(done)(problem),
        };
        let stored = match ClusterId::new(called) {
            Some(id) => self.store.cluster(&id).await?,
            None => None,
        };
        let stored = stored.ok_or(problem)?;
        Ok((stored.state.id, stored.state.name))
    }
}

/// Why an upgrade is not cancelled that is no longer planned, and what can be done.
fn too_late(upgrade: &Upgrade, name: &str) -> NotDone {
    let (number, to, since) = (upgrade.id.0, &upgrade.to, second(upgrade.changed_at));
    let (kind, sentence) = match (upgrade.state, upgrade.owner) {
        (UpgradeState::Started, _) => (
            "under_way",
            format!(
                "nothing was cancelled: upgrade {number} of {name} to {to} is under way since {since}, and Towpath never stops a running upgrade. `towpath fleet pause` keeps others from starting; `oc adm upgrade` on {name} shows how far it is"
            ),
        ),
        (UpgradeState::Planned, _) => (
            "not_ours",
            format!(
                "nothing was cancelled: somebody else planned upgrade {number} of {name} to {to}; cancel it where it was planned"
            ),
        ),
        (state, _) => (
            "over",
            format!(
                "nothing was cancelled: upgrade {number} of {name} to {to} is {} since {since}; only a planned upgrade can be cancelled",
                state.code()
            ),
        ),
    };
    NotDone::Refused { kind, sentence }
}

/// The refusal of an act that names what nobody knows.
fn not(done: &'static str) -> impl Fn(BadQuestion) -> NotDone {
    move |problem| NotDone::Unknown(format!("nothing was {done}: {problem}"))
}

/// How many clusters a pause covers; none for other acts.
pub(super) fn covered(published: &DecidedFleet, request: &FleetRequest) -> Option<usize> {
    let FleetRequest::Pause {
        organisation,
        sector,
        ..
    } = request
    else {
        return None;
    };
    let pause = Pause {
        organisation: organisation.as_deref().map(Into::into),
        sector: sector.as_deref().map(Into::into),
        by: "".into(),
        at: Timestamp::default(),
        why: "".into(),
    };
    let clusters = published.planner.roster().clusters();
    let covered = clusters
        .filter(|(state, policy)| pause.covers(&state.organisation, policy.sector.as_deref()));
    Some(covered.count())
}
