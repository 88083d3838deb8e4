//! People whom an OIDC issuer knows: a real provider, whose keys change and which goes away.

use std::process::Command;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fleet::{Fleet, post, text};
use towpath_testing_services::{OidcProvider, Response, Towpath};

/// Who has a role: those in the group sre.
const ACCESS: &str = "
bindings:
- {role: release-administrator, everywhere: true, groups: [sre], from: oidc}
- {role: viewer, everywhere: true, people: [vera@example.com]}
";
const OPERATOR: &str = "sre-ada@example.com";
const STRANGER: &str = "eve@example.com";
const SESSION: &str = "/api/v1/session";
const HALT: &str = "/api/v1/rollouts/halt";
const RELEASE: &str = "4.20.1";

fn serve(fleet: &Fleet, provider: &OidcProvider, more: &[&str]) -> Towpath {
    fleet.write("access.yaml", ACCESS);
    let access = fleet.path("access.yaml");
    let people = [
        "--access",
        text(&access),
        "--oidc-issuer",
        provider.issuer(),
        "--oidc-client-id",
        "towpath",
    ];
    let towpath = fleet.serve_closed(&fleet.sqlite(), &[&people, more].concat());
    towpath.until("the issuer's keys were read", takes_tokens);
    towpath
}

fn takes_tokens(towpath: &Towpath) -> bool {
    towpath.get("/readyz").json()["login"]["takesTokens"] == true
}

fn get_as(towpath: &Towpath, token: &str, target: &str) -> Response {
    towpath.get_with(target, &[("authorization", &format!("Bearer {token}"))])
}

/// The kind of a refusal, with the status; or the name of who is known.
fn known(towpath: &Towpath, token: &str) -> (u16, String) {
    let status = get_as(towpath, token, "/api/v1/fleet/status").status;
    let session = get_as(towpath, token, SESSION).json();
    let name = session["identity"]["name"].as_str();
    let kind = session["tokenProblem"]["kind"].as_str();
    (status, name.or(kind).unwrap_or("nobody").to_owned())
}

/// An act that takes a person.
fn halt(towpath: &Towpath, token: &str) -> Response {
    let body = json!({"release": RELEASE, "why": "INC-1"});
    post(towpath, HALT, token, &body)
}

/// Claims as the provider makes them for the operator, with these changes.
fn signed(provider: &OidcProvider, changes: &Value) -> String {
    let now = Timestamp::now().as_second();
    let mut claims = json!({
        "iss": provider.issuer(), "aud": "towpath", "sub": OPERATOR, "email": OPERATOR, "email_verified": true,
        "groups": ["sre"], "exp": now + 600, "iat": now,
    });
    for (name, value) in changes.as_object().expect("changes") {
        claims[name] = value.clone();
    }
    provider.sign(&claims)
}

#[test]
fn people_may_what_the_access_file_says_and_are_told_by_name_what_they_may_not() {
    let (fleet, provider) = (Fleet::new(), OidcProvider::start());
    let towpath = serve(&fleet, &provider, &[]);
    let (operator, stranger) = (provider.token(OPERATOR), provider.token(STRANGER));
    let viewer = provider.token("vera@example.com");
    assert_eq!(known(&towpath, &operator), (200, OPERATOR.to_owned()));
    assert_eq!(known(&towpath, &viewer).0, 200);
    assert_eq!(known(&towpath, &stranger), (403, STRANGER.to_owned()));

    for (token, name) in [(&viewer, "vera@example.com"), (&stranger, STRANGER)] {
        let refused = halt(&towpath, token);
        let told = refused.json();
        assert_eq!(
            (refused.status, told["kind"].as_str()),
            (403, Some("no_role")),
            "{told}"
        );
        let sentence = told["value"].as_str().expect("a sentence");
        assert!(
            sentence.contains(name) && sentence.contains("release-administrator"),
            "{sentence}"
        );
    }
    assert_eq!(halt(&towpath, &operator).status, 200);
    let logged = towpath.log_line("a person changed something");
    let known_by = format!("OIDC issuer {}, subject {OPERATOR}", provider.issuer());
    assert_eq!(
        (&logged["name"], &logged["known_by"]),
        (&json!(OPERATOR), &json!(known_by))
    );
    let halts = get_as(&towpath, &operator, "/api/v1/rollouts/halts").json();
    assert_eq!(halts["halts"][0]["by"], OPERATOR, "{halts}");

    let session = get_as(&towpath, &operator, SESSION).json();
    assert_eq!(session["identity"]["source"], "oidc");
    let ends: Timestamp = session["identity"]["ends"]
        .as_str()
        .expect("an end")
        .parse()
        .expect("a time");
    assert!(ends > Timestamp::now());
    let offer = &session["login"];
    assert_eq!(offer["clientId"], "towpath");
    assert_eq!(
        offer["authorizationEndpoint"],
        format!("{}/auth", provider.issuer())
    );
}

