//! The agent's policy file, what it remembers, and what it says to the cluster.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use expect_test::expect;
use jiff::SignedDuration;
use towpath_core::agent::rules::{NOT_OPTED_IN, OTHER_RELEASE, TOO_MANY_FAILURES};
use towpath_core::agent::{
    Advice, ChannelCourse, Choice, ClusterStanding, Course, Downgrades, Memory, Pin, RequiredProof,
    SetChannel, StartedPreflight, StartedUpdate, UpdateOffer, UpdateOutcome,
};
use towpath_core::cluster::objects::{
    Facts, HistoryEntry, MachineConfigPool, Node, Operator, Progress, Range,
};
use towpath_core::cluster::{Fact, gate};
use towpath_core::finding::Place;
use towpath_core::fleet::RiskEnd;
use towpath_core::graph::ChannelName;
use towpath_core::verdict::Verdict;
use towpath_core::version::Minor;
use towpath_formats::agent::{
    AgentPolicy, PassReport, news, of_start, read_policy, read_record, upgradeable, write_record,
};
use towpath_formats::minors::built_in;

fn policy(text: &str) -> Result<AgentPolicy, String> {
    let told = |findings: Vec<towpath_core::finding::Finding>| {
        findings
            .iter()
            .map(|finding| format!("{}: {}\n", finding.place, finding.problem))
            .collect::<String>()
    };
    read_policy(&Place::file("agent.yaml"), text.as_bytes()).map_err(told)
}

#[test]
fn a_file_that_says_nothing_is_the_usual_policy() {
    assert_eq!(policy("{}").unwrap(), AgentPolicy::default());
    assert_eq!(
        policy("").unwrap_err(),
        "agent.yaml: the file is empty\n",
        "it may not have been written to the end"
    );
    let usual = AgentPolicy::default().automatic;
    assert_eq!(
        (usual.downgrades, usual.proof, usual.max_failures),
        (Downgrades::Refuse, RequiredProof::Signed, 3)
    );
}

#[test]
fn everything_can_be_said() {
    let read = policy(
        "windows:
- {start: 'Mon..Fri *-2..10-* 10:00,14:00', duration: PT2H, timeZone: Europe/Berlin}
- {start: '0 22 * * 6', duration: PT8H}
atLeastBetween: P7D
pin: '4.20'
maxFailures: 5
downgrades: allow
proof: nothing
maxGraphAge: PT1H
maxSkew: 2
target: '4.22'
acceptedRisks:
- {name: SlowStart, reason: we wait, owner: ada, until: 2027-01-31}
- {name: Odd, reason: known here, owner: ada, until: fixed}
",
    )
    .unwrap();
    let automatic = &read.automatic;
    assert_eq!(automatic.windows.len(), 2);
    assert!(
        automatic.windows[0].covers("2026-10-01T09:30:00Z".parse().unwrap()),
        "11:30 in Berlin"
    );
    assert_eq!(
        automatic.at_least_between,
        SignedDuration::from_hours(7 * 24)
    );
    assert_eq!(automatic.pin, Some(Pin::Minor(Minor::new(4, 20))));
    assert_eq!((automatic.max_failures, read.max_skew), (5, Some(2)));
    assert_eq!(
        (automatic.downgrades, automatic.proof),
        (Downgrades::Allow, RequiredProof::Nothing)
    );
    assert_eq!(automatic.max_graph_age, Some(SignedDuration::from_hours(1)));
    assert_eq!(read.target, Some(Minor::new(4, 22)));
    let ends: Vec<_> = automatic
        .accepted_risks
        .iter()
        .map(|risk| (&*risk.name, risk.until.clone()))
        .collect();
    let day = "2027-01-31T00:00:00Z".parse().unwrap();
    assert_eq!(
        ends,
        [("Odd", RiskEnd::Fixed), ("SlowStart", RiskEnd::At(day))]
    );
}

#[test]
fn a_policy_of_comments_only_is_an_empty_one() {
    for text in ["# nothing yet\n", "---\n  # nothing yet\n\n# at all"] {
        assert_eq!(policy(text).unwrap(), AgentPolicy::default(), "{text:?}");
    }
}

