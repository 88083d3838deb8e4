//! The soak history of AUS: what is read, and what is left out and said.

use towpath_core::finding::Place;
use towpath_formats::fleet::aus_state;

/// The sums and the findings, one a line; or why it is no history.
fn read(text: &str) -> String {
    let read = aus_state::read(&Place::file("s.json"), text.as_bytes(), &"o".into());
    let (sums, findings) = match read {
        Ok(read) => read,
        Err(finding) => return format!("{}\n", finding.code),
    };
    let sums = sums
        .iter()
        .map(|sum| format!("{} {} {}\n", sum.version, sum.workload, sum.seconds));
    let findings = findings.iter().map(|finding| format!("{}\n", finding.code));
    sums.chain(findings).collect()
}

#[test]
fn days_become_seconds_rounded_down() {
    let text = r#"{"check_in": "2026-11-17T10:00:00", "stats": {"min_version": "4.9.1"},
        "versions": {"4.9.2": {"workloads": {"web": {"soak_days": 0.50001, "reporting": ["a"]}, "db": {"soak_days": 2}}},
                     "4.9.1": {"workloads": {}}}}"#;
    assert_eq!(read(text), "4.9.2 db 172800\n4.9.2 web 43200\n");
}

#[test]
fn what_cannot_be_read_is_left_out_and_said() {
    let of = |version: &str, history: &str| {
        let good = r#""4.9.1": {"workloads": {"web": {"soak_days": 1}}}"#;
        read(&format!(
            r#"{{"versions": {{{good}, "{version}": {history}}}}}"#
        ))
    };
    let days = |days: &str| format!(r#"{{"workloads": {{"web": {{"soak_days": {days}}}}}}}"#);
    let good = "4.9.1 web 86400\n";
    for (version, history, code) in [
        ("four", days("1"), "bad-version"),
        ("4.9.2", days("-1"), "bad-number"),
        ("4.9.2", days("\"many\""), "bad-number"),
        ("4.9.2", days("1e300"), "bad-number"),
        (
            "4.9.2",
            r#"{"workloads": {"web": {}}}"#.to_owned(),
            "bad-number",
        ),
        ("4.9.2", "[]".to_owned(), "wrong-kind"),
    ] {
        assert_eq!(
            of(version, &history),
            format!("{good}{code}\n"),
            "{version} {history}"
        );
    }
}

#[test]
fn another_file_is_no_history() {
    for text in ["{}", "[]", r#"{"clusters": []}"#, r#"{"versions": []}"#] {
        assert_eq!(read(text), "wrong-kind\n", "{text}");
    }
}
