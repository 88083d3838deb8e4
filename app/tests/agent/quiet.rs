//! Quiet when nothing changes: no writes but the Lease, and requests that are counted.

use std::collections::BTreeMap;

use towpath_testing_kube::wait_for;

use crate::process::Agent;
use crate::site::Site;

/// Requests so far, by verb and resource.
fn requests(agent: &Agent) -> BTreeMap<(String, String), u64> {
    let answer = agent.get("/metrics");
    let lines = answer
        .lines()
        .filter_map(|line| line.strip_prefix("towpath_agent_api_requests{"));
    let part = |line: &str, name: &str| {
        line.split(&format!("{name}=\""))
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .unwrap()
            .to_owned()
    };
    lines
        .map(|line| {
            (
                (part(line, "verb"), part(line, "resource")),
                line.rsplit(' ').next().unwrap().parse().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_quiet_cluster_is_left_in_peace() {
    let site = Site::new().await;
    site.opt_in("true");
    site.offer(&[]);
    site.step().await;
    let agent = site.agent(&[]);
    wait_for("the gate is published and seen", || async {
        let passes = agent.metric("towpath_agent_passes_total{result=\"judged\"}")?;
        (passes >= 2.0 && site.condition("Upgradeable").is_some()).then_some(())
    })
    .await;
    // Ten renewals of a lease of 15 seconds would be 50 s; three are enough to see that nothing else is written.
    let renewals = |agent: &Agent| {
        let all = requests(agent);
        all.iter()
            .filter(|((verb, resource), _)| resource == "leases" && verb == "update")
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    let before = requests(&agent);
    let first = renewals(&agent);
    let generation = site.generation().await;
    wait_for("three renewals", || async {
        (renewals(&agent) >= first + 3).then_some(())
    })
    .await;
    let after = requests(&agent);
    for (what, count) in &after {
        let is_quiet = what.1 == "leases" || what.0 == "watch";
        assert!(
            is_quiet || before.get(what) == Some(count),
            "{what:?}: {:?} and then {count}",
            before.get(what)
        );
    }
    assert_eq!(site.generation().await, generation);
    // So many an hour: nine watches every 290 s, and a renewal every 100 s of a lease of 300 s.
    let per_hour = 9 * 3_600 / 290 + 3_600 / 100;
    assert_eq!(per_hour, 147);
}
