//! What is learnt from histories, from updates whose durations are drawn from known distributions.

use std::collections::BTreeMap;

use expect_test::expect;
use towpath_core::duration::{
    Basis, CalibrationVerdict, Fit, MinorStep, Spread, Update, UpdateKind, fit, judge,
};

use super::usual;
use super::worlds::Chance;

fn update(cluster: usize, from: &str, to: &str, seconds: u64) -> Update {
    Update {
        cluster: format!("cluster-{cluster}"),
        started: "2026-01-01T00:00:00Z".parse().unwrap(),
        from: from.parse().unwrap(),
        to: to.parse().unwrap(),
        seconds,
        nodes: None,
    }
}

/// So many updates of different clusters.
fn drawn(
    count: usize,
    from: &str,
    to: &str,
    median_minutes: f64,
    sigma: f64,
    seed: u64,
) -> Vec<Update> {
    let mut chance = Chance(seed);
    (0..count)
        .map(|n| update(n, from, to, chance.seconds(median_minutes, sigma)))
        .collect()
}

fn step(from: u64, to: u64) -> Basis {
    Basis::Step(MinorStep {
        from: (4, from),
        to: (4, to),
    })
}

fn fitted(fit: &Fit, basis: &Basis) -> Spread {
    fit.groups
        .iter()
        .find(|group| group.basis == *basis)
        .unwrap()
        .fitted
}

fn is_near(seconds: u64, minutes: f64, tolerance: f64) -> bool {
    (seconds as f64 / (minutes * 60.0) - 1.0).abs() <= tolerance
}

#[test]
fn known_parameters_are_recovered_within_a_tenth() {
    // e^(1.2816 σ) is the P90 over the P50.
    let p90 = |median: f64, sigma: f64| median * (1.281_551_6 * sigma).exp();
    let truth = [
        ("4.14.1", "4.15.2", 80.0, 0.3),
        ("4.15.2", "4.16.3", 120.0, 0.3),
        ("4.16.3", "4.16.4", 45.0, 0.5),
    ];
    let updates: Vec<Update> = truth
        .iter()
        .enumerate()
        .flat_map(|(n, (from, to, median, sigma))| drawn(600, from, to, *median, *sigma, n as u64))
        .collect();
    let fit = fit(&updates, &usual());
    for ((_, _, median, sigma), basis) in
        truth.iter().zip([step(14, 15), step(15, 16), step(16, 16)])
    {
        let spread = fitted(&fit, &basis);
        assert!(is_near(spread.likely, *median, 0.05), "{basis}: {spread:?}");
        assert!(
            is_near(spread.high, p90(*median, *sigma), 0.1),
            "{basis}: {spread:?}"
        );
        assert!(
            is_near(spread.low, median * median / p90(*median, *sigma), 0.1),
            "{basis}: {spread:?}"
        );
    }
    assert_eq!(
        (fit.calibration.p50.verdict(), fit.calibration.p90.verdict()),
        (CalibrationVerdict::Fits, CalibrationVerdict::Fits)
    );
}

