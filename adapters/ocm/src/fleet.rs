//! Reads the whole fleet.
//!
//! It reads lists first, and then details cluster by cluster, a few at a time. A cluster that cannot be understood becomes
//! a finding. A cluster whose upgrades cannot be read stays in the fleet, so that others still wait for it; nothing may
//! start on it.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use futures_util::stream;
use jiff::Timestamp;
use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{
    ClusterState, Health, Labels, Name, NodePool, Owner, Product, Upgrade, UpgradeId, VersionGate,
};

use crate::http::{Item, Path};
use crate::policies::{self, Policy};
use crate::read::{self, Reading, Subscription};
use crate::{ClusterRef, Ocm, OcmError, PolicyRef, wire};

/// The fleet as the API reports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OcmFleet {
    /// The clusters, by id. The API does not say since when they run their version, so it is set to now.
    pub clusters: Vec<ClusterState>,
    /// Planned, running and ended upgrades, by cluster, node pool and policy. Their ids count from 0 and are valid only here.
    pub upgrades: Vec<Upgrade>,
    /// The policy behind each upgrade.
    pub policies: BTreeMap<UpgradeId, PolicyRef>,
    /// How the API addresses each cluster.
    pub handles: BTreeMap<ClusterId, ClusterRef>,
    /// The gates before minor versions.
    pub gates: Vec<VersionGate>,
    /// The labels of organisations that concern upgrades.
    pub organisations: BTreeMap<Name, Labels>,
    /// Clusters whose upgrades could not be read. Earlier knowledge of them may still hold.
    pub unread: BTreeSet<ClusterId>,
    /// Objects that could not be understood.
    pub findings: Vec<Finding>,
}

/// A cluster, and the details that were read separately.
struct ClusterAnswer {
    state: Box<ClusterState>,
    at: ClusterRef,
    answer: Result<Details, OcmError>,
}

struct Details {
    pools: Vec<NodePool>,
    policies: Vec<Policy>,
    agreed: Vec<Name>,
}

impl Ocm {
    /// Reads the fleet. `ours` are the ids of policies that we created.
    pub async fn fleet(&self, now: Timestamp, ours: &BTreeSet<Name>) -> Result<OcmFleet, OcmError> {
        let limit = self.http.limits.fleet_timeout;
        let late = |_| OcmError::Timeout {
            what: "reading the fleet".to_owned(),
            limit,
        };
        tokio::time::timeout(limit, self.read_fleet(now, ours))
            .await
            .map_err(late)?
    }

    async fn read_fleet(
        &self,
        now: Timestamp,
        ours: &BTreeSet<Name>,
    ) -> Result<OcmFleet, OcmError> {
        let (clusters, subscriptions, labels, gates) = tokio::try_join!(
            self.clusters(),
            self.subscriptions(),
            self.organisation_labels(),
            self.gates()
        )?;
        let mut fleet = OcmFleet {
            organisations: labels,
            ..OcmFleet::default()
        };
        for item in gates {
            let (gate, problems) = read::gate(item.id, item.content);
            let bad = problems
                .into_iter()
                .map(|problem| bad_gate(&gate.id, problem));
            fleet.findings.extend(bad);
            fleet.gates.push(gate);
        }
        fleet.gates.sort();
        let mut known = understand(clusters, &subscriptions, now, &mut fleet.findings);
        if let Some(only) = &self.organisations {
            known.retain(|(state, _)| only.contains(&state.organisation));
        }
        let mut failures = 0;
        let mut asked = stream::iter(known)
            .map(|(state, at)| self.ask(state, at, &fleet.gates))
            .buffer_unordered(self.http.limits.concurrency.max(1));
        let mut answers = Vec::new();
        while let Some(answer) = asked.next().await {
            failures += usize::from(
                matches!(&answer.answer, Err(e) if !matches!(e, OcmError::NotFound { .. })),
            );
            match answer.answer {
                Err(error)
                    if error.is_about_us() || failures > self.http.limits.failed_clusters =>
                {
                    return Err(error);
                }
                _ => answers.push(answer),
            }
        }
        drop(asked);
        answers.sort_by(|a, b| a.state.id.cmp(&b.state.id));
        answers
            .into_iter()
            .for_each(|answer| fleet.take(answer, now, ours));
        fleet.findings.sort();
        Ok(fleet)
    }

