//! A double of an OCM-style fleet API: real TCP, state in memory, its own clock, and faults on demand.
//!
//! It answers like the real API: pages, 401 for a wrong token, 404, and 409 for a second policy. It answers 400 for a version
//! that is not offered, a time that is too near, or an open gate. It also records all requests.

mod door;

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub use door::{Fault, OcmDouble, OcmRequest};

/// The accepted token, until [`OcmDouble::set_token`] changes it.
pub const TOKEN: &str = "good-token";
/// The largest page of the real API.
const MAX_PAGE_SIZE: usize = 100;
/// How far ahead a policy must start.
const LEAD: SignedDuration = SignedDuration::from_mins(5);

#[derive(Debug)]
pub struct Api {
    pub now: Timestamp,
    token: String,
    /// The client's id and secret, or the offline token's, that its token service takes; and how long a token lives.
    login: Option<(String, String)>,
    token_seconds: u64,
    clusters: BTreeMap<String, Value>,
    pools: BTreeMap<String, Vec<Value>>,
    subscriptions: BTreeMap<String, Value>,
    labels: Vec<Value>,
    gates: Vec<Value>,
    agreements: BTreeMap<String, Vec<Value>>,
    policies: Vec<Policy>,
    max_page_size: usize,
    ids: u32,
}

#[derive(Debug)]
struct Policy {
    cluster: String,
    pool: Option<String>,
    id: String,
    content: Value,
    state: String,
}

pub struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: BTreeMap<String, String>,
    pub token: Option<&'a str>,
    pub body: &'a [u8],
}

/// A status and a body; 204 has none.
pub type OcmAnswer = (u16, Value);

/// A ready cluster, in full enough detail. Its `external_id` is `uuid-{name}`, its id `ocm-{name}`, its subscription `sub-{name}`.
pub fn cluster(name: &str, version: &str, available: &[&str]) -> Value {
    json!({
        "kind": "Cluster", "id": format!("ocm-{name}"), "href": format!("/api/clusters_mgmt/v1/clusters/ocm-{name}"),
        "name": name, "external_id": format!("uuid-{name}"), "display_name": name,
        "managed": true, "state": "ready", "health_state": "unknown",
        "product": {"kind": "ProductLink", "id": "rosa"},
        "cloud_provider": {"kind": "CloudProviderLink", "id": "aws"},
        "region": {"kind": "CloudRegionLink", "id": "us-east-1"},
        "subscription": {"kind": "SubscriptionLink", "id": format!("sub-{name}")},
        "hypershift": {"enabled": false}, "aws": {"sts": {"enabled": false}}, "multi_arch_enabled": false,
        "version": {
            "kind": "Version", "id": format!("openshift-v{version}"), "raw_id": version, "channel_group": "stable",
            "available_upgrades": available,
        },
    })
}

