//! Automatic updates: off unless wanted, there and back as the policy allows, and a person always first.

use serde_json::json;
use towpath_testing_kube::{Behaviour, CRDS, Fields, wait_for};

use crate::site::Site;

#[tokio::test]
async fn b_is_offered_and_the_cluster_goes_there_by_itself_and_back_only_where_that_is_allowed() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[]);
    let mut agent = site.agent(&[]);
    agent.hears("this agent is the leader now");
    site.step().await;
    // A, then B is offered: the cluster goes there by itself.
    site.offer(&[("4.20.1", "4.20.2")]);
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    assert_eq!(
        site.asked().await,
        Some(("4.20.2".to_owned(), site.pull_spec("4.20.2")))
    );
    site.until_event("AutomaticUpdateCompleted").await;
    assert!(site.event("AutomaticUpdateStarted").is_some());

    // The edge is replaced by B→A: by default that is refused, and it is said why.
    site.offer(&[("4.20.2", "4.20.1")]);
    site.step().await;
    let told = site.dry_run(&[]);
    assert_eq!(told.code, 1, "{}", told.err);
    assert!(told.out.contains("NotNewer"), "{}", told.out);
    wait_for("the agent has looked at the offer", || async {
        (agent.metric("towpath_agent_holds{code=\"NotNewer\"}") == Some(1.0)).then_some(())
    })
    .await;
    assert_eq!(site.history().await[0], "4.20.2 Completed");

    // With downgrades allowed for this test alone, it goes back: the newer signed image names the older one.
    site.policy("atLeastBetween: PT0S\ndowngrades: allow\n");
    site.until_history(&["4.20.1 Completed", "4.20.2 Completed", "4.20.1 Completed"])
        .await;
}

#[tokio::test]
async fn nobody_is_opted_in_by_saying_nothing_and_opting_out_counts_at_once() {
    let site = Site::new().await;
    site.offer(&[("4.20.1", "4.20.2")]);
    let mut agent = site.agent(&[]);
    agent.hears("this agent is the leader now");
    site.step().await;
    let held = || async {
        (agent.metric("towpath_agent_holds{code=\"NotOptedIn\"}") == Some(1.0)).then_some(())
    };
    wait_for("the agent has looked at the offer", held).await;
    assert_eq!(site.asked().await, None);
    assert_eq!(agent.metric("towpath_agent_opted_in"), Some(0.0));
    for unclear in ["yes", "1", "True", ""] {
        site.opt_in(unclear);
        let told = site.dry_run(&[]);
        assert_eq!(told.code, 1, "{unclear:?}: {}", told.out);
    }
    site.opt_in("true");
    assert_eq!(site.dry_run(&[]).code, 0);
    site.until_history(&["4.20.2 Completed"]).await;
    site.opt_in("false");
    site.offer(&[("4.20.2", "4.20.3")]);
    site.step().await;
    wait_for("the agent has looked at the offer", held).await;
    assert_eq!(site.asked().await.unwrap().0, "4.20.2");
}

#[tokio::test]
async fn where_the_api_has_the_property_that_counts() {
    let site = Site::new().await;
    let kind = CRDS
        .iter()
        .find(|crd| crd.kind == "ClusterVersion")
        .unwrap();
    site.api.add_kind(kind, Fields::AutomaticUpdates).await;
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let property = |wanted: bool| {
        let patch = json!({"spec": {"automaticUpdates": wanted}}).to_string();
        site.api.kubectl(&[
            "patch",
            "clusterversion",
            "version",
            "--type=merge",
            "--patch",
            &patch,
        ]);
    };
    property(true);
    assert_eq!(site.dry_run(&[]).code, 0);
    property(false);
    site.opt_in("true");
    let told = site.dry_run(&[]);
    assert!(
        told.code == 1 && told.out.contains("NotOptedIn"),
        "the property counts, and not the annotation: {}",
        told.out
    );
}

#[tokio::test]
async fn a_persons_own_choice_always_wins() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2"), ("4.20.1", "4.20.3")]);
    site.step().await;
    let patch = json!({"spec": {"desiredUpdate": {"version": "4.20.2"}}}).to_string();
    site.api.kubectl(&[
        "patch",
        "clusterversion",
        "version",
        "--type=merge",
        "--patch",
        &patch,
    ]);
    // It has been asked for, and not begun: both offers wait for it.
    let agent = site.agent(&[]);
    wait_for("the agent waits for the person", || async {
        (agent.metric("towpath_agent_holds{code=\"UpdateRequested\"}") == Some(2.0)).then_some(())
    })
    .await;
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    assert_eq!(
        site.api.cluster_version().await["spec"]["desiredUpdate"],
        json!({"version": "4.20.2"})
    );
    // Then it is the agent's turn.
    site.offer(&[("4.20.2", "4.20.3")]);
    site.until_history(&["4.20.3 Completed", "4.20.2 Completed"])
        .await;
}

#[tokio::test]
async fn after_so_many_failures_it_stops_and_says_so() {
    let mut site = Site::new().await;
    site.policy("atLeastBetween: PT0S\nmaxFailures: 1\n");
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    site.operator.set_behaviour(Behaviour::Fails);
    let agent = site.agent(&[]);
    site.until_history(&["4.20.2 Partial"]).await;
    wait_for("a failure is counted", || async {
        site.operator.step(jiff::Timestamp::now()).await;
        (agent.metric("towpath_agent_failed_attempts") == Some(1.0)).then_some(())
    })
    .await;
    site.until_event("AutomaticUpdateFailed").await;
    // A person brings it back; the agent does not try again.
    site.operator.set_behaviour(Behaviour::Completes);
    let patch =
        json!({"spec": {"desiredUpdate": {"version": "4.20.1", "image": site.pull_spec("4.20.1")}}}).to_string();
    site.api.kubectl(&[
        "patch",
        "clusterversion",
        "version",
        "--type=merge",
        "--patch",
        &patch,
    ]);
    site.until_history(&["4.20.1 Completed", "4.20.2 Partial"])
        .await;
    let said = site.until_event("AutomaticUpdatesStopped").await;
    assert!(said.contains("a person has to look"), "{said}");
    assert_eq!(site.asked().await.unwrap().0, "4.20.1");
}

#[tokio::test]
async fn outside_of_its_windows_nothing_starts() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let window = "atLeastBetween: PT0S\nwindows:\n- {start: \"Mon..Fri *-2..10-* 10:00,14:00\", duration: PT2H, timeZone: Europe/Berlin}\n";
    site.policy(window);
    // Monday 11 January 2027: no window in January. 1 February: 10:00 in Berlin is 9:00 UTC. 28 March: the clocks go forward.
    for (now, code, said) in [
        ("2027-01-11T09:30:00Z", 1, "OutsideWindows"),
        (
            "2027-02-01T08:59:59Z",
            1,
            "the next opens at 2027-02-01 09:00Z",
        ),
        (
            "2027-02-01T09:00:00Z",
            0,
            "It would now be updated to 4.20.2.",
        ),
        (
            "2027-02-01T11:00:00Z",
            1,
            "the next opens at 2027-02-01 13:00Z",
        ),
        (
            "2027-03-29T08:00:00Z",
            0,
            "It would now be updated to 4.20.2.",
        ),
        (
            "2027-03-27T09:30:00Z",
            1,
            "the next opens at 2027-03-29 08:00Z",
        ),
    ] {
        let told = site.dry_run(&["--now", now]);
        assert_eq!(told.code, code, "{now}: {}{}", told.out, told.err);
        assert!(told.out.contains(said), "{now}: {}", told.out);
    }
}