#[test]
fn a_token_of_another_issuer_audience_or_algorithm_is_nobody() {
    let (fleet, provider) = (Fleet::new(), OidcProvider::start());
    let other = OidcProvider::start();
    let towpath = serve(&fleet, &provider, &["--oidc-audience", "cli"]);
    let now = Timestamp::now().as_second();
    assert_eq!(known(&towpath, &signed(&provider, &json!({}))).0, 200);
    assert_eq!(
        known(&towpath, &signed(&provider, &json!({"aud": "cli"}))).0,
        200
    );
    let operator = provider.token(OPERATOR);
    let parts: Vec<&str> = operator.split('.').collect();
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", parts[1]);
    for (token, expected) in [
        (other.token(OPERATOR), "other_issuer"),
        (
            signed(&other, &json!({"iss": provider.issuer()})),
            "unknown_key",
        ),
        (
            signed(&provider, &json!({"aud": "grafana"})),
            "other_audience",
        ),
        (signed(&provider, &json!({"exp": now - 100})), "ended_token"),
        (signed(&provider, &json!({"nbf": now + 300})), "early_token"),
        (
            signed(&provider, &json!({"email_verified": false})),
            "nameless_token",
        ),
        (
            signed(&provider, &json!({"email": "system:admin"})),
            "nameless_token",
        ),
        (
            format!("{}.{}.AAAA{}", parts[0], parts[1], &parts[2][4..]),
            "forged_token",
        ),
        (unsigned, "wrong_algorithm"),
        (format!("{operator}.x"), "malformed_token"),
        ("eyJ".to_owned(), "malformed_token"),
    ] {
        assert_eq!(known(&towpath, &token), (401, expected.to_owned()));
        assert_eq!(halt(&towpath, &token).status, 401, "{expected}");
    }
    let metrics = towpath.get("/metrics");
    let metrics = String::from_utf8(metrics.body).expect("text");
    for line in [
        "towpath_oidc_takes_tokens 1",
        "towpath_oidc_keys 1",
        "towpath_oidc_tokens_total{result=\"other_audience\"}",
    ] {
        assert!(metrics.contains(line), "{line} is missing in {metrics}");
    }
}

#[test]
fn a_new_key_works_at_once_and_the_old_one_no_more() {
    let (fleet, provider) = (Fleet::new(), OidcProvider::start());
    // The keys are read for an unknown name, and not because it is time.
    let towpath = serve(&fleet, &provider, &["--oidc-read-every", "1h"]);
    let old = provider.token(OPERATOR);
    assert_eq!(known(&towpath, &old).0, 200);
    provider.rotate();
    let new = provider.token(OPERATOR);
    // At most once in ten seconds.
    towpath.until("the new key is known", |t| known(t, &new).0 == 200);
    assert_eq!(known(&towpath, &old), (401, "unknown_key".to_owned()));

    let other = Fleet::new();
    let removed = serve(&other, &provider, &["--oidc-read-every", "1s"]);
    assert_eq!(known(&removed, &new).0, 200);
    provider.rotate();
    removed.until("the removed key is gone", |t| {
        known(t, &new) == (401, "unknown_key".to_owned())
    });
}

#[test]
fn while_the_issuer_is_away_its_last_keys_hold_and_then_nobody_is_let_in() {
    let (fleet, provider) = (Fleet::new(), OidcProvider::start());
    let times = ["--oidc-read-every", "1s", "--oidc-keys-hold-for", "4s"];
    let towpath = serve(&fleet, &provider, &times);
    let (token, port) = (provider.token(OPERATOR), provider.port());
    let own = fleet.token(&["--read"]);
    drop(provider);
    towpath.until("it is told", |t| {
        !t.get("/readyz").json()["login"]["problem"].is_null()
    });
    towpath.log_line("the issuer cannot be read");
    towpath.until("its tokens are not taken", |t| known(t, &token).0 == 503);
    let refused = halt(&towpath, &token);
    assert_eq!(
        (refused.status, refused.json()["kind"].as_str()),
        (503, Some("unavailable"))
    );
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(towpath.get("/readyz").status, 200, "graphs are served");
    assert_eq!(known(&towpath, &own).0, 200, "our own tokens are taken");
    assert!(!takes_tokens(&towpath));

    let again = OidcProvider::start_at(port);
    towpath.until("its tokens are taken again", takes_tokens);
    assert_eq!(known(&towpath, &again.token(OPERATOR)).0, 200);
    assert_eq!(known(&towpath, &token), (401, "unknown_key".to_owned()));
}

