//! One of several agents acts.

use std::time::Duration;

use towpath_kube::{Clock, Elector, Leadership, LeaseTerms, Verb};
use towpath_testing_kube::KubeApi;

use crate::support::*;

const TERM: Duration = Duration::from_secs(30);

fn elector(holder: &str) -> Elector {
    let (namespace, name) = ("towpath-agent".to_owned(), "towpath-agent".to_owned());
    Elector::new(LeaseTerms {
        namespace,
        name,
        holder: holder.to_owned(),
        term: TERM,
    })
}

/// The calendar is wrong on purpose: nothing may depend on it.
fn at(seconds: u64, calendar: &str) -> Clock {
    Clock {
        now: time(calendar),
        running: Duration::from_secs(seconds),
    }
}

fn held(until: u64) -> Leadership {
    Leadership::Held {
        until: Duration::from_secs(until),
    }
}

fn by(holder: &str) -> Leadership {
    Leadership::Other {
        holder: holder.to_owned(),
    }
}

#[tokio::test]
async fn a_lease_goes_on_when_its_holder_is_gone_and_not_before() {
    let api = KubeApi::start().await;
    let cluster = cluster(&api).await;
    let (mut one, mut two) = (elector("one"), elector("two"));
    assert_eq!(
        one.try_to_hold(&cluster, at(0, "2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(30)
    );
    assert_eq!(
        two.try_to_hold(&cluster, at(5, "2036-01-01T00:00:00Z"))
            .await
            .unwrap(),
        by("one"),
        "a clock far ahead"
    );
    assert_eq!(
        one.try_to_hold(&cluster, at(20, "1996-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(50)
    );
    assert_eq!(
        two.try_to_hold(&cluster, at(36, "2036-01-01T00:00:00Z"))
            .await
            .unwrap(),
        by("one"),
        "it was renewed"
    );
    assert_eq!(
        two.try_to_hold(&cluster, at(66, "2036-01-01T00:00:00Z"))
            .await
            .unwrap(),
        by("one")
    );
    assert_eq!(
        two.try_to_hold(&cluster, at(67, "2036-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(97)
    );
    assert_eq!(
        one.try_to_hold(&cluster, at(68, "2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        by("two")
    );
    let lease = api.kubectl(&[
        "get",
        "lease",
        "-n",
        "towpath-agent",
        "towpath-agent",
        "-o",
        "jsonpath={.spec}",
    ]);
    assert!(
        lease.contains(r#""holderIdentity":"two""#) && lease.contains(r#""leaseTransitions":1"#),
        "{lease}"
    );

    one.give_back(&cluster, at(69, "2026-01-01T00:00:00Z"))
        .await
        .unwrap();
    assert_eq!(
        two.try_to_hold(&cluster, at(70, "2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(100),
        "it was not one's to give"
    );
    two.give_back(&cluster, at(71, "2026-01-01T00:00:00Z"))
        .await
        .unwrap();
    assert_eq!(
        one.try_to_hold(&cluster, at(72, "2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(102),
        "nobody has to wait"
    );
}

#[tokio::test]
async fn of_many_that_try_at_once_one_holds_it() {
    let api = KubeApi::start().await;
    let cluster = cluster(&api).await;
    let clock = at(0, "2026-01-01T00:00:00Z");
    for round in 0..2 {
        let mut electors: Vec<Elector> = (0..8)
            .map(|number| elector(&format!("{round}-{number}")))
            .collect();
        let clock = Clock {
            running: clock.running + 10 * TERM * round,
            ..clock
        };
        if round > 0 {
            // All have seen the lease of the first round for longer than its term.
            for elector in &mut electors {
                elector
                    .try_to_hold(
                        &cluster,
                        Clock {
                            running: clock.running - 2 * TERM,
                            ..clock
                        },
                    )
                    .await
                    .unwrap();
            }
        }
        let tries = electors
            .iter_mut()
            .map(|elector| elector.try_to_hold(&cluster, clock));
        let answers = futures_util::future::try_join_all(tries).await.unwrap();
        let holders = answers
            .iter()
            .filter(|answer| matches!(answer, Leadership::Held { .. }))
            .count();
        assert_eq!(holders, 1, "{answers:?}");
    }
}

#[tokio::test]
async fn renewing_is_one_request_and_a_lease_that_was_taken_away_is_made_again() {
    let api = KubeApi::start().await;
    let cluster = cluster(&api).await;
    let leases = |verb: Verb| {
        cluster
            .requests()
            .get(&(verb, "leases".to_owned()))
            .copied()
            .unwrap_or_default()
    };
    let mut elector = elector("one");
    for seconds in [0, 10, 20, 30] {
        let held_until = held(seconds + TERM.as_secs());
        assert_eq!(
            elector
                .try_to_hold(&cluster, at(seconds, "2026-01-01T00:00:00Z"))
                .await
                .unwrap(),
            held_until
        );
    }
    assert_eq!(
        [
            leases(Verb::Get),
            leases(Verb::Create),
            leases(Verb::Update)
        ],
        [1, 1, 3]
    );
    api.kubectl(&["delete", "lease", "-n", "towpath-agent", "towpath-agent"]);
    assert_eq!(
        elector
            .try_to_hold(&cluster, at(40, "2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(70)
    );
    api.kubectl(&[
        "annotate",
        "lease",
        "-n",
        "towpath-agent",
        "towpath-agent",
        "seen=yes",
    ]);
    assert_eq!(
        elector
            .try_to_hold(&cluster, at(50, "2026-01-01T00:00:00Z"))
            .await
            .unwrap(),
        held(80),
        "still ours"
    );
}
