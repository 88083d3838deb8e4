//! The network and the API at their worst: every fault has an end, a kind and a sentence, and reads are tried again.

mod support;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;
use towpath_ocm::{Login, Ocm, OcmConfig};

use support::{config, impatient, names, now, token_file, world, world_with};
use towpath_testing_services::ocm::{Fault, OcmDouble, TOKEN, cluster};

/// Only what stalls is given up soon, so that a slow machine is not taken for a fault.
fn patience(config: &mut OcmConfig, fault: &Fault) {
    if matches!(fault, Fault::Stall { .. }) {
        impatient(config);
    }
}

#[tokio::test]
async fn passing_faults_pass() {
    for fault in [
        Fault::Busy(Some("7")),
        Fault::Busy(None),
        Fault::Status(500),
        Fault::Status(503),
        Fault::Stall {
            takes_effect: false,
        },
        Fault::AnswerLost,
        Fault::CutShort,
    ] {
        let world = world_with(|config| patience(config, &fault));
        world.double.add("org", &[], cluster("a", "4.12.1", &[]));
        world.double.fail("GET", "/v1/clusters", 2, fault.clone());
        assert_eq!(names(&world.fleet().await.unwrap()), "a", "{fault:?}");
        let waits = world.waits();
        match fault {
            Fault::Busy(Some(_)) => assert_eq!(waits, [Duration::from_secs(7); 2]),
            _ => {
                let bounds = [(125, 250), (250, 500)];
                for (wait, (least, most)) in waits.iter().zip(bounds) {
                    assert!(
                        (least..=most).contains(&wait.as_millis()),
                        "{fault:?}: {waits:?}"
                    );
                }
                assert_eq!(waits.len(), 2, "{fault:?}");
            }
        }
    }
}

#[tokio::test]
async fn lasting_faults_end_with_a_kind() {
    for (fault, attempts, kind) in [
        (Fault::Busy(Some("60")), 4, "busy"),
        (Fault::Busy(Some("61")), 1, "busy"),
        (Fault::Status(500), 4, "server"),
        (
            Fault::Stall {
                takes_effect: false,
            },
            4,
            "timeout",
        ),
        (Fault::AnswerLost, 4, "cut-short"),
        (Fault::CutShort, 4, "cut-short"),
        (Fault::LongerThanTold, 1, "bad-answer"),
        (Fault::Instead("<html>Sign in</html>"), 1, "bad-answer"),
        (Fault::Instead(r#"{"items": 7}"#), 1, "bad-answer"),
        (
            Fault::TooLarge {
                bytes: (1 << 20) + 1,
                told: true,
            },
            1,
            "too-large",
        ),
        (
            Fault::TooLarge {
                bytes: (1 << 20) + 1,
                told: false,
            },
            1,
            "too-large",
        ),
        (Fault::Status(403), 1, "forbidden"),
        (Fault::Status(404), 1, "not-found"),
        (Fault::Status(418), 1, "refused"),
    ] {
        let world = world_with(|config| patience(config, &fault));
        world.double.fail("GET", "/v1/clusters", 100, fault.clone());
        let error = world.fleet().await.unwrap_err();
        assert_eq!(
            (error.kind(), world.double.count("GET", "/v1/clusters")),
            (kind, attempts),
            "{fault:?}: {error}"
        );
        assert!(
            error.to_string().contains("; "),
            "a problem and a remedy: {error}"
        );
    }
}

#[tokio::test]
async fn a_page_with_more_than_was_asked_for_is_not_taken() {
    let world = world_with(|config| config.limits.page_size = 1);
    world.double.fail(
        "GET",
        "/v1/clusters",
        1,
        Fault::Instead(r#"{"total": 2, "items": [{"id": "a"}, {"id": "b"}]}"#),
    );
    assert_eq!(world.fleet().await.unwrap_err().kind(), "bad-answer");
}

#[tokio::test]
async fn no_redirect_is_followed_least_of_all_with_the_token() {
    let elsewhere = OcmDouble::start(now());
    for to in [
        format!("{}/api/clusters_mgmt/v1/clusters", elsewhere.url()),
        "/elsewhere".to_owned(),
    ] {
        let world = world();
        world
            .double
            .fail("GET", "/v1/clusters", 1, Fault::Redirect(to.clone()));
        let error = world.fleet().await.unwrap_err();
        assert_eq!(error.kind(), "redirected");
        assert!(error.to_string().contains(&to), "{error}");
        assert_eq!(world.double.count("GET", "/elsewhere"), 0);
    }
    assert_eq!(elsewhere.asked(), []);
}

#[tokio::test]
async fn a_renewed_token_is_read_when_the_old_one_is_refused() {
    let world = world();
    world.double.add("org", &[], cluster("a", "4.12.1", &[]));
    world.double.set_token("next-token");
    let error = world.fleet().await.unwrap_err();
    assert_eq!(error.kind(), "unauthorised");
    assert!(
        world
            .double
            .asked()
            .iter()
            .all(|asked| asked.token.as_deref() == Some(TOKEN))
    );
    let before = world.double.count("GET", "/v1/clusters");
    assert!(before <= 1, "the same token is not tried again");

    std::fs::write(world.token.path(), "next-token\n").unwrap();
    assert_eq!(names(&world.fleet().await.unwrap()), "a");
}

#[tokio::test]
async fn a_new_token_counts_at_once_and_one_that_is_never_taken_is_tried_once() {
    let world = world();
    world.double.set_token("another");
    std::fs::write(world.token.path(), "still-wrong").unwrap();
    let to = "4.12.2".parse().unwrap();
    let error = world
        .ocm
        .create(&support::classic("a"), None, &to, support::at("13:00:00"))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), world.double.asked().len()),
        ("unauthorised", 1)
    );
    for secret in [TOKEN, "still-wrong"] {
        assert!(
            !format!("{error} {error:?} {:?}", world.ocm).contains(secret),
            "the token is in no message"
        );
    }
}

