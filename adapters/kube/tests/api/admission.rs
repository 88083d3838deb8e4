//! The admission policy for the agent's service account: it allows what the agent writes, and nothing else.
//!
//! Our API server is too old for admission policies. So the policy is read by the published schema, and its expressions are
//! evaluated here, over what the agent's real writes leave on a real API server. Kubernetes' own evaluator was not run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cel::{Context, Program, Value as Cel};
use serde_json::{Value, json};
use towpath_kube::{
    AskOutcome, ChannelWrite, Cluster, RECORD_ANNOTATION, RecordOutcome, RiskChange, StartOutcome,
    Update,
};
use towpath_testing_kube::{CRDS, Fields, KubeApi};

use crate::support::*;

const AGENT: &str = "system:serviceaccount:towpath-agent:towpath-agent";

fn documents() -> Vec<Value> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/agent/admission/policy.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    text.split("\n---\n")
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

fn policy() -> Value {
    documents().remove(0)
}

/// With risks that the agent may accept, as an administrator lists them.
fn policy_with_risk(name: &str) -> Value {
    let mut policy = policy();
    let variables = policy["spec"]["variables"].as_array_mut().unwrap();
    let risks = variables
        .iter_mut()
        .find(|variable| variable["name"] == "acceptableRisks");
    risks.unwrap()["expression"] = json!(format!("['{name}']"));
    policy
}

fn update() -> Value {
    json!({"operation": "UPDATE", "subResource": "", "userInfo": {"username": AGENT}})
}

/// What an expression says; an error denies, as `failurePolicy: Fail` does.
fn evaluated(
    expression: &str,
    request: &Value,
    objects: (&Value, &Value),
    variables: &Value,
) -> Result<Cel, String> {
    let program = Program::compile(expression).map_err(|error| error.to_string())?;
    let mut context = Context::default();
    let (before, after) = objects;
    for (name, value) in [
        ("request", request),
        ("oldObject", before),
        ("object", after),
        ("variables", variables),
    ] {
        context
            .add_variable(name, value)
            .map_err(|error| error.to_string())?;
    }
    program.execute(&context).map_err(|error| error.to_string())
}

/// The messages of all validations that deny the change.
fn denials(policy: &Value, request: &Value, before: &Value, after: &Value) -> Vec<String> {
    let mut variables = json!({});
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for variable in policy["spec"]["variables"].as_array().unwrap() {
        let expression = text(&variable["expression"]);
        let value = evaluated(&expression, request, (before, after), &variables);
        let value = value.unwrap_or_else(|error| panic!("{expression}: {error}"));
        variables[text(&variable["name"])] = value.json().unwrap();
    }
    let validations = policy["spec"]["validations"].as_array().unwrap();
    validations
        .iter()
        .filter(|validation| {
            let expression = text(&validation["expression"]);
            let value = evaluated(&expression, request, (before, after), &variables);
            value != Ok(Cel::Bool(true))
        })
        .map(|validation| text(&validation["message"]))
        .collect()
}

/// The paths of all leaves that differ, but for what the server writes itself.
fn changed(before: &Value, after: &Value) -> BTreeSet<String> {
    fn leaves(at: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    leaves(&format!("{at}/{}", name.replace('/', "~1")), value, found);
                }
            }
            other => {
                found.insert(at.to_owned(), other.clone());
            }
        }
    }
    let (mut one, mut other) = (BTreeMap::new(), BTreeMap::new());
    leaves("", before, &mut one);
    leaves("", after, &mut other);
    let paths: BTreeSet<String> = one.keys().chain(other.keys()).cloned().collect();
    let servers = [
        "/metadata/managedFields",
        "/metadata/resourceVersion",
        "/metadata/generation",
    ];
    paths
        .into_iter()
        .filter(|path| one.get(path) != other.get(path) && !servers.contains(&path.as_str()))
        .collect()
}

/// The cluster's API, what it was before each write, and every path that a write has changed.
struct Watched {
    api: KubeApi,
    cluster: Cluster,
    changed: BTreeSet<String>,
}

impl Watched {
    async fn new() -> Self {
        let api = KubeApi::start().await;
        let kind = CRDS.iter().find(|crd| crd.kind == "ClusterVersion");
        api.add_kind(kind.unwrap(), Fields::Gated).await;
        let mut version = cluster_version();
        // A person has left these, and opted in.
        version["metadata"]["annotations"] = json!({"towpath.dev/automatic-updates": "true"});
        version["metadata"]["labels"] = json!({"a": "b"});
        version["spec"]["upstream"] = json!("https://upstream.example/graph");
        version["spec"]["desiredUpdate"] = json!({"version": "4.9.1", "force": true});
        api.put(version).await;
        let cluster = cluster(&api).await;
        Self {
            api,
            cluster,
            changed: BTreeSet::new(),
        }
    }

