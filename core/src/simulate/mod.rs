//! What happens over the next days, if nothing fails?
//!
//! The same decisions on a virtual clock. At each step upgrades end, soak is credited, and
//! `dispatch` is asked. The upgrades that it starts begin at once and take a given time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::ClusterId;
use crate::fleet::{
    BadQuestion, ClusterIdx, ClusterState, FleetInput, FleetPlanner, Name, Offer, OfferBook, Owner,
    Product, Sorting, Start, StartKind, Upgrade, UpgradeId, UpgradeState, best_of,
};
use crate::graph::{ChannelName, Graph};
use crate::verdict::Verdict;
use crate::version::Version;

/// The furthest that a forecast looks, in days.
pub const MAX_DAYS: u32 = 366;

#[derive(Debug, Clone)]
pub struct Assumptions {
    /// The time from one decision to the next.
    pub step: SignedDuration,
    /// How long an upgrade takes.
    pub upgrade_takes: SignedDuration,
    /// Versions that will come out, and when: offered to every cluster below them.
    pub releases: Vec<(Timestamp, Version)>,
}

/// What happens if nothing fails.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outlook {
    pub starts: Vec<Forecast>,
    /// Clusters that could go further, or may not know that they could, and start nothing.
    pub idle: Vec<IdleCluster>,
}

/// An upgrade that will start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forecast {
    pub at: Timestamp,
    pub decided: Timestamp,
    pub id: ClusterId,
    pub cluster: Name,
    pub organisation: Name,
    pub sector: Option<Name>,
    pub pool: Option<Name>,
    pub from: Version,
    pub to: Version,
    /// The channel that the cluster is switched to first.
    pub channel: Option<ChannelName>,
}

/// A cluster that starts nothing, and what is held against it at the end of the forecast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleCluster {
    pub id: ClusterId,
    pub name: Name,
    pub organisation: Name,
    pub sector: Option<Name>,
    pub version: Version,
    /// The version that is held least; none if nobody knows one.
    pub to: Option<Version>,
    pub verdict: Verdict,
}

/// What a cluster on that version would be offered then.
pub type FutureOffers<'a> = &'a dyn Fn(&ClusterState, Timestamp) -> Option<Arc<[Offer]>>;

/// Is told how far the clock has come.
pub type ProgressListener<'a> = &'a mut dyn FnMut(Timestamp);

impl Default for Assumptions {
    fn default() -> Self {
        Self {
            step: SignedDuration::from_hours(1),
            upgrade_takes: SignedDuration::from_hours(1),
            releases: Vec::new(),
        }
    }
}

impl Outlook {
    /// The part of it that is about the clusters of these organisations and names.
    pub fn about(mut self, names: &BTreeSet<(Name, Name)>) -> Self {
        let is_meant = |organisation: &Name, name: &Name| {
            let key = (organisation.clone(), name.clone());
            names.contains(&key)
        };
        self.starts
            .retain(|one| is_meant(&one.organisation, &one.cluster));
        self.idle
            .retain(|one| is_meant(&one.organisation, &one.name));
        self
    }

    /// Only what is decided from that time on, for so many days. Who starts something sooner is not idle.
    pub fn between(mut self, from: Timestamp, days: u32) -> Self {
        let length = SignedDuration::from_hours(24 * i64::from(days));
        let is_meant = |at: Timestamp| from <= at && from.duration_until(at) < length;
        self.starts.retain(|one| is_meant(one.decided));
        self
    }

    /// The first start of each cluster, by its id.
    pub fn first_starts(&self) -> BTreeMap<&str, &Forecast> {
        let mut first: BTreeMap<&str, &Forecast> = BTreeMap::new();
        for one in &self.starts {
            let kept = first.entry(one.id.as_str()).or_insert(one);
            if one.at < kept.at {
                *kept = one;
            }
        }
        first
    }
}

/// What will start over a number of days. Clusters that moved get the graph's offers.
pub fn forecast_days(
    input: FleetInput,
    graph: Option<&Graph>,
    now: Timestamp,
    days: u32,
    progress: ProgressListener<'_>,
) -> Result<Outlook, BadQuestion> {
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(BadQuestion::Days { most: MAX_DAYS });
    }
    let until = now + SignedDuration::from_hours(24 * i64::from(days));
    let policy = input.policy.clone();
    let sorting = graph.and_then(|graph| Sorting::of(&policy, graph));
    let offers = |state: &ClusterState, at: Timestamp| {
        let book = |graph| OfferBook::new(graph, at).sorted(sorting.clone());
        graph.map(|graph| book(graph).offers(state))
    };
    let assumed = Assumptions::default();
    Ok(forecast(input, now, until, &assumed, &offers, progress))
}