    async fn ask(
        &self,
        state: Box<ClusterState>,
        at: ClusterRef,
        gates: &[VersionGate],
    ) -> ClusterAnswer {
        let answer = match self.details(&state, &at, gates).await {
            Err(OcmError::NotFound { what, .. }) => Err(self.missing(&at, what).await),
            answer => answer,
        };
        ClusterAnswer { state, at, answer }
    }

    /// Explains a 404 for a part of a cluster: it checks whether the cluster itself exists.
    async fn missing(&self, at: &ClusterRef, what: String) -> OcmError {
        let itself = async {
            self.http
                .get::<wire::Cluster>(&Path::clusters_mgmt(&["clusters", &at.id])?, &[])
                .await
        };
        match itself.await {
            Ok(_) => OcmError::BadAnswer {
                what,
                problem: "not found, although the cluster exists".to_owned(),
            },
            Err(error) => error,
        }
    }

    async fn details(
        &self,
        state: &ClusterState,
        at: &ClusterRef,
        gates: &[VersionGate],
    ) -> Result<Details, OcmError> {
        let mut policies = policies::list(&self.http, at, None).await?;
        let listed = match at.hosted {
            true => self.pools(at).await?,
            false => Vec::new(),
        };
        let mut pools = Vec::new();
        for pool in listed {
            match policies::list(&self.http, at, Some(&pool.id)).await {
                Ok(of_pool) => policies.extend(of_pool),
                // Node pools come and go.
                Err(OcmError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            }
            pools.push(pool);
        }
        let agreed = match read::has_gate_ahead(state, gates) {
            true => self.agreed_gates(at).await?,
            false => Vec::new(),
        };
        Ok(Details {
            pools,
            policies,
            agreed,
        })
    }

    async fn pools(&self, at: &ClusterRef) -> Result<Vec<NodePool>, OcmError> {
        let path = Path::clusters_mgmt(&["clusters", &at.id, "node_pools"])?;
        let bad = |problem| OcmError::BadAnswer {
            what: format!("node pools of cluster {}", at.id),
            problem,
        };
        let items = self.http.list::<wire::NodePool>(&path, &[]).await?;
        let mut pools: Vec<_> = items
            .into_iter()
            .map(|item| item.content.and_then(read::pool))
            .collect::<Result<_, _>>()
            .map_err(bad)?;
        pools.sort();
        Ok(pools)
    }

    async fn clusters(&self) -> Result<Vec<Item<wire::Cluster>>, OcmError> {
        let query = [("search", "managed = 'true'"), ("order", "id asc")];
        self.http
            .list(&Path::clusters_mgmt(&["clusters"])?, &query)
            .await
    }

    async fn gates(&self) -> Result<Vec<Item<wire::VersionGate>>, OcmError> {
        self.http
            .list(&Path::clusters_mgmt(&["version_gates"])?, &[])
            .await
    }

    async fn subscriptions(&self) -> Result<BTreeMap<String, Subscription>, OcmError> {
        let query = [
            (
                "search",
                "managed = 'true' and status in ('Active', 'Reserved')",
            ),
            ("fetchLabels", "true"),
            ("orderBy", "id asc"),
        ];
        let items = self
            .http
            .list::<wire::SubscriptionBody>(&Path::accounts_mgmt(&["subscriptions"])?, &query)
            .await?;
        // One that cannot be read leaves its cluster without an organisation, and that is said there.
        let read = |item: Item<wire::SubscriptionBody>| {
            Some((item.id?, read::subscription(item.content.ok()?)?))
        };
        Ok(items.into_iter().filter_map(read).collect())
    }

    async fn organisation_labels(&self) -> Result<BTreeMap<Name, Labels>, OcmError> {
        let query = [
            (
                "search",
                "type = 'Organization' and key like 'sre-capabilities.aus.%'",
            ),
            ("orderBy", "id asc"),
        ];
        let items = self
            .http
            .list::<wire::Label>(&Path::accounts_mgmt(&["labels"])?, &query)
            .await?;
        let mut organisations = BTreeMap::<Name, Labels>::new();
        for label in items.into_iter().filter_map(|item| item.content.ok()) {
            if let (Some(organisation), Some(key)) = (label.organization_id, label.key) {
                let labels = organisations.entry(organisation.into()).or_default();
                labels.insert(key, label.value.unwrap_or_default());
            }
        }
        Ok(organisations)
    }
}

impl OcmFleet {
    fn take(&mut self, asked: ClusterAnswer, now: Timestamp, ours: &BTreeSet<Name>) {
        let ClusterAnswer {
            mut state,
            at,
            answer,
        } = asked;
        let place = read::place(&state.name);
        match answer {
            Ok(details) => {
                state.going_to = read::going_to(&details.policies);
                state.acknowledged_gates = details.agreed.into_iter().collect();
                if let Product::HostedControlPlane { pools } = &mut state.product {
                    *pools = details.pools;
                }
                self.add_upgrades(&state, details.policies, now, ours, &place);
            }
            Err(error @ OcmError::NotFound { .. }) => {
                let problem = format!("it disappeared while the fleet was read: {error}");
                self.findings.push(Finding::warning(
                    "ocm-gone",
                    place,
                    problem,
                    "nothing, if it was deleted",
                ));
                return;
            }
            Err(error) => {
                let why = format!("its upgrades could not be read: {error}");
                let remedy = "nothing starts on it until they can be read; check the API";
                self.findings
                    .push(Finding::error("ocm-unread", place, &*why, remedy));
                state.health = Health::Unhealthy { why: why.into() };
                self.unread.insert(state.id.clone());
            }
        }
        self.handles.insert(state.id.clone(), at);
        self.clusters.push(*state);
    }