    /// The object as it is, once the adapter has seen it too.
    async fn seen(&self) -> (Value, String) {
        let object = self.api.cluster_version().await;
        let version = object["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned();
        let is_it = |objects: &towpath_kube::Objects| {
            let seen = objects.version.as_ref();
            seen.is_some_and(|seen| seen.resource_version == version)
        };
        until(&self.cluster, "the newest ClusterVersion", is_it).await;
        (object, version)
    }

    /// Holds a write that was made since then against a policy.
    async fn allowed(&mut self, what: &str, before: &Value, policy: &Value) {
        let after = self.api.cluster_version().await;
        let changes = changed(before, &after);
        assert!(!changes.is_empty(), "{what} has changed something");
        let denied = denials(policy, &update(), before, &after);
        assert_eq!(denied, Vec::<String>::new(), "{what}: {changes:?}");
        self.changed.extend(changes);
    }
}

#[tokio::test]
async fn every_write_of_the_agent_is_allowed_and_no_field_more_is_named() {
    let mut it = Watched::new().await;
    let shipped = policy();
    let update = |version, risks| Update {
        version,
        image: DIGEST,
        record: "r",
        risks,
    };

    let (before, seen) = it.seen().await;
    assert_eq!(
        it.cluster.remember(&seen, "one").await.unwrap(),
        RecordOutcome::Written
    );
    it.allowed("a record", &before, &shipped).await;

    let (before, seen) = it.seen().await;
    let set = it.cluster.set_channel(&seen, "two", "eus-4.10").await;
    assert_eq!(set.unwrap(), ChannelWrite::Set);
    it.allowed("a channel, over a person's force", &before, &shipped)
        .await;

    let (before, seen) = it.seen().await;
    let asked = it
        .cluster
        .ask_preflight(&seen, update("4.9.2", RiskChange::default()));
    assert_eq!(asked.await.unwrap(), AskOutcome::Asked);
    it.allowed("a preflight", &before, &shipped).await;

    let (before, seen) = it.seen().await;
    let cleared = it.cluster.clear_preflight(&seen, "three").await;
    assert_eq!(cleared.unwrap(), RecordOutcome::Written);
    it.allowed("the end of a preflight", &before, &shipped)
        .await;

    let (before, seen) = it.seen().await;
    let started = it
        .cluster
        .start_update(&seen, update("4.9.2", RiskChange::default()));
    assert_eq!(started.await.unwrap(), StartOutcome::Started);
    it.allowed("a start", &before, &shipped).await;

    let (before, seen) = it.seen().await;
    let risks = RiskChange {
        add: &["SlowStart"],
        remove: &[],
    };
    let started = it.cluster.start_update(&seen, update("4.9.3", risks)).await;
    assert_eq!(started.unwrap(), StartOutcome::Started);
    it.allowed(
        "a start with a risk",
        &before,
        &policy_with_risk("SlowStart"),
    )
    .await;
    let after = it.api.cluster_version().await;
    let denied = denials(&shipped, &self::update(), &before, &after);
    assert_eq!(
        denied,
        ["the agent accepts only the risks that are listed in this policy"]
    );

    let (before, seen) = it.seen().await;
    let back = it.cluster.take_back_risks(&seen, "four", &["SlowStart"]);
    assert_eq!(back.await.unwrap(), RecordOutcome::Written);
    it.allowed("a risk that is taken back", &before, &shipped)
        .await;

    // What the page and the policy name is what was written, and nothing beside it.
    let record = format!(
        "/metadata/annotations/{}",
        RECORD_ANNOTATION.replace('/', "~1")
    );
    let desired = ["acceptRisks", "force", "image", "mode", "version"];
    let desired = desired.map(|field| format!("/spec/desiredUpdate/{field}"));
    let expected: BTreeSet<String> = [record, "/spec/channel".to_owned()]
        .into_iter()
        .chain(desired)
        .collect();
    assert_eq!(it.changed, expected);
}

#[test]
fn whatever_else_runs_as_the_agent_changes_nothing_more() {
    let policy = policy();
    let before = {
        let mut version = cluster_version();
        version["metadata"]["annotations"] = json!({RECORD_ANNOTATION: "r", "owner": "ann"});
        version["spec"]["upstream"] = json!("https://upstream.example/graph");
        version["spec"]["desiredUpdate"] = json!({"version": "4.9.1", "force": true});
        version
    };
    assert_eq!(
        denials(&policy, &update(), &before, &before),
        Vec::<String>::new()
    );
    let put = |path: &str, value: Value| {
        let mut after = before.clone();
        let (parent, field) = path.rsplit_once('/').unwrap();
        let field = field.replace("~1", "/");
        after.pointer_mut(parent).unwrap()[&field] = value;
        after
    };
    let removed = |path: &str| {
        let mut after = before.clone();
        let (parent, field) = path.rsplit_once('/').unwrap();
        let parent = after.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(field).unwrap();
        after
    };
    let target = |target: Value| put("/spec/desiredUpdate", target);
    let attacks = [
        (
            "force",
            target(json!({"version": "4.9.2", "image": DIGEST, "force": true})),
        ),
        (
            "force that a person left, for another release",
            put("/spec/desiredUpdate/version", json!("4.9.2")),
        ),
        (
            "force that a person left, for an image",
            put("/spec/desiredUpdate/image", json!(DIGEST)),
        ),
        (
            "a tag",
            target(json!({"version": "4.9.2", "image": "q/r:latest"})),
        ),
        ("an image alone", target(json!({"image": DIGEST}))),
        ("a version alone", target(json!({"version": "4.9.2"}))),
        (
            "an architecture",
            target(json!({"version": "4.9.2", "architecture": "Multi"})),
        ),
        (
            "another mode",
            target(json!({"version": "4.9.2", "image": DIGEST, "mode": "Other"})),
        ),
        (
            "a field of tomorrow",
            target(json!({"version": "4.9.2", "image": DIGEST, "skip": true})),
        ),
        (
            "a risk",
            target(json!({"acceptRisks": [{"name": "SlowStart"}]})),
        ),
        ("a channel", put("/spec/channel", json!("candidate-4.10"))),
        ("no channel", removed("/spec/channel")),
        (
            "an upstream",
            put("/spec/upstream", json!("https://evil.example")),
        ),
        ("no upstream", removed("/spec/upstream")),
        (
            "an override",
            put("/spec/overrides", json!([{"kind": "Deployment"}])),
        ),
        (
            "a signature store",
            put(
                "/spec/signatureStores",
                json!([{"url": "https://evil.example"}]),
            ),
        ),
        ("a capability", put("/spec/capabilities", json!({}))),
        ("the cluster's id", put("/spec/clusterID", json!("x"))),
        (
            "the opt-in",
            put(
                "/metadata/annotations/towpath.dev~1automatic-updates",
                json!("true"),
            ),
        ),
        (
            "another's annotation",
            put("/metadata/annotations/owner", json!("eve")),
        ),
        (
            "another's annotation away",
            removed("/metadata/annotations/owner"),
        ),
        ("a label", put("/metadata/labels", json!({"a": "b"}))),
        ("a finalizer", put("/metadata/finalizers", json!(["x"]))),
        ("an owner", put("/metadata/ownerReferences", json!([{}]))),
    ];
    for (what, after) in attacks {
        assert_ne!(
            denials(&policy, &update(), &before, &after),
            Vec::<String>::new(),
            "{what}"
        );
    }
    let others = [
        json!({"operation": "UPDATE", "subResource": "status"}),
        json!({"operation": "CREATE", "subResource": ""}),
        json!({"operation": "DELETE", "subResource": ""}),
    ];
    for request in others {
        let denied = denials(&policy, &request, &before, &before);
        assert_eq!(denied.len(), 1, "{request}");
    }
}

/// By the schema of admissionregistration.k8s.io/v1: no field that it does not have, and none missing that it needs.
#[test]
fn the_policy_has_the_published_shape_and_is_bound_to_the_agent_alone() {
    let documents = documents();
    let [policy, binding] = documents.as_slice() else {
        panic!("a policy and its binding");
    };
    let fields = |value: &Value| -> Vec<String> {
        let fields = value.as_object().unwrap().keys().cloned();
        let mut fields: Vec<String> = fields.collect();
        fields.sort_unstable();
        fields
    };
    for (document, kind) in [
        (policy, "ValidatingAdmissionPolicy"),
        (binding, "ValidatingAdmissionPolicyBinding"),
    ] {
        assert_eq!(document["apiVersion"], "admissionregistration.k8s.io/v1");
        assert_eq!(document["kind"], kind);
        assert_eq!(document["metadata"], json!({"name": "towpath-agent"}));
        assert_eq!(fields(document), ["apiVersion", "kind", "metadata", "spec"]);
    }
    assert_eq!(
        binding["spec"],
        json!({"policyName": "towpath-agent", "validationActions": ["Deny", "Audit"]})
    );
    let spec = &policy["spec"];
    let expected = [
        "failurePolicy",
        "matchConditions",
        "matchConstraints",
        "validations",
        "variables",
    ];
    assert_eq!(fields(spec), expected);
    assert_eq!(spec["failurePolicy"], "Fail");
    assert_eq!(
        spec["matchConstraints"],
        json!({"resourceRules": [{
            "apiGroups": ["config.openshift.io"], "apiVersions": ["*"],
            "resources": ["clusterversions", "clusterversions/*"], "operations": ["CREATE", "UPDATE", "DELETE"],
        }]})
    );
    for (list, names) in [
        ("matchConditions", ["expression", "name"]),
        ("variables", ["expression", "name"]),
        ("validations", ["expression", "message"]),
    ] {
        for entry in spec[list].as_array().unwrap() {
            assert_eq!(fields(entry), names, "{list}");
            let expression = entry["expression"].as_str().unwrap();
            assert!(Program::compile(expression).is_ok(), "{expression}");
            assert!(!entry["message"].as_str().unwrap_or_default().contains('\n'));
        }
    }
    let condition = spec["matchConditions"][0]["expression"].as_str().unwrap();
    let is_matched = |name: &str| {
        let request = json!({"userInfo": {"username": name}});
        evaluated(condition, &request, (&json!({}), &json!({})), &json!({}))
    };
    assert_eq!(is_matched(AGENT), Ok(Cel::Bool(true)));
    assert_eq!(is_matched("system:admin"), Ok(Cel::Bool(false)));
}