/// Every upgrade that would start from then on and before then. `offers` says what a cluster is offered after it moved; where it does not
/// know, what it was offered before and is still above it.
pub fn forecast(
    input: FleetInput,
    from: Timestamp,
    until: Timestamp,
    assumed: &Assumptions,
    offers: FutureOffers<'_>,
    progress: ProgressListener<'_>,
) -> Outlook {
    let is_busy = |upgrade: &&Upgrade| upgrade.state.is_active();
    let busy = input.upgrades.iter().filter(is_busy);
    let busy: BTreeSet<ClusterId> = busy.map(|upgrade| upgrade.cluster.clone()).collect();
    let next_id = input
        .upgrades
        .iter()
        .map(|upgrade| upgrade.id.0)
        .max()
        .unwrap_or(0)
        + 1;
    let mut simulation = Simulation {
        input,
        assumed,
        offers,
        next_id,
        desk: None,
        forecasts: Vec::new(),
    };
    let (mut now, mut last) = (from, from);
    while now < until {
        progress(now);
        last = now;
        simulation.release(now, now == from);
        simulation.finish(now);
        simulation.decide(now);
        let Some(next) = now
            .checked_add(assumed.step)
            .ok()
            .filter(|next| *next > now)
        else {
            break;
        };
        simulation.soak(next);
        now = next;
    }
    let idle = simulation.idle(busy, last);
    Outlook {
        starts: simulation.forecasts,
        idle,
    }
}

struct Simulation<'a> {
    /// The fleet's state, for when the planner must be rebuilt.
    input: FleetInput,
    assumed: &'a Assumptions,
    offers: FutureOffers<'a>,
    next_id: i64,
    desk: Option<FleetPlanner>,
    forecasts: Vec<Forecast>,
}