#[tokio::test]
async fn nobody_there() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let world = world_with(|config| config.base_url = format!("http://127.0.0.1:{port}"));
    assert_eq!(world.fleet().await.unwrap_err().kind(), "unreachable");
}

#[tokio::test]
async fn the_whole_reading_has_an_end() {
    let world = world_with(|config| config.limits.fleet_timeout = Duration::from_millis(100));
    world.double.fail(
        "GET",
        "/version_gates",
        1,
        Fault::Stall {
            takes_effect: false,
        },
    );
    let error = world.fleet().await.unwrap_err();
    assert_eq!(
        error.to_string().split(';').next(),
        Some("reading the fleet: no answer in 100 ms")
    );
}

#[tokio::test]
async fn eight_clusters_are_asked_about_at_a_time() {
    // Answers come only when eight have asked: so at least eight do, and no more are ever seen together.
    let world = world();
    for number in 0..24 {
        world
            .double
            .add("org", &[], cluster(&format!("c{number}"), "4.12.1", &[]));
    }
    world
        .double
        .fail("GET", "/upgrade_policies", 24, Fault::Together(8));
    assert_eq!(world.fleet().await.unwrap().clusters.len(), 24);
    assert_eq!(world.double.most_at_once(), 8);
}

#[tokio::test]
async fn a_prefix_of_the_address_is_kept() {
    let world = world_with(|config| config.base_url += "/ocm/");
    assert_eq!(world.fleet().await.unwrap_err().kind(), "not-found");
    assert!(
        world
            .double
            .asked()
            .iter()
            .all(|asked| asked.path.starts_with("/ocm/api/"))
    );
}