#[test]
fn a_service_starts_without_its_issuer_and_serves_graphs() {
    let provider = OidcProvider::start();
    let (token, port) = (provider.token(OPERATOR), provider.port());
    let issuer = provider.issuer().to_owned();
    drop(provider);
    let fleet = Fleet::new();
    let options = [
        "--oidc-issuer",
        &issuer,
        "--oidc-client-id",
        "towpath",
        "--oidc-read-every",
        "1s",
    ];
    let towpath = fleet.serve_closed(&fleet.sqlite(), &options);
    assert_eq!(known(&towpath, &token).0, 503);
    let _again = OidcProvider::start_at(port);
    towpath.until("the issuer is known", takes_tokens);
    assert_eq!(
        known(&towpath, &token),
        (401, "unknown_key".to_owned()),
        "it has a new key now"
    );
}

#[test]
fn the_command_line_takes_a_token_of_a_command() {
    let (fleet, provider) = (Fleet::new(), OidcProvider::start());
    let towpath = serve(&fleet, &provider, &[]);
    let server = format!("http://{}", towpath.address);
    let run = |command: &str, arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(arguments)
            .args(["--server", &server, "--token-command", command])
            .output()
            .expect("towpath runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (
            output.status.code(),
            text(output.stdout) + &text(output.stderr),
        )
    };
    let login = provider.login_command(OPERATOR, "towpath");
    let (code, told) = run(&login, &["rollouts", "halt", RELEASE, "--message", "INC-2"]);
    assert_eq!(code, Some(0), "{told}");
    let halts = get_as(
        &towpath,
        &provider.token(OPERATOR),
        "/api/v1/rollouts/halts",
    )
    .json();
    assert_eq!(halts["halts"][0]["by"], OPERATOR, "{halts}");

    let (code, told) = run(
        &provider.login_command(STRANGER, "towpath"),
        &["fleet", "status"],
    );
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains(STRANGER), "{told}");
    let (code, told) = run(
        &provider.login_command(OPERATOR, "other"),
        &["fleet", "status"],
    );
    assert!(
        code == Some(2) && told.contains("for another service"),
        "{told}"
    );
    let (code, told) = run("exit 7", &["fleet", "status"]);
    assert!(code == Some(2) && told.contains("exit status: 7"), "{told}");
}

#[test]
fn a_login_without_a_code_of_the_issuer_gives_no_token() {
    let (fleet, provider) = (Fleet::new(), OidcProvider::start());
    let towpath = serve(&fleet, &provider, &[]);
    let page = format!("http://{}/login", towpath.address);
    let exchange = |redirect: &str, code: &str| {
        let body = json!({"code": code, "verifier": "v".repeat(43), "nonce": "n".repeat(16), "redirectUri": redirect});
        let answer = post(&towpath, "/api/v1/login/token", "", &body);
        (
            answer.status,
            answer.json()["kind"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    assert_eq!(
        exchange(&page, "invented"),
        (403, "login_refused".to_owned())
    );
    assert_eq!(
        exchange("http://evil.example/x", "invented"),
        (400, "invalid_body".to_owned())
    );
    assert_eq!(exchange(&page, ""), (400, "invalid_body".to_owned()));
    let mut tries = 3;
    while exchange(&page, "").0 != 429 {
        tries += 1;
        assert!(tries <= 40, "nobody is limited");
    }
    let none = Towpath::serve_folder(&fleet.path("data"), &[]);
    let answer = post(&none, "/api/v1/login/token", "", &json!({}));
    assert_eq!(
        (answer.status, answer.json()["kind"].as_str()),
        (404, Some("no_login"))
    );
    assert_eq!(none.get(SESSION).json()["login"], Value::Null);
}

#[test]
fn an_issuer_that_cannot_be_meant_ends_the_start() {
    for (options, expected) in [
        (
            &[
                "--oidc-issuer",
                "http://login.example.com",
                "--oidc-client-id",
                "x",
            ][..],
            "would send the token in the clear",
        ),
        (
            &["--oidc-issuer", "https://login.example.com"],
            "add --oidc-client-id",
        ),
        (&["--oidc-client-id", "x"], "add --oidc-issuer"),
        (
            &[
                "--oidc-issuer",
                "https://a.example",
                "--oidc-client-id",
                "x",
                "--oidc-scopes",
                "email",
            ],
            "without openid",
        ),
        (
            &[
                "--oidc-issuer",
                "https://a.example",
                "--oidc-client-id",
                "x",
                "--oidc-ca-file",
                "/no/such/file",
            ],
            "--oidc-ca-file /no/such/file",
        ),
        (&["--kubernetes-audience", "x"], "add --kubernetes-identity"),
    ] {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_towpath"));
        serve
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(options);
        let done = serve.output().expect("it runs");
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            done.status.code() == Some(2) && told.contains(expected),
            "{options:?}: {told}"
        );
    }
}
