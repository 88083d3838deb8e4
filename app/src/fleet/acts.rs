//! What people decide about a fleet, recorded in its store: from the command line, and over HTTP. A name that nobody knows is refused and
//! changes nothing.

use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{Approval, BadQuestion, KnownFleet, Name, Pause};
use towpath_core::graph::Graph;
use towpath_core::version::Version;
use towpath_formats::fleet::acts::{Act, PausePlace};
use towpath_formats::words::second;
use towpath_store::{Store, StoreError};
use towpath_web::FleetRequest;

use super::published_fleet::DecidedFleet;

/// Those who act, and what is known of the fleet that they act on.
pub(super) struct People<'a> {
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
            NotDone::Unknown(sentence) => Self::msg(sentence),
            NotDone::Store(error) => error.into(),
        }
    }
}

impl People<'_> {
    /// Stops new starts. Whether anybody is there, the caller has checked.
    pub(super) async fn pause(
        &self,
        place: PausePlace,
        by: String,
        why: String,
        clusters: Option<usize>,
        unchecked: Option<String>,
    ) -> Result<Act, NotDone> {
        let pause = Pause {
            organisation: place.organisation.as_deref().map(Into::into),
            sector: place.sector.as_deref().map(Into::into),
            by: by.into(),
            at: self.now,
            why: why.into(),
        };
        self.store.pause(&pause).await?;
        Ok(Act::Paused {
            place,
            clusters,
            unchecked,
        })
    }

    pub(super) async fn resume(&self, place: PausePlace) -> Result<Act, NotDone> {
        let (organisation, sector) = (place.organisation.as_deref(), place.sector.as_deref());
        let pauses = self.store.resume(organisation, sector).await?;
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

    pub(super) async fn approve(
        &self,
        organisation: String,
        cluster: Option<String>,
        version: Version,
        by: String,
    ) -> Result<Act, NotDone> {
        // An approval names its cluster, whichever way somebody called it.
        let name = |called: &str| {
            let found = self.known.cluster(called, Some(&organisation));
            found.map(|state| state.name.clone())
        };
        let cluster = cluster.as_deref().map(name).transpose();
        let cluster = cluster.map_err(not("approved"))?;
        let approval = Approval {
            organisation: organisation.as_str().into(),
            cluster,
            version,
            by: by.into(),
            at: self.now,
        };
        let approved = self.known.approved(&approval, self.graph);
        let clusters = approved.map_err(not("approved"))?.len();
        self.store.approve(&approval).await?;
        Ok(Act::Approved {
            version: approval.version,
            organisation,
            cluster: approval.cluster.map(|name| name.to_string()),
            clusters,
        })
    }

    pub(super) async fn acknowledge(
        &self,
        gate: &str,
        cluster: &str,
        by: &str,
    ) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "acknowledged").await?;
        self.known.gate(gate).map_err(not("acknowledged"))?;
        self.store.acknowledge_gate(&id, gate, by, self.now).await?;
        Ok(Act::Acknowledged {
            gate: gate.to_owned(),
            id: id.to_string(),
            name: name.to_string(),
        })
    }

    pub(super) async fn forget(&self, cluster: &str, by: &str) -> Result<Act, NotDone> {
        let (id, name) = self.cluster(cluster, "forgotten").await?;
        match self.store.forget(&id, by, self.now).await? {
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
