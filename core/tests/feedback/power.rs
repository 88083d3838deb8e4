//! What a power card says of a window, before the first cluster begins.

use jiff::{SignedDuration, Timestamp};
use towpath_core::feedback::{
    FailureRate, FeedbackPolicy, WatchSettings, attempts_needed, power_card,
};
use towpath_core::graph::{Ramp, Share, Window};
use towpath_core::lint::blind_windows;

fn window(hours: i64, ramp: Ramp) -> Window {
    let start: Timestamp = "2026-01-05T00:00:00Z".parse().unwrap();
    Window {
        start,
        end: start + SignedDuration::from_hours(hours),
        ramp,
    }
}

fn table(window: &Window, clusters: u64) -> Vec<String> {
    let card = power_card(window, clusters, &WatchSettings::default());
    let row = |row: &towpath_core::feedback::PowerRow| {
        let seen = row
            .seen
            .map_or("nothing".to_owned(), |rate| rate.to_string());
        format!("{}: {} known, {seen}", row.exposed, row.known)
    };
    card.rows.iter().map(row).collect()
}

#[test]
fn an_exponential_window_sees_more_than_a_linear_one() {
    assert_eq!(
        table(&window(24, Ramp::Exponential), 10_000),
        [
            "1.0 %: 17 known, 30 %",
            "2.0 %: 54 known, 12 %",
            "5.0 %: 178 known, 6 %",
            "10.0 %: 375 known, 4 %"
        ]
    );
    assert_eq!(
        table(&window(24, Ramp::Linear), 10_000),
        [
            "1.0 %: 0 known, nothing",
            "2.0 %: 0 known, nothing",
            "5.0 %: 0 known, nothing",
            "10.0 %: 0 known, nothing"
        ]
    );
}

#[test]
fn a_longer_window_or_a_larger_fleet_never_sees_less() {
    let seen = |hours, clusters| {
        let card = power_card(
            &window(hours, Ramp::Exponential),
            clusters,
            &WatchSettings::default(),
        );
        let rows = card.rows.into_iter();
        rows.map(|row| row.seen.map_or(u32::MAX, FailureRate::parts))
            .collect::<Vec<_>>()
    };
    for (few, more) in [((12, 1_000), (24, 1_000)), ((24, 1_000), (24, 9_000))] {
        let pairs = seen(few.0, few.1)
            .into_iter()
            .zip(seen(more.0, more.1))
            .collect::<Vec<_>>();
        assert!(
            pairs.iter().all(|(few, more)| more <= few),
            "{few:?} and {more:?}: {pairs:?}"
        );
    }
}

#[test]
fn a_rate_that_a_card_names_needs_no_more_attempts_than_are_known() {
    let settings = WatchSettings::default();
    let card = power_card(&window(24, Ramp::Exponential), 10_000, &settings);
    for row in &card.rows {
        let seen = row.seen.unwrap();
        let below = FailureRate::per_million(seen.parts() - 10_000);
        let needed = |rate| attempts_needed(rate, settings.base_rate, &settings);
        assert!(needed(seen).unwrap() <= row.known);
        assert!(needed(below).is_none_or(|attempts| attempts > row.known));
    }
    assert_eq!(
        card.before(Share::thousandths(10)).unwrap().exposed,
        Share::thousandths(10)
    );
}

#[test]
fn a_window_of_no_length_sees_nothing() {
    let instant = window(0, Ramp::Linear);
    let card = power_card(&instant, 10_000, &WatchSettings::default());
    assert_eq!(card.before_anything, Share::WHOLE);
    assert!(
        card.rows
            .iter()
            .all(|row| row.known == 0 && row.seen.is_none())
    );
}

#[test]
fn lint_names_windows_in_which_a_bad_release_is_not_seen_in_time() {
    let now: Timestamp = "2026-11-05T00:00:00Z".parse().unwrap();
    let found = |rules: &str, clusters: u64| {
        let text = format!("channel stable-4.9 4.9.0 4.9.1\n{rules}\nedges 4.9.0 -> 4.9.1");
        let (data, _) = towpath_testing_graphs::read(&text);
        let findings = blind_windows(&data, clusters, &FeedbackPolicy::default(), now);
        findings
            .iter()
            .map(|finding| format!("{}: {}", finding.code, finding.problem))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found("rule patch PT24H exponential\nrule minor P14D", 10_000),
        [""; 0]
    );
    assert_eq!(
        found("rule patch PT24H\nrule later PT1H", 10_000),
        [
            "rollout-blind: stable-4.9: before 10.0 % of 10000 clusters have a release, this window shows no failure rate at all; 0 outcomes are known by then, and feedback takes 4h"
        ]
    );
    // A small fleet has too few outcomes in any window.
    assert_eq!(found("rule any P14D exponential", 100).len(), 1);
    assert_eq!(found("", 10_000), [""; 0]);
}

#[test]
fn each_channel_is_judged_by_its_own_policy() {
    let now: Timestamp = "2026-11-05T00:00:00Z".parse().unwrap();
    let text = "channel stable-4.9 4.9.0 4.9.1\nrule patch PT24H exponential\nedges 4.9.0 -> 4.9.1";
    let (data, _) = towpath_testing_graphs::read(text);
    let found = |policy: &FeedbackPolicy| blind_windows(&data, 10_000, policy, now).len();
    let mut policy = FeedbackPolicy::default();
    assert_eq!(found(&policy), 0);
    let slow = WatchSettings {
        delay: SignedDuration::from_hours(20),
        ..WatchSettings::default()
    };
    policy.channels.insert("fast".to_owned(), slow.clone());
    assert_eq!(found(&policy), 0);
    policy.channels.insert("stable".to_owned(), slow);
    assert_eq!(found(&policy), 1);
    assert_eq!(found(&policy.with_delay(SignedDuration::from_hours(1))), 0);
}

#[test]
fn a_card_says_when_a_bad_release_is_stopped_and_that_stages_stop_it_sooner() {
    let card = |hours| {
        let settings = WatchSettings::default();
        power_card(&window(hours, Ramp::Exponential), 10_000, &settings)
    };
    let stopped = |hours| {
        let card = card(hours);
        let shown =
            |share: Option<Share>| share.map_or("never".to_owned(), |share| share.to_string());
        let told = card.stopped.iter().map(|stopped| {
            format!(
                "{}: {}, in stages {}",
                stopped.failing,
                shown(stopped.in_window),
                shown(stopped.in_stages)
            )
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(
        stopped(24),
        [
            "20 %: 1.2 %, in stages 0.5 %",
            "10 %: 2.1 %, in stages 1.4 %",
            "5 %: 5.0 %, in stages 4.2 %"
        ]
    );
    assert_eq!(
        stopped(4),
        [
            "20 %: never, in stages never",
            "10 %: never, in stages never",
            "5 %: never, in stages never"
        ]
    );
    assert_eq!(card(24).stages.unwrap().shares().count(), 6);
    assert_eq!(card(4).stages, None);
    // Two weeks expose less than the first stage alone.
    assert_eq!(card(336).stages, None);
    assert!(
        card(336)
            .stopped
            .iter()
            .all(|stopped| stopped.in_stages.is_none())
    );
}