#[tokio::test]
async fn configurations_that_cannot_work_say_so() {
    let token = token_file(TOKEN);
    let new = |config: OcmConfig| Ocm::new(config).unwrap_err();
    for (url, problem) in [
        ("http://api.example", "would send the token in the clear"),
        ("ftp://api.example", "is not an http or https address"),
        ("api.example", "is not an address"),
        ("https://me:secret@api.example", "has credentials in it"),
        ("https://me:secret@api.example:port", "is not an address"),
        ("https://api.example/?x=1", "has a query"),
    ] {
        let error = new(OcmConfig::new(url, token.path()));
        assert!(
            error.kind() == "bad-config" && error.to_string().contains(problem),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    for text in [
        "no certificate",
        "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----",
    ] {
        let ca = token_file(text);
        let error = new(OcmConfig {
            ca_file: Some(ca.path().into()),
            ..config("https://api.example", &token)
        });
        assert_eq!(error.kind(), "bad-config", "{error}");
    }
    for text in ["", "two words", "line\nbreak", &"x".repeat(70_000)] {
        let file = token_file(text);
        assert_eq!(
            new(config("http://api.example", &file)).kind(),
            "token-file",
            "{:?}",
            text.get(..20)
        );
    }
    assert_eq!(
        new(OcmConfig {
            login: "/nowhere".into(),
            ..config("http://a", &token)
        })
        .kind(),
        "token-file"
    );
}

#[tokio::test]
async fn tls_is_checked_against_the_given_certificates() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = Arc::new(server);
    let double = OcmDouble::start_with(now(), move |socket| {
        let connection =
            rustls::ServerConnection::new(Arc::clone(&server)).map_err(std::io::Error::other)?;
        Ok(Box::new(rustls::StreamOwned::new(connection, socket)))
    });
    double.add("org", &[], cluster("a", "4.12.1", &[]));
    let (token, url) = (
        token_file(TOKEN),
        format!("https://localhost:{}", double.address().port()),
    );
    let fleet = async |pem: String| {
        let ca = token_file(&pem);
        let mut config = OcmConfig {
            ca_file: Some(ca.path().into()),
            ..config(&url, &token)
        };
        config.allow_http = false;
        config.limits.retry.attempts = 1;
        Ocm::new(config)
            .unwrap()
            .fleet(now(), &Default::default())
            .await
    };
    assert_eq!(names(&fleet(made.cert.pem()).await.unwrap()), "a");
    let strange = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let before = double.asked().len();
    assert_eq!(
        fleet(strange.cert.pem()).await.unwrap_err().kind(),
        "unreachable"
    );
    assert_eq!(
        double.asked().len(),
        before,
        "nothing was said to a stranger"
    );
}

/// A service account with that secret.
fn service_account(double: &OcmDouble, secret: &NamedTempFile) -> Login {
    Login::ClientCredentials {
        token_url: format!("{}/token", double.url()),
        client_id: "towpath".to_owned(),
        secret_file: secret.path().to_owned(),
    }
}

#[tokio::test]
async fn a_service_account_gets_one_token_for_many_requests_and_a_new_one_when_it_is_rejected() {
    let (double, secret) = (OcmDouble::start(now()), token_file("s3cret"));
    double.open_token_service("towpath", "s3cret", 900);
    let mut config = config(&double.url(), &secret);
    config.login = service_account(&double, &secret);
    let ocm = Ocm::new(config).unwrap();
    ocm.fleet(now(), &BTreeSet::new()).await.unwrap();
    assert_eq!(double.count("POST", "/token"), 1);
    double.set_token("another");
    ocm.fleet(now(), &BTreeSet::new()).await.unwrap();
    assert_eq!(
        double.count("POST", "/token"),
        2,
        "rejected, and renewed once for all"
    );
}

#[tokio::test]
async fn a_token_that_has_run_out_is_renewed_before_it_is_rejected() {
    let (double, offline) = (OcmDouble::start(now()), token_file("offline"));
    double.open_token_service("cloud-services", "offline", 0);
    let mut config = config(&double.url(), &offline);
    config.login = Login::OfflineToken {
        token_url: format!("{}/token", double.url()),
        file: offline.path().to_owned(),
    };
    let ocm = Ocm::new(config).unwrap();
    ocm.fleet(now(), &BTreeSet::new()).await.unwrap();
    let asked = double.asked();
    let renewals = asked.iter().filter(|asked| asked.path == "/token").count();
    assert_eq!(renewals * 2, asked.len(), "each lives no time at all");
}

#[tokio::test]
async fn a_login_that_is_refused_says_where_and_why_and_not_the_secret() {
    let (double, secret) = (OcmDouble::start(now()), token_file("wrong-s3cret"));
    double.open_token_service("towpath", "s3cret", 900);
    let mut config = config(&double.url(), &secret);
    config.login = service_account(&double, &secret);
    let error = Ocm::new(config)
        .unwrap()
        .fleet(now(), &BTreeSet::new())
        .await
        .unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), "login");
    assert!(
        text.contains("/token: no token for the API: it answers 401: Invalid client or secret"),
        "{text}"
    );
    assert!(!text.contains("wrong-s3cret"), "{text}");
}
