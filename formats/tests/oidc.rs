//! Tokens of issuers: who is known by one, and every way in which one must not make anybody known.
//!
//! The RSA keys in `oidc/` were made for these tests and open nothing.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};
use sha2::Sha256;
use towpath_formats::oidc::{
    ClientAuth, Discovery, Expected, IssuedPerson, IssuerKeys, PersonClaims, Unverified,
};

const ISSUER: &str = "https://login.example.com/realms/ops";
const NOW: i64 = 1_800_000_000;

static RSA: LazyLock<RsaKeyPair> =
    LazyLock::new(|| RsaKeyPair::from_pkcs8(include_bytes!("oidc/issuer-rsa.p8")).unwrap());
static OTHER_RSA: LazyLock<RsaKeyPair> =
    LazyLock::new(|| RsaKeyPair::from_pkcs8(include_bytes!("oidc/other-rsa.p8")).unwrap());

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The public half of an RSA key.
fn jwk(pair: &RsaKeyPair, id: &str, algorithm: Option<&str>) -> Value {
    let parts: ring::signature::RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
    let mut key =
        json!({"kty": "RSA", "kid": id, "use": "sig", "n": b64(parts.n), "e": b64(parts.e)});
    if let Some(algorithm) = algorithm {
        key["alg"] = json!(algorithm);
    }
    key
}

fn document(keys: &[Value]) -> Vec<u8> {
    json!({ "keys": keys }).to_string().into_bytes()
}

fn keys(keys: &[Value]) -> IssuerKeys {
    let read = IssuerKeys::read(&document(keys)).unwrap();
    assert_eq!(read.unused(), &[] as &[String]);
    read
}

fn usual_keys() -> IssuerKeys {
    keys(&[jwk(&RSA, "one", None)])
}

fn expected() -> Expected {
    Expected {
        issuer: ISSUER.to_owned(),
        audiences: ["towpath".to_owned(), "towpath-cli".to_owned()].into(),
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "f:1:ada", "aud": "towpath", "exp": NOW + 300, "iat": NOW - 1,
        "email": "ada@example.com", "email_verified": true, "groups": ["sre", "ops"],
    })
}

fn header() -> Value {
    json!({"alg": "RS256", "kid": "one", "typ": "JWT"})
}

fn signed_by(header: &Value, claims: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", b64(header.to_string()), b64(claims));
    let signature = b64(sign(message.as_bytes()));
    format!("{message}.{signature}")
}

fn rsa(pair: &RsaKeyPair, encoding: &'static dyn RsaEncoding, message: &[u8]) -> Vec<u8> {
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(encoding, &SystemRandom::new(), message, &mut signature)
        .unwrap();
    signature
}

fn token(header: &Value, claims: &Value) -> String {
    signed_by(header, &claims.to_string(), |message| {
        rsa(&RSA, &RSA_PKCS1_SHA256, message)
    })
}

/// Claims as usual, with these changes; null takes one away.
fn with(changes: &Value) -> String {
    let mut all = claims();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(all.as_object_mut().unwrap().remove(name)),
            value => all[name] = value.clone(),
        }
    }
    token(&header(), &all)
}

/// Who is known by a token, or the kind of problem.
fn known(token: &str, keys: &IssuerKeys) -> Result<IssuedPerson, &'static str> {
    let claims = Unverified::parse(token).and_then(|token| token.verify(keys, &expected(), now()));
    let people = PersonClaims {
        name: PersonClaims::NAME.to_owned(),
        groups: PersonClaims::GROUPS.to_owned(),
    };
    claims
        .and_then(|claims| people.person(&claims))
        .map_err(|problem| {
            let sentence = problem.to_string();
            assert!(sentence.contains(';'), "no remedy: {sentence}");
            problem.kind()
        })
}

fn refused(token: &str) -> &'static str {
    known(token, &usual_keys()).expect_err("somebody is known")
}

#[test]
fn a_person_is_known_by_name_subject_and_groups() {
    let person = known(&token(&header(), &claims()), &usual_keys()).unwrap();
    let expected = IssuedPerson {
        name: "ada@example.com".into(),
        subject: "f:1:ada".into(),
        groups: ["sre".to_owned(), "ops".to_owned()].into(),
        ends: Timestamp::from_second(NOW + 300).unwrap(),
    };
    assert_eq!(person, expected);
}

