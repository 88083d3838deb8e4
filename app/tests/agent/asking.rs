//! `towpath agent --once --dry-run`: what it would do and why, with any kubeconfig, and nothing is touched.

use serde_json::{Value, json};

use crate::process::Agent;
use crate::site::Site;

#[tokio::test]
async fn it_says_what_it_would_do_and_why_and_touches_nothing() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2"), ("4.20.1", "4.20.3")]);
    site.step().await;
    let before = site.api.cluster_version().await;
    let told = site.dry_run(&["--output", "json"]);
    assert_eq!(told.code, 0, "{}", told.err);
    towpath_testing_services::schema::hold("agent", &told.out);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(
        told["takes"],
        json!({"version": "4.20.3", "image": site.pull_spec("4.20.3")})
    );
    assert_eq!(
        (&told["current"], &told["optedIn"]),
        (&json!("4.20.1"), &json!(true))
    );
    assert_eq!(site.api.cluster_version().await, before);
    assert_eq!(site.condition("Upgradeable"), None);
    let leases = site.api.kubectl(&[
        "get",
        "leases",
        "--namespace",
        "towpath-agent",
        "--output",
        "name",
    ]);
    assert_eq!(leases, "");

    // With fewer rights, what cannot be read is told, and is unknown.
    let token = site.api.token_of("towpath-agent", "reader").await;
    let rules = json!([{"apiGroups": ["config.openshift.io"], "resources": ["*"], "verbs": ["list", "watch"]}]);
    site.api.allow("towpath-agent", "reader", rules).await;
    let kubeconfig = site.api.kubeconfig("reader", &token);
    let told = Agent::once(&kubeconfig, &site.options(&["--dry-run"]));
    assert_eq!(
        told.code, 0,
        "a patch is no matter of nodes: {}{}",
        told.out, told.err
    );
    assert!(told.err.contains("nodes"), "{}", told.err);
    assert!(
        told.out.contains("NodesNotGiven") || told.out.contains("NotGiven"),
        "{}",
        told.out
    );
}

#[tokio::test]
async fn looking_once_acts_once() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let done = Agent::once(&site.kubeconfig(), &site.options(&[]));
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(
        done.out.contains("The update to 4.20.2 has been started."),
        "{}",
        done.out
    );
    assert_eq!(site.asked().await.unwrap().0, "4.20.2");
    let again = Agent::once(&site.kubeconfig(), &site.options(&[]));
    assert_eq!(again.code, 1, "{}{}", again.out, again.err);
    assert!(again.out.contains("UpdateRequested"), "{}", again.out);
}

#[tokio::test]
async fn what_is_wrong_is_said_with_a_remedy() {
    let site = Site::new().await;
    let once = |options: &[&str]| {
        Agent::once(
            &site.kubeconfig(),
            &options.iter().map(|&o| o.to_owned()).collect::<Vec<_>>(),
        )
    };
    site.policy("pin: 4.20\nsurprise: 1\n");
    let policy = site.path("policy.yaml").display().to_string();
    let wrong = once(&["--dry-run", "--policy", &policy]);
    assert_eq!(wrong.code, 2, "{}", wrong.out);
    assert!(
        wrong.err.contains("surprise") && wrong.err.contains("policy.yaml"),
        "{}",
        wrong.err
    );
    let keyring = site.path("keyring").display().to_string();
    let alone = once(&["--dry-run", "--keyring", &keyring]);
    assert!(
        alone.code == 2 && alone.err.contains("belong together"),
        "{}",
        alone.err
    );
    let nowhere = Agent::once(&site.path("none"), &["--dry-run".to_owned()]);
    assert!(
        nowhere.code == 2 && nowhere.err.contains("kubeconfig"),
        "{}",
        nowhere.err
    );
    site.api.kubectl(&["delete", "clusterversion", "version"]);
    let none = once(&["--dry-run"]);
    assert!(
        none.code == 2 && none.err.contains("no ClusterVersion"),
        "{}",
        none.err
    );
}
