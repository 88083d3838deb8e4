//! What becomes of copies, without threads and without a service.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use towpath_core::intake::Ages;
use towpath_formats::SourceFile;

use super::*;
use crate::sources::WindowGuard;
use crate::sources::address::{Intervals, SourceSpec};
use crate::sources::reader::Access;

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

/// Graph data (number 0) and releases (number 1).
fn intake() -> Intake {
    let intervals = Intervals {
        local: Duration::from_secs(30),
        remote: Duration::from_secs(300),
        graph_data_image: Duration::from_secs(30),
    };
    let spec =
        |role, name: &str| SourceSpec::parse(role, name, name, intervals, false).expect("a source");
    Intake::new(&SourceSettings {
        specs: vec![
            spec(Role::GraphData, "data"),
            spec(Role::Releases, "releases"),
        ],
        state: None,
        ages: Ages {
            degraded_after: SignedDuration::from_hours(1),
            closed_after: None,
        },
        max_shrink_percent: 10,
        allow: BTreeMap::new(),
        windows: WindowGuard::default(),
        access: Access::default(),
        seals: None,
        signatures: None,
    })
}

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile::new(path, text.as_bytes())
}

fn read(files: Vec<SourceFile>) -> Result<SourceReading, Finding> {
    Ok(SourceReading::of(files))
}

fn data() -> Result<SourceReading, Finding> {
    read(vec![
        file("version", "1.1.0\n"),
        file("channels/c.yaml", "name: c\nversions:\n- 4.9.0\n- 4.9.1\n"),
    ])
}

fn releases() -> Result<SourceReading, Finding> {
    let nodes = r#"[{"version":"4.9.0","payload":"p"},{"version":"4.9.1","payload":"q"}]"#;
    read(vec![file(
        "releases.json",
        &format!("{{\"nodes\":{nodes},\"edges\":[[0,1]]}}"),
    )])
}

fn served() -> Intake {
    let mut intake = intake();
    assert_eq!(
        (
            intake.take(0, data(), now()),
            intake.take(1, releases(), now())
        ),
        (CopyOutcome::Changed, CopyOutcome::Changed)
    );
    intake.promote(now());
    intake
}

#[test]
fn a_mistake_of_ours_is_told_of_the_source_whose_copy_it_was() {
    let mut intake = intake();
    assert_eq!(intake.take(0, data(), now()), CopyOutcome::Changed);
    intake.broke(1, now());
    let told: Vec<(String, &str)> = intake
        .problems()
        .iter()
        .map(|finding| (finding.place.to_string(), finding.code))
        .collect();
    assert_eq!(told, [("releases".to_owned(), "internal")]);
    assert!(intake.has_news(), "the copy of the other one is not lost");
}

#[test]
fn bytes_that_were_forgotten_come_back_with_the_next_read() {
    let mut intake = served();
    let files = |intake: &Intake| {
        intake
            .copies()
            .iter()
            .map(|copy| copy.files.len())
            .collect::<Vec<_>>()
    };
    intake.forget_bytes();
    assert_eq!(files(&intake), [2, 0]);
    assert_eq!(intake.take(1, releases(), now()), CopyOutcome::Unchanged);
    assert_eq!(
        files(&intake),
        [2, 1],
        "so that a copy that was lost can be kept again"
    );
}

#[test]
fn what_a_source_had_lately_is_kept_and_taken_up() {
    let copies = served().copies();
    let mut again = intake();
    assert_eq!(again.restore(copies.clone(), now()), []);
    again.promote(now());
    assert_eq!(again.copies(), copies);
    let counted = copies[1]
        .kept
        .highs
        .counts()
        .map(|(_, measure, count)| (measure.noun(), count));
    assert_eq!(
        counted.collect::<Vec<_>>(),
        [("releases", 2), ("edges", 1), ("edges with risks", 0)]
    );
}

/// Releases of one source, by patch level and the number of their image.
fn payloads(releases: &[(u32, u8)]) -> Result<SourceReading, Finding> {
    let node = |(patch, of): &(u32, u8)| {
        format!(r#"{{"version":"4.9.{patch}","payload":"p@sha256:{of:064x}"}}"#)
    };
    let nodes: Vec<String> = releases.iter().map(node).collect();
    read(vec![file(
        "releases.json",
        &format!("{{\"nodes\":[{}],\"edges\":[[0,1]]}}", nodes.join(",")),
    )])
}

fn codes(intake: &Intake) -> Vec<&'static str> {
    intake
        .problems()
        .iter()
        .map(|finding| finding.code)
        .collect()
}

