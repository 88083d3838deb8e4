//! What a Prometheus answers about `cluster_version`, and the attempts that follow from it.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::feedback::{Outcome, follow};
use towpath_core::finding::Place;
use towpath_formats::fleet::outcomes_query::{
    DEFAULT_QUERY, MAX_SERIES, OutcomesAnswer, check, read,
};

const NOW: &str = "2026-11-16T12:00:00Z";

fn seconds(time: &str) -> i64 {
    let at: Timestamp = format!("2026-11-{time}:00Z").parse().unwrap();
    at.as_second()
}

/// `c1 updating 4.20.3 4.20.4 16T11:00 platform=AWS` becomes a series.
fn series(line: &str) -> String {
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap();
    let (id, kind, from, to, time) = (next(), next(), next(), next(), next());
    let more: String = words
        .map(|word| {
            let (label, text) = word.split_once('=').unwrap();
            format!(", \"{label}\": \"{text}\"")
        })
        .collect();
    let value = time.parse().unwrap_or_else(|_| seconds(time));
    format!(
        r#"{{"metric": {{"_id": "{id}", "type": "{kind}", "from_version": "{from}", "version": "{to}"{more}}}, "value": [1.5, "{value}"]}}"#
    )
}

fn vector(result: &str) -> String {
    format!(r#"{{"status": "success", "data": {{"resultType": "vector", "result": [{result}]}}}}"#)
}

fn reading(body: &str) -> Result<OutcomesAnswer, String> {
    let now = NOW.parse().unwrap();
    let place = Place::file("prometheus");
    read(&place, 200, body.as_bytes(), &Arc::default(), now).map_err(|finding| finding.to_string())
}

/// What is told, a line for each release, and the problems.
fn told(lines: &str) -> (String, Vec<String>) {
    let all: Vec<String> = lines
        .trim()
        .lines()
        .map(|line| series(line.trim()))
        .collect();
    let answer = reading(&vector(&all.join(", "))).unwrap();
    let hours = |at: Option<Timestamp>| {
        at.map_or_else(|| "-".to_owned(), |at| at.strftime("%dT%H:%M").to_string())
    };
    let mut text = String::new();
    for one in &answer.told {
        for known in &one.evidence {
            let start = known.start.as_ref();
            let from = start.map_or_else(|| "-".to_owned(), |start| start.from.to_string());
            text += &format!(
                "{} {from} -> {}: started {}, failed {}, completed {}, degraded {}\n",
                one.cluster.as_str(),
                known.to,
                hours(start.map(|start| start.at)),
                hours(known.failed_at),
                hours(known.completed_at),
                hours(known.degraded_at),
            );
        }
    }
    let problems = answer
        .findings
        .iter()
        .map(|finding| finding.problem.to_string());
    (text, problems.collect())
}

fn good(lines: &str, expected: &str) {
    let (text, problems) = told(lines);
    assert_eq!(problems, [""; 0]);
    assert_eq!(text, expected);
}

#[test]
fn the_query_that_is_asked_by_default_can_be_asked() {
    assert_eq!(check(DEFAULT_QUERY), Ok(()));
}

#[test]
fn a_query_that_cannot_be_asked_is_refused_beforehand() {
    for (query, problem) in [
        ("cluster_version{", "not PromQL"),
        ("", "not PromQL"),
        ("cluster_version[1d]", "a matrix as its answer"),
        ("1 + 1", "a scalar as its answer"),
        (&"x".repeat(5_000), "longer than"),
    ] {
        let refused = check(query).unwrap_err();
        assert!(refused.contains(problem), "{query}: {refused}");
    }
}

#[test]
fn series_become_attempts() {
    good(
        "
        c1 updating 4.20.3 4.20.4 16T10:00
        c1 completed 4.20.3 4.20.4 16T11:00
        c2 updating 4.20.3 4.20.4 16T10:00
        c2 failure 4.20.3 4.20.4 16T10:30
        c3 updating 4.20.3 4.20.4 16T11:50
        ",
        "c1 4.20.3 -> 4.20.4: started 16T10:00, failed -, completed 16T11:00, degraded -\n\
         c2 4.20.3 -> 4.20.4: started 16T10:00, failed 16T10:30, completed -, degraded -\n\
         c3 4.20.3 -> 4.20.4: started 16T11:50, failed -, completed -, degraded -\n",
    );
}

#[test]
fn series_that_are_repeated_or_reordered_tell_the_same() {
    let lines = "
        c1 updating 4.20.3 4.20.4 16T10:00
        c1 failure 4.20.3 4.20.4 16T10:30
        c1 failure 4.20.3 4.20.4 16T11:30
        c1 completed 4.20.3 4.20.4 16T11:00";
    let mut reordered: Vec<&str> = lines.trim().lines().chain(lines.trim().lines()).collect();
    let plain = told(lines);
    assert!(plain.0.contains("failed 16T10:30"), "{plain:?}");
    for _ in 0..reordered.len() {
        reordered.rotate_left(1);
        assert_eq!(told(&reordered.join("\n")), plain);
    }
}

#[test]
fn an_old_start_does_not_count_because_only_stuck_updates_would_be_seen() {
    good(
        "
        c1 updating 4.20.3 4.20.4 15T12:00
        c2 updating 4.20.3 4.20.4 15T11:59
        c2 failure 4.20.3 4.20.4 15T13:00
        c3 completed 4.20.3 4.20.4 15T13:00
        ",
        "c1 4.20.3 -> 4.20.4: started 15T12:00, failed -, completed -, degraded -\n\
         c2 - -> 4.20.4: started -, failed 15T13:00, completed -, degraded -\n\
         c3 - -> 4.20.4: started -, failed -, completed 15T13:00, degraded -\n",
    );
}

#[test]
fn a_failure_from_before_the_update_is_not_the_releases() {
    good(
        "
        c1 updating 4.20.3 4.20.4 16T10:00
        c1 failure 4.20.3 4.20.4 16T09:59
        c1 failure 4.20.3 4.20.3 16T09:59
        c2 failure 4.20.3 4.20.4 16T10:00
        ",
        "c1 - -> 4.20.3: started -, failed -, completed -, degraded 16T09:59\n\
         c1 4.20.3 -> 4.20.4: started 16T10:00, failed -, completed -, degraded -\n",
    );
}

#[test]
fn a_cluster_that_is_not_well_after_its_update_is_degraded() {
    good(
        "
        c1 updating 4.20.3 4.20.4 16T08:00
        c1 completed 4.20.3 4.20.4 16T09:00
        c1 failure 4.20.4 4.20.4 16T10:00
        c2 completed 4.20.3 4.20.4 16T09:00
        c2 failure 4.20.4 4.20.4 16T08:30
        c3 completed 4.20.3 4.20.4 16T09:00
        c3 updating 4.20.4 4.20.5 16T10:00
        c3 failure 4.20.4 4.20.4 16T10:10
        ",
        "c1 4.20.3 -> 4.20.4: started 16T08:00, failed -, completed 16T09:00, degraded 16T10:00\n\
         c2 - -> 4.20.4: started -, failed -, completed 16T09:00, degraded 16T09:00\n\
         c3 - -> 4.20.4: started -, failed -, completed 16T09:00, degraded -\n\
         c3 4.20.4 -> 4.20.5: started 16T10:00, failed -, completed -, degraded -\n",
    );
}

#[test]
fn installations_rollbacks_and_times_that_nobody_knows_are_no_attempts() {
    let install = series("c1 updating 4.20.3 4.20.4 16T10:00").replace("4.20.3", "");
    assert_eq!(reading(&vector(&install)).unwrap().told, []);
    good(
        "
        c1 updating 4.20.4 4.20.3 16T10:00
        c1 failure 4.20.4 4.20.3 16T10:00
        c2 updating 4.20.3 4.20.4 0
        c3 current 4.20.3 4.20.4 16T10:00
        ",
        "",
    );
}

#[test]
fn facts_of_a_cluster_come_with_any_of_its_series() {
    let own = r#"{"metric": {"clusterID": "c1", "platform": "GCP", "arch": "arm64", "organisation": "acme"}, "value": [1, "1"]}"#;
    let started = series("c1 updating 4.20.3 4.20.4 16T10:00");
    let answer = reading(&vector(&format!("{started}, {own}"))).unwrap();
    assert_eq!((answer.findings, answer.series), (vec![], 2));
    let [told] = answer.told.as_slice() else {
        panic!("{:?}", answer.told);
    };
    let platform = told.platform.known().map(ToString::to_string);
    assert_eq!(platform.as_deref(), Some("GCP"));
    assert_eq!((told.arch.as_str(), &*told.organisation), ("arm64", "acme"));
    // Facts alone are nothing to count.
    assert_eq!(reading(&vector(own)).unwrap().told, []);
}

#[test]
fn a_wrong_series_is_a_finding_and_the_others_count() {
    let good = "c1 updating 4.20.3 4.20.4 16T10:00";
    for (line, problem) in [
        (
            "c2 updating 4.20.3 new 16T10:00",
            "version \"new\" is no version",
        ),
        (
            "c2 updating x 4.20.4 16T10:00",
            "from_version \"x\" is no version",
        ),
        (
            "c2 upgrading 4.20.3 4.20.4 16T10:00",
            "type \"upgrading\" is unknown",
        ),
        ("c2 updating 4.20.3 4.20.4 16T12:06", "is in the future"),
        ("c2 updating 4.20.3 4.20.4 -5", "is no time in seconds"),
        (
            "c2 updating 4.20.3 4.20.4 16T10:00 instance=x",
            "the label \"instance\" is unknown",
        ),
        (
            "c2 updating 4.20.3 4.20.4 16T10:00 platfrom=AWS",
            "the label \"platfrom\" is unknown",
        ),
        (
            "c2 updating 4.20.3 4.20.4 16T10:00 platform=A/WS",
            "is no name of a platform",
        ),
        ("c2 updating 4.20.3 4.20.4 16T10:00 clusterID=c3", "differ"),
    ] {
        let (text, problems) = told(&format!("{good}\n{line}"));
        assert_eq!(text.lines().count(), 1, "{line}: {text}");
        assert!(
            problems.len() == 1 && problems[0].contains(problem),
            "{line}: {problems:?}"
        );
    }
    let nobody = series(good).replace("_id", "type");
    let problems = reading(&vector(&nobody)).unwrap().findings;
    assert!(
        problems[0].problem.contains("neither the label _id"),
        "{problems:?}"
    );
    let (_, problems) = told(&vec!["c2 upgrading 4.20.3 4.20.4 0"; 50].join("\n"));
    assert_eq!(problems.len(), 21);
    assert!(
        problems[20].contains("30 more series are wrong"),
        "{problems:?}"
    );
}

#[test]
fn a_clock_that_is_a_little_ahead_counts_as_now() {
    let (text, _) = told("c1 updating 4.20.3 4.20.4 16T12:04");
    assert!(text.contains("started 16T12:00"), "{text}");
}

#[test]
fn what_is_no_answer_says_what_helps() {
    let error = |kind: &str| {
        format!(r#"{{"status": "error", "errorType": "{kind}", "error": "1:5: parse error"}}"#)
    };
    let place = Place::file("prometheus");
    for (status, body, problem) in [
        (
            400,
            error("bad_data"),
            "Prometheus refuses the query: 1:5: parse error",
        ),
        (422, error("execution"), "cannot execute the query"),
        (503, error("timeout"), "gave up on the query"),
        (500, error("internal"), "answers with an error"),
        (502, "<html>".to_owned(), "answered 502"),
        (403, "Forbidden".to_owned(), "rejects our credentials"),
        (200, "<html>".to_owned(), "no answer of Prometheus' API"),
        (200, "{}".to_owned(), "no answer of Prometheus' API"),
        (200, vector("{}"), "no answer of Prometheus' API"),
        (
            200,
            vector("").replace("vector", "matrix"),
            "a matrix as its answer",
        ),
        (
            200,
            r#"{"status": "success", "data": {"resultType": "scalar", "result": [1, "1"]}}"#
                .to_owned(),
            "a scalar as its answer",
        ),
        (
            200,
            vector("")[..40].to_owned(),
            "no answer of Prometheus' API",
        ),
    ] {
        let now = NOW.parse().unwrap();
        let refused = read(&place, status, body.as_bytes(), &Arc::default(), now).unwrap_err();
        assert!(refused.problem.contains(problem), "{body}: {refused}");
        assert!(!refused.remedy.is_empty());
    }
}

#[test]
fn warnings_and_emptiness_are_told() {
    let body = vector("").replace(
        "\"data\"",
        "\"warnings\": [\"one store is away\"], \"data\"",
    );
    let answer = reading(&body).unwrap();
    let problems: Vec<_> = answer
        .findings
        .iter()
        .map(|one| (one.code, one.is_error()))
        .collect();
    assert_eq!(
        problems,
        [("outcomes-query", false), ("no-outcomes", false)]
    );
}

#[test]
fn series_beyond_the_limit_are_left_out_and_told() {
    let one = series("c1 updating 4.20.3 4.20.4 16T10:00");
    let body = vector(&vec![one; MAX_SERIES + 1].join(","));
    let answer = reading(&body).unwrap();
    assert_eq!((answer.series, answer.told.len()), (MAX_SERIES, 1));
    assert!(
        answer.findings[0]
            .problem
            .contains("more than 200000 series")
    );
}

#[test]
fn an_update_that_failed_and_completed_later_has_failed() {
    let lines = "
        c1 updating 4.20.3 4.20.4 16T10:00
        c1 failure 4.20.3 4.20.4 16T10:30
        c1 completed 4.20.3 4.20.4 16T11:00";
    let all: Vec<String> = lines
        .trim()
        .lines()
        .map(|line| series(line.trim()))
        .collect();
    let answer = reading(&vector(&all.join(", "))).unwrap();
    let known = follow(&BTreeMap::new(), &answer.told[0]);
    let ending = known[0]
        .attempt(NOW.parse().unwrap())
        .and_then(|one| one.ending);
    assert_eq!(ending.map(|ending| ending.outcome), Some(Outcome::Failed));
}