    fn add_upgrades(
        &mut self,
        state: &ClusterState,
        mut policies: Vec<Policy>,
        now: Timestamp,
        ours: &BTreeSet<Name>,
        place: &Place,
    ) {
        policies.sort_by(|a, b| a.at.cmp(&b.at));
        for policy in policies {
            if let Some(problem) = &policy.problem {
                let problem = format!("upgrade policy {}: {problem}", policy.at.id);
                let remedy = "it counts as an upgrade under way; correct or delete it";
                self.findings.push(Finding::warning(
                    "ocm-policy",
                    place.clone(),
                    problem,
                    remedy,
                ));
            }
            let id = UpgradeId(self.upgrades.len() as i64);
            let owner = if ours.contains(&policy.at.id) {
                Owner::Towpath
            } else {
                Owner::Other
            };
            self.upgrades
                .push(read::upgrade(id, state, &policy, owner, now));
            self.policies.insert(id, policy.at);
        }
    }
}

/// The clusters that can be read, and a finding for each that cannot.
fn understand(
    items: Vec<Item<wire::Cluster>>,
    subscriptions: &BTreeMap<String, Subscription>,
    now: Timestamp,
    findings: &mut Vec<Finding>,
) -> Vec<(Box<ClusterState>, ClusterRef)> {
    let mut by_id = BTreeMap::<ClusterId, Vec<(Box<ClusterState>, ClusterRef)>>::new();
    for item in items {
        let wrong = |problem| {
            let place = read::place(item.id.as_deref().unwrap_or("without an id"));
            Reading::Wrong(Finding::error(
                "ocm-cluster",
                place,
                problem,
                "ask whoever runs the API",
            ))
        };
        match item
            .content
            .map_or_else(wrong, |wire| read::cluster(wire, subscriptions, now))
        {
            Reading::Cluster(state, at, odd) => {
                findings.extend(odd);
                by_id.entry(state.id.clone()).or_default().push((state, at));
            }
            Reading::InBetween => {}
            Reading::Wrong(finding) => findings.push(finding),
        }
    }
    let mut known = Vec::new();
    for (id, mut same) in by_id {
        match (same.pop(), same.is_empty()) {
            (Some(only), true) => known.push(only),
            (Some((state, _)), false) => {
                let problem = format!("{} clusters say that they are {id}", same.len() + 1);
                let remedy = "delete the wrong ones; all of them are left out until then";
                findings.push(Finding::error(
                    "ocm-same-id",
                    read::place(&state.name),
                    problem,
                    remedy,
                ));
            }
            (None, _) => {}
        }
    }
    known
}

fn bad_gate(id: &str, problem: String) -> Finding {
    let place = Place::file(format!("ocm: version gate {id}"));
    Finding::error("ocm-gate", place, problem, "ask whoever runs the API")
}
