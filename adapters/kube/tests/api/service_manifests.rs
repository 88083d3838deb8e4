//! The manifests of the service: a real API server takes them, and they fit together.

use std::path::Path;

use serde_json::Value;
use towpath_testing_kube::KubeApi;

use crate::pod_security::violations;

fn folder(name: &str) -> String {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    deploy.join(name).display().to_string()
}

fn documents(text: &str) -> Vec<Value> {
    let documents = text.split("\n---\n");
    documents
        .map(|document| serde_saphyr::from_str(document).unwrap())
        .collect()
}

fn one<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let mut of_kind = documents.iter().filter(|one| one["kind"] == kind);
    let found = of_kind
        .next()
        .unwrap_or_else(|| panic!("there is no {kind}"));
    assert!(of_kind.next().is_none(), "there are several {kind}");
    found
}

/// The server is 1.20 and knows disruption budgets only by their older name; the newer one exists since 1.21, and alone since 1.25.
fn as_the_server_knows_it(text: &str) -> String {
    assert_eq!(text.matches("apiVersion: policy/v1\n").count(), 1);
    text.replace("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n")
}

/// Where the stored object lacks something, or has something else.
fn missing(stored: &Value, meant: &Value) -> Vec<String> {
    let of = |name: String, stored: &Value, meant: &Value| -> Vec<String> {
        let found = missing(stored, meant).into_iter();
        found.map(|place| format!("{name}.{place}")).collect()
    };
    match (stored, meant) {
        // Defaults of the server's own come on top.
        (Value::Object(stored), Value::Object(meant)) => meant
            .iter()
            .flat_map(|(name, meant)| {
                of(
                    name.clone(),
                    stored.get(name).unwrap_or(&Value::Null),
                    meant,
                )
            })
            .collect(),
        (Value::Array(stored), Value::Array(meant)) if stored.len() == meant.len() => {
            let pairs = stored.iter().zip(meant).enumerate();
            pairs
                .flat_map(|(at, (stored, meant))| of(at.to_string(), stored, meant))
                .collect()
        }
        (stored, meant) if stored == meant => Vec::new(),
        (stored, meant) => vec![format!(" is {stored} and not {meant}")],
    }
}

#[tokio::test]
async fn a_server_takes_the_service() {
    let api = KubeApi::start().await;
    // The second is the first and more. No namespace is made twice: nothing here ends one.
    it_takes(&api, "service");
    let file = it_takes(&api, "service-identity");
    api.kubectl(&["delete", "-f", &file, "--wait=false"]);
}

/// It stores all that is meant. Returns the file.
fn it_takes(api: &KubeApi, name: &str) -> String {
    let rendered = api.kubectl(&["kustomize", &folder(name)]);
    let file = api.folder().join("service.yaml");
    std::fs::write(&file, as_the_server_knows_it(&rendered)).unwrap();
    let file = file.display().to_string();
    let applied = api.kubectl(&["apply", "-f", &file]);
    assert_eq!(
        applied.lines().count(),
        documents(&rendered).len(),
        "{applied}"
    );
    // The server drops a field that it does not know, for example a misspelt one. So what it stored holds all that was meant.
    for meant in documents(&as_the_server_knows_it(&rendered)) {
        let (kind, name) = (&meant["kind"], &meant["metadata"]["name"]);
        let (kind, name) = (kind.as_str().unwrap(), name.as_str().unwrap());
        let stored = api.kubectl(&["get", kind, name, "-n", "towpath", "-o", "json"]);
        let stored: Value = serde_json::from_str(&stored).unwrap();
        assert_eq!(
            missing(&stored, &meant),
            Vec::<String>::new(),
            "{kind} {name}"
        );
    }
    file
}

#[tokio::test]
async fn what_ships_is_within_the_restricted_profile() {
    let api = KubeApi::start().await;
    for name in ["service", "service-identity", "agent"] {
        let rendered = documents(&api.kubectl(&["kustomize", &folder(name)]));
        let pod = &one(&rendered, "Deployment")["spec"]["template"]["spec"];
        assert_eq!(violations(pod), Vec::<String>::new(), "{name}");
        let namespace = &one(&rendered, "Namespace")["metadata"]["labels"];
        assert_eq!(
            namespace["pod-security.kubernetes.io/enforce"],
            "restricted"
        );
    }
}

#[tokio::test]
async fn the_parts_of_the_service_name_each_other() {
    let api = KubeApi::start().await;
    let rendered = documents(&api.kubectl(&["kustomize", &folder("service")]));
    let deployment = &one(&rendered, "Deployment")["spec"];
    let pod = &deployment["template"];
    let labels = &pod["metadata"]["labels"];
    let service = &one(&rendered, "Service")["spec"];
    assert_eq!(&service["selector"], labels);
    assert_eq!(&deployment["selector"]["matchLabels"], labels);
    assert_eq!(
        &one(&rendered, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        labels
    );
    let policy = &one(&rendered, "NetworkPolicy")["spec"];
    assert_eq!(&policy["podSelector"]["matchLabels"], labels);
    for spread in pod["spec"]["topologySpreadConstraints"].as_array().unwrap() {
        assert_eq!(&spread["labelSelector"]["matchLabels"], labels);
    }
    let container = &pod["spec"]["containers"][0];
    let port = &container["ports"][0]["name"];
    assert_eq!(&service["ports"][0]["targetPort"], port);
    assert_eq!(&policy["ingress"][0]["ports"][0]["port"], port);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(&container[probe]["httpGet"]["port"], port, "{probe}");
    }
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let mounts = container["volumeMounts"].as_array().unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    assert_eq!(mounts.len(), volumes.len());
    let config = &one(&rendered, "ConfigMap")["metadata"]["name"];
    assert!(
        volumes
            .iter()
            .any(|volume| &volume["configMap"]["name"] == config)
    );
    assert_eq!(pod["spec"]["automountServiceAccountToken"], false);

    // Whoever scrapes finds the Service by its labels and port.
    let monitoring = documents(&api.kubectl(&["kustomize", &folder("monitoring")]));
    let monitor = &one(&monitoring, "ServiceMonitor")["spec"];
    assert_eq!(
        monitor["selector"]["matchLabels"],
        one(&rendered, "Service")["metadata"]["labels"]
    );
    assert_eq!(monitor["endpoints"][0]["port"], service["ports"][0]["name"]);
}