#[test]
fn every_algorithm_of_a_key_is_taken_and_only_that_one() {
    let rsa_kinds: [(&str, &'static dyn RsaEncoding); 6] = [
        ("RS256", &RSA_PKCS1_SHA256),
        ("RS384", &RSA_PKCS1_SHA384),
        ("RS512", &RSA_PKCS1_SHA512),
        ("PS256", &RSA_PSS_SHA256),
        ("PS384", &RSA_PSS_SHA384),
        ("PS512", &RSA_PSS_SHA512),
    ];
    for (of_key, _) in rsa_kinds {
        let keys = keys(&[jwk(&RSA, "one", Some(of_key))]);
        for (of_token, encoding) in rsa_kinds {
            let header = json!({"alg": of_token, "kid": "one"});
            let token = signed_by(&header, &claims().to_string(), |message| {
                rsa(&RSA, encoding, message)
            });
            let is_known = known(&token, &keys).map(drop);
            let expected = match of_key == of_token {
                true => Ok(()),
                false => Err("wrong_algorithm"),
            };
            assert_eq!(is_known, expected, "{of_key} {of_token}");
            // The header says what the key says; the signature is another one.
            let lying = json!({"alg": of_key, "kid": "one"});
            let token = signed_by(&lying, &claims().to_string(), |message| {
                rsa(&RSA, encoding, message)
            });
            assert_eq!(
                known(&token, &keys).is_ok(),
                of_key == of_token,
                "{of_key} {of_token}"
            );
        }
    }
}

#[test]
fn curves_are_taken() {
    let random = SystemRandom::new();
    let curve = |name: &str, size: usize, how: &'static EcdsaSigningAlgorithm| {
        let made = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(how, made.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref().to_vec();
        let (x, y) = (b64(&point[1..=size]), b64(&point[1 + size..]));
        (
            pair,
            json!({"kty": "EC", "crv": name, "kid": "one", "x": x, "y": y}),
        )
    };
    let (p256, p256_jwk) = curve("P-256", 32, &ECDSA_P256_SHA256_FIXED_SIGNING);
    let (p384, p384_jwk) = curve("P-384", 48, &ECDSA_P384_SHA384_FIXED_SIGNING);
    let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let ed = Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap();
    let ed_jwk =
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": b64(ed.public_key().as_ref())});
    let by = |algorithm: &str, sign: &dyn Fn(&[u8]) -> Vec<u8>| {
        let header = json!({"alg": algorithm, "kid": "one"});
        signed_by(&header, &claims().to_string(), sign)
    };
    let ec = |pair: &EcdsaKeyPair, message: &[u8]| {
        let signed = pair.sign(&SystemRandom::new(), message).unwrap();
        signed.as_ref().to_vec()
    };
    let es256 = by("ES256", &|message| ec(&p256, message));
    let es384 = by("ES384", &|message| ec(&p384, message));
    let eddsa = by("EdDSA", &|message| ed.sign(message).as_ref().to_vec());
    let newer = by("Ed25519", &|message| ed.sign(message).as_ref().to_vec());
    let (p256, p384, ed) = (keys(&[p256_jwk]), keys(&[p384_jwk]), keys(&[ed_jwk]));
    for (token, own) in [
        (&es256, &p256),
        (&es384, &p384),
        (&eddsa, &ed),
        (&newer, &ed),
    ] {
        assert!(known(token, own).is_ok());
        for other in [&p256, &p384, &ed, &usual_keys()] {
            assert_eq!(known(token, other).is_ok(), std::ptr::eq(own, other));
        }
    }
}

#[test]
fn a_token_without_a_signature_makes_nobody_known() {
    for algorithm in ["none", "None", "NONE", "nOnE", ""] {
        let header = json!({"alg": algorithm, "kid": "one"});
        for signature in [vec![], b"x".to_vec()] {
            let token = signed_by(&header, &claims().to_string(), |_| signature.clone());
            assert_eq!(refused(&token), "wrong_algorithm", "{algorithm}");
        }
    }
    let no_algorithm = token(&json!({"kid": "one"}), &claims());
    assert_eq!(refused(&no_algorithm), "malformed_token");
}

#[test]
fn the_public_key_is_no_shared_secret() {
    let parts: ring::signature::RsaPublicKeyComponents<Vec<u8>> = RSA.public().into();
    let secrets: [&[u8]; 3] = [
        &parts.n,
        RSA.public().as_ref(),
        &document(&[jwk(&RSA, "one", None)]),
    ];
    for algorithm in ["HS256", "HS384", "HS512"] {
        for secret in secrets {
            let header = json!({"alg": algorithm, "kid": "one"});
            let token = signed_by(&header, &claims().to_string(), |message| {
                let mac: Hmac<Sha256> = Hmac::new_from_slice(secret).unwrap();
                mac.chain_update(message).finalize().into_bytes().to_vec()
            });
            assert_eq!(refused(&token), "wrong_algorithm");
        }
    }
    let shared = json!({"kty": "oct", "kid": "one", "alg": "HS256", "k": b64("secret")});
    let read = IssuerKeys::read(&document(&[shared])).unwrap();
    assert_eq!(
        (read.count(), read.unused()),
        (0, &["key 1: it is a shared secret".to_owned()][..])
    );
}

#[test]
fn keys_in_the_header_of_a_token_are_not_used() {
    let own = jwk(&OTHER_RSA, "one", None);
    let header = json!({
        "alg": "RS256", "kid": "one", "jwk": own, "jku": "https://evil.example/keys",
        "x5u": "https://evil.example/cert", "x5c": ["MIIB"],
    });
    let by_other = signed_by(&header, &claims().to_string(), |message| {
        rsa(&OTHER_RSA, &RSA_PKCS1_SHA256, message)
    });
    assert_eq!(refused(&by_other), "forged_token");
    // Nor do they harm a token of the issuer.
    assert!(known(&token(&header, &claims()), &usual_keys()).is_ok());
}

#[test]
fn a_token_is_of_this_issuer_for_this_service_and_for_now() {
    for (changes, expected) in [
        (json!({"iss": "https://evil.example"}), "other_issuer"),
        (json!({"iss": format!("{ISSUER}/")}), "other_issuer"),
        (json!({"iss": null}), "other_issuer"),
        (json!({"iss": [ISSUER]}), "other_issuer"),
        (json!({"aud": "grafana"}), "other_audience"),
        (json!({"aud": ["grafana", "argo"]}), "other_audience"),
        (json!({"aud": []}), "other_audience"),
        (json!({"aud": null}), "other_audience"),
        (json!({"aud": {"towpath": true}}), "other_audience"),
        (json!({"aud": "Towpath"}), "other_audience"),
        (json!({"exp": NOW - 60}), "ended_token"),
        (json!({"exp": 0}), "ended_token"),
        (json!({"exp": null}), "malformed_token"),
        (json!({"exp": "1900000000"}), "malformed_token"),
        (json!({"exp": 1e300}), "malformed_token"),
        (json!({"nbf": NOW + 61}), "early_token"),
        (json!({"iat": NOW + 61}), "early_token"),
        (json!({"nbf": "now"}), "malformed_token"),
        (
            json!({"events": {"http://schemas.openid.net/event/backchannel-logout": {}}}),
            "malformed_token",
        ),
        (json!({"email_verified": false}), "nameless_token"),
        (json!({"email_verified": null}), "nameless_token"),
        (json!({"email_verified": "true"}), "nameless_token"),
        (json!({"email": null}), "nameless_token"),
        (json!({"email": ""}), "nameless_token"),
        (
            json!({"email": "ada\u{202e}@example.com"}),
            "nameless_token",
        ),
        (json!({"email": "ada@example.com "}), "nameless_token"),
        (json!({"email": "x".repeat(257)}), "nameless_token"),
        (
            json!({"email": "system:serviceaccount:a:b"}),
            "nameless_token",
        ),
        (json!({"sub": null}), "nameless_token"),
        (json!({"groups": [1]}), "nameless_token"),
        (json!({"groups": vec!["g"; 1_001]}), "nameless_token"),
    ] {
        assert_eq!(refused(&with(&changes)), expected, "{changes}");
    }
}

#[test]
fn clocks_may_differ_by_less_than_a_minute() {
    for changes in [
        json!({"exp": NOW - 59}),
        json!({"nbf": NOW + 60, "iat": NOW + 60}),
        json!({"aud": ["grafana", "towpath-cli"]}),
        json!({"iat": null}),
        json!({"groups": null}),
        json!({"groups": "one"}),
    ] {
        assert!(known(&with(&changes), &usual_keys()).is_ok(), "{changes}");
    }
    let groups = |value: Value| {
        let person = known(&with(&json!({"groups": value})), &usual_keys()).unwrap();
        person.groups.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(groups(json!("one")), ["one"]);
    assert_eq!(
        groups(json!(["system:masters", "a"])),
        ["a"],
        "Kubernetes' groups are nobody's here"
    );
}

#[test]
fn a_changed_or_foreign_token_is_forged() {
    let token = token(&header(), &claims());
    let parts: Vec<&str> = token.split('.').collect();
    let admin = b64(claims().to_string().replace("ada@", "eve@"));
    let changed = format!("{}.{admin}.{}", parts[0], parts[2]);
    assert_eq!(refused(&changed), "forged_token");
    let unsigned = format!("{}.{}.", parts[0], parts[1]);
    assert_eq!(refused(&unsigned), "forged_token");
    let by_other = signed_by(&header(), &claims().to_string(), |message| {
        rsa(&OTHER_RSA, &RSA_PKCS1_SHA256, message)
    });
    assert_eq!(refused(&by_other), "forged_token");
}

#[test]
fn the_key_is_the_one_that_is_named() {
    let two = keys(&[
        jwk(&RSA, "one", None),
        jwk(&OTHER_RSA, "two", Some("RS256")),
    ]);
    let named = |id: Value| {
        let mut header = header();
        match id {
            Value::Null => drop(header.as_object_mut().unwrap().remove("kid")),
            id => header["kid"] = id,
        }
        token(&header, &claims())
    };
    assert!(known(&named(json!("one")), &two).is_ok());
    assert_eq!(known(&named(json!("two")), &two), Err("forged_token"));
    assert_eq!(known(&named(json!("three")), &two), Err("unknown_key"));
    assert_eq!(
        known(&named(json!(null)), &two),
        Err("unknown_key"),
        "of two keys, none is guessed"
    );
    assert!(known(&named(json!(null)), &usual_keys()).is_ok());
    assert_eq!(known(&named(json!(["one"])), &two), Err("malformed_token"));
}

#[test]
fn what_stands_twice_or_is_too_much_is_refused() {
    let raw = |header: &str, claims: &str| {
        let message = format!("{}.{}", b64(header), b64(claims));
        let signature = b64(rsa(&RSA, &RSA_PKCS1_SHA256, message.as_bytes()));
        format!("{message}.{signature}")
    };
    let (usual, plain) = (header().to_string(), claims().to_string());
    assert!(known(&raw(&usual, &plain), &usual_keys()).is_ok());
    let twice = plain.replacen('{', "{\"aud\":\"towpath\",", 1);
    let many: BTreeMap<String, u8> = (0..200).map(|n| (format!("c{n}"), 1)).collect();
    let mut many = json!(many);
    many["iss"] = json!(ISSUER);
    let long = with(&json!({"groups": vec!["g".repeat(200); 100]}));
    assert!(long.len() > 16 << 10);
    let dots = format!("{}.x", raw(&usual, &plain));
    for (what, token) in [
        ("a claim twice", raw(&usual, &twice)),
        (
            "alg twice",
            raw(&usual.replacen('{', "{\"alg\":\"none\",", 1), &plain),
        ),
        ("too many claims", raw(&usual, &many.to_string())),
        ("too long", long),
        ("four parts", dots),
        ("encrypted", "ey.a.b.c.d".to_owned()),
        ("no JSON", raw("{", &plain)),
        ("no object", raw(&usual, "[]")),
        ("padded", raw(&usual, &plain).replacen('.', "=.", 1)),
        ("nothing", String::new()),
        (
            "critical extension",
            raw(r#"{"alg":"RS256","kid":"one","crit":["exp"]}"#, &plain),
        ),
        (
            "a logout token",
            raw(r#"{"alg":"RS256","kid":"one","typ":"logout+jwt"}"#, &plain),
        ),
    ] {
        assert_eq!(refused(&token), "malformed_token", "{what}");
    }
}

#[test]
fn keys_that_are_weak_or_for_something_else_are_left_out() {
    let point = b64([7; 32]);
    let with = |name: &str, value: Value| {
        let mut key = jwk(&RSA, "one", None);
        key[name] = value;
        key
    };
    let modulus = |bytes: usize| {
        let mut number = vec![0xff; bytes];
        number.insert(0, 0);
        with("n", json!(b64(number)))
    };
    for (key, expected) in [
        (
            modulus(128),
            "an RSA key of 1024 bits; 2048 to 8192 are taken",
        ),
        (
            modulus(255),
            "an RSA key of 2040 bits; 2048 to 8192 are taken",
        ),
        (
            modulus(1_025),
            "an RSA key of 8200 bits; 2048 to 8192 are taken",
        ),
        (with("use", json!("enc")), "it is not for signatures"),
        (
            with("key_ops", json!(["encrypt"])),
            "it is not for verifying signatures",
        ),
        (
            with("alg", json!("HS256")),
            "its algorithm is not known here, or does not fit its kind",
        ),
        (
            with("alg", json!("none")),
            "its algorithm is not known here, or does not fit its kind",
        ),
        (
            with("alg", json!("ES256")),
            "its algorithm is not known here, or does not fit its kind",
        ),
        (with("n", json!("***")), "its \"n\" is not base64url"),
        (
            with("kid", json!("x".repeat(257))),
            "its name has more than 256 bytes",
        ),
        (
            json!({"kty": "EC", "crv": "P-521", "x": point, "y": point}),
            "its curve is not known here",
        ),
        (
            json!({"kty": "EC", "crv": "P-384", "x": point, "y": point}),
            "its point does not have 48 bytes twice",
        ),
        (
            json!({"kty": "EC", "crv": "P-256", "x": point}),
            "it has no \"y\"",
        ),
        (
            json!({"kty": "OKP", "crv": "Ed25519", "x": b64([1; 31])}),
            "its \"x\" does not have 32 bytes",
        ),
        (json!({"kid": "one"}), "its kind is not known here"),
    ] {
        let read = IssuerKeys::read(&document(&[key, jwk(&OTHER_RSA, "two", None)])).unwrap();
        assert_eq!(read.count(), 1);
        assert_eq!(read.unused(), [format!("key 1: {expected}")]);
    }
    for (bytes, expected) in [
        (b"{}".to_vec(), "is not a list of keys (line 1, column 2)"),
        (
            b"<html>".to_vec(),
            "is not a list of keys (line 1, column 1)",
        ),
        (document(&vec![json!({}); 65]), "has more than 64 keys"),
        (vec![b' '; 300_000], "has more than 262144 bytes"),
    ] {
        assert_eq!(IssuerKeys::read(&bytes), Err(expected.to_owned()));
    }
}

#[test]
fn another_claim_can_be_the_name() {
    let people = |name: &str| PersonClaims {
        name: name.to_owned(),
        groups: "roles".to_owned(),
    };
    let token = with(&json!({"preferred_username": "ada", "roles": ["x"], "email": null}));
    let verified = || {
        Unverified::parse(&token)
            .unwrap()
            .verify(&usual_keys(), &expected(), now())
            .unwrap()
    };
    let person = people("preferred_username").person(&verified()).unwrap();
    assert_eq!((&*person.name, &*person.subject), ("ada", "f:1:ada"));
    assert_eq!(person.groups, ["x".to_owned()].into());
    assert_eq!(people("sub").person(&verified()).unwrap().name, "f:1:ada");
    let problem = people("upn").person(&verified()).unwrap_err().to_string();
    assert!(
        problem.starts_with("the token's \"upn\" is missing"),
        "{problem}"
    );
}

#[test]
fn an_issuer_describes_itself_and_nobody_else() {
    let described = json!({
        "issuer": ISSUER, "jwks_uri": "https://login.example.com/keys",
        "authorization_endpoint": "https://login.example.com/auth",
        "token_endpoint": "https://login.example.com/token",
        "code_challenge_methods_supported": ["plain", "S256"],
    });
    let read = |value: &Value| Discovery::read(value.to_string().as_bytes(), ISSUER);
    let found = read(&described).unwrap();
    assert_eq!(found.jwks_uri, "https://login.example.com/keys");
    assert_eq!(found.client_auth, ClientAuth::Basic);
    assert!(found.token_endpoint.is_some() && found.authorization_endpoint.is_some());
    let changed = |name: &str, value: Value| {
        let mut changed = described.clone();
        changed[name] = value;
        read(&changed)
    };
    let other = changed("issuer", json!("https://evil.example")).unwrap_err();
    assert!(
        other.starts_with("is of the issuer \"https://evil.example\""),
        "{other}"
    );
    let slash = changed("issuer", json!(format!("{ISSUER}/")));
    assert!(slash.is_err(), "a slash more is another issuer");
    let plain = changed("code_challenge_methods_supported", json!(["plain"])).unwrap();
    assert_eq!(
        (plain.token_endpoint, plain.authorization_endpoint),
        (None, None)
    );
    let post = json!(["client_secret_post", "private_key_jwt"]);
    let post = changed("token_endpoint_auth_methods_supported", post).unwrap();
    assert_eq!(post.client_auth, ClientAuth::Post);
    let missing = changed("jwks_uri", Value::Null).unwrap_err();
    assert!(
        missing.starts_with("is not an issuer's description (line 1"),
        "{missing}"
    );
}
