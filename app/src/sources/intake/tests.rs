//! What becomes of copies, without threads and without a service.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use towpath_core::intake::Ages;
use towpath_formats::SourceFile;

use super::*;
use crate::sources::address::{Intervals, SourceSpec};
use crate::sources::reader::Access;

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

/// Graph data (number 0) and releases (number 1).
fn intake() -> Intake {
    let intervals = Intervals { local: Duration::from_secs(30), remote: Duration::from_secs(300) };
    let spec = |role, name: &str| SourceSpec::parse(role, name, name, intervals, false).expect("a source");
    Intake::new(&SourceSettings {
        specs: vec![spec(Role::GraphData, "data"), spec(Role::Releases, "releases")],
        state: None,
        ages: Ages { degraded_after: SignedDuration::from_hours(1), closed_after: None },
        max_shrink_percent: 10,
        allow: BTreeMap::new(),
        access: Access::default(),
        signatures: None,
    })
}

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.into(), bytes: text.as_bytes().into() }
}

fn read(files: Vec<SourceFile>) -> Result<Read, Finding> {
    Ok(Read::of(files))
}

fn data() -> Result<Read, Finding> {
    read(vec![file("version", "1.0.0\n"), file("channels/c.yaml", "name: c\nversions:\n- 4.9.0\n- 4.9.1\n")])
}

fn releases() -> Result<Read, Finding> {
    let nodes = r#"[{"version":"4.9.0","payload":"p"},{"version":"4.9.1","payload":"q"}]"#;
    read(vec![file("releases.json", &format!("{{\"nodes\":{nodes},\"edges\":[[0,1]]}}"))])
}

fn served() -> Intake {
    let mut intake = intake();
    assert_eq!((intake.take(0, data(), now()), intake.take(1, releases(), now())), (Taken::Changed, Taken::Changed));
    intake.promote(now());
    intake
}

#[test]
fn a_mistake_of_ours_is_told_of_the_source_whose_copy_it_was() {
    let mut intake = intake();
    assert_eq!(intake.take(0, data(), now()), Taken::Changed);
    intake.broke(1, now());
    let told: Vec<(String, &str)> =
        intake.problems().iter().map(|finding| (finding.place.to_string(), finding.code)).collect();
    assert_eq!(told, [("releases".to_owned(), "internal")]);
    assert!(intake.has_news(), "the copy of the other one is not lost");
}

#[test]
fn bytes_that_were_forgotten_come_back_with_the_next_read() {
    let mut intake = served();
    let files = |intake: &Intake| intake.copies().iter().map(|copy| copy.files.len()).collect::<Vec<_>>();
    intake.forget_bytes();
    assert_eq!(files(&intake), [2, 0]);
    assert_eq!(intake.take(1, releases(), now()), Taken::Unchanged);
    assert_eq!(files(&intake), [2, 1], "so that a copy that was lost can be kept again");
}

#[test]
fn what_a_source_had_lately_is_kept_and_taken_up() {
    let copies = served().copies();
    let mut again = intake();
    assert_eq!(again.restore(copies.clone(), now()), []);
    again.promote(now());
    assert_eq!(again.copies(), copies);
    let counted = copies[1].kept.highs.counts().map(|(_, measure, count)| (measure.noun(), count));
    assert_eq!(counted.collect::<Vec<_>>(), [("releases", 2), ("edges", 1), ("edges with risks", 0)]);
}
