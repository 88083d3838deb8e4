//! Every reason why a signature does not count has a signature here that gives it.

use expect_test::{Expect, expect};
use pgp::packet::{Notation, RevocationCode, Subpacket, SubpacketData};
use pgp::types::{CompressionAlgorithm, Duration};
use towpath_core::signatures::{Refusal, Signer};
use towpath_formats::signatures::{Keyring, MAX_BODY_BYTES, MAX_SIGNATURE_BYTES, nearest, verify};

use crate::forge::*;

fn judged(bytes: &[u8], keyring: &Keyring) -> Result<Signer, Refusal> {
    verify(bytes, keyring, digest(), at(NOW))
}

/// Checks code and sentence; fingerprints are shortened, times are not.
fn check(bytes: &[u8], keyring: &Keyring, expected: Expect) {
    let told = match judged(bytes, keyring) {
        Ok(signer) => format!("{} at {}", signer.user_id, signer.signed_at),
        Err(refusal) => format!("{}: {refusal}", refusal.code()),
    };
    let words = told.split(' ').map(|word| {
        let is_fingerprint =
            word.len() >= 40 && word.bytes().take(40).all(|byte| byte.is_ascii_hexdigit());
        if is_fingerprint {
            format!("F{}", &word[40..])
        } else {
            word.to_owned()
        }
    });
    expected.assert_eq(&words.collect::<Vec<_>>().join(" "));
}

#[test]
fn every_form_of_a_good_signature_counts() {
    let (key, other) = (key("ann"), key("bob"));
    let ring = keyring(&[&other, &key]);
    let by = || Signing::by(&key.primary_key);
    let zlib = Signing {
        compression: Some(CompressionAlgorithm::ZLIB),
        ..by()
    };
    for bytes in [
        by().binary(),
        by().bare().binary(),
        by().armored(),
        zlib.binary(),
        signature_first(&key.primary_key),
    ] {
        check(&bytes, &ring, expect!["ann at 2024-01-31T00:00:00Z"]);
    }
}

#[test]
fn a_subkey_signs_for_its_primary_key() {
    let key = key_with_signing_subkey("ann");
    let signer = judged(
        &Signing::by(&key.secret_subkeys[0].key).binary(),
        &keyring(&[&key]),
    )
    .unwrap();
    let primary = format!(
        "{:X}",
        pgp::types::KeyDetails::fingerprint(&key.primary_key)
    );
    assert_eq!(
        (signer.fingerprint, signer.user_id.as_str()),
        (primary, "ann")
    );
}

