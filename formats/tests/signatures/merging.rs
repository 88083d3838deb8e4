//! One key in several certificates: what GnuPG exports later, and revocations that it writes by themselves.
//!
//! Needs the command `gpg` (Debian: gnupg), and files to hand to it.
#![allow(clippy::disallowed_methods)]

use expect_test::{Expect, expect};
use pgp::packet::RevocationCode;
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::signatures::{Keyring, MAX_KEYS, verify};

use crate::forge::*;
use crate::gnupg::Gnupg;

const MADE: &str = "20240101T000000";
const SIGNED_AT: &str = "20240131T000000";
const LATER: &str = "20240301T000000";
const RETIRED: &str = "y\n3\n\ny\n";
const NO_REASON: &str = "y\n0\n\ny\n";

/// Ann's key for sixty days, its first export, and what it signed.
fn ann() -> (Gnupg, Vec<u8>) {
    let gpg = Gnupg::new();
    gpg.output(
        MADE,
        &["--quick-generate-key", "ann", "ed25519", "sign", "60d"],
        None,
    );
    let first = gpg.output(MADE, &["--armor", "--export", "ann"], None);
    (gpg, first)
}

fn signed(gpg: &Gnupg, time: &str) -> Vec<u8> {
    gpg.output(time, &["--sign", "--output", "-"], Some(&gpg.statement()))
}

fn revocation(gpg: &Gnupg, answers: &str) -> Vec<u8> {
    gpg.answering(LATER, &["--output", "-", "--gen-revoke", "ann"], answers)
}

fn told(bytes: &[u8], files: &[SourceFile]) -> String {
    let lines = |findings: Vec<Finding>| {
        findings
            .iter()
            .map(|finding| format!("{finding}\n"))
            .collect::<String>()
    };
    match Keyring::read(files) {
        Err(findings) => lines(findings),
        Ok((ring, _)) => {
            assert_eq!(ring.keys().count(), 1, "one primary key is one key");
            verify(bytes, &ring, digest(), at(NOW))
                .map_or_else(|refusal| refusal.code(), |_| "verified")
                .to_owned()
        }
    }
}

/// Both files in both orders, and both in one file.
fn in_every_order(one: &[u8], other: &[u8]) -> [Vec<SourceFile>; 4] {
    let joined = |a: &[u8], b: &[u8]| vec![file("both.asc", [a, b"\n", b].concat())];
    [
        vec![file("a.asc", one), file("b.asc", other)],
        vec![file("b.asc", other), file("a.asc", one)],
        joined(one, other),
        joined(other, one),
    ]
}

#[test]
fn a_revocation_by_itself_revokes_its_key_wherever_it_stands() {
    let (gpg, key) = ann();
    let before = signed(&gpg, SIGNED_AT);
    for (answers, expected) in [(NO_REASON, "key-revoked"), (RETIRED, "verified")] {
        let revocation = revocation(&gpg, answers);
        assert!(String::from_utf8_lossy(&revocation).contains("This is a revocation certificate"));
        for files in in_every_order(&key, &revocation) {
            assert_eq!(
                told(&before, &files),
                expected,
                "{answers:?} {:?}",
                files[0].path
            );
        }
    }
    // A hard one counts, whatever else is said, and the earlier of two soft ones.
    let both = [revocation(&gpg, RETIRED), revocation(&gpg, NO_REASON)].concat();
    assert_eq!(
        told(&before, &[file("a.asc", [key, both].concat())]),
        "key-revoked"
    );
}

#[test]
fn a_binary_revocation_behind_a_binary_key_is_seen() {
    let (gpg, armored) = ann();
    let before = signed(&gpg, SIGNED_AT);
    let key = gpg.output(MADE, &["--export", "ann"], None);
    let path = gpg.home.path().join("revocation.asc");
    std::fs::write(&path, revocation(&gpg, NO_REASON)).unwrap();
    let revocation = gpg.output(LATER, &["--output", "-", "--dearmor"], Some(&path));
    for files in [
        vec![file("both.gpg", [key.clone(), revocation.clone()].concat())],
        vec![file("both.gpg", [revocation.clone(), key].concat())],
        vec![file("revocation.gpg", revocation), file("key.asc", armored)],
    ] {
        assert_eq!(told(&before, &files), "key-revoked");
    }
}

#[test]
fn of_two_exports_of_a_key_the_newest_word_about_its_end_counts() {
    for (span, expected) in [("2y", "verified"), ("10d", "key-expired")] {
        let (gpg, first) = ann();
        let late = signed(&gpg, "20240220T000000");
        assert_eq!(told(&late, &[file("a.asc", &first)]), "verified");
        let fingerprint = fingerprint(&first);
        // Counted from the time at which it is said.
        gpg.output(
            "20240105T000000",
            &["--quick-set-expire", &fingerprint, span],
            None,
        );
        let second = gpg.output("20240105T000000", &["--armor", "--export", "ann"], None);
        for files in in_every_order(&first, &second) {
            assert_eq!(told(&late, &files), expected, "{span}");
        }
    }
}

