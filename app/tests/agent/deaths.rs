//! Agents that die, and agents that come together: no update is started twice, and none is lost.

use jiff::Timestamp;
use serde_json::json;
use towpath_testing_kube::wait_for;

use crate::process::Agent;
use crate::site::Site;

#[tokio::test]
async fn an_agent_that_is_killed_at_any_moment_starts_nothing_twice_and_loses_nothing() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    // Killed later and later after its start: before it looks, while it proves, around its write, and after it.
    for round in 0..8_u32 {
        let begun = std::time::Instant::now();
        // The pod of that name, started anew: its lease is still its own.
        let mut agent = site.agent(&["--holder", "pod"]);
        let moment = std::time::Duration::from_millis(u64::from(150 * round));
        wait_for("its moment has come", || async {
            (begun.elapsed() >= moment).then_some(())
        })
        .await;
        agent.kill();
        site.step().await;
    }
    // Whatever has become of it, the last one brings it to its end.
    let _agent = site.agent(&["--holder", "pod"]);
    site.until_history(&["4.20.2 Completed", "4.20.1 Completed"])
        .await;
    assert_eq!(
        site.history().await.len(),
        2,
        "one update, begun once: {:?}",
        site.history().await
    );
    site.until_event("AutomaticUpdateCompleted").await;
    let record = wait_for("it is written down that it is over", || async {
        let object = site.api.cluster_version().await;
        let record = object["metadata"]["annotations"]["towpath.dev/agent-record"]
            .as_str()?
            .to_owned();
        (!record.contains("started")).then_some(record)
    })
    .await;
    assert!(record.contains("\"failures\":0"), "{record}");
}

#[tokio::test]
async fn an_agent_that_dies_while_its_update_runs_has_a_successor_that_knows() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2")]);
    let mut first = site.agent(&["--holder", "first"]);
    site.until_history(&["4.20.2 Partial"]).await;
    first.kill();
    let second = site.agent(&["--holder", "second"]);
    wait_for("the lease has ended and the second acts", || async {
        (second.metric("towpath_agent_is_leader") == Some(1.0)).then_some(())
    })
    .await;
    site.until_history(&["4.20.2 Completed"]).await;
    let said = site.until_event("AutomaticUpdateCompleted").await;
    assert!(said.contains("4.20.2"), "{said}");
}

#[tokio::test]
async fn of_several_agents_one_acts_and_a_stopped_one_makes_way_at_once() {
    let site = Site::new().await;
    let agents: Vec<Agent> = (0..3)
        .map(|number| {
            site.agent(&[
                "--holder",
                &format!("agent-{number}"),
                "--lease-for",
                "600s",
            ])
        })
        .collect();
    let leaders = |agents: &[Agent]| -> Vec<usize> {
        let is_leader = |agent: &Agent| agent.metric("towpath_agent_is_leader") == Some(1.0);
        agents
            .iter()
            .enumerate()
            .filter(|(_, agent)| is_leader(agent))
            .map(|(number, _)| number)
            .collect()
    };
    let leader = wait_for("one leads", || async { leaders(&agents).first().copied() }).await;
    assert_eq!(leaders(&agents), [leader]);
    let mut agents = agents;
    assert!(agents.remove(leader).stop().success());
    let lease = || {
        site.api.kubectl(&[
            "get",
            "lease",
            "towpath-agent",
            "--namespace",
            "towpath-agent",
            "--output",
            "jsonpath={.spec.holderIdentity}",
        ])
    };
    // It has given the lease back, so that nobody waits for the end of its term: whoever looks next has it.
    assert_ne!(lease(), format!("agent-{leader}"));
    agents.push(site.agent(&["--holder", "next", "--lease-for", "600s"]));
    wait_for("another leads", || async {
        leaders(&agents).first().copied()
    })
    .await;
    assert_eq!(leaders(&agents).len(), 1);
}

#[tokio::test]
async fn what_somebody_writes_in_between_makes_the_start_fail_and_the_next_look_decides() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[("4.20.1", "4.20.2"), ("4.20.1", "4.20.3")]);
    site.step().await;
    let _agent = site.agent(&[]);
    // A flood of writes to the very object that the agent writes to.
    for number in 0..30 {
        site.api.kubectl(&[
            "annotate",
            "--overwrite",
            "clusterversion",
            "version",
            &format!("example.com/busy={number}"),
        ]);
    }
    site.until_history(&["4.20.3 Completed", "4.20.1 Completed"])
        .await;
    assert_eq!(site.history().await.len(), 2);
    // A person's choice that comes while an update of ours is wanted is not written over.
    site.offer(&[("4.20.3", "4.21.0")]);
    let own = json!({"spec": {"desiredUpdate": {"version": "4.20.3", "image": site.pull_spec("4.20.3")}}}).to_string();
    site.api.kubectl(&[
        "patch",
        "clusterversion",
        "version",
        "--type=merge",
        "--patch",
        &own,
    ]);
    site.operator.step(Timestamp::now()).await;
    site.until_history(&["4.21.0 Completed", "4.20.3 Completed"])
        .await;
}