#[test]
fn a_policy_that_is_not_understood_is_refused_with_all_that_is_wrong() {
    let told = policy(
        "windows:
- {start: 'Mon..Fri 25:00', duration: P1M}
atLeastBetween: P1Y
pin: latest
maxFailures: 0
downgrades: 'yes'
windos: []
maxSkew: 9
acceptedRisks:
- SlowStart
- {name: Odd, reason: x, until: some day}
",
    )
    .unwrap_err();
    expect![[r#"
        agent.yaml:7:1: a policy has no field "windos"
        agent.yaml:2:11: "Mon..Fri 25:00" is not a schedule: "25" is not one of 0 to 23, nor a range of them
        agent.yaml:2:39: "P1M" is not a length of a maintenance window
        agent.yaml:3:17: "P1Y" is not a duration
        agent.yaml:4:6: "latest" is not a pin
        agent.yaml:5:14: maxFailures is a whole number, and this is the number 0
        agent.yaml:6:13: "yes" is not downgrades
        agent.yaml:10:3: the risk "SlowStart" is accepted without an end
        agent.yaml:11:3: an accepted risk has no `owner`
        agent.yaml:11:33: "some day" is no end of an acceptance
        agent.yaml:8:10: maxSkew is a whole number, and this is the number 9
    "#]]
    .assert_eq(&told);
}

#[test]
fn what_is_remembered_is_read_as_it_was_written() {
    let at = "2026-11-16T12:00:00Z".parse().unwrap();
    let started = StartedUpdate {
        version: "4.20.3".parse().unwrap(),
        at,
        course: Course::Failing,
    };
    let memory = Memory {
        started: Some(started),
        failures: 2,
        failed: Some(("4.20.3".parse().unwrap(), at)),
        taken_back: Some("4.20.2".parse().unwrap()),
        graph_good_at: Some(at),
        accepted: ["SlowStart".into()].into(),
        set_channel: Some(SetChannel {
            channel: ChannelName::new("stable-4.21").unwrap(),
            update: "4.21.0".parse().unwrap(),
            at,
            course: ChannelCourse::Over,
        }),
        unwanted_channel: ChannelName::new("fast-4.21"),
        preflight: Some(StartedPreflight {
            id: "r-1".into(),
            version: "4.21.0".parse().unwrap(),
            at,
            seen: true,
        }),
        answered: Some("r-0".into()),
    };
    assert_eq!(read_record(Some(&write_record(&memory))).unwrap(), memory);
    assert_eq!(read_record(None).unwrap(), Memory::default());
    assert_eq!(read_record(Some("{}")).unwrap(), Memory::default());
    assert_eq!(
        read_record(Some(&write_record(&Memory::default()))).unwrap(),
        Memory::default()
    );
    // As an agent of before wrote it, and as one of after may: neither is an error.
    let older = r#"{"started":{"version":"4.20.3","at":"2026-11-16T12:00:00Z","failing":false},"failures":1}"#;
    let newer = r#"{"failures":1,"more":{"of":"it"}}"#;
    for (record, starts) in [(older, true), (newer, false)] {
        let read = read_record(Some(record)).unwrap();
        assert_eq!((read.started.is_some(), read.failures), (starts, 1));
        assert_eq!((read.accepted.len(), read.preflight), (0, None));
    }
    let plain = write_record(&Memory {
        failures: 1,
        ..Memory::default()
    });
    assert_eq!(plain, r#"{"failures":1}"#, "an older agent reads it");
    for broken in [
        "",
        "{",
        r#"{"started":{"version":"x","at":"2026-11-16T12:00:00Z"}}"#,
        r#"{"failed":{"version":"4.20.3","at":"noon"}}"#,
        r#"{"unwantedChannel":"no channel"}"#,
    ] {
        assert!(read_record(Some(broken)).is_err(), "{broken}");
    }
}

#[test]
fn the_condition_enumerates_what_stands_in_the_way() {
    let facts = |kubelet: u64, operators: Vec<Operator>| Facts {
        history: Fact::Known(vec![HistoryEntry {
            version: "4.8.9".parse().unwrap(),
            progress: Progress::Completed,
        }]),
        nodes: Fact::Known(vec![Node {
            name: "w1".into(),
            pool: Fact::Known("worker".into()),
            kubelet: Fact::Known(Minor::new(1, kubelet)),
        }]),
        pools: Fact::Known(vec![MachineConfigPool {
            name: "worker".into(),
            is_paused: false,
        }]),
        operators: Fact::Known(operators),
        apis: Fact::Known(Vec::new()),
        gates: Fact::Known([].into()),
        acks: Fact::Known([].into()),
        // What the cluster says itself does not count: it may be what we told it.
        objections: Fact::Unknown,
        operator_objections: Fact::Unknown,
        failures: Fact::Unknown,
        operator_failures: Fact::Unknown,
        ..Facts::default()
    };
    let limited = Operator {
        name: "storage.v1".into(),
        namespace: "storage".into(),
        openshift: Range {
            min: None,
            max: Some(Minor::new(4, 8)),
        },
        kubernetes: Range::default(),
        problems: Vec::new(),
    };
    let gate = |facts: &Facts| upgradeable(&gate(None, facts, &built_in()).unwrap());
    let open = gate(&facts(21, Vec::new()));
    assert!(open.is_so, "{open:?}");
    assert_eq!(open.reason, "AsExpected");
    let closed = gate(&facts(20, vec![limited]));
    expect![[r#"
        false KubeletTooOld_OperatorIncompatible
        2 things stand in the way of the next minor version: (1) 1 node of pool worker at Kubernetes 1.20 would be 2 minor versions behind the API server's 1.22; the limit there is 1; wait until all of pool worker is at Kubernetes 1.21 (2) storage.v1 in storage is not made for OpenShift 4.9: it says OpenShift 4.8 at most; update storage.v1 in storage (it says OpenShift 4.8 at most) to a version for OpenShift 4.9
    "#]].assert_eq(&format!("{} {}\n{}\n", closed.is_so, closed.reason, closed.message));
}

#[test]
fn news_tell_of_starts_outcomes_attacks_and_a_stop() {
    let now = "2026-11-16T12:00:00Z".parse().unwrap();
    let offer = |to: &str| UpdateOffer {
        version: to.parse().unwrap(),
        image: format!("evil.example/r@sha256:{to}\u{1b}[31m").into(),
        advice: Advice::Recommended,
        risks: Default::default(),
    };
    let because = |reason| Verdict::refuse(reason);
    let choice = Choice {
        judged: vec![
            (
                offer("4.20.9"),
                because(OTHER_RELEASE.because([("is", "4.19.0".into())])),
            ),
            (
                offer("4.20.8"),
                because(TOO_MANY_FAILURES.because([("failures", 3u32.into())])),
            ),
            (offer("4.20.7"), because(NOT_OPTED_IN.alone())),
        ],
    };
    let started = StartedUpdate {
        version: "4.20.3".parse().unwrap(),
        at: now,
        course: Course::Running,
    };
    let memory = Memory {
        started: Some(started.clone()),
        ..Memory::default()
    };
    let told = PassReport {
        standing: &ClusterStanding::default(),
        choice: &choice,
        channel: None,
        preflight: None,
        gate: None,
        memory: &memory,
        now,
    };
    let outcome = UpdateOutcome::Failed {
        version: "4.20.3".parse().unwrap(),
        why: "etcd is\ndegraded".to_owned(),
    };
    let all = news(&told, Some(&outcome));
    let lines: Vec<String> = all
        .iter()
        .map(|one| format!("{:?} {} {}\n", one.weight, one.reason, one.message))
        .collect();
    expect![[r#"
        Normal AutomaticUpdateStarted the update to 4.20.3 was started at 2026-11-16 12:00Z
        Warning AutomaticUpdateFailed the update to 4.20.3 fails: etcd is\u{a}degraded
        Warning AutomaticUpdatesStopped 3 automatic updates in a row failed; a person has to look; find out why they failed; an update to that release or beyond sets it back, and so does removing the annotation `towpath.dev/agent-record`
        Warning OfferNotTrusted 4.20.9 at evil.example/r@sha256:4.20.9\u{1b}[31m is not believed: its image is signed, but is 4.19.0; find out who offers it: this is how an attack looks
    "#]].assert_eq(&lines.concat());
    assert_eq!(
        all[0],
        of_start(&started.version, started.at),
        "the same news have the same words"
    );
}
