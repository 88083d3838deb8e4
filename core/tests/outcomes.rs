//! From reports to outcomes: what clusters tell becomes attempts, and each cluster counts once for each release.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so")]

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{
    Ending, FleetOutcomes, Followed, HistoryStep, MAX_OF_CLUSTER, Outcome, OutcomeTally, Tallies,
    Testimony, TimeLimits, Told, UpdateClass, UpdateEvidence, UpdateStart, follow,
};
use towpath_core::fleet::{
    AgentOutcome, AgentUpdate, Binding, ClusterState, GraphObjection, Health, Offer, Product,
};
use towpath_core::graph::ChannelName;
use towpath_core::verdict::{Answer, Verdict};
use towpath_core::version::{Arch, Minor, Version};

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + minute * 60).unwrap()
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

fn complete(of: &str, from: i64, until: i64) -> HistoryStep {
    HistoryStep {
        version: version(of),
        is_complete: true,
        started_at: Some(at(from)),
        ended_at: Some(at(until)),
    }
}

fn partial(of: &str, from: i64) -> HistoryStep {
    HistoryStep {
        is_complete: false,
        ended_at: None,
        ..complete(of, from, from)
    }
}

fn agents(to: &str, outcome: AgentOutcome, minute: i64) -> AgentUpdate {
    AgentUpdate {
        to: version(to),
        outcome,
        why: "".into(),
        started_at: at(minute),
        took: None,
        is_automatic: true,
    }
}

/// What a cluster tells, in a test's words.
#[derive(Debug, Clone, Default)]
struct Report {
    version: &'static str,
    desired: Option<&'static str>,
    history: Vec<HistoryStep>,
    is_failing: bool,
    updates: Vec<AgentUpdate>,
    minute: i64,
}

impl Report {
    fn testimony(&self, cluster: &str, organisation: &str) -> Testimony {
        let (on, desired) = (version(self.version), self.desired.map(version));
        let told = Told {
            version: &on,
            desired: desired.as_ref(),
            history: &self.history,
            is_failing: self.is_failing,
            is_healthy: !self.is_failing,
            updates: &self.updates,
            at: at(self.minute),
        };
        Testimony {
            cluster: ClusterId::new(cluster).unwrap(),
            organisation: organisation.into(),
            platform: Fact::Known(Platform::new("AWS").unwrap()),
            arch: Arch::default(),
            evidence: told.evidence(),
            limits: Arc::default(),
        }
    }
}

/// What a store keeps of one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kept(BTreeMap<Version, Followed>);

impl Kept {
    fn after(reports: &[Report]) -> Self {
        let mut kept = Self::default();
        for report in reports {
            kept.take(&report.testimony("a", "acme"));
        }
        kept
    }

    fn take(&mut self, testimony: &Testimony) -> usize {
        let changed = follow(&self.0, testimony);
        let count = changed.len();
        for followed in changed {
            self.0.insert(followed.evidence.to.clone(), followed);
        }
        count
    }

    /// Each attempt on a line, as it stands at that minute.
    fn told(&self, minute: i64) -> Vec<String> {
        let attempts = self.0.values().filter_map(|one| one.attempt(at(minute)));
        let line = |attempt: towpath_core::feedback::Attempt| {
            let since = |time: Timestamp| time.duration_since(at(0)).as_secs() / 60;
            let ending = match attempt.ending {
                None => "under way".to_owned(),
                Some(Ending { known_at, outcome }) => {
                    format!("{} at {}", outcome.code(), since(known_at))
                }
            };
            let started = since(attempt.started_at);
            format!("{} -> {} at {started}: {ending}", attempt.from, attempt.to)
        };
        attempts.map(line).collect()
    }
}

