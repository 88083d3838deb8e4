//! Issuers that misbehave: other names, other hosts, redirects, endless answers, and tokens of other logins.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents};
use serde_json::{Value, json};
use towpath_formats::oidc::{CodeExchange, PersonClaims};
use towpath_oidc::{Issuer, IssuerOptions, IssuerTimes, LoginProblem};
use towpath_testing_services::scripted::{Server, Step, head};

/// Of the tests of formats. It opens nothing.
const KEY: &[u8] = include_bytes!("../../../formats/tests/oidc/issuer-rsa.p8");
const NONCE: &str = "n-0123456789abcdef";
const PATIENCE: Duration = Duration::from_secs(60);

/// What an issuer answers, by path: changes of what it should.
#[derive(Clone, Default)]
struct Faults {
    /// Members of the description.
    description: Value,
    /// The whole answer with the keys.
    keys: Option<Vec<Step>>,
    /// Claims of the token for a code.
    claims: Value,
    /// The whole answer to a code.
    token: Option<Vec<Step>>,
}

/// An issuer of this machine.
struct World {
    server: Server,
    faults: Arc<Mutex<Faults>>,
}

impl World {
    fn new(faults: Faults) -> Self {
        let faults = Arc::new(Mutex::new(faults));
        let known = faults.clone();
        let server = Server::new(move |request, _| {
            let faults = known.lock().unwrap().clone();
            let host = request.lines().find_map(|line| line.strip_prefix("host: "));
            let issuer = format!("http://{}", host.unwrap());
            match request.split(' ').nth(1).unwrap() {
                "/.well-known/openid-configuration" => answer(&changed(
                    json!({
                        "issuer": issuer, "jwks_uri": format!("{issuer}/keys"),
                        "authorization_endpoint": format!("{issuer}/auth"), "token_endpoint": format!("{issuer}/token"),
                    }),
                    &faults.description,
                )),
                "/keys" => faults.keys.unwrap_or_else(|| answer(&json!({"keys": [jwk()]}))),
                "/token" => faults.token.unwrap_or_else(|| {
                    let now = Timestamp::now().as_second();
                    let claims = json!({
                        "iss": issuer, "aud": "page", "sub": "1", "email": "ada@example.com", "email_verified": true,
                        "exp": now + 600, "nonce": NONCE,
                    });
                    answer(&json!({"id_token": token("one", &changed(claims, &faults.claims))}))
                }),
                _ => vec![head("404 x", "content-length: 0\r\n")],
            }
        });
        Self { server, faults }
    }

    fn options(&self) -> IssuerOptions {
        IssuerOptions {
            issuer: self.server.url(""),
            client_id: Some("page".to_owned()),
            client_secret: None,
            audiences: ["cli".to_owned()].into(),
            scope: "openid".to_owned(),
            people: PersonClaims {
                name: "email".to_owned(),
                groups: "groups".to_owned(),
            },
            hosts: BTreeSet::new(),
            ca_file: None,
            times: IssuerTimes {
                read_every: Duration::from_secs(3_600),
                hold_for: Duration::from_secs(3_600),
                at_least_between: Duration::from_secs(3_600),
            },
        }
    }