impl OcmDouble {
    /// Adds a cluster as it is given, and a subscription of that organisation with those labels.
    pub fn add(&self, organisation: &str, labels: &[(&str, &str)], cluster: Value) {
        let mut api = self.api();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, subscription) = (text(&cluster["id"]), text(&cluster["subscription"]["id"]));
        let label = |(key, value): &(&str, &str)| {
            json!({"id": format!("{subscription}-{key}"), "key": key, "value": value, "type": "Subscription",
                   "subscription_id": subscription, "internal": false})
        };
        let labels: Vec<_> = labels.iter().map(label).collect();
        let content = json!({"kind": "Subscription", "id": subscription, "organization_id": organisation,
            "managed": true, "status": "Active", "cluster_id": id, "labels": labels});
        api.subscriptions.insert(subscription.clone(), content);
        api.clusters.insert(id, cluster);
    }

    /// Makes a cluster hosted, with these node pools.
    pub fn host(&self, cluster: &str, pools: &[(&str, &str)]) {
        let mut api = self.api();
        api.clusters
            .get_mut(cluster)
            .expect("a cluster of the double")["hypershift"]["enabled"] = true.into();
        let pool = |(id, version): &(&str, &str)| {
            json!({"kind": "NodePool", "id": id,
                   "version": {"id": format!("openshift-v{version}"), "raw_id": version}})
        };
        api.pools
            .insert(cluster.to_owned(), pools.iter().map(pool).collect());
    }

    pub fn remove(&self, cluster: &str) {
        self.api().clusters.remove(cluster);
    }

    /// Adds a label to an organisation.
    pub fn label_organisation(&self, organisation: &str, key: &str, value: &str) {
        let id = format!("{organisation}-{key}");
        self.api().labels.push(
            json!({"id": id, "key": key, "value": value, "type": "Organization",
            "organization_id": organisation, "internal": false}),
        );
    }

    /// Puts a gate before a minor version.
    pub fn add_gate(&self, id: &str, prefix: &str, label: &str) {
        self.api().gates.push(
            json!({"kind": "VersionGate", "id": id, "version_raw_id_prefix": prefix,
            "label": label, "sts_only": label.ends_with("sts")}),
        );
    }

    /// Adds an upgrade policy without checks, for example another user's.
    pub fn add_policy(
        &self,
        cluster: &str,
        pool: Option<&str>,
        state: &str,
        content: Value,
    ) -> String {
        self.api().insert(cluster, pool, state, content)
    }

    /// Moves a policy on: `scheduled`, `started`, `delayed`, `completed`, `failed`, `cancelled`. What completes has its version.
    pub fn advance(&self, policy: &str, state: &str) {
        let mut api = self.api();
        let found = api
            .policies
            .iter_mut()
            .find(|p| p.id == policy)
            .expect("a policy of the double");
        found.state = state.to_owned();
        let (cluster, pool, version) = (
            found.cluster.clone(),
            found.pool.clone(),
            found.content["version"].clone(),
        );
        if state != "completed" {
            return;
        }
        match pool {
            None => {
                api.clusters.get_mut(&cluster).expect("its cluster")["version"]["raw_id"] = version
            }
            Some(pool) => {
                let pools = api.pools.get_mut(&cluster).expect("its pools");
                let found = pools
                    .iter_mut()
                    .find(|p| p["id"] == *pool)
                    .expect("its pool");
                found["version"]["raw_id"] = version;
            }
        }
    }

    /// The policies that are there: cluster, node pool, version, state.
    pub fn policies(&self) -> Vec<(String, Option<String>, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let of = |p: &Policy| {
            (
                p.cluster.clone(),
                p.pool.clone(),
                text(&p.content["version"]),
                p.state.clone(),
            )
        };
        self.api().policies.iter().map(of).collect()
    }

    /// Accepts only this token from now on.
    pub fn set_token(&self, token: &str) {
        self.api().token = token.to_owned();
    }

    /// Opens its token service, at `/token`, for that client and secret. Its tokens live that long.
    pub fn open_token_service(&self, client: &str, secret: &str, token_seconds: u64) {
        let mut api = self.api();
        api.login = Some((client.to_owned(), secret.to_owned()));
        api.token_seconds = token_seconds;
    }

    /// Sets the largest page.
    pub fn set_max_page_size(&self, size: usize) {
        self.api().max_page_size = size;
    }

    pub fn set_now(&self, now: Timestamp) {
        self.api().now = now;
    }
}

