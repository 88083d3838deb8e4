//! Keyrings: which files are taken, and what is said of the others.

use expect_test::{Expect, expect};
use pgp::composed::ArmorOptions;
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::signatures::{Keyring, MAX_KEYRING_BYTES, verify};

use crate::forge::*;

fn check(files: &[SourceFile], expected: Expect) {
    let lines = |findings: &[Finding]| {
        findings
            .iter()
            .map(|f| format!("{:?} {f}\n", f.severity))
            .collect::<String>()
    };
    let told = match Keyring::read(files) {
        Ok((ring, findings)) => format!("{}{}", names(&ring), lines(&findings)),
        Err(findings) => lines(&findings),
    };
    let words = told.split(' ').map(|word| {
        let is_fingerprint = word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_fingerprint { "F" } else { word }
    });
    expected.assert_eq(&words.collect::<Vec<_>>().join(" "));
}

fn names(ring: &Keyring) -> String {
    let names: Vec<&str> = ring.keys().map(|(_, user)| user).collect();
    format!("keys: {}\n", names.join(", "))
}

#[test]
fn several_keys_in_several_forms() {
    let keys = ["ann", "bob", "cid", "dan"].map(key);
    let text = format!(
        "These are ours:\n{}\nand\n{}bye\n",
        armored(&[&keys[0]]),
        armored(&[&keys[1]])
    );
    let both = [binary(&keys[2]), binary(&keys[3])].concat();
    check(
        &[file("a.asc", text), file("b.gpg", both)],
        expect![["
        keys: ann, bob, cid, dan
    "]],
    );
}

#[test]
fn an_extra_key_takes_nothing_from_the_others() {
    let (ann, eve) = (key("ann"), key("eve"));
    let bytes = Signing::by(&ann.primary_key).binary();
    for ring in [
        keyring(&[&ann]),
        keyring(&[&eve, &ann]),
        keyring(&[&ann, &eve, &ann]),
    ] {
        assert_eq!(
            verify(&bytes, &ring, digest(), at(NOW)).unwrap().user_id,
            "ann"
        );
    }
    assert_ne!(keyring(&[&ann]).digest(), keyring(&[&ann, &eve]).digest());
}

#[test]
fn a_key_that_cannot_sign_is_told_of() {
    let (ann, zoe) = (key("ann"), key_for_nothing("zoe"));
    check(
        &[file("keys.asc", armored(&[&ann, &zoe]))],
        expect![[r#"
            keys: ann
            Warning keys.asc:13: key F (zoe) has no key that may sign and is strong enough; take it out, or add the key that signs releases
        "#]],
    );
    check(
        &[file("keys.asc", armored(&[&zoe]))],
        expect![[r#"
            Error keys.asc: there is no key that could sign a release; add the public key that signs releases
            Warning keys.asc:1: key F (zoe) has no key that may sign and is strong enough; take it out, or add the key that signs releases
        "#]],
    );
    let mut mute = key("mute");
    mute.details.users.clear();
    check(
        &[file("keys.asc", armored(&[&ann, &mute]))],
        expect![[r#"
            keys: ann
            Warning keys.asc:13: key F has no self-signature, so nothing is known about it; take it out, or add the key that signs releases
        "#]],
    );
}

#[test]
fn files_that_are_no_keyring() {
    let ann = key("ann");
    let text = armored(&[&ann]);
    let secret = ann.to_armored_string(ArmorOptions::default()).unwrap();
    let secret_binary = pgp::ser::Serialize::to_bytes(&ann).unwrap();
    let bytes = binary(&ann);
    let broken = text.replacen('=', "!", 1);
    check(
        &[],
        expect![[r#"
            Error keyring: there is no key that could sign a release; add the public key that signs releases
        "#]],
    );
    check(
        &[file("empty", "")],
        expect![[r#"
        Error empty: it is empty; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    check(
        &[file("text", "hello")],
        expect![[r#"
        Error text: there is no armored block of public keys in it; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    check(
        &[file("cut.asc", &text[..text.len() - 30])],
        expect![[r#"
            Error cut.asc:1: an armored block has no end: the file is cut short; export the keys again: gpg --armor --export <fingerprint>
        "#]],
    );
    check(
        &[file("cut.gpg", &bytes[..bytes.len() - 3])],
        expect![[r#"
            Error cut.gpg: a packet is broken, or cut short; export the keys again: gpg --armor --export <fingerprint>
        "#]],
    );
    check(
        &[file("broken.asc", broken)],
        expect![[r#"
            Error broken.asc:1: an armored block is broken; export the keys again: gpg --armor --export <fingerprint>
        "#]],
    );
    check(
        &[file("secret.asc", secret)],
        expect![[r#"
            Error secret.asc:1: there is a secret key in it; take it away from here, and only export public keys; export the keys again: gpg --armor --export <fingerprint>
        "#]],
    );
    check(
        &[file("secret.gpg", secret_binary)],
        expect![[r#"
        Error secret.gpg: there is a secret key in it; take it away from here, and only export public keys; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    check(
        &[file("message", Signing::by(&ann.primary_key).binary())],
        expect![[r#"
            Error message: a packet (CompressedData) in it belongs to no key; take it out, or export the key it belongs to: gpg --armor --export <fingerprint>
        "#]],
    );
    check(
        &[file("large", vec![0xff; MAX_KEYRING_BYTES as usize + 1])],
        expect![[r#"
        Error large: it is larger than 4194304 bytes; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
    // One bad file spoils them all: a key that is missing is noticed at the door, and not at three in the morning.
    check(
        &[file("good.asc", text), file("bad.asc", "hello")],
        expect![[r#"
        Error bad.asc: there is no armored block of public keys in it; export the keys again: gpg --armor --export <fingerprint>
    "#]],
    );
}
