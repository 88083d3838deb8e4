//! When the watch halts, and when it must not.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use towpath_core::feedback::{
    Attempt, Ending, FailureRate, HaltScope, HeldBack, History, Outcome, WatchAnswer,
    WatchSettings, assess,
};
use towpath_core::graph::{Position, Ramp, Window};
use towpath_core::version::Version;
use towpath_testing_feedback::{
    Chance, Delays, Fates, FleetShape, Hit, SimulatedCluster, SimulatedRollout, Trouble, alarm,
    exposed, fewest_contradicting, fleet, halted,
};

const BASE: FailureRate = FailureRate::per_million(5_000);

fn release() -> Version {
    "4.20.9".parse().unwrap()
}

fn clusters(count: usize, chance: &mut Chance) -> Vec<SimulatedCluster> {
    let shape = FleetShape {
        clusters: count,
        organisations: count as u64 / 25,
    };
    let [from, before] = ["4.20.8", "4.19.15"].map(|text| text.parse().unwrap());
    fleet(shape, &from, &before, chance)
}

fn rolled_out(
    to: &Version,
    fleet: &[SimulatedCluster],
    trouble: Option<Trouble>,
    delays: Delays,
    chance: &mut Chance,
) -> Vec<Attempt> {
    let start: Timestamp = "2026-01-05T00:00:00Z".parse().unwrap();
    let window = Window {
        start,
        end: start + SignedDuration::from_hours(24),
        ramp: Ramp::Exponential,
    };
    let fates = Fates {
        failed: BASE,
        degraded: BASE,
        trouble,
    };
    let rollout = SimulatedRollout {
        to,
        shown_at: &|position: Position| window.due(position),
        polling: SignedDuration::ZERO,
        delays,
        fates: &fates,
    };
    rollout.attempts(fleet, chance)
}

fn failing(percent: u32) -> Option<Trouble> {
    Some(Trouble {
        hit: Hit::Scope(HaltScope::default()),
        failed: FailureRate::per_million(percent * 10_000),
    })
}

fn end(attempts: &[Attempt]) -> Timestamp {
    let known = attempts.iter().filter_map(|a| Some(a.ending?.known_at));
    known.max().unwrap()
}

#[test]
fn good_releases_are_halted_no_more_often_than_promised() {
    const RELEASES: u64 = 300;
    let settings = WatchSettings {
        alpha: FailureRate::per_million(10_000),
        organisations: 1,
        ..WatchSettings::default()
    };
    let another: Version = "4.20.10".parse().unwrap();
    let mut alarms = Vec::new();
    for run in 0..RELEASES {
        let mut chance = Chance::of_run(1, run);
        let all = clusters(800, &mut chance);
        let (own, others) = all.split_at(400);
        let delays = Delays::FailuresSooner;
        let mut attempts = rolled_out(&release(), own, None, delays, &mut chance);
        attempts.extend(rolled_out(&another, others, None, delays, &mut chance));
        let now = end(&attempts);
        let assessment = assess(&release(), &attempts, &History::default(), &settings, now);
        alarms.push(alarm(&assessment));
    }
    let too_many = |rate: f64| fewest_contradicting(RELEASES, rate, 0.01);
    let count = |is: &dyn Fn(&towpath_testing_feedback::Alarm) -> bool| {
        alarms.iter().filter(|alarm| is(alarm)).count() as u64
    };
    assert!(count(&|alarm| alarm.is_any()) < too_many(0.01));
    assert!(count(&|alarm| alarm.against_history) < too_many(0.005));
    assert!(count(&|alarm| alarm.against_others) < too_many(0.005));
}

#[test]
fn a_bad_release_is_halted_while_few_have_it() {
    let mut chance = Chance::of(2);
    let fleet = clusters(10_000, &mut chance);
    let delay = Delays::Fixed(SignedDuration::from_hours(4));
    let mut begun: Vec<usize> = (0..21)
        .map(|_| {
            let attempts = rolled_out(&release(), &fleet, failing(20), delay, &mut chance);
            let history = History::default();
            let halt = halted(&release(), &attempts, &history, &WatchSettings::default());
            exposed(&attempts, halt.unwrap().since)
        })
        .collect();
    begun.sort_unstable();
    assert!(begun[10] < 150, "the median is {}", begun[10]);
    assert!(begun[20] < 400, "the most are {}", begun[20]);
}

#[test]
fn one_look_at_the_end_tells_when_somebody_who_always_looks_would_have_halted() {
    let mut chance = Chance::of(3);
    let fleet = clusters(2_000, &mut chance);
    let settings = WatchSettings::default();
    for _ in 0..5 {
        let delays = Delays::Fixed(SignedDuration::from_hours(4));
        let attempts = rolled_out(&release(), &fleet, failing(20), delays, &mut chance);
        let history = History::default();
        let since = halted(&release(), &attempts, &history, &settings)
            .unwrap()
            .since;
        let answer = |now| assess(&release(), &attempts, &history, &settings, now).answer;
        let before = since - SignedDuration::from_nanos(1);
        assert_ne!(answer(before), WatchAnswer::Halt);
        assert_eq!(answer(since), WatchAnswer::Halt);
    }
}

#[test]
fn an_organisation_with_a_tenth_of_the_clusters_that_reports_only_failures_halts_nobody() {
    let mut chance = Chance::of(4);
    let fleet = clusters(2_000, &mut chance);
    let delays = Delays::FailuresSooner;
    let mut attempts = rolled_out(&release(), &fleet, None, delays, &mut chance);
    for attempt in attempts.iter_mut().step_by(10) {
        attempt.organisation = Arc::from("liars");
        attempt.completed_at = None;
        attempt.ending = Some(Ending {
            known_at: attempt.started_at + SignedDuration::from_mins(1),
            outcome: Outcome::Failed,
        });
    }
    let (history, now) = (History::default(), end(&attempts));
    let settings = WatchSettings::default();
    let assessment = assess(&release(), &attempts, &history, &settings, now);
    assert_eq!(assessment.halts, []);
    assert_eq!(
        assessment.held_back,
        Some(HeldBack::OnlyWith(Arc::from("liars")))
    );
    // If one organisation is enough, it is.
    let settings = WatchSettings {
        organisations: 1,
        ..settings
    };
    let assessment = assess(&release(), &attempts, &history, &settings, now);
    assert_eq!(assessment.answer, WatchAnswer::Halt);
}