impl Api {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            token: TOKEN.to_owned(),
            login: None,
            token_seconds: 900,
            clusters: BTreeMap::new(),
            pools: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            labels: Vec::new(),
            gates: Vec::new(),
            agreements: BTreeMap::new(),
            policies: Vec::new(),
            max_page_size: MAX_PAGE_SIZE,
            ids: 0,
        }
    }

    pub fn answer(&mut self, request: &Request<'_>) -> OcmAnswer {
        if (request.method, request.path) == ("POST", "/token") {
            return self.log_in(request);
        }
        if request.token != Some(&*self.token) {
            return failure("ACCOUNTS-MGMT", 401, "Bearer token is not valid");
        }
        let parts: Vec<&str> = request.path.trim_start_matches('/').split('/').collect();
        match (request.method, &*parts) {
            ("GET", ["api", "accounts_mgmt", "v1", "subscriptions"]) => self.subscriptions(request),
            ("GET", ["api", "accounts_mgmt", "v1", "labels"]) => self.labels(request),
            ("GET", ["api", "clusters_mgmt", "v1", "version_gates"]) => {
                self.page(request, self.gates.clone())
            }
            ("GET", ["api", "clusters_mgmt", "v1", "clusters"]) => self.clusters(request),
            (_, ["api", "clusters_mgmt", "v1", "clusters", id, rest @ ..]) => {
                self.of_cluster(request, id, rest)
            }
            _ => not_found("this address"),
        }
    }

    /// A token service at `/token`, in the manner of OpenID Connect.
    fn log_in(&self, request: &Request<'_>) -> OcmAnswer {
        let form: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let field = |name: &str| form[name].as_str().map(str::to_owned);
        let secret = match field("grant_type").as_deref() {
            Some("client_credentials") => field("client_secret"),
            Some("refresh_token") => field("refresh_token"),
            _ => None,
        };
        if self.login.is_none() || self.login != field("client_id").zip(secret) {
            return (
                401,
                json!({"error": "unauthorized_client", "error_description": "Invalid client or secret"}),
            );
        }
        (
            200,
            json!({"access_token": self.token, "expires_in": self.token_seconds, "token_type": "Bearer"}),
        )
    }

    fn clusters(&self, request: &Request<'_>) -> OcmAnswer {
        let managed = |cluster: &&Value| match request.query.get("search").map(String::as_str) {
            Some("managed = 'true'") => cluster["managed"] == true,
            _ => true,
        };
        match request.query.get("search").map(String::as_str) {
            None | Some("managed = 'true'") => self.page(
                request,
                self.clusters.values().filter(managed).cloned().collect(),
            ),
            Some(other) => bad_request(&format!(
                "the double does not understand the search {other:?}"
            )),
        }
    }

    fn subscriptions(&self, request: &Request<'_>) -> OcmAnswer {
        let labels = request
            .query
            .get("fetchLabels")
            .is_some_and(|value| value == "true");
        let with_labels = |subscription: &Value| {
            let mut subscription = subscription.clone();
            if !labels {
                subscription
                    .as_object_mut()
                    .expect("an object")
                    .remove("labels");
            }
            subscription
        };
        match request.query.get("search").map(String::as_str) {
            None | Some("managed = 'true' and status in ('Active', 'Reserved')") => self.page(
                request,
                self.subscriptions.values().map(with_labels).collect(),
            ),
            Some(other) => bad_request(&format!(
                "the double does not understand the search {other:?}"
            )),
        }
    }

    fn labels(&self, request: &Request<'_>) -> OcmAnswer {
        let of_aus = |label: &&Value| {
            label["key"]
                .as_str()
                .is_some_and(|key| key.starts_with("sre-capabilities.aus."))
        };
        match request.query.get("search").map(String::as_str) {
            Some("type = 'Organization' and key like 'sre-capabilities.aus.%'") => self.page(
                request,
                self.labels.iter().filter(of_aus).cloned().collect(),
            ),
            other => bad_request(&format!(
                "the double does not understand the search {other:?}"
            )),
        }
    }

    fn of_cluster(&mut self, request: &Request<'_>, cluster: &str, rest: &[&str]) -> OcmAnswer {
        let Some(content) = self.clusters.get(cluster) else {
            return not_found(&format!("Cluster '{cluster}'"));
        };
        let hosted = content["hypershift"]["enabled"] == true;
        match (request.method, rest) {
            ("GET", []) => (200, content.clone()),
            ("PATCH", []) => self.switch_channel(request, cluster),
            ("GET", ["node_pools"]) => self.page(
                request,
                self.pools.get(cluster).cloned().unwrap_or_default(),
            ),
            ("GET", ["gate_agreements"]) => self.page(
                request,
                self.agreements.get(cluster).cloned().unwrap_or_default(),
            ),
            ("POST", ["gate_agreements"]) => self.agree(request, cluster),
            (_, ["upgrade_policies", rest @ ..]) if !hosted => {
                self.of_policies(request, cluster, None, rest)
            }
            (_, ["control_plane", "upgrade_policies", rest @ ..]) if hosted => {
                self.of_policies(request, cluster, None, rest)
            }
            (_, ["node_pools", pool, "upgrade_policies", rest @ ..])
                if self.pool(cluster, pool).is_some() =>
            {
                self.of_policies(request, cluster, Some(pool), rest)
            }
            _ => not_found("this part of the cluster"),
        }
    }

    fn of_policies(
        &mut self,
        request: &Request<'_>,
        cluster: &str,
        pool: Option<&str>,
        rest: &[&str],
    ) -> OcmAnswer {
        let is_here = |p: &Policy| p.cluster == cluster && p.pool.as_deref() == pool;
        // As with the real one: hosted ones have the state inside, the others below.
        let inside = self.clusters[cluster]["hypershift"]["enabled"] == true;
        let state = |p: &Policy| json!({"value": p.state, "description": format!("Upgrade is {}.", p.state)});
        let shown = |p: &Policy| {
            let mut content = p.content.clone();
            if inside {
                content["state"] = state(p);
            }
            content
        };
        match (request.method, rest) {
            ("GET", []) => {
                let items = self
                    .policies
                    .iter()
                    .filter(|p| is_here(p))
                    .map(shown)
                    .collect();
                self.page(request, items)
            }
            ("POST", []) => self.create(request, cluster, pool),
            (method, [id, below @ ..]) => {
                let Some(at) = self.policies.iter().position(|p| is_here(p) && p.id == *id) else {
                    return not_found(&format!("Upgrade policy '{id}'"));
                };
                let policy = &self.policies[at];
                match (method, below) {
                    ("GET", []) => (200, shown(policy)),
                    ("GET", ["state"]) => (200, state(policy)),
                    ("DELETE", []) if matches!(&*policy.state, "started" | "delayed") => {
                        bad_request(&format!(
                            "Upgrade policy '{id}' is {} and cannot be deleted",
                            policy.state
                        ))
                    }
                    ("DELETE", []) => {
                        self.policies.remove(at);
                        (204, Value::Null)
                    }
                    _ => not_found("this part of the policy"),
                }
            }
            _ => not_found("this method"),
        }
    }

    /// Switches a cluster to a channel that is available to it; `in_channel` then tells its upgrades there.
    fn switch_channel(&mut self, request: &Request<'_>, cluster: &str) -> OcmAnswer {
        let body: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let content = self.clusters.get_mut(cluster).expect("it was looked up");
        if let Some(group) = body["version"]["channel_group"].as_str() {
            content["version"]["channel_group"] = group.into();
            return (200, content.clone());
        }
        let channel = body["channel"].as_str().unwrap_or_default().to_owned();
        let available = content["version"]["available_channels"].as_array();
        let is_available = |all: &Vec<Value>| all.iter().any(|one| *one == *channel);
        if !available.is_some_and(is_available) {
            return bad_request(&format!("Channel '{channel}' is not available"));
        }
        content["version"]["available_upgrades"] = content["in_channel"][&channel].clone();
        content["channel"] = channel.into();
        (200, content.clone())
    }

    fn create(&mut self, request: &Request<'_>, cluster: &str, pool: Option<&str>) -> OcmAnswer {
        let Ok(body) = serde_json::from_slice::<Value>(request.body) else {
            return bad_request("The body is not JSON");
        };
        if let Err(problem) = self.check(&body, cluster, pool) {
            return bad_request(&problem);
        }
        let same = |p: &&Policy| p.cluster == cluster && p.pool.as_deref() == pool;
        let ended = |state: &str| matches!(state, "completed" | "failed" | "cancelled");
        if let Some(there) = self.policies.iter().filter(same).find(|p| !ended(&p.state)) {
            let reason = format!(
                "There is already an upgrade policy '{}' to {}",
                there.id, there.content["version"]
            );
            return failure("CLUSTERS-MGMT", 409, &reason);
        }
        let id = self.insert(cluster, pool, "pending", body);
        let made = self
            .policies
            .iter()
            .find(|p| p.id == id)
            .expect("it was just made");
        (201, made.content.clone())
    }

    fn check(&self, body: &Value, cluster: &str, pool: Option<&str>) -> Result<(), String> {
        let content = &self.clusters[cluster];
        let expected = match (pool, content["hypershift"]["enabled"] == true) {
            (Some(_), _) => "NodePool",
            (None, true) => "ControlPlane",
            (None, false) => "OSD",
        };
        if body["upgrade_type"] != expected || body["schedule_type"] != "manual" {
            return Err(format!(
                "Attribute 'upgrade_type' must be {expected}, and 'schedule_type' manual"
            ));
        }
        let next_run: Timestamp = body["next_run"]
            .as_str()
            .and_then(|text| text.parse().ok())
            .ok_or("Attribute 'next_run' must be an RFC 3339 time")?;
        if self.now.duration_until(next_run) < LEAD {
            return Err("Attribute 'next_run' must be at least 5 minutes in the future".to_owned());
        }
        let version = body["version"]
            .as_str()
            .ok_or("Attribute 'version' is required")?;
        let current = content["version"]["raw_id"].as_str().unwrap_or_default();
        let offered = match pool.and_then(|pool| self.pool(cluster, pool)) {
            Some(pool) => {
                let at = numbers(pool["version"]["raw_id"].as_str().unwrap_or_default());
                (at..=numbers(current)).contains(&numbers(version))
                    && pool["version"]["raw_id"] != version
            }
            None => content["version"]["available_upgrades"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(version))),
        };
        if !offered {
            return Err(format!(
                "Version '{version}' is not among the available upgrades"
            ));
        }
        match self.missing_gate(cluster, current, version) {
            Some(gate) => Err(format!(
                "There are missing version gate agreements for this cluster: {gate}"
            )),
            None => Ok(()),
        }
    }

    fn missing_gate(&self, cluster: &str, from: &str, to: &str) -> Option<String> {
        let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
        let sts = self.clusters[cluster]["aws"]["sts"]["enabled"] == true;
        let given = self.agreements.get(cluster);
        let is_missing = |gate: &&Value| {
            let stands = gate["version_raw_id_prefix"] == minor(to) && minor(from) != minor(to);
            let concerns = gate["sts_only"] != true || sts;
            let agreed =
                given.is_some_and(|all| all.iter().any(|a| a["version_gate"]["id"] == gate["id"]));
            stands && concerns && !agreed
        };
        self.gates
            .iter()
            .find(is_missing)
            .map(|gate| gate["id"].as_str().unwrap_or_default().to_owned())
    }

    fn agree(&mut self, request: &Request<'_>, cluster: &str) -> OcmAnswer {
        let body: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let gate = body["version_gate"]["id"].clone();
        if !self.gates.iter().any(|known| known["id"] == gate) {
            return bad_request(&format!("Version gate {gate} does not exist"));
        }
        self.ids += 1;
        let agreement = json!({"kind": "VersionGateAgreement", "id": format!("agreement-{}", self.ids),
            "version_gate": {"kind": "VersionGateLink", "id": gate}});
        let given = self.agreements.entry(cluster.to_owned()).or_default();
        if given.iter().any(|a| a["version_gate"]["id"] == gate) {
            return failure("CLUSTERS-MGMT", 409, "The gate was agreed to before");
        }
        given.push(agreement.clone());
        (201, agreement)
    }

    fn insert(
        &mut self,
        cluster: &str,
        pool: Option<&str>,
        state: &str,
        mut content: Value,
    ) -> String {
        self.ids += 1;
        let id = format!("policy-{}", self.ids);
        content["id"] = json!(id);
        content["kind"] = "UpgradePolicy".into();
        content["cluster_id"] = cluster.into();
        self.policies.push(Policy {
            cluster: cluster.to_owned(),
            pool: pool.map(str::to_owned),
            id: id.clone(),
            content,
            state: state.to_owned(),
        });
        id
    }

    fn pool(&self, cluster: &str, pool: &str) -> Option<&Value> {
        self.pools.get(cluster)?.iter().find(|p| p["id"] == *pool)
    }

    fn page(&self, request: &Request<'_>, items: Vec<Value>) -> OcmAnswer {
        let number = |name: &str, default: usize| {
            request
                .query
                .get(name)
                .map_or(Some(default), |text| text.parse().ok())
                .filter(|n| *n > 0)
        };
        let (Some(page), Some(size)) = (number("page", 1), number("size", 100)) else {
            return bad_request("'page' and 'size' must be positive numbers");
        };
        let size = size.min(self.max_page_size);
        let total = items.len();
        let items: Vec<_> = items
            .into_iter()
            .skip((page - 1) * size)
            .take(size)
            .collect();
        (
            200,
            json!({"kind": "List", "page": page, "size": items.len(), "total": total, "items": items}),
        )
    }
}