#[test]
fn a_subkey_of_a_later_export_signs_and_its_revocation_is_heard() {
    let (gpg, first) = ann();
    let fingerprint = fingerprint(&first);
    gpg.output(
        "20240105T000000",
        &["--quick-add-key", &fingerprint, "ed25519", "sign", "1y"],
        None,
    );
    let second = gpg.output("20240105T000000", &["--armor", "--export", "ann"], None);
    let by_subkey = signed(&gpg, SIGNED_AT);
    assert_eq!(
        told(&by_subkey, &[file("a.asc", &first)]),
        "unknown-key",
        "GnuPG signs with the newest subkey"
    );
    for files in in_every_order(&first, &second) {
        assert_eq!(told(&by_subkey, &files), "verified");
    }
    let edit = ["--edit-key", &fingerprint, "key 1", "revkey", "save"];
    gpg.answering(LATER, &edit, "y\n0\n\ny\n");
    let third = gpg.output(LATER, &["--armor", "--export", "ann"], None);
    for files in in_every_order(&second, &third) {
        assert_eq!(told(&by_subkey, &files), "key-revoked");
    }
}

#[test]
fn a_revoked_export_beside_the_first_one_counts() {
    let (gpg, first) = ann();
    let before = signed(&gpg, SIGNED_AT);
    let path = gpg.home.path().join("revocation.asc");
    std::fs::write(&path, revocation(&gpg, NO_REASON)).unwrap();
    gpg.output(LATER, &["--import"], Some(&path));
    let second = gpg.output(LATER, &["--armor", "--export", "ann"], None);
    for files in in_every_order(&first, &second) {
        assert_eq!(told(&before, &files), "key-revoked");
    }
}

#[test]
fn the_earlier_of_two_retirements_counts() {
    let mut key = key("ann");
    revoke(&mut key, SIGNED + DAY, RevocationCode::KeyRetired);
    let later = armored(&[&key]);
    revoke(&mut key, SIGNED - DAY, RevocationCode::KeyRetired);
    let bytes = Signing::by(&key.primary_key).binary();
    assert_eq!(told(&bytes, &[file("a.asc", later)]), "verified");
    assert_eq!(
        told(&bytes, &[file("a.asc", armored(&[&key]))]),
        "key-revoked"
    );
}

fn check(files: &[SourceFile], expected: Expect) {
    let told = told(b"", files);
    let words = told.split(' ').map(|word| {
        let is_fingerprint = word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_fingerprint { "F" } else { word }
    });
    expected.assert_eq(&words.collect::<Vec<_>>().join(" "));
}

#[test]
fn nothing_in_a_keyring_is_passed_over() {
    let (gpg, key) = ann();
    let stranger = ann().1;
    check(
        &[file(
            "keys.asc",
            [&stranger[..], b"\n", &revocation(&gpg, NO_REASON)].concat(),
        )],
        expect![[r#"
        keys.asc:11: a revocation by F in it matches no key in the keyring; add the key that it revokes, or take the revocation out
    "#]],
    );
    let folder = std::fs::read_dir(gpg.home.path().join("openpgp-revocs.d")).unwrap();
    let prepared =
        std::fs::read(folder.map(|entry| entry.unwrap().path()).next().unwrap()).unwrap();
    check(
        &[file("keys.asc", &key), file("prepared.rev", prepared)],
        expect![[r#"
        prepared.rev:21: an armored block does not begin its line; take away what is before it, or the block; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    let detached = gpg.output(
        SIGNED_AT,
        &["--armor", "--detach-sign", "--output", "-"],
        Some(&gpg.statement()),
    );
    check(
        &[file("keys.asc", [&key[..], &detached].concat())],
        expect![[r#"
        keys.asc:10: an armored block is not of public keys; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    let secret = gpg.output(MADE, &["--armor", "--export-secret-keys", "ann"], None);
    check(
        &[file("keys.asc", [&key[..], &secret].concat())],
        expect![[r#"
        keys.asc:10: there is a secret key in it; take it away from here, and only export public keys; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    let bytes = gpg.output(MADE, &["--export", "ann"], None);
    let strange = [&bytes[..], &[0xC0 | 60, 1, 0]].concat();
    check(
        &[file("private-use.gpg", strange)],
        expect![[r#"
        private-use.gpg: a packet in it is not understood: Experimental Packet type: ExperimentalTag(60); export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    let literal = [&bytes[..], &packet(&literal("hello"))].concat();
    check(
        &[file("data.gpg", literal)],
        expect![[r#"
        data.gpg: a packet (LiteralData) in it belongs to no key; take it out, or export the key it belongs to: gpg --armor --export <fingerprint>
    "#]],
    );
    let headless = &bytes[bytes
        .windows(5)
        .position(|at| at == [0xB4, 3, b'a', b'n', b'n'])
        .unwrap()..];
    check(
        &[file("headless.gpg", headless)],
        expect![[r#"
        headless.gpg: a packet (UserId) in it belongs to no key; take it out, or export the key it belongs to: gpg --armor --export <fingerprint>
    "#]],
    );
}

#[test]
fn there_is_a_limit_to_keys() {
    let keys: Vec<_> = (0..=MAX_KEYS)
        .map(|number| key(&format!("key {number}")))
        .collect();
    let all: String = keys.iter().map(|key| armored(&[key])).collect();
    check(
        &[file("keys.asc", all)],
        expect![[r#"
        keys.asc: there are 257 keys; at most 256 are allowed; keep only the keys that sign releases
    "#]],
    );
}

fn fingerprint(armored: &[u8]) -> String {
    let (ring, _) = Keyring::read(&[file("a.asc", armored)]).unwrap();
    ring.keys().next().unwrap().0.to_owned()
}