#[test]
fn what_is_not_a_signed_message() {
    let key = key("ann");
    let ring = keyring(&[&key]);
    let good = Signing::by(&key.primary_key).bare().binary();
    let twice = [good.as_slice(), &good].concat();
    let behind = [good.as_slice(), &packet(&literal("more"))].concat();
    let expected = expect![[r#"
        empty: it is empty
        JSON: it is neither binary nor armored
        detached: there is no data in it
        unsigned: it is not signed
        two messages: it has packets that do not belong to a signed message
        data behind: it has packets that do not belong to a signed message
        a key: it has packets that do not belong to a signed message
        an armored key: the armor is not that of a message
        cut short: a packet is broken
    "#]];
    let cases = [
        ("empty", Vec::new()),
        ("JSON", statement(DIGEST).into_bytes()),
        ("detached", detached(&key.primary_key)),
        ("unsigned", unsigned()),
        ("two messages", twice),
        ("data behind", behind),
        ("a key", binary(&key)),
        ("an armored key", armored(&[&key]).into_bytes()),
        ("cut short", good[..good.len() - 1].to_vec()),
    ];
    let told = cases.map(|(name, bytes)| match judged(&bytes, &ring) {
        Err(Refusal::NotOpenPgp { problem }) => format!("{name}: {problem}\n"),
        other => format!("{name}: {other:?}\n"),
    });
    expected.assert_eq(&told.concat());
}

#[test]
fn a_signature_of_text_is_not_taken() {
    let key = key("ann");
    let expected = expect!["not-of-data: its signature is not a signature of data"];
    check(
        &Signing::by(&key.primary_key).text(),
        &keyring(&[&key]),
        expected,
    );
}

#[test]
fn a_key_that_is_not_in_the_keyring() {
    let (key, stranger) = (key("ann"), key("eve"));
    let expected = expect!["unknown-key: it was signed with key F, which is not in the keyring"];
    check(
        &Signing::by(&stranger.primary_key).binary(),
        &keyring(&[&key]),
        expected,
    );
}

#[test]
fn a_signature_that_was_changed() {
    let key = key("ann");
    let mut bytes = Signing::by(&key.primary_key).bare().binary();
    let place = bytes
        .windows(8)
        .position(|eight| eight == b"00112233")
        .unwrap();
    bytes[place] = b'f';
    let expected =
        expect!["bad-signature: its signature names key F, and that key did not make it"];
    check(&bytes, &keyring(&[&key]), expected);
}

#[test]
fn a_hash_that_can_be_forged() {
    let key = key("ann");
    for (number, name) in [(1u8, "MD5"), (2, "SHA1"), (3, "RIPEMD160")] {
        let mut bytes = Signing::by(&key.primary_key).bare().binary();
        // Version 4, of data, EdDSA, SHA-256.
        let place = bytes
            .windows(4)
            .rposition(|four| four == [4, 0, 22, 8])
            .unwrap();
        bytes[place + 3] = number;
        let refusal = judged(&bytes, &keyring(&[&key])).unwrap_err();
        assert_eq!(
            refusal,
            Refusal::WeakHash {
                hash: name.to_owned()
            }
        );
    }
}

#[test]
fn a_key_that_is_not_for_signing() {
    let key = key("ann");
    let expected = expect!["key-may-not-sign: it was signed with key F, which is not for signing"];
    check(
        &Signing::by(&key.secret_subkeys[0].key).binary(),
        &keyring(&[&key]),
        expected,
    );

    let mut adopter = key_with_signing_subkey("eve");
    adopt_without_consent(&mut adopter);
    let ring = keyring(&[&adopter, &key]);
    let expected = expect!["unknown-key: it was signed with key F, which is not in the keyring"];
    check(
        &Signing::by(&adopter.secret_subkeys[0].key).binary(),
        &ring,
        expected,
    );
}

#[test]
fn a_key_counts_from_its_birth_to_its_end() {
    let mut key = key("ann");
    say(&mut key, BIRTH, true, Some(60 * DAY));
    let ring = keyring(&[&key]);
    let signed_at = |when| Signing::by(&key.primary_key).at(when).binary();
    check(
        &signed_at(BIRTH - 1),
        &ring,
        expect!["key-not-yet-valid: it was signed before key F was made at 2024-01-01 00:00Z"],
    );
    check(
        &signed_at(BIRTH),
        &ring,
        expect!["ann at 2024-01-01T00:00:00Z"],
    );
    // It has expired long since, but it had not when it signed.
    check(
        &signed_at(BIRTH + 60 * DAY - 1),
        &ring,
        expect!["ann at 2024-02-29T23:59:59Z"],
    );
    check(
        &signed_at(BIRTH + 60 * DAY),
        &ring,
        expect!["key-expired: it was signed after key F expired at 2024-03-01 00:00Z"],
    );
}

#[test]
fn a_subkey_ends_with_its_primary_key() {
    let mut key = key_with_signing_subkey("ann");
    say(&mut key, BIRTH, false, Some(DAY));
    let expected = expect!["key-expired: it was signed after key F expired at 2024-01-02 00:00Z"];
    check(
        &Signing::by(&key.secret_subkeys[0].key).binary(),
        &keyring(&[&key]),
        expected,
    );
}

#[test]
fn the_newest_word_of_a_key_counts() {
    let mut key = key("ann");
    say(&mut key, BIRTH, true, Some(DAY));
    let first = key.details.users[0].signatures.clone();
    say(&mut key, BIRTH + 1, true, Some(90 * DAY));
    key.details.users[0].signatures.extend(first);
    check(
        &Signing::by(&key.primary_key).binary(),
        &keyring(&[&key]),
        expect!["ann at 2024-01-31T00:00:00Z"],
    );
}

#[test]
fn a_word_by_somebody_else_does_not_count() {
    let (mut key, mut eve) = (key("ann"), key("ann"));
    say(&mut key, BIRTH, true, Some(DAY));
    say(&mut eve, BIRTH + 5, true, None);
    let forged = eve.details.users[0].signatures.clone();
    key.details.users[0].signatures.extend(forged);
    let expected = expect!["key-expired: it was signed after key F expired at 2024-01-02 00:00Z"];
    check(
        &Signing::by(&key.primary_key).binary(),
        &keyring(&[&key]),
        expected,
    );
}

#[test]
fn a_revoked_key() {
    let is_hard = |code| {
        matches!(
            code,
            RevocationCode::KeyCompromised | RevocationCode::NoReason
        )
    };
    for code in [
        RevocationCode::KeyCompromised,
        RevocationCode::NoReason,
        RevocationCode::KeyRetired,
        RevocationCode::KeySuperseded,
    ] {
        let mut key = key("ann");
        revoke(&mut key, SIGNED + DAY, code);
        let ring = keyring(&[&key]);
        let before = judged(&Signing::by(&key.primary_key).binary(), &ring);
        assert_eq!(before.is_err(), is_hard(code), "{code:?}: {before:?}");
        let expected = expect!["key-revoked: it was signed with key F, which is revoked"];
        check(
            &Signing::by(&key.primary_key).at(SIGNED + DAY).binary(),
            &ring,
            expected,
        );
    }
}

#[test]
fn a_signature_counts_until_it_says() {
    let key = key("ann");
    let ring = keyring(&[&key]);
    let lasting = |seconds| {
        let span = SubpacketData::SignatureExpirationTime(Duration::from_secs(seconds));
        Signing::by(&key.primary_key)
            .with(Subpacket::regular(span).unwrap())
            .binary()
    };
    let left = NOW - SIGNED;
    check(
        &lasting(left + 1),
        &ring,
        expect!["ann at 2024-01-31T00:00:00Z"],
    );
    check(
        &lasting(left),
        &ring,
        expect!["signature-expired: its signature expired at 2024-10-27 00:00Z"],
    );
    check(&lasting(0), &ring, expect!["ann at 2024-01-31T00:00:00Z"]);
    assert_eq!(
        judged(&lasting(left + 1), &ring).unwrap().until,
        Some(at(NOW + 1))
    );
}

#[test]
fn a_signature_from_the_future() {
    let key = key("ann");
    let ring = keyring(&[&key]);
    let signed_at = |when| Signing::by(&key.primary_key).at(when).binary();
    check(
        &signed_at(NOW + 3600),
        &ring,
        expect!["ann at 2024-10-27T01:00:00Z"],
    );
    check(
        &signed_at(NOW + 3601),
        &ring,
        expect![
            "signature-from-the-future: its signature is dated in the future: 2024-10-27 01:00:01Z"
        ],
    );
}

#[test]
fn what_is_critical_must_be_understood() {
    let key = key("ann");
    let ring = keyring(&[&key]);
    let note = Notation {
        readable: true,
        name: "until@example.org".into(),
        value: "tomorrow".into(),
    };
    let with = |subpacket| {
        Signing::by(&key.primary_key)
            .bare()
            .with(subpacket)
            .binary()
    };
    let noted = || SubpacketData::Notation(note.clone());
    check(
        &with(Subpacket::regular(noted()).unwrap()),
        &ring,
        expect!["ann at 2024-01-31T00:00:00Z"],
    );
    check(
        &with(Subpacket::critical(noted()).unwrap()),
        &ring,
        expect![
            "signature-not-understood: its signature requires something that we do not understand: notation until@example.org"
        ],
    );
    // The forge refuses to write a critical subpacket that nobody knows, so its bit is set by hand.
    let mut strange = with(Subpacket::regular(SubpacketData::Other(90, "xyzzy".into())).unwrap());
    check(&strange, &ring, expect!["ann at 2024-01-31T00:00:00Z"]);
    let place = strange
        .windows(6)
        .position(|six| six == b"\x5axyzzy")
        .unwrap();
    strange[place] |= 0x80;
    check(
        &strange,
        &ring,
        expect![
            "signature-not-understood: its signature requires something that we do not understand: subpacket 90"
        ],
    );
}

#[test]
fn what_is_signed_must_be_a_statement_about_this_image() {
    let key = key("ann");
    let ring = keyring(&[&key]);
    let good = statement(DIGEST);
    let cases = [
        good.clone(),
        format!("{good}\n"),
        good.replace(r#""creator":"the forge""#, r#""anything":[1]"#),
        good.replace(r#","optional":{"creator":"the forge"}"#, ""),
        "hello".to_owned(),
        "{}".to_owned(),
        format!("{good}{good}"),
        good.replace(r#""critical":{"#, r#""critical":{"until":"tomorrow","#),
        good.replace(r#""image":{"#, r#""image":{"size":1,"#),
        good.replace(r#""type":"#, r#""type":"x","type":"#),
        good.replace(
            r#""identity":{"docker-reference":"quay.io/o/release:4.9.7"}"#,
            r#""identity":{}"#,
        ),
        good.replace("atomic container signature", "atomic bomb"),
        statement(OTHER),
        statement(&DIGEST.to_uppercase()),
        statement(&DIGEST[7..]),
    ];
    let told =
        cases.map(
            |body| match judged(&Signing::by(&key.primary_key).of(body).binary(), &ring) {
                Ok(_) => "verified\n".to_owned(),
                Err(refusal) => format!("{}: {refusal}\n", refusal.code()),
            },
        );
    expect![[r#"
        verified
        verified
        verified
        verified
        not-a-statement: the signed data is not a statement about an image: expected value
        not-a-statement: the signed data is not a statement about an image: missing field `critical`
        not-a-statement: the signed data is not a statement about an image: trailing characters
        not-a-statement: the signed data is not a statement about an image: unknown field `until`, expected one of `image`, `identity`, `type`
        not-a-statement: the signed data is not a statement about an image: unknown field `size`, expected `docker-manifest-digest`
        not-a-statement: the signed data is not a statement about an image: duplicate field `type`
        not-a-statement: the signed data is not a statement about an image: missing field `docker-reference`
        other-kind: the signed statement is of another kind: "atomic bomb"
        other-digest: the signed statement is about another image: sha256:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
        other-digest: the signed statement is about another image: SHA256:00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF
        other-digest: the signed statement is about another image: 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
    "#]]
    .assert_eq(&told.concat());
}

/// A rogue store copies the signature of one release to the path of another.
#[test]
fn a_good_signature_of_another_release() {
    let key = key("ann");
    let bytes = Signing::by(&key.primary_key).of(statement(OTHER)).binary();
    assert_eq!(
        judged(&bytes, &keyring(&[&key])),
        Err(Refusal::OtherDigest {
            digest: OTHER.to_owned()
        })
    );
}

#[test]
fn what_is_too_large_is_not_looked_at() {
    let key = key("ann");
    let ring = keyring(&[&key]);
    let many = vec![0xc0; MAX_SIGNATURE_BYTES + 1];
    assert_eq!(
        judged(&many, &ring),
        Err(Refusal::TooLarge {
            limit_bytes: MAX_SIGNATURE_BYTES
        })
    );

    let bomb = Signing::by(&key.primary_key)
        .of(vec![b' '; 50 << 20])
        .binary();
    assert!(bomb.len() < MAX_SIGNATURE_BYTES, "{}", bomb.len());
    assert_eq!(
        judged(&bomb, &ring),
        Err(Refusal::TooLarge {
            limit_bytes: MAX_BODY_BYTES
        })
    );
}

#[test]
fn of_several_signatures_the_nearest_is_told() {
    let far = Refusal::UnknownKey {
        issuer: "eve".to_owned(),
    };
    let near = Refusal::OtherDigest {
        digest: OTHER.to_owned(),
    };
    assert_eq!(nearest([near.clone(), far.clone()]), Some(near.clone()));
    assert_eq!(nearest([far, near.clone()]), Some(near));
    assert_eq!(nearest([]), None);
}