#[test]
fn a_payload_that_changes_in_two_steps_is_noticed_also_across_a_restart() {
    let mut intake = intake();
    intake.take(0, data(), now());
    for releases in [&[(0, 0), (1, 1), (2, 2)][..], &[(0, 0), (2, 2)]] {
        assert_eq!(
            intake.take(1, payloads(releases), now()),
            CopyOutcome::Changed
        );
        intake.promote(now());
    }
    let mut again = self::intake();
    assert_eq!(again.restore(intake.copies(), now()), []);
    for mut intake in [intake, again] {
        assert_eq!(
            intake.take(1, payloads(&[(0, 0), (1, 9), (2, 2)]), now()),
            CopyOutcome::Failed
        );
        assert_eq!(codes(&intake), ["payload-changed"]);
        assert_eq!(
            intake.take(1, payloads(&[(0, 0), (1, 1), (2, 2)]), now()),
            CopyOutcome::Changed
        );
        intake.promote(now());
        assert_eq!(intake.copies()[1].kept.vanished, Default::default());
    }
}

/// The same, with signatures that count.
fn guarded() -> Intake {
    let signatures = super::super::SignatureSettings {
        policy: SignaturePolicy::Require,
        stores: Vec::new(),
        keyring: Vec::new(),
    };
    let plain = intake();
    Intake::new(&SourceSettings {
        seals: None,
        signatures: Some(signatures),
        ..plain.settings
    })
}

/// The images of these numbers are verified.
fn verdicts(of: std::ops::Range<u8>) -> Verdicts {
    let signer = towpath_core::signatures::Signer {
        fingerprint: "F".into(),
        user_id: "ann".into(),
        signed_at: now(),
        until: None,
    };
    let digest = |of: u8| PayloadDigest::parse(&format!("sha256:{of:064x}")).expect("a digest");
    of.map(|of| {
        (
            digest(of),
            towpath_core::signatures::SignatureVerdict::Verified(signer.clone()),
        )
    })
    .collect()
}

/// So many releases, of which the images from there on are others' than ours.
fn signed(count: u8, ours: u8) -> Result<SourceReading, Finding> {
    let release = |patch: u8| {
        if patch < ours {
            (patch.into(), patch)
        } else {
            (u32::from(patch) + 100, patch + 100)
        }
    };
    payloads(&(0..count).map(release).collect::<Vec<_>>())
}

fn guarded_and_served() -> Intake {
    let mut intake = guarded();
    assert_eq!(
        (
            intake.take(0, data(), now()),
            intake.take(1, signed(100, 100), now())
        ),
        (CopyOutcome::Changed, CopyOutcome::Changed)
    );
    intake.verified(verdicts(0..100), now());
    intake.promote(now());
    intake
}

#[test]
fn verified_releases_that_go_one_by_one_are_missed_also_across_a_restart() {
    let mut intake = guarded_and_served();
    assert_eq!(intake.take(1, signed(100, 92), now()), CopyOutcome::Changed);
    intake.promote(now());
    let mut again = guarded();
    assert_eq!(again.restore(intake.copies(), now()), []);
    again.verified(verdicts(0..100), now());
    again.promote(now());
    for intake in [&mut intake, &mut again] {
        assert_eq!(
            (intake.take(1, signed(100, 85), now()), codes(intake)),
            (CopyOutcome::Failed, vec!["shrinks"])
        );
        assert_eq!(intake.take(1, signed(100, 91), now()), CopyOutcome::Changed);
    }
}

#[test]
fn a_key_that_is_gone_is_no_reason_to_refuse_later_copies() {
    let mut intake = guarded_and_served();
    let copies = intake.copies();
    let mut again = guarded();
    again.restore(copies.clone(), now());
    intake.verified(verdicts(0..60), now());
    again.verified(verdicts(0..60), now());
    again.promote(now());
    for intake in [&mut intake, &mut again] {
        assert_eq!(
            intake.take(1, signed(100, 99), now()),
            CopyOutcome::Changed,
            "{:?}",
            intake.problems()
        );
        intake.promote(now());
        assert_eq!(
            (intake.take(1, signed(100, 40), now()), codes(intake)),
            (CopyOutcome::Failed, vec!["shrinks"])
        );
    }
    // Nor are signatures that do not count any more, now or when they count again.
    let mut off = self::intake();
    off.restore(copies, now());
    off.promote(now());
    assert_eq!(off.take(1, signed(100, 99), now()), CopyOutcome::Changed);
    off.promote(now());
    let mut on = guarded();
    on.restore(off.copies(), now());
    on.verified(verdicts(0..60), now());
    on.promote(now());
    assert_eq!(
        on.take(1, signed(100, 98), now()),
        CopyOutcome::Changed,
        "{:?}",
        on.problems()
    );
}