#[test]
fn what_reports_tell_becomes_attempts() {
    let installed = || complete("4.16.1", -900, -860);
    for (what, reports, expected) in [
        (
            "a cluster that was only installed",
            vec![Report {
                version: "4.16.1",
                history: vec![installed()],
                ..Report::default()
            }],
            vec![],
        ),
        (
            "it sets out",
            vec![Report {
                version: "4.16.1",
                desired: Some("4.16.2"),
                history: vec![partial("4.16.2", 10), installed()],
                minute: 15,
                ..Report::default()
            }],
            vec!["4.16.1 -> 4.16.2 at 10: under way"],
        ),
        (
            "it fails, and completes all the same",
            vec![
                Report {
                    version: "4.16.1",
                    desired: Some("4.16.2"),
                    history: vec![partial("4.16.2", 10), installed()],
                    is_failing: true,
                    minute: 30,
                    ..Report::default()
                },
                Report {
                    version: "4.16.2",
                    history: vec![complete("4.16.2", 10, 80), installed()],
                    minute: 90,
                    ..Report::default()
                },
            ],
            vec!["4.16.1 -> 4.16.2 at 10: failed at 30"],
        ),
        (
            "it was told something else before it was complete",
            vec![Report {
                version: "4.16.1",
                desired: Some("4.16.3"),
                history: vec![partial("4.16.3", 50), partial("4.16.2", 10), installed()],
                minute: 60,
                ..Report::default()
            }],
            vec![
                "4.16.1 -> 4.16.2 at 10: failed at 50",
                "4.16.1 -> 4.16.3 at 50: under way",
            ],
        ),
        (
            "not well an hour after it was complete",
            vec![Report {
                version: "4.16.2",
                history: vec![complete("4.16.2", 10, 80), installed()],
                is_failing: true,
                minute: 140,
                ..Report::default()
            }],
            vec!["4.16.1 -> 4.16.2 at 10: degraded at 140"],
        ),
        (
            "not well two days after it was complete",
            vec![Report {
                version: "4.16.2",
                history: vec![complete("4.16.2", 10, 80), installed()],
                is_failing: true,
                minute: 2_960,
                ..Report::default()
            }],
            vec!["4.16.1 -> 4.16.2 at 10: done at 80"],
        ),
        (
            "it goes back, and fails at that",
            vec![Report {
                version: "4.16.1",
                desired: Some("4.16.0"),
                is_failing: true,
                minute: 20,
                ..Report::default()
            }],
            vec![],
        ),
        (
            "without a history",
            vec![
                Report {
                    version: "4.16.1",
                    desired: Some("4.16.2"),
                    minute: 20,
                    ..Report::default()
                },
                Report {
                    version: "4.16.2",
                    minute: 70,
                    ..Report::default()
                },
            ],
            vec!["4.16.1 -> 4.16.2 at 20: done at 70"],
        ),
        (
            "the agent says that the cluster does not accept it",
            vec![Report {
                version: "4.16.1",
                history: vec![installed()],
                updates: vec![agents("4.16.2", AgentOutcome::Failed, 5)],
                minute: 8,
                ..Report::default()
            }],
            vec!["4.16.1 -> 4.16.2 at 5: failed at 8"],
        ),
        (
            "what happened 91 days ago",
            vec![Report {
                version: "4.16.2",
                history: vec![complete("4.16.2", 10, 80), installed()],
                minute: 91 * 24 * 60,
                ..Report::default()
            }],
            vec![],
        ),
        (
            "what would happen tomorrow",
            vec![Report {
                version: "4.16.1",
                desired: Some("4.16.2"),
                history: vec![partial("4.16.2", 1_500), installed()],
                minute: 60,
                ..Report::default()
            }],
            vec!["4.16.1 -> 4.16.2 at 60: under way"],
        ),
    ] {
        let now = reports.iter().map(|one| one.minute).max().unwrap();
        let kept = Kept::after(&reports);
        assert_eq!(kept.told(now), expected, "{what}");
    }
}

#[test]
fn a_cluster_that_falls_silent_has_failed_when_its_time_is_over_and_a_late_report_corrects_that() {
    let mut kept = Kept::after(&[Report {
        version: "4.16.1",
        desired: Some("4.16.2"),
        ..Report::default()
    }]);
    assert_eq!(kept.told(719), ["4.16.1 -> 4.16.2 at 0: under way"]);
    assert_eq!(kept.told(720), ["4.16.1 -> 4.16.2 at 0: failed at 720"]);
    let late = Report {
        version: "4.16.2",
        minute: 90,
        ..Report::default()
    };
    assert_eq!(kept.take(&late.testimony("a", "acme")), 1);
    assert_eq!(kept.told(720), ["4.16.1 -> 4.16.2 at 0: done at 90"]);
}

#[test]
fn the_same_report_again_changes_nothing() {
    let report = Report {
        version: "4.16.2",
        history: vec![complete("4.16.2", 10, 80), complete("4.16.1", -900, -860)],
        minute: 90,
        ..Report::default()
    };
    let mut kept = Kept::after(std::slice::from_ref(&report));
    let before = kept.clone();
    for minutes_later in [0, 10, 1_000] {
        let again = Report {
            minute: 90 + minutes_later,
            ..report.clone()
        };
        assert_eq!(kept.take(&again.testimony("a", "acme")), 0);
    }
    assert_eq!(kept, before);
}

