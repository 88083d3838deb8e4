//! What these tests say of two graphs, each told in the language of `testing/graphs`.

use jiff::Timestamp;
use towpath_core::change::{
    Diff, EdgeChange, Only, PresubmitOptions, ReleaseKind, RiskNames, When, diff, presubmit,
};
use towpath_core::graph::Window;
use towpath_testing_graphs::{day, graph};

/// Compares two texts at the beginning of a day, or at an hour of it: `5` or `5T12`.
pub(crate) fn check_presubmit(now: &str, [base, new]: [&str; 2], expected: expect_test::Expect) {
    check_presubmit_with(&PresubmitOptions::default(), now, [base, new], expected);
}

pub(crate) fn check_presubmit_with(
    options: &PresubmitOptions,
    now: &str,
    [base, new]: [&str; 2],
    expected: expect_test::Expect,
) {
    let findings = presubmit(&graph(base), &graph(new), day(now), options);
    let line = |finding: &towpath_core::finding::Finding| {
        let severity = if finding.is_error() {
            "error"
        } else {
            "warning"
        };
        format!(
            "{severity} {}\n  at {}\n  {}\n  {}\n",
            finding.code, finding.place, finding.problem, finding.remedy
        )
    };
    expected.assert_eq(&findings.iter().map(line).collect::<String>());
}

/// Says every difference of two texts.
pub(crate) fn check_diff(now: &str, [base, new]: [&str; 2], expected: expect_test::Expect) {
    expected.assert_eq(&told(&diff(
        &graph(base),
        &graph(new),
        day(now),
        &Only::default(),
    )));
}

fn told(diff: &Diff) -> String {
    let mut text = String::new();
    for channel in &diff.channels {
        text += &format!("{} {}\n", channel.channel, channel.arch);
        for release in &channel.releases {
            let kind = match &release.kind {
                ReleaseKind::Appears(at) => format!("appears {}", when(at)),
                ReleaseKind::Disappears => "disappears".to_owned(),
                ReleaseKind::Moves { before, after } => {
                    format!("appeared {}, now {}", when(before), when(after))
                }
            };
            text += &format!("  {} {kind}\n", release.version);
        }
        for edge in &channel.edges {
            text += &format!("  {}\n", edge_told(edge));
        }
    }
    text
}

fn edge_told(change: &EdgeChange) -> String {
    let from: Vec<String> = change.from.iter().map(ToString::to_string).collect();
    let RiskNames {
        added,
        removed,
        reworded,
    } = &change.risks;
    let risks: String = [
        ("now", added),
        ("no longer", removed),
        ("in other words", reworded),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(how, names)| format!(" {how} unless {}", names.join(", ")))
    .collect();
    let times: Vec<String> = [("before", &change.before), ("after", &change.after)]
        .into_iter()
        .filter_map(|(side, at)| Some(format!("{side} {}", when(at.as_ref()?))))
        .collect();
    let (kind, whom) = (change.kind.code(), &change.whom);
    let ring = change.ring.iter().map(|ring| format!(", {ring}"));
    let ring: String = ring.collect();
    format!(
        "{} -> {} {kind} {whom}{ring}{risks} ({})",
        from.join(","),
        change.to,
        times.join(", ")
    )
}

fn when(when: &When) -> String {
    let short = |at: Timestamp| {
        at.to_string()[8..16]
            .trim_end_matches(":00")
            .trim_end_matches("T00")
            .to_owned()
    };
    match when {
        When::Now => "now".to_owned(),
        When::Over(Window { start, end, .. }) if start == end => format!("day {}", short(*start)),
        When::Over(Window { start, end, .. }) => {
            format!("days {} to {}", short(*start), short(*end))
        }
    }
}
