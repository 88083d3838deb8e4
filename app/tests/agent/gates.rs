//! Gates: what stands in the way of a minor version is published, and the cluster itself enforces it. Patches are never stopped.

use serde_json::json;
use towpath_testing_kube::wait_for;

use crate::site::Site;

#[tokio::test]
async fn old_kubelets_hold_a_minor_version_and_no_patch() {
    let site = Site::new().await;
    let mut agent = site.agent(&[]);
    agent.hears("this agent is the leader now");
    let upgradeable = || async { site.condition("Upgradeable").map(|(status, ..)| status) };
    wait_for("the gate is open", || async {
        (upgradeable().await? == "True").then_some(())
    })
    .await;
    assert_eq!(agent.metric("towpath_agent_upgradeable"), Some(1.0));

    site.node("old", "v1.31.4").await;
    wait_for("the gate is closed", || async {
        (upgradeable().await? == "False").then_some(())
    })
    .await;
    let (_, reason, message) = site.condition("Upgradeable").unwrap();
    assert_eq!(reason, "UnpooledNodeTooOld");
    assert!(
        message.starts_with("1 thing stands in the way of the next minor version: (1)"),
        "{message}"
    );
    site.until_event("MinorUpdatesHeld").await;

    // A person asks for the minor version: the cluster itself refuses.
    site.offer(&[("4.20.1", "4.21.0"), ("4.20.1", "4.20.2")]);
    site.step().await;
    let ask = |version: &str| {
        let patch = json!({"spec": {"desiredUpdate": {"version": version}}}).to_string();
        site.api.kubectl(&[
            "patch",
            "clusterversion",
            "version",
            "--type=merge",
            "--patch",
            &patch,
        ]);
    };
    ask("4.21.0");
    site.step().await;
    site.step().await;
    let object = site.api.cluster_version().await;
    let accepted = object["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["type"] == "ReleaseAccepted");
    assert_eq!(accepted.unwrap()["status"], "False");
    assert_eq!(site.history().await, ["4.20.1 Completed"]);
    // A patch it takes.
    ask("4.20.2");
    site.until_history(&["4.20.2 Completed"]).await;

    // The gate opens by itself once the node is gone.
    site.api.kubectl(&["delete", "node", "old"]);
    wait_for("the gate is open again", || async {
        (upgradeable().await? == "True").then_some(())
    })
    .await;
    site.until_event("MinorUpdatesFree").await;
}

#[tokio::test]
async fn the_agent_itself_never_starts_against_a_gate() {
    let site = Site::new().await;
    site.opt_in("true");
    site.node("old", "v1.31.4").await;
    site.offer(&[("4.20.1", "4.21.0"), ("4.20.1", "4.20.2")]);
    site.step().await;
    let told = site.dry_run(&[]);
    assert!(
        told.out.contains("It would now be updated to 4.20.2."),
        "{}{}",
        told.out,
        told.err
    );
    assert!(told.out.contains("UnpooledNodeTooOld"), "{}", told.out);
    let _agent = site.agent(&[]);
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    assert_eq!(site.asked().await.unwrap().0, "4.20.2");
}

#[tokio::test]
async fn removed_apis_on_the_whole_way_to_a_target_are_measured() {
    let site = Site::new().await;
    site.policy("atLeastBetween: PT0S\ntarget: \"4.23\"\n");
    let count = |name: &str, removed: &str| {
        json!({
            "apiVersion": "apiserver.openshift.io/v1", "kind": "APIRequestCount", "metadata": {"name": name},
            "status": {"removedInRelease": removed, "requestCount": 7, "currentHour": {"requestCount": 7, "byNode": [{"nodeName": "one", "requestCount": 7, "byUser": [
                {"username": "system:serviceaccount:shop:operator", "userAgent": "operator/v1", "requestCount": 7}]}]},
                "last24h": [{"requestCount": 7, "byNode": [{"nodeName": "one", "requestCount": 7, "byUser": [
                {"username": "system:serviceaccount:shop:operator", "userAgent": "operator/v1", "requestCount": 7}]}]}]},
        })
    };
    site.api
        .put(count(
            "flowschemas.v1beta3.flowcontrol.apiserver.k8s.io",
            "1.36",
        ))
        .await;
    site.api.put(count("deployments.v1.apps", "")).await;
    let agent = site.agent(&[]);
    let name = "towpath_agent_removed_apis_in_use{target=\"4.23\"}";
    wait_for("one API is in use that is removed", || async {
        (agent.metric(name)? == 1.0).then_some(())
    })
    .await;
    let (status, _, message) = site.condition("Upgradeable").unwrap();
    assert_eq!(
        status, "True",
        "the next minor version still has it: {message}"
    );
}

#[tokio::test]
async fn what_cannot_be_understood_closes_the_gate_and_says_why() {
    let site = Site::new().await;
    let record = "towpath.dev/agent-record=rubbish";
    site.api
        .kubectl(&["annotate", "clusterversion", "version", record]);
    let mut agent = site.agent(&[]);
    agent.hears("the agent's record cannot be read");
    wait_for("the operator says so", || async {
        let (status, reason, message) = site.condition("Degraded")?;
        (status == "True" && reason == "NotUnderstood" && message.contains("agent-record"))
            .then_some(())
    })
    .await;
    assert_eq!(site.condition("Upgradeable").unwrap().0, "False");
    site.api.kubectl(&[
        "annotate",
        "clusterversion",
        "version",
        "towpath.dev/agent-record-",
    ]);
    wait_for("the operator is well", || async {
        (site.condition("Degraded")?.0 == "False").then_some(())
    })
    .await;
    // A policy that cannot be read is told, and the one from before stays in force.
    site.policy("pins: \"4.20\"\n");
    site.api.kubectl(&[
        "annotate",
        "clusterversion",
        "version",
        "example.com/look=now",
    ]);
    wait_for(
        "the operator says what is wrong with the policy",
        || async {
            let (status, reason, message) = site.condition("Degraded")?;
            (status == "True" && reason == "BadConfiguration" && message.contains("pins"))
                .then_some(())
        },
    )
    .await;
    assert_eq!(site.condition("Upgradeable").unwrap().0, "True");
}
