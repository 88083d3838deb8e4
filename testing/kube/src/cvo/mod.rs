//! A simulated cluster-version operator. It only does what is documented about OpenShift's.
//!
//! It acts only in [`ClusterVersionOperator::step`]: it asks its upstream, aggregates `Upgradeable`, reads `desiredUpdate`,
//! and advances a running update by one step. An update is accepted in one step and ends in the next.

mod advice;
mod conditions;
mod preflight;
mod updating;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::ApiResource;
use serde_json::{Value, json};

use advice::{Advice, advice};
use conditions::Conditions;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Completes,
    /// They fail, and stay so.
    Fails,
    /// They never end.
    Hangs,
}

pub struct ClusterVersionOperator {
    client: kube::Client,
    http: reqwest::Client,
    behaviour: Behaviour,
    queries: BTreeMap<String, bool>,
    /// What preflights find, by name; none: this operator has no preflights and names no risks.
    gated: Option<Vec<String>>,
}

impl ClusterVersionOperator {
    /// An operator whose updates complete.
    pub fn new(client: kube::Client) -> Self {
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap();
        Self {
            client,
            http,
            behaviour: Behaviour::Completes,
            queries: BTreeMap::new(),
            gated: None,
        }
    }

    /// Sets the outcome of later updates.
    pub fn set_behaviour(&mut self, behaviour: Behaviour) {
        self.behaviour = behaviour;
    }

    /// Sets the answer of a PromQL query. Other queries fail.
    pub fn answer(&mut self, promql: &str, value: bool) {
        self.queries.insert(promql.to_owned(), value);
    }

    /// Has the operator name risks in `conditionalUpdateRisks` and `riskNames`, refuse updates whose risks are not accepted, and run
    /// preflights, which find these risks.
    pub fn gates(&mut self, preflights_find: &[&str]) {
        self.gated = Some(
            preflights_find
                .iter()
                .map(|&name| name.to_owned())
                .collect(),
        );
    }

    /// Does one step at this time.
    pub async fn step(&self, now: Timestamp) {
        let api = self.api("ClusterVersion");
        let object = serde_json::to_value(api.get("version").await.unwrap()).unwrap();
        let mut status = object["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        let mut conditions = Conditions::of(&status, now);
        self.retrieve(&object["spec"], &mut status, &mut conditions)
            .await;
        self.aggregate(&mut conditions).await;
        if let Some(found) = &self.gated {
            preflight::name_risks(&mut status, now);
            let is_new = object["metadata"]["generation"] != object["status"]["observedGeneration"];
            preflight::step(&object["spec"], &mut status, found, is_new, now);
        }
        updating::step(
            &object["spec"],
            &mut status,
            &mut conditions,
            self.behaviour,
            now,
        );
        conditions.write(&mut status);
        status["observedGeneration"] = object["metadata"]["generation"].clone();
        if status == object["status"] {
            return;
        }
        let version = object["metadata"]["resourceVersion"].clone();
        let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
        match api
            .patch_status("version", &PatchParams::default(), &Patch::Merge(&patch))
            .await
        {
            Ok(_) => {}
            // Somebody wrote in between: the next step sees it.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("the ClusterVersion's status cannot be written: {error}"),
        }
    }

    /// Asks the upstream what there is.
    async fn retrieve(&self, spec: &Value, status: &mut Value, conditions: &mut Conditions) {
        let current = updating::current(status);
        let advice = match (
            spec["upstream"].as_str(),
            spec["channel"].as_str(),
            &current,
        ) {
            (Some(upstream), Some(channel), Some(current))
                if !upstream.is_empty() && !channel.is_empty() =>
            {
                self.ask(
                    upstream,
                    channel,
                    spec["clusterID"].as_str().unwrap_or_default(),
                    current,
                )
                .await
            }
            _ => Err((
                "NoChannel",
                "The update channel has not been configured.".to_owned(),
            )),
        };
        match advice {
            Ok(Advice {
                available,
                conditional,
            }) => {
                conditions.set("RetrievedUpdates", "True", "", "");
                status["availableUpdates"] = available.map_or(Value::Null, Value::from);
                status["conditionalUpdates"] =
                    conditions.keep_transitions(&status["conditionalUpdates"], conditional);
            }
            Err((reason, message)) => {
                conditions.set("RetrievedUpdates", "False", reason, &message);
                // A version that is not in its channel loses its advice at once; another failure keeps it.
                if matches!(reason, "VersionNotFound" | "NoChannel") {
                    status["availableUpdates"] = Value::Null;
                    status["conditionalUpdates"] = json!([]);
                }
            }
        }
    }

    async fn ask(
        &self,
        upstream: &str,
        channel: &str,
        id: &str,
        current: &str,
    ) -> Result<Advice, (&'static str, String)> {
        let mut url =
            reqwest::Url::parse(upstream).map_err(|error| ("InvalidURI", error.to_string()))?;
        url.query_pairs_mut().extend_pairs([
            ("arch", "amd64"),
            ("channel", channel),
            ("id", id),
            ("version", current),
        ]);
        let request = self.http.get(url).header("accept", "application/json");
        let answer = request
            .send()
            .await
            .map_err(|error| ("RemoteFailed", error.to_string()))?;
        let code = answer.status();
        if code != reqwest::StatusCode::OK {
            return Err(("ResponseFailed", format!("unexpected HTTP status: {code}")));
        }
        let bytes = answer
            .bytes()
            .await
            .map_err(|error| ("ResponseFailed", error.to_string()))?;
        let graph: Value = serde_json::from_slice(&bytes)
            .map_err(|error| ("ResponseInvalid", error.to_string()))?;
        advice(&graph, current, &self.queries)
    }

    /// Aggregates `Upgradeable` of all ClusterOperators.
    async fn aggregate(&self, conditions: &mut Conditions) {
        let operators = self
            .api("ClusterOperator")
            .list(&ListParams::default())
            .await
            .unwrap();
        let objections: Vec<(String, String, String)> = operators
            .items
            .iter()
            .filter_map(|operator| {
                let all = operator.data["status"]["conditions"].as_array()?;
                let found = all
                    .iter()
                    .find(|one| one["type"] == "Upgradeable" && one["status"] == "False")?;
                let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
                Some((
                    operator.metadata.name.clone().unwrap_or_default(),
                    text("reason"),
                    text("message"),
                ))
            })
            .collect();
        match objections.as_slice() {
            [] => conditions.remove("Upgradeable"),
            [(name, reason, message)] => {
                let message = format!(
                    "Cluster operator {name} should not be upgraded between minor versions: {message}"
                );
                conditions.set("Upgradeable", "False", reason, &message);
            }
            several => {
                let lines: Vec<_> = several
                    .iter()
                    .map(|(name, reason, message)| format!("* {name}: {reason}: {message}"))
                    .collect();
                let message = format!(
                    "Multiple cluster operators should not be upgraded between minor versions:\n{}",
                    lines.join("\n")
                );
                conditions.set(
                    "Upgradeable",
                    "False",
                    "ClusterOperatorsNotUpgradeable",
                    &message,
                );
            }
        }
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: "config.openshift.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "config.openshift.io/v1".to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        Api::all_with(self.client.clone(), &resource)
    }
}
