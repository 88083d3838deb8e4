//! Workloads of a cluster at a service: it asks a real API whose tokens they show, and which roles they have.

use serde_json::{Value, json};
use towpath_testing_kube::KubeApi;
use towpath_testing_services::{Response, Towpath};

const NAME: &str = "system:serviceaccount:default:robot";
const ACCESS: &str = "bindings:\n- {role: viewer, organisation: acme, groups: ['system:serviceaccounts:default'], from: kubernetes}\n";

/// A service of the example's fleet that may ask the API, and nothing else of it.
async fn serve(api: &KubeApi, folder: &std::path::Path) -> Towpath {
    let own = api.token_of("default", "towpath").await;
    let create = |group: &str, resource: &str| json!({"apiGroups": [group], "resources": [resource], "verbs": ["create"]});
    let rules = json!([
        create("authentication.k8s.io", "tokenreviews"),
        create("authorization.k8s.io", "subjectaccessreviews"),
    ]);
    api.allow("default", "towpath", rules).await;
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(folder.join("access.yaml"), ACCESS).expect("written");
    let kubeconfig = api.kubeconfig("towpath", &own).display().to_string();
    let store = format!("sqlite:{}", path("fleet.db"));
    let options = [
        "--fleet",
        &path("fleet"),
        "--clusters",
        &path("clusters.json"),
        "--store",
        &store,
        "--access",
        &path("access.yaml"),
        "--kubernetes-identity",
        &kubeconfig,
        "--pass-every",
        "1s",
    ];
    let towpath = Towpath::serve_folder(folder, &options);
    towpath.until("a pass was made", |t| {
        !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
    });
    towpath
}

fn session(towpath: &Towpath, token: &str) -> Value {
    let bearer = format!("Bearer {token}");
    towpath
        .get_with("/api/v1/session", &[("authorization", &bearer)])
        .json()
}

/// An act that takes a role.
fn halt(towpath: &Towpath, token: &str) -> Response {
    let body = json!({"release": "4.20.1", "why": "INC-1"}).to_string();
    let request = format!(
        "POST /api/v1/rollouts/halt HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Response::read(&mut towpath.send(request.as_bytes()), false)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_has_the_roles_of_the_access_file_and_of_rbac() {
    let (mut api, demo) = (KubeApi::start().await, Towpath::demo());
    let towpath = serve(&api, demo.path()).await;
    let nobody = towpath.get("/api/v1/fleet/status").status;
    assert_eq!(nobody, 401, "with an API to ask, reads are not open");

    let viewer = api.token_for("default", "robot", "towpath").await;
    let told = session(&towpath, &viewer);
    assert_eq!(told["identity"]["name"], NAME, "{told}");
    assert_eq!(told["identity"]["source"], "kubernetes");
    assert_eq!(
        told["roles"],
        json!([{"role": "viewer", "organisation": "acme"}])
    );
    let refused = halt(&towpath, &viewer);
    assert_eq!(
        (refused.status, refused.json()["kind"].as_str()),
        (403, Some("no_role"))
    );
    assert!(
        refused.json()["value"]
            .as_str()
            .expect("a sentence")
            .contains(NAME)
    );

    let rule = json!([{"apiGroups": ["towpath.dev"], "resources": ["roles"], "resourceNames": ["release-administrator"], "verbs": ["use"]}]);
    api.allow("default", "robot", rule).await;
    // Another token: what is known of the first is kept for a minute.
    let administrator = api.token_for("default", "robot", "towpath").await;
    let halted = halt(&towpath, &administrator);
    assert_eq!(halted.status, 200, "{}", halted.json());

    let for_the_api = api.token_of("default", "robot").await;
    let told = session(&towpath, &for_the_api);
    assert_eq!(told["tokenProblem"]["kind"], "refused_account", "{told}");
    assert_eq!(halt(&towpath, &for_the_api).status, 401);

    let unknown = api.token_for("default", "other", "towpath").await;
    api.stop();
    let closed = halt(&towpath, &unknown);
    assert_eq!(
        (closed.status, closed.json()["kind"].as_str()),
        (503, Some("unavailable"))
    );
    assert!(closed.headers.contains_key("retry-after"));
    assert_eq!(towpath.get("/readyz").status, 200, "graphs are served");
}
