//! The API is away, restarts, cuts connections, and tokens end: the agent waits, and goes on where it was.

use towpath_testing_kube::wait_for;

use crate::process::Agent;
use crate::site::Site;

#[tokio::test]
async fn a_restart_of_the_api_server_is_survived() {
    let mut site = Site::new().await;
    site.opt_in("true");
    site.offer(&[]);
    let mut agent = site.agent(&[]);
    agent.hears("this agent is the leader now");
    site.api.stop();
    agent.hears("could not be");
    assert!(agent.is_running());
    assert!(agent.get("/livez").starts_with("HTTP/1.1 200"));
    site.api.start_again().await;
    site.offer(&[("4.20.1", "4.20.2")]);
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
}

// The proxy has to go on while we wait for the agent.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_lost_is_no_second_start() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[]);
    let (proxy, kubeconfig) = site.api.proxy().await;
    let mut agent = Agent::start(&kubeconfig, &site.options(&[]));
    agent.hears("this agent is the leader now");
    // The offer arrives, and from then on no answer does.
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    wait_for("the agent has written", || async { site.asked().await }).await;
    proxy.lose_answers();
    site.step().await;
    site.step().await;
    proxy.heal();
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    assert_eq!(site.history().await.len(), 2);
    drop(agent);
    let again = site.agent(&[]);
    site.until_event("AutomaticUpdateCompleted").await;
    drop(again);
}

#[tokio::test]
async fn a_token_that_ended_is_waited_out_and_a_new_one_is_used() {
    let site = Site::new().await;
    let everything = serde_json::json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let good = site.api.token_of("towpath-agent", "worker").await;
    site.api.allow("towpath-agent", "worker", everything).await;
    let file = site.path("token");
    std::fs::write(&file, "no.such.token").unwrap();
    let kubeconfig = site.api.kubeconfig_with_token_file("worker", &file);
    let mut agent = Agent::start(&kubeconfig, &site.options(&[]));
    agent.hears("the lease could not be renewed");
    assert!(
        agent.get("/readyz").starts_with("HTTP/1.1 503"),
        "{}",
        agent.get("/readyz")
    );
    std::fs::write(&file, good).unwrap();
    agent.hears("this agent is the leader now");
    wait_for("it is ready", || async {
        agent
            .get("/readyz")
            .starts_with("HTTP/1.1 200")
            .then_some(())
    })
    .await;
}