impl Simulation<'_> {
    fn desk(&mut self) -> &mut FleetPlanner {
        let input = &self.input;
        self.desk
            .get_or_insert_with(|| FleetPlanner::new(input.clone()))
    }

    /// Rebuilds the planner, with the soak that this one knows.
    fn start_anew(&mut self) {
        if let Some(desk) = self.desk.take() {
            self.input.soak = desk.roster().own_soak();
        }
    }

    /// Releases that come out by now, and did not by the step before.
    fn release(&mut self, now: Timestamp, first: bool) {
        let before = now.checked_sub(self.assumed.step).unwrap_or(now);
        let is_new = |at: Timestamp| at <= now && (first || at > before);
        let new: Vec<&Version> = self
            .assumed
            .releases
            .iter()
            .filter(|(at, _)| is_new(*at))
            .map(|(_, version)| version)
            .collect();
        if new.is_empty() {
            return;
        }
        for cluster in &mut self.input.clusters {
            let more = new.iter().filter(|version| ***version > cluster.version);
            let more = more.map(|version| Offer::free((*version).clone()));
            cluster.offers = cluster.offers.iter().cloned().chain(more).collect();
        }
        self.start_anew();
    }

    /// Upgrades whose time is over: the clusters are there.
    fn finish(&mut self, now: Timestamp) {
        let over = |upgrade: &Upgrade| {
            upgrade.state.is_active()
                && upgrade
                    .start_at
                    .checked_add(self.assumed.upgrade_takes)
                    .is_ok_and(|end| end <= now)
        };
        let done: Vec<usize> = (0..self.input.upgrades.len())
            .filter(|at| over(&self.input.upgrades[*at]))
            .collect();
        if done.is_empty() {
            return;
        }
        self.desk();
        let places: BTreeMap<&str, usize> = self
            .input
            .clusters
            .iter()
            .enumerate()
            .map(|(at, cluster)| (cluster.id.as_str(), at))
            .collect();
        let moves: Vec<(usize, Option<usize>)> = done
            .into_iter()
            .map(|at| {
                (
                    at,
                    places
                        .get(self.input.upgrades[at].cluster.as_str())
                        .copied(),
                )
            })
            .collect();
        for (at, cluster) in moves {
            let upgrade = &mut self.input.upgrades[at];
            (upgrade.state, upgrade.changed_at) = (UpgradeState::Finished, now);
            let upgrade = upgrade.clone();
            if let Some(cluster) = cluster {
                let state = &mut self.input.clusters[cluster];
                arrive(state, &upgrade, now);
                if upgrade.pool.is_none() {
                    let ahead = || {
                        state
                            .offers
                            .iter()
                            .filter(|offer| offer.version > state.version)
                            .cloned()
                            .collect()
                    };
                    state.offers = (self.offers)(state, now).unwrap_or_else(ahead);
                }
                let state = state.clone();
                let followed = self.desk().seen(state, None);
                if !followed || !self.desk().upgrade_changed(upgrade) {
                    self.start_anew();
                }
            }
        }
        self.input
            .upgrades
            .retain(|upgrade| upgrade.state != UpgradeState::Finished);
    }

    fn decide(&mut self, now: Timestamp) {
        let decision = self.desk().pass(now);
        for start in decision.starts {
            let upgrade = self.carry_out(&start, now);
            self.input.upgrades.push(upgrade.clone());
            if !self.desk().upgrade_changed(upgrade) {
                self.start_anew();
            }
            self.forecasts.push(Forecast {
                at: start.at,
                decided: now,
                pool: start.pool().cloned(),
                id: start.cluster,
                cluster: start.name,
                organisation: start.organisation,
                sector: start.sector,
                from: start.from,
                to: start.to,
                channel: start.channel,
            });
        }
    }

    /// Who has started nothing, was not on its way (`busy`), and is not on the newest version that it is offered.
    fn idle(&mut self, mut busy: BTreeSet<ClusterId>, last: Timestamp) -> Vec<IdleCluster> {
        busy.extend(self.forecasts.iter().map(|one| one.id.clone()));
        let desk = self.desk();
        let roster = desk.roster();
        let idle = |member: &ClusterIdx| {
            let state = roster.cluster(*member);
            if busy.contains(&state.id) {
                return None;
            }
            let why = desk.why(*member, last);
            let (to, verdict) = match (best_of(why.candidates), why.nothing) {
                (Some(best), _) => (Some(best.to), best.verdict),
                // Who follows a channel and is offered nothing has arrived.
                (None, Some(nothing)) if state.channel.is_none() => {
                    (None, why.cluster.and(Verdict::refuse(nothing)))
                }
                (None, _) => return None,
            };
            Some(IdleCluster {
                id: state.id.clone(),
                name: state.name.clone(),
                organisation: state.organisation.clone(),
                sector: roster.policy(*member).sector.clone(),
                version: state.version.clone(),
                to,
                verdict,
            })
        };
        roster.in_order().iter().filter_map(idle).collect()
    }

    fn carry_out(&mut self, start: &Start, now: Timestamp) -> Upgrade {
        self.next_id += 1;
        Upgrade {
            id: UpgradeId(self.next_id),
            cluster: start.cluster.clone(),
            pool: match &start.kind {
                StartKind::NodePool(pool) => Some(pool.clone()),
                StartKind::Cluster | StartKind::ControlPlane => None,
            },
            from: start.from.clone(),
            to: start.to.clone(),
            channel: start.channel.clone(),
            state: UpgradeState::Planned,
            // Nobody re-judges it: nothing fails here.
            owner: Owner::Other,
            start_at: start.at,
            changed_at: now,
            failures: 0,
            note: None,
        }
    }

    /// Every healthy cluster adds a step's worth of soak to its version, and is seen to.
    fn soak(&mut self, next: Timestamp) {
        let seconds = self.assumed.step.as_secs();
        self.desk().time_passes(seconds, next);
        self.input
            .clusters
            .iter_mut()
            .for_each(|cluster| cluster.last_seen = next);
    }
}

fn arrive(state: &mut ClusterState, upgrade: &Upgrade, now: Timestamp) {
    match (&upgrade.pool, &mut state.product) {
        (Some(id), Product::HostedControlPlane { pools }) => {
            for pool in pools.iter_mut().filter(|pool| pool.id == *id) {
                pool.version = upgrade.to.clone();
            }
        }
        (Some(_), Product::Standalone) => {}
        (None, _) => {
            state.version = upgrade.to.clone();
            state.version_since = now;
            if upgrade.channel.is_some() {
                state.channel.clone_from(&upgrade.channel);
            }
        }
    }
}