#[test]
fn a_cluster_keeps_so_many_releases_and_what_was_left_out_does_not_come_back() {
    let evidence = |number: i64| UpdateEvidence {
        completed_at: Some(at(number * 10 + 5)),
        start: Some(UpdateStart {
            at: at(number * 10),
            from: version("4.15.0"),
        }),
        ..UpdateEvidence::of(version(&format!("4.16.{number}")))
    };
    let testimony = |numbers: std::ops::Range<i64>| Testimony {
        evidence: numbers.map(evidence).collect(),
        ..Report {
            version: "4.15.0",
            ..Report::default()
        }
        .testimony("a", "acme")
    };
    let most = i64::try_from(MAX_OF_CLUSTER).unwrap();
    let mut kept = Kept::default();
    kept.take(&testimony(1..most + 1));
    assert_eq!(
        kept.take(&testimony(0..1)),
        0,
        "older than all that are kept"
    );
    assert_eq!(kept.take(&testimony(most + 1..most + 2)), 1, "newer");
}

#[test]
fn a_limit_is_the_classes_own_percentile_and_at_least_six_hours() {
    let took = |platform: &str, cluster: usize, minutes: i64| {
        let mut one = Kept::after(&[Report {
            version: "4.16.2",
            history: vec![
                complete("4.16.2", 0, minutes),
                complete("4.16.1", -900, -860),
            ],
            minute: 24 * 60 * 40,
            ..Report::default()
        }]);
        let mut followed = one.0.pop_last().unwrap().1;
        followed.cluster = ClusterId::new(&format!("c{cluster}")).unwrap();
        followed.platform = Fact::from(Platform::new(platform));
        followed
    };
    let class = |platform: &str| UpdateClass {
        from: Minor::new(4, 16),
        platform: Fact::from(Platform::new(platform)),
        arch: Arch::default(),
    };
    let hours = SignedDuration::from_hours;
    let mut known: Vec<Followed> = (0..99).map(|n| took("AWS", n, 60)).collect();
    assert_eq!(TimeLimits::learn(&known).of(&class("AWS")), hours(12));
    known.push(took("AWS", 99, 900));
    let limits = TimeLimits::learn(&known);
    assert_eq!(
        limits.of(&class("AWS")),
        hours(6),
        "one of a hundred may be slow"
    );
    assert_eq!(limits.of(&class("GCP")), hours(6), "all classes together");
    known.extend((100..200).map(|n| took("GCP", n, 480)));
    let limits = TimeLimits::learn(&known);
    assert_eq!(limits.of(&class("GCP")), hours(8));
    assert_eq!(limits.of(&class("AWS")), hours(6));
    known.extend((200..400).map(|n| took("AWS", n, 24 * 60 * 30)));
    assert_eq!(TimeLimits::learn(&known).of(&class("AWS")), hours(7 * 24));
}

#[test]
fn tallies_count_in_all_and_by_class() {
    let kept = Kept::after(&[Report {
        version: "4.16.1",
        desired: Some("4.16.3"),
        history: vec![
            partial("4.16.3", 50),
            partial("4.16.2", 10),
            complete("4.16.1", -900, -860),
        ],
        minute: 60,
        ..Report::default()
    }]);
    let attempts = kept.0.values().filter_map(|one| one.attempt(at(60)));
    let of_release = Tallies::of(attempts);
    let expected = OutcomeTally {
        started: 1,
        failed: 1,
        ..OutcomeTally::default()
    };
    let failed = &of_release[&version("4.16.2")];
    assert_eq!((failed.all, failed.all.under_way()), (expected, 0));
    assert_eq!(
        failed.classes.values().copied().collect::<Vec<_>>(),
        [expected]
    );
    assert_eq!(of_release[&version("4.16.3")].all.under_way(), 1);
}

/// A cluster on 4.16.1 that the graph has something against, or nothing.
fn offered(cluster: &str, offers: Vec<Offer>) -> ClusterState {
    ClusterState {
        id: ClusterId::new(cluster).unwrap(),
        name: cluster.into(),
        organisation: "acme".into(),
        binding: Binding::Bound,
        version: version("4.16.1"),
        going_to: None,
        version_since: at(0),
        last_seen: at(0),
        health: Health::Healthy,
        channel: None,
        available_channels: Fact::Unknown,
        arch: Arch::default(),
        platform: Fact::Unknown,
        labels: BTreeMap::new(),
        product: Product::Standalone,
        sts: Fact::Unknown,
        wif: Fact::Unknown,
        offers: offers.into(),
        acknowledged_gates: Default::default(),
    }
}