fn numbers(version: &str) -> Vec<u64> {
    version
        .split(['.', '-'])
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

fn bad_request(reason: &str) -> OcmAnswer {
    failure("CLUSTERS-MGMT", 400, reason)
}

fn not_found(what: &str) -> OcmAnswer {
    failure("CLUSTERS-MGMT", 404, &format!("{what} not found"))
}

fn failure(service: &str, status: u16, reason: &str) -> OcmAnswer {
    let body = json!({"kind": "Error", "id": status.to_string(), "code": format!("{service}-{status}"),
        "href": format!("/api/{}/v1/errors/{status}", service.to_lowercase().replace('-', "_")),
        "reason": reason, "operation_id": "double"});
    (status, body)
}

/// What the door and the tests share.
#[derive(Debug)]
struct SharedState {
    api: Mutex<Api>,
    faults: Mutex<Vec<(String, String, usize, Fault)>>,
    asked: Mutex<Vec<OcmRequest>>,
    hall: Mutex<Hall>,
    changed: Condvar,
}

/// Who waits in the double, and until when.
#[derive(Debug, Default)]
struct Hall {
    closing: bool,
    /// How many have come to wait for each other.
    arrived: usize,
    inside: usize,
    most_inside: usize,
}

impl SharedState {
    fn new(now: Timestamp) -> Arc<Self> {
        Arc::new(Self {
            api: Mutex::new(Api::new(now)),
            faults: Mutex::default(),
            asked: Mutex::default(),
            hall: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn api(&self) -> MutexGuard<'_, Api> {
        self.api
            .lock()
            .expect("no test panics while it holds the double")
    }
}
