//! What cargo-deny's output means, and that the exceptions of `deny.toml` have reasons.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::*;

fn ended(code: i32, lines: &str) -> Advisories {
    Advisories::of(&Output {
        status: ExitStatus::from_raw(code << 8),
        stdout: Vec::new(),
        stderr: lines.as_bytes().to_vec(),
    })
}

const SUMMARY: &str = r#"{"type":"summary","fields":{"advisories":{"errors":0}}}"#;

#[test]
fn a_check_without_a_summary_was_not_made() {
    assert_eq!(ended(0, SUMMARY), Advisories::None);
    let unreachable = r#"{"type":"log","fields":{"level":"ERROR","message":"failed to fetch advisory database\nfatal: no such host"}}"#;
    let told = ended(1, unreachable);
    assert_eq!(
        told,
        Advisories::LeftOut("failed to fetch advisory database".into())
    );
    assert!(told.to_string().starts_with("advisories LEFT OUT"));
    // Also where it says nothing at all.
    assert_eq!(
        ended(0, ""),
        Advisories::LeftOut("cargo-deny says nothing".into())
    );
}

#[test]
fn what_is_found_is_told() {
    let found = r#"{"type":"diagnostic","fields":{"severity":"error","message":"a crate is unmaintained"}}"#;
    let told = ended(1, &format!("{found}\n{SUMMARY}"));
    assert_eq!(
        told,
        Advisories::Found(vec!["a crate is unmaintained".into()])
    );
    assert!(told.to_string().contains("a crate is unmaintained"));
}

#[test]
fn every_exception_has_a_reason() {
    let text = std::fs::read_to_string(workspace::root().join("deny.toml")).unwrap();
    let exceptions: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("{ "))
        .collect();
    assert!(exceptions.len() > 20, "{exceptions:?}");
    for line in exceptions {
        assert!(
            line.contains("reason = \"") || line.contains(" # "),
            "{line}"
        );
    }
}