/// A service with channels a and b.
fn upstream_intake() -> Intake {
    let intervals = Intervals {
        local: Duration::from_secs(30),
        remote: Duration::from_secs(300),
        graph_data_image: Duration::from_secs(30),
    };
    let address = "https://example.com/graph#channels=a,b&name=up";
    let up = SourceSpec::parse(Role::Releases, address, "up", intervals, false).expect("a source");
    Intake::new(&SourceSettings {
        specs: vec![up],
        ..intake().settings
    })
}

#[test]
fn a_service_that_looks_older_and_brings_a_release_back_into_a_channel_is_refused() {
    let answers = |a: &[u32], b: &[u32]| {
        let node = |patch: &u32| format!(r#"{{"version":"4.9.{patch}","payload":"p{patch}"}}"#);
        let text = |patches: &[u32]| patches.iter().map(node).collect::<Vec<_>>().join(",");
        let answer = |name: &str, patches| {
            file(
                name,
                &format!("{{\"nodes\":[{}],\"edges\":[]}}", text(patches)),
            )
        };
        read(vec![answer("a/amd64.json", a), answer("b/amd64.json", b)])
    };
    let mut intake = upstream_intake();
    // 4.9.1 is in b no more, 4.9.9 is a mistake that will be withdrawn.
    assert_eq!(
        intake.take(0, answers(&[0, 1, 9], &[0]), now()),
        CopyOutcome::Changed
    );
    intake.promote(now());
    assert_eq!(
        (
            intake.take(0, answers(&[0, 1], &[0, 1]), now()),
            codes(&intake)
        ),
        (CopyOutcome::Failed, vec!["back-in-time"])
    );
    assert_eq!(
        intake.take(0, answers(&[0, 1], &[0]), now()),
        CopyOutcome::Changed
    );
}

#[test]
fn a_copy_that_stays_refused_is_not_understood_again() {
    let mut intake = upstream_intake();
    let answers = |text: &str| upstream::read(&[file("c/amd64.json", text)]).expect("an answer");
    let two = answers(
        r#"{"nodes":[{"version":"4.9.0","payload":"p"},{"version":"4.9.1","payload":"q"}],"edges":[[0,1]]}"#,
    );
    let none = answers(r#"{"nodes":[],"edges":[]}"#);
    // Files that nobody could understand: what they say is known from whoever read them first.
    let copy = |name: &str, answers: Option<_>| {
        Ok(SourceReading {
            answers,
            ..SourceReading::of(vec![file(name, "?")])
        })
    };
    assert_eq!(
        intake.take(0, copy("good", Some(Ok(two))), now()),
        CopyOutcome::Changed
    );
    intake.promote(now());
    assert_eq!(
        (
            intake.take(0, copy("empty", Some(Ok(none))), now()),
            codes(&intake)[0]
        ),
        (CopyOutcome::Failed, "turned-empty")
    );
    for _ in 0..2 {
        assert_eq!(
            (
                intake.take(0, copy("empty", None), now()),
                codes(&intake)[0]
            ),
            (CopyOutcome::Failed, "turned-empty")
        );
    }
    let wrong = Finding::error("bad-json", Place::file("up"), "x", "y");
    for answers in [Some(Err(vec![wrong])), None, None] {
        assert_eq!(
            (
                intake.take(0, copy("wrong", answers), now()),
                codes(&intake)
            ),
            (CopyOutcome::Failed, vec!["bad-json"])
        );
    }
    assert_eq!(
        intake.take(0, copy("good", None), now()),
        CopyOutcome::Unchanged
    );
    // What is allowed is taken as it was understood then.
    assert_eq!(
        intake.take(
            0,
            copy("empty", Some(Ok(answers(r#"{"nodes":[],"edges":[]}"#)))),
            now()
        ),
        CopyOutcome::Failed
    );
    intake.allow_once(0, &[CopyObjection::Empty], now());
    assert_eq!(
        intake.take(0, copy("empty", None), now()),
        CopyOutcome::Changed
    );
    assert_eq!(
        intake.sources[0].newest().map(|good| good.files.len()),
        Some(1),
        "and can be kept"
    );
}

/// Graph data with these files beside its channel; each gets a number.
fn with_blocks(blocks: &[(&str, &str)]) -> Result<SourceReading, Finding> {
    let Ok(mut read) = data() else { panic!("data") };
    read.files.extend(
        blocks
            .iter()
            .map(|(name, text)| file(&format!("blocked-edges/{name}.yaml"), text)),
    );
    Ok(read)
}

const TRIAGE: [(&str, &str); 3] = [
    (
        "a",
        "to: 4.9.1\nfrom: 4[.]9[.]0\nclusters: {platforms: [AWS]}\n",
    ),
    (
        "b",
        "to: 4.9.1\nfrom: 4[.]9[.]0\nclusters: {platforms: [GCP]}\n",
    ),
    (
        "c",
        "to: 4.9.1\nfrom: 4[.]9[.]0\nclusters: {platforms: [Azure]}\n",
    ),
];
const URGENT: (&str, &str) = ("urgent", "to: 4.9.1\nfrom: .*\n");

fn triaged() -> Intake {
    let mut intake = intake();
    assert_eq!(
        intake.take(0, with_blocks(&TRIAGE), now()),
        CopyOutcome::Changed
    );
    assert_eq!(intake.take(1, releases(), now()), CopyOutcome::Changed);
    intake.promote(now());
    intake
}

fn names(intake: &Intake) -> Vec<String> {
    intake
        .stricter()
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

/// The files of the blocks on the only edge.
fn on_edge(intake: &Intake) -> Vec<String> {
    let (graph, _) = intake.graph();
    graph
        .blocks_on(graph.edges()[0])
        .map(|block| block.origin.file.to_string())
        .collect()
}

const URGENT_FILE: &str = "blocked-edges/urgent.yaml";

#[test]
fn a_copy_that_is_refused_or_has_a_mistake_still_blocks() {
    let broken = |path: &str, text: &str| {
        let mut read = with_blocks(&[&TRIAGE[..], &[URGENT]].concat()).expect("data");
        read.files.retain(|file| file.path != path);
        read.files.push(file(path, text));
        Ok(read)
    };
    let mut unread = with_blocks(&[&TRIAGE[..], &[URGENT]].concat()).expect("data");
    unread
        .unread
        .push(Finding::error("unreadable", Place::file("x"), "no", "yes"));
    for (copy, code) in [
        (with_blocks(&[URGENT]), ""),
        (with_blocks(&[("new", "to: 9.9.9\nfrom: .*\n"), URGENT]), ""),
        (broken("channels/c.yaml", "name: ["), "bad-yaml"),
        (broken("version", "one"), "unknown-schema"),
        (broken("blocked-edges/b.yaml", "to: x"), "bad-version"),
        (Ok(unread), "unreadable"),
    ] {
        let mut intake = triaged();
        let before = intake.digest(now());
        let taken = intake.take(0, copy.clone(), now());
        if code.is_empty() && taken == CopyOutcome::Changed {
            continue;
        }
        assert_eq!(taken, CopyOutcome::Failed, "{code}");
        assert!(
            code.is_empty() || codes(&intake).contains(&code),
            "{code} {:?}",
            codes(&intake)
        );
        assert!(on_edge(&intake).contains(&URGENT_FILE.to_owned()), "{code}");
        assert_eq!(
            on_edge(&intake)
                .iter()
                .filter(|name| **name != *URGENT_FILE)
                .count(),
            3,
            "nothing is lifted"
        );
        assert_ne!(intake.digest(now()), before, "it is served");
        assert_eq!(
            intake.health()[0]
                .stricter
                .iter()
                .filter(|part| part.name == URGENT_FILE)
                .count(),
            1
        );
        // Again, and the copy before again: it holds.
        intake.take(0, copy, now());
        intake.take(0, with_blocks(&TRIAGE), now());
        assert_eq!(
            names(&intake)
                .iter()
                .filter(|name| **name == *URGENT_FILE)
                .count(),
            1
        );
        // A copy that is taken takes their place.
        assert_eq!(
            intake.take(
                0,
                with_blocks(&[TRIAGE[0], TRIAGE[1], TRIAGE[2], ("d", URGENT.1)]),
                now()
            ),
            CopyOutcome::Changed
        );
        assert_eq!((names(&intake), on_edge(&intake).len()), (vec![], 4));
        intake.demote(now());
        assert!(
            names(&intake).contains(&URGENT_FILE.to_owned()),
            "unless no graph can be made of it"
        );
    }
}

#[test]
fn three_blocks_lifted_and_then_an_urgent_one() {
    let mut intake = triaged();
    assert_eq!(intake.take(0, data(), now()), CopyOutcome::Failed);
    assert_eq!((codes(&intake)[0], names(&intake)), ("shrinks", vec![]));
    // Written so that nothing of what the three did is left.
    let urgent = with_blocks(&[(
        "urgent",
        "to: 4.9.1\nfrom: 4[.]9[.]0[+]amd64\nclusters: {platforms: [Nutanix]}\n",
    )]);
    assert_eq!(intake.take(0, urgent.clone(), now()), CopyOutcome::Failed);
    assert_eq!(names(&intake), [URGENT_FILE]);
    assert_eq!(on_edge(&intake).len(), 4);
    // It survives a restart.
    let mut again = self::intake();
    assert_eq!(again.restore(intake.copies(), now()), []);
    assert_eq!(
        (names(&again), on_edge(&again).len()),
        (vec![URGENT_FILE.to_owned()], 4)
    );
    // A person discards it, and the same copy does not bring it back, also after another restart.
    again.promote(now());
    assert_eq!(
        (
            again.discard_stricter(0, &["blocked-edges/x.yaml".into()]),
            names(&again).len()
        ),
        (0, 1)
    );
    assert_eq!(
        (
            again.discard_stricter(0, &[URGENT_FILE.into()]),
            names(&again).len()
        ),
        (1, 0)
    );
    let mut third = self::intake();
    assert_eq!(third.restore(again.copies(), now()), []);
    for mut intake in [again, third] {
        assert_eq!(
            (intake.take(0, urgent.clone(), now()), names(&intake).len()),
            (CopyOutcome::Failed, 0)
        );
    }
}

#[test]
fn a_copy_that_lacks_a_stricter_part_lifts_it() {
    let mut intake = triaged();
    let mistake = |blocks: &[(&str, &str)]| {
        let mut read = with_blocks(&[&TRIAGE[..], blocks].concat()).expect("data");
        read.files.push(file("channels/d.yaml", "["));
        Ok(read)
    };
    let parts = [
        ("p", "to: 4.9.2\nfrom: .*\n"),
        ("q", "to: 4.9.3\nfrom: .*\n"),
        ("r", "to: 4.9.4\nfrom: .*\n"),
    ];
    assert_eq!(
        (intake.take(0, mistake(&parts), now()), names(&intake).len()),
        (CopyOutcome::Failed, 3)
    );
    let without = with_blocks(&[
        TRIAGE[0],
        TRIAGE[1],
        TRIAGE[2],
        ("s", "to: 4.9.9\nfrom: .*\n"),
    ]);
    assert_eq!(
        intake.take(0, without, now()),
        CopyOutcome::Failed,
        "two of six are gone, whatever else is new"
    );
    assert_eq!(codes(&intake), ["shrinks"]);
    assert_eq!(names(&intake).len(), 4);
    let with = with_blocks(&[&TRIAGE[..], &parts].concat());
    assert_eq!(
        (intake.take(0, with, now()), names(&intake).len()),
        (CopyOutcome::Changed, 0)
    );
}

#[test]
fn a_new_risk_in_releases_that_are_refused_holds() {
    let mut intake = served();
    let payloads = |risk: &str, payload: &str| {
        let nodes = format!(
            r#"[{{"version":"4.9.0","payload":"p@sha256:{:064x}"}},{{"version":"4.9.1","payload":"{payload}"}}]"#,
            9
        );
        read(vec![file(
            "releases.json",
            &format!("{{\"nodes\":{nodes},\"edges\":[{risk}}}"),
        )])
    };
    let digest = |of: u8| format!("q@sha256:{of:064x}");
    let risk = r#"],"conditionalEdges":[{"edges":[{"from":"4.9.0","to":"4.9.1"}],"risks":[{"url":"https://example.com","name":"New","message":"m","matchingRules":[{"type":"Always"}]}]}]"#;
    assert_eq!(
        intake.take(1, payloads("[0,1]]", &digest(1)), now()),
        CopyOutcome::Changed
    );
    intake.promote(now());
    assert_eq!(
        intake.take(1, payloads(risk, &digest(2)), now()),
        CopyOutcome::Failed
    );
    assert_eq!(codes(&intake), ["payload-changed"]);
    let name = "blocked-edges/to-4.9.1-amd64-New-1.yaml";
    assert_eq!(
        (names(&intake), on_edge(&intake)),
        (vec![name.to_owned()], vec![name.to_owned()])
    );
    let mut again = self::intake();
    assert_eq!(again.restore(intake.copies(), now()), []);
    assert_eq!(on_edge(&again), [name], "also after a restart");
}