    /// Follows the issuer, once it was tried to read.
    async fn issuer(&self, options: IssuerOptions) -> Arc<Issuer> {
        let issuer = Issuer::new(options).unwrap();
        tokio::spawn(issuer.clone().follow(|_| ()));
        let end = Instant::now() + PATIENCE;
        while issuer.health().read + issuer.health().failed == 0 {
            assert!(Instant::now() < end, "it was never tried");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        issuer
    }

    fn asked_for_keys(&self) -> usize {
        self.server
            .paths()
            .iter()
            .filter(|path| *path == "/keys")
            .count()
    }

    async fn redeem(&self, options: IssuerOptions) -> Result<String, LoginProblem> {
        let exchange = CodeExchange {
            code: "code".to_owned(),
            verifier: "v".repeat(43),
            redirect_uri: "http://127.0.0.1:1/login".to_owned(),
            nonce: NONCE.to_owned(),
        };
        let issuer = self.issuer(options).await;
        let login = issuer.redeem(&exchange, Timestamp::now()).await;
        login.map(|login| login.person.name)
    }
}

fn answer(value: &Value) -> Vec<Step> {
    let body = value.to_string();
    let length = format!("content-length: {}\r\n", body.len());
    vec![head("200 OK", &length), Step::Send(body.into_bytes())]
}

fn changed(mut value: Value, changes: &Value) -> Value {
    for (name, change) in changes.as_object().into_iter().flatten() {
        value[name] = change.clone();
    }
    value
}

fn jwk() -> Value {
    let pair = RsaKeyPair::from_pkcs8(KEY).unwrap();
    let parts: RsaPublicKeyComponents<Vec<u8>> = pair.public().into();
    let (n, e) = (
        URL_SAFE_NO_PAD.encode(parts.n),
        URL_SAFE_NO_PAD.encode(parts.e),
    );
    json!({"kty": "RSA", "kid": "one", "n": n, "e": e})
}

fn token(key: &str, claims: &Value) -> String {
    let header = json!({"alg": "RS256", "kid": key}).to_string();
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let message = format!("{}.{}", part(&header), part(&claims.to_string()));
    let pair = RsaKeyPair::from_pkcs8(KEY).unwrap();
    let mut signature = vec![0; pair.public().modulus_len()];
    let random = SystemRandom::new();
    pair.sign(
        &RSA_PKCS1_SHA256,
        &random,
        message.as_bytes(),
        &mut signature,
    )
    .unwrap();
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn an_issuer_that_is_not_as_it_should_be_has_no_keys() {
    let redirect = vec![head(
        "302 x",
        "location: http://127.0.0.1:1/\r\ncontent-length: 0\r\n",
    )];
    let endless = vec![head("200 OK", ""), Step::Endless(vec![b' '; 65_536])];
    let with = |description: Value| Faults {
        description,
        ..Faults::default()
    };
    let keys = |keys: Vec<Step>| Faults {
        keys: Some(keys),
        ..Faults::default()
    };
    for (faults, expected) in [
        (
            with(json!({"issuer": "https://evil.example"})),
            "is of the issuer \"https://evil.example\"",
        ),
        (
            with(json!({"jwks_uri": "https://evil.example/keys"})),
            "on another host, \"evil.example\"",
        ),
        (
            with(json!({"jwks_uri": "http://evil.example/keys"})),
            "without TLS",
        ),
        (
            with(json!({"token_endpoint": "https://evil.example/token"})),
            "a token_endpoint on another host",
        ),
        (
            with(json!({"jwks_uri": null})),
            "is not an issuer's description",
        ),
        (keys(redirect), "the issuer answered 302"),
        (keys(endless), "longer than 262144 bytes"),
        (
            keys(vec![head("500 x", "content-length: 0\r\n")]),
            "the issuer answered 500",
        ),
        (
            keys(answer(&json!({"keys": [{"kty": "oct", "k": "x"}]}))),
            "has no key to check tokens with: key 1: it is a shared secret",
        ),
    ] {
        let world = World::new(faults);
        let issuer = world.issuer(world.options()).await;
        let health = issuer.health();
        let problem = health.problem.clone().unwrap_or_default();
        assert!(
            !health.is_open && problem.contains(expected),
            "{expected}: {health:?}"
        );
        assert_eq!(issuer.login_places(), None);
        let refused = world.redeem(world.options()).await;
        assert!(
            matches!(refused, Err(LoginProblem::Unavailable(_))),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn unknown_keys_make_nobody_ask_the_issuer_more_often_than_allowed() {
    let world = World::new(Faults::default());
    let mut options = world.options();
    options.times.at_least_between = Duration::from_millis(1);
    let issuer = world.issuer(options).await;
    let unknown = token("two", &json!({"iss": issuer.name()}));
    assert_eq!(world.asked_for_keys(), 1);
    let refused = issuer.person(&unknown, Timestamp::now()).await.unwrap();
    assert!(refused.is_err());
    assert_eq!(world.asked_for_keys(), 2, "it is looked up");

    let patient = world.issuer(world.options()).await;
    for _ in 0..20 {
        assert!(
            patient
                .person(&unknown, Timestamp::now())
                .await
                .unwrap()
                .is_err()
        );
    }
    assert_eq!(world.asked_for_keys(), 3, "it was read just now");
    assert!(
        patient.person("tp2_x.y", Timestamp::now()).await.is_none(),
        "ours are not its"
    );
}

#[tokio::test]
async fn what_was_read_stays_while_the_issuer_misbehaves() {
    let world = World::new(Faults::default());
    let mut options = world.options();
    options.times.read_every = Duration::from_millis(20);
    let issuer = world.issuer(options).await;
    world.faults.lock().unwrap().keys = Some(answer(&json!({"keys": []})));
    let end = Instant::now() + PATIENCE;
    while issuer.health().failed == 0 {
        assert!(Instant::now() < end, "it never failed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let health = issuer.health();
    assert!(health.is_open && health.problem.is_some(), "{health:?}");
}

#[tokio::test]
async fn a_token_of_another_login_or_client_is_not_handed_out() {
    let world = World::new(Faults::default());
    assert_eq!(
        world.redeem(world.options()).await,
        Ok("ada@example.com".to_owned())
    );
    for (claims, expected) in [
        (json!({"nonce": "n-of-another-login"}), "other_login"),
        (json!({"nonce": null}), "other_login"),
        (json!({"azp": "cli"}), "other_login"),
        // An audience of ours, and not the client's.
        (json!({"aud": "cli"}), "other_audience"),
        (json!({"exp": 1}), "ended_token"),
        (json!({"email_verified": false}), "nameless_token"),
    ] {
        world.faults.lock().unwrap().claims = claims.clone();
        let refused = world.redeem(world.options()).await.unwrap_err();
        assert_eq!(refused.kind(), expected, "{claims}");
    }
}

#[tokio::test]
async fn what_the_issuer_says_instead_of_a_token_is_told() {
    let told = |status: &str, body: &str| {
        let length = format!("content-length: {}\r\n", body.len());
        vec![head(status, &length), Step::Send(body.as_bytes().to_vec())]
    };
    for (token, expected) in [
        (
            told(
                "400 x",
                r#"{"error":"invalid_grant","error_description":"used \u0007 twice"}"#,
            ),
            "login_refused: the issuer gives no token for this login (400 invalid_grant used   twice); log in again",
        ),
        (
            told("401 x", "<html>"),
            "login_refused: the issuer gives no token for this login (401 ); log in again",
        ),
        (
            told("200 OK", "{}"),
            "login_refused: the issuer's answer has no id_token; have it answer the scope openid",
        ),
        (
            told("503 x", ""),
            "unavailable: the issuer answered 503; try again in a few seconds",
        ),
        (
            vec![head("200 OK", ""), Step::Endless(vec![b' '; 65_536])],
            "unavailable: the answer is longer than 262144 bytes",
        ),
    ] {
        let world = World::new(Faults {
            token: Some(token),
            ..Faults::default()
        });
        let refused = world.redeem(world.options()).await.unwrap_err();
        assert_eq!(format!("{}: {refused}", refused.kind()), expected);
    }
}

#[tokio::test]
async fn a_secret_is_shown_as_the_issuer_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "s3c/ret\n").unwrap();
    let sent = async |description: Value, secret: Option<&std::path::Path>| {
        let world = World::new(Faults {
            description,
            ..Faults::default()
        });
        let mut options = world.options();
        options.client_secret = secret.map(Into::into);
        assert!(world.redeem(options).await.is_ok());
        let requests = world.server.requests();
        requests
            .into_iter()
            .find(|one| one.starts_with("POST /token"))
            .unwrap()
    };
    let public = sent(Value::Null, None).await;
    assert!(
        public.contains("client_id=page") && !public.to_lowercase().contains("authorization:"),
        "{public}"
    );
    assert!(
        public.contains(&format!("code_verifier={}", "v".repeat(43))),
        "{public}"
    );
    // base64 of page:s3c%2Fret
    let basic = sent(Value::Null, Some(&secret)).await;
    assert!(
        basic.contains("authorization: Basic cGFnZTpzM2MlMkZyZXQ=")
            && !basic.contains("client_secret"),
        "{basic}"
    );
    let post = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    let post = sent(post, Some(&secret)).await;
    assert!(
        post.contains("client_secret=s3c%2Fret") && !post.contains("Basic"),
        "{post}"
    );
}
