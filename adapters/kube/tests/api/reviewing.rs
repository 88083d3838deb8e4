//! Whose token it is, asked of a real API: audiences, roles by RBAC, tokens that end, an API that is away.

use serde_json::json;
use towpath_kube::{Access, NotReviewed, Reviewer};
use towpath_testing_kube::{ADMIN_TOKEN, KubeApi};

const ROLES: [&str; 2] = ["viewer", "operator"];

/// The service's own account, with nothing but the role of deploy/service.
async fn service(api: &KubeApi) -> Reviewer {
    let token = api.token_of("default", "towpath").await;
    let create = |group: &str, resource: &str| json!({"apiGroups": [group], "resources": [resource], "verbs": ["create"]});
    let rules = json!([
        create("authentication.k8s.io", "tokenreviews"),
        create("authorization.k8s.io", "subjectaccessreviews"),
    ]);
    api.allow("default", "towpath", rules).await;
    reviewer(api, "towpath", &token).await
}

async fn reviewer(api: &KubeApi, name: &str, token: &str) -> Reviewer {
    let access = Access::Kubeconfig {
        path: Some(api.kubeconfig(name, token)),
        context: None,
    };
    Reviewer::connect(&access, "towpath", ROLES.to_vec())
        .await
        .unwrap()
}

fn may_use(role: &str) -> serde_json::Value {
    json!([{"apiGroups": ["towpath.dev"], "resources": ["roles"], "resourceNames": [role], "verbs": ["use"]}])
}

#[tokio::test]
async fn a_service_account_is_known_by_name_groups_and_roles() {
    let api = KubeApi::start().await;
    let reviewer = service(&api).await;
    let token = api.token_for("default", "robot", "towpath").await;
    let account = reviewer.account(&token).await.unwrap();
    assert_eq!(account.name, "system:serviceaccount:default:robot");
    assert!(account.groups.contains("system:serviceaccounts:default"));
    assert!(account.roles.is_empty() && !account.uid.is_empty());

    api.allow("default", "robot", may_use("operator")).await;
    let kept = reviewer.account(&token).await.unwrap();
    assert_eq!(kept, account, "the answer is kept");
    let again = service(&api).await.account(&token).await.unwrap();
    assert_eq!(again.roles, ["operator"].into());
}

#[tokio::test]
async fn a_token_for_something_else_makes_nobody_known() {
    let api = KubeApi::start().await;
    let reviewer = service(&api).await;
    let for_the_api = api.token_of("default", "robot").await;
    let for_another = api.token_for("default", "robot", "grafana").await;
    let good = api.token_for("default", "robot", "towpath").await;
    let (message, signature) = good.rsplit_once('.').unwrap();
    let changed = format!("{message}.{}", signature.chars().rev().collect::<String>());
    for token in [&for_the_api, &for_another, &changed, ADMIN_TOKEN, "x.y.z"] {
        let refused = reviewer.account(token).await.unwrap_err();
        assert!(matches!(refused, NotReviewed::Refused(_)), "{refused:?}");
    }
    // Of a deleted account, its token is nobody's.
    api.kubectl(&[
        "delete",
        "serviceaccount",
        "robot",
        "--namespace",
        "default",
    ]);
    let refused = reviewer.account(&good).await.unwrap_err();
    assert!(matches!(refused, NotReviewed::Refused(_)), "{refused:?}");
}

#[tokio::test]
async fn an_api_that_does_not_answer_closes() {
    let mut api = KubeApi::start().await;
    let reviewer = service(&api).await;
    let known = api.token_for("default", "known", "towpath").await;
    let other = api.token_for("default", "other", "towpath").await;
    assert!(reviewer.account(&known).await.is_ok());
    api.stop();
    let refused = reviewer.account(&other).await.unwrap_err();
    assert!(
        matches!(&refused, NotReviewed::Unavailable(said) if said.contains("create tokenreviews")),
        "{refused:?}"
    );
    assert!(
        reviewer.account(&known).await.is_ok(),
        "the answer is kept for a minute"
    );
    api.start_again().await;
    assert!(
        reviewer.account(&other).await.is_ok(),
        "that it was away is not kept"
    );
}

#[tokio::test]
async fn without_the_role_of_the_service_it_says_what_is_missing() {
    let api = KubeApi::start().await;
    let bare = api.token_of("default", "bare").await;
    let reviewer = reviewer(&api, "bare", &bare).await;
    let token = api.token_for("default", "robot", "towpath").await;
    let NotReviewed::Unavailable(said) = reviewer.account(&token).await.unwrap_err() else {
        panic!("it is not refused");
    };
    assert!(
        said.contains("let our role create tokenreviews.authentication.k8s.io"),
        "{said}"
    );
}