#[test]
fn what_is_seldom_leans_on_what_is_frequent() {
    let mut updates = drawn(500, "4.14.1", "4.15.2", 90.0, 0.3, 1);
    updates.extend(drawn(3, "4.14.1", "4.15.9", 300.0, 0.01, 2));
    updates.extend(drawn(1, "4.15.1", "4.16.1", 300.0, 0.01, 3));
    let fit = fit(&updates, &usual());
    let lines: Vec<String> = fit
        .groups
        .iter()
        .map(|group| {
            let minutes =
                |spread: Spread| format!("{:>3} {:>3}", spread.likely / 60, spread.high / 60);
            let (own, taken) = (minutes(group.measured), minutes(group.fitted));
            format!(
                "{:<18} {:>3} updates  {own}  taken as {taken}",
                group.basis.to_string(),
                group.updates
            )
        })
        .collect();
    expect![[r#"
        all minor updates  504 updates   90 135  taken as  90 140
        4.14 to 4.15       503 updates   90 134  taken as  90 136
        4.15 to 4.16         1 updates  298 298  taken as 110 171
        4.14.1 to 4.15.2   500 updates   89 134  taken as  89 135
        4.14.1 to 4.15.9     3 updates  299 300  taken as 141 206"#]]
    .assert_eq(&lines.join("\n"));
    let never = usual().patch;
    assert_eq!(
        fit.parameters.patch, never,
        "of what no update tells, what was known before stays"
    );
}

#[test]
fn an_outlier_of_ten_times_moves_the_middle_by_less_than_a_hundredth_and_the_tail_by_little() {
    let calm = drawn(200, "4.14.1", "4.15.2", 80.0, 0.3, 7);
    let mut hung = calm.clone();
    hung[3].seconds *= 10;
    let (calm, hung) = (fit(&calm, &usual()), fit(&hung, &usual()));
    let basis = Basis::Kind(UpdateKind::Minor);
    let (calm, hung) = (fitted(&calm, &basis), fitted(&hung, &basis));
    assert!(
        is_near(hung.likely, calm.likely as f64 / 60.0, 0.01),
        "{calm:?} {hung:?}"
    );
    assert!(
        is_near(hung.high, calm.high as f64 / 60.0, 0.03),
        "{calm:?} {hung:?}"
    );
}

#[test]
fn a_long_tail_is_not_hidden_by_a_good_middle() {
    // One of five takes eight hours.
    let mut updates = drawn(500, "4.14.1", "4.15.2", 80.0, 0.1, 11);
    updates
        .iter_mut()
        .step_by(5)
        .for_each(|slow| slow.seconds = 8 * 3_600);
    let spread = fitted(&fit(&updates, &usual()), &step(14, 15));
    assert!(is_near(spread.likely, 80.0, 0.1), "{spread:?}");
    assert!(is_near(spread.high, 480.0, 0.1), "{spread:?}");
}

#[test]
fn a_wrong_model_shows_it() {
    let twice_as_long = drawn(300, "4.14.1", "4.14.2", 3.0 * 70.0, 0.2, 5);
    let wrong = judge(&twice_as_long, &usual());
    assert_eq!(
        (wrong.p50.within, wrong.p50.verdict()),
        (0, CalibrationVerdict::TooShort)
    );
    let half_as_long = drawn(300, "4.14.1", "4.14.2", 35.0, 0.2, 6);
    let wrong = judge(&half_as_long, &usual());
    assert_eq!(
        (wrong.p50.verdict(), wrong.p90.verdict()),
        (CalibrationVerdict::TooLong, CalibrationVerdict::TooLong)
    );
    assert!((1.8..2.2).contains(&wrong.typical_factor), "{wrong:?}");
    let right = drawn(300, "4.14.1", "4.14.2", 70.0, 0.861, 9);
    let right = judge(&right, &usual());
    assert_eq!(
        (right.p50.verdict(), right.p90.verdict()),
        (CalibrationVerdict::Fits, CalibrationVerdict::Fits),
        "{right:?}"
    );
}

/// If the updates of a cluster were foretold from its other updates, this would look like a very good fit.
#[test]
fn a_cluster_is_not_foretold_from_its_own_updates() {
    let (mut chance, mut updates) = (Chance(3), Vec::new());
    for cluster in 0..12 {
        let (from, to) = (
            format!("4.{}.1", 10 + cluster),
            format!("4.{}.2", 10 + cluster),
        );
        let own_median = 40.0 + 30.0 * cluster as f64;
        updates
            .extend((0..30).map(|_| update(cluster, &from, &to, chance.seconds(own_median, 0.02))));
    }
    let fit = fit(&updates, &usual());
    assert!(
        fit.calibration.typical_factor > 1.3,
        "{:?}",
        fit.calibration
    );
    let itself = judge(&updates, &fit.parameters);
    assert!(itself.typical_factor < 1.2, "{itself:?}");
}

#[test]
fn a_few_updates_prove_nothing() {
    let fit = fit(&drawn(19, "4.14.1", "4.15.2", 80.0, 0.3, 1), &usual());
    assert_eq!(
        (fit.calibration.p50.verdict(), fit.calibration.p50.of),
        (CalibrationVerdict::TooFew, 19)
    );
}

#[test]
fn the_order_of_updates_does_not_matter() {
    let mut updates = drawn(50, "4.14.1", "4.15.2", 80.0, 0.3, 1);
    updates.extend(drawn(50, "4.14.2", "4.14.3", 60.0, 0.3, 2));
    let forwards = fit(&updates, &usual());
    updates.reverse();
    assert_eq!(fit(&updates, &usual()), forwards);
}

#[test]
fn nothing_is_learnt_from_nothing() {
    let fit = fit(&[], &usual());
    assert_eq!(
        (fit.parameters, fit.groups.len(), fit.calibration.p90.of),
        (usual(), 0, 0)
    );
}

/// The levels of a fit, in the order in which they are told.
#[test]
fn groups_go_from_the_least_to_the_most_specific() {
    let mut updates = drawn(4, "4.14.1", "4.15.2", 80.0, 0.3, 1);
    updates.extend(drawn(4, "4.14.1", "4.14.2", 80.0, 0.3, 2));
    let names: BTreeMap<usize, String> = fit(&updates, &usual())
        .groups
        .iter()
        .map(|group| group.basis.to_string())
        .enumerate()
        .collect();
    let names: Vec<String> = names.into_values().collect();
    assert_eq!(
        names,
        [
            "all patches",
            "all minor updates",
            "patches of 4.14",
            "4.14 to 4.15",
            "4.14.1 to 4.14.2",
            "4.14.1 to 4.15.2"
        ]
    );
}
