//! Accounts and roles of tests.

use http::Request;
use serde_json::{Value, json};

use crate::server::KubeApi;

impl KubeApi {
    /// A service account token, as Kubernetes makes it for pods. Creates the account if needed.
    pub async fn token_of(&self, namespace: &str, account: &str) -> String {
        self.token_for(namespace, account, "https://towpath.invalid")
            .await
    }

    /// The same for an audience.
    pub async fn token_for(&self, namespace: &str, account: &str, audience: &str) -> String {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}});
        self.put(object).await;
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [audience], "expirationSeconds": 3600},
        });
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes());
        let answer: Value = self.admin.request(request.unwrap()).await.unwrap();
        answer["status"]["token"]
            .as_str()
            .expect("a token")
            .to_owned()
    }

    /// Grants a service account these rules of a ClusterRole: groups, resources and verbs.
    pub async fn allow(&self, namespace: &str, account: &str, rules: Value) {
        let name = format!("towpath-test-{account}");
        let version = "rbac.authorization.k8s.io/v1";
        self.put(json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}))
            .await;
        self.put(json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }))
        .await;
    }
}