#[test]
fn a_release_is_offered_to_those_whom_its_window_has_reached_by_now() {
    let release = || Offer::free(version("4.16.2"));
    let held = |until: Option<i64>| {
        let answer = match until {
            Some(minute) => Answer::Wait {
                until: Some(at(minute)),
            },
            None => Answer::Refuse,
        };
        let verdict = Verdict {
            answer,
            ..Verdict::recommend()
        };
        let objection = GraphObjection {
            verdict,
            risks: Default::default(),
        };
        Offer {
            objection: Some(Box::new(objection)),
            ..release()
        }
    };
    let elsewhere = Offer {
        channel: ChannelName::new("fast-4.16"),
        ..release()
    };
    let clusters = [
        offered("a", vec![release(), Offer::free(version("4.16.3"))]),
        offered("b", vec![held(Some(30))]),
        offered("c", vec![held(None)]),
        offered("d", vec![elsewhere]),
        offered("e", vec![]),
    ];
    let counted = |minute: i64| {
        let outcomes = FleetOutcomes::of(&clusters, [], at(minute));
        assert_eq!(outcomes.clusters, 5);
        let of_release = &outcomes.releases[&version("4.16.2")];
        let in_classes: u64 = of_release.classes.values().map(|one| one.offered).sum();
        assert_eq!(in_classes, of_release.all.offered);
        of_release.all.offered
    };
    assert_eq!([29, 30].map(counted), [1, 2]);
}

/// A true course of one cluster: when it sets out, fails, completes, and is not well.
fn any_course() -> impl Strategy<Value = Vec<Report>> {
    let update = (
        1..600i64,
        1..900i64,
        proptest::option::of(1..900i64),
        any::<bool>(),
    );
    proptest::collection::vec(update, 1..4).prop_map(|updates| {
        let names = ["4.16.1", "4.16.2", "4.16.3", "4.16.4"];
        let mut history = vec![complete("4.16.1", -900, -860)];
        let (mut reports, mut minute) = (Vec::new(), 0);
        for (place, (waits, takes, fails, is_degraded)) in updates.into_iter().enumerate() {
            let (from, to) = (names[place], names[place + 1]);
            let started = minute + waits;
            let mut under_way = history.clone();
            under_way.insert(0, partial(to, started));
            for (after, is_failing) in [(Some(1), false), (fails.filter(|f| *f < takes), true)] {
                reports.extend(after.map(|after| Report {
                    version: from,
                    desired: Some(to),
                    history: under_way.clone(),
                    is_failing,
                    minute: started + after,
                    ..Report::default()
                }));
            }
            minute = started + takes;
            history.insert(0, complete(to, started, minute));
            for (after, is_failing) in [(0, false), (7, is_degraded)] {
                reports.push(Report {
                    version: to,
                    desired: Some(to),
                    history: history.clone(),
                    is_failing,
                    minute: minute + after,
                    ..Report::default()
                });
            }
        }
        reports
    })
}

proptest! {
    /// Late, duplicated and reordered reports give what reports in order give.
    #[test]
    fn no_order_and_no_repetition_changes_what_is_known(
        reports in any_course(),
        noise in proptest::collection::vec(any::<prop::sample::Index>(), 0..1_000),
        seed in any::<u64>(),
    ) {
        let in_order = Kept::after(&reports);
        let mut shuffled = reports.clone();
        shuffled.extend(noise.iter().map(|one| one.get(&reports).clone()));
        let mut state = seed | 1;
        for place in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(place, (state >> 33) as usize % (place + 1));
        }
        let known = Kept::after(&shuffled);
        prop_assert_eq!(known.told(5_000), in_order.told(5_000));
        prop_assert_eq!(known, in_order);
    }

    /// However much one cluster tells of itself, it counts once for each release.
    #[test]
    fn one_cluster_counts_once_for_each_release(reports in any_course()) {
        let kept = Kept::after(&reports);
        let attempts = kept.0.values().filter_map(|one| one.attempt(at(5_000)));
        for (release, tallies) in Tallies::of(attempts) {
            prop_assert_eq!(tallies.all.started, 1, "{}", release);
            prop_assert!(Outcome::ALL.len() == 3 && tallies.all.under_way() <= 1);
        }
    }
}

#[test]
fn a_watch_does_not_go_by_the_limit_that_is_kept() {
    let under_way = Followed {
        cluster: ClusterId::new("a").unwrap(),
        organisation: "acme".into(),
        platform: Fact::Unknown,
        arch: Arch::default(),
        evidence: UpdateEvidence {
            start: Some(UpdateStart {
                at: at(0),
                from: "4.16.1".parse().unwrap(),
            }),
            ..UpdateEvidence::of("4.16.2".parse().unwrap())
        },
        limit: Some(SignedDuration::from_hours(6)),
    };
    let (soon, late) = (at(60 * 5), at(60 * 7));
    assert_eq!(under_way.attempt(soon).unwrap().ending, None);
    let ending = under_way.attempt(late).unwrap().ending;
    assert_eq!(ending.unwrap().outcome, Outcome::Failed);
    assert_eq!(under_way.attempt_without_limit(late).unwrap().ending, None);
}
