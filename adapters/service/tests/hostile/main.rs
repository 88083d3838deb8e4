//! Services that stall, cut short, lead elsewhere, refuse, or are somebody else: nothing hangs, nothing is lost, no token goes astray.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::path::Path;
use std::time::Duration;

use towpath_core::agent::{FleetOrders, OrderedUpdate, OrdersUse, Stamp};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::AcceptedRisk;
use towpath_formats::agent::orders;
use towpath_formats::agent::stamp::{self, Nonce};
use towpath_formats::fleet::token::{Claims, Enrolment, Grant, Key};
use towpath_service::{Limits, ReportOutcome, ServiceClient, ServiceConfig, ServiceError};
use towpath_testing_services::scripted::{Server, Step, answer, head};

const TOKEN: &str = "tpc_xLqZEoMr6ozXZmZ9yGQrqH36zDnH_CKzejYJSYPzCNw";
const ACCEPTED: &str = r#"{"kind":"accepted","recorded":"began"}"#;

struct Agent {
    folder: tempfile::TempDir,
    client: ServiceClient,
}

impl Agent {
    fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), format!("{TOKEN}\n")).unwrap();
        let client = ServiceClient::new(config(url, folder.path())).unwrap();
        Self { folder, client }
    }

    async fn report(&self) -> ReportOutcome {
        self.client
            .report(&id(), b"{\"version\": \"4.20.1\"}")
            .await
    }

    async fn stamp(&self) -> Result<Stamp, ServiceError> {
        self.client.stamp(&id(), &nonce()).await
    }
}

fn config(url: &str, folder: &Path) -> ServiceConfig {
    let mut config = ServiceConfig::new(url, folder.join("token"));
    config.environment_proxy = false;
    let request_timeout = Duration::from_millis(1_500);
    config.limits = Limits {
        request_timeout,
        connect_timeout: request_timeout,
        ..Limits::default()
    };
    config
}

fn id() -> ClusterId {
    ClusterId::new("0f3a/ x").unwrap()
}

fn nonce() -> Nonce {
    Nonce::new("0123456789-_abcd").unwrap()
}

fn stamped() -> Stamp {
    Stamp {
        good_at: "2026-05-12T10:00:00Z".parse().unwrap(),
        stamped_at: "2026-05-12T10:30:00Z".parse().unwrap(),
    }
}

fn why(answered: ReportOutcome) -> String {
    match answered {
        ReportOutcome::Later { why, .. } => why,
        other => panic!("it is to be sent again, and not {other:?}"),
    }
}

#[tokio::test]
async fn a_report_is_sent_as_it_is_with_the_token() {
    let server = Server::always(answer("202 Accepted", ACCEPTED));
    let agent = Agent::new(&format!("{}/below/", server.url("")));
    assert_eq!(agent.report().await, ReportOutcome::Sent);
    let [request] = &*server.requests() else {
        panic!("one request")
    };
    assert!(
        request.starts_with("POST /below/api/v1/clusters/0f3a%2F%20x/report HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains(&format!("authorization: Bearer {TOKEN}\r\n")),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/json\r\n")
            && request.ends_with("{\"version\": \"4.20.1\"}")
    );
}

#[tokio::test]
async fn a_new_token_counts_at_once() {
    let server = Server::always(answer("202 Accepted", ACCEPTED));
    let agent = Agent::new(&server.url(""));
    std::fs::write(agent.folder.path().join("token"), "tpc_new").unwrap();
    assert_eq!(agent.report().await, ReportOutcome::Sent);
    assert!(server.requests()[0].contains("Bearer tpc_new\r\n"));
    std::fs::remove_file(agent.folder.path().join("token")).unwrap();
    assert!(why(agent.report().await).contains("cannot be read"));
    std::fs::write(agent.folder.path().join("token"), "two words").unwrap();
    let told = why(agent.report().await);
    assert!(
        told.contains("has characters that are not allowed in a token") && !told.contains("two"),
        "{told}"
    );
    assert_eq!(
        server.requests().len(),
        1,
        "without a token nobody is asked"
    );
}

#[tokio::test]
async fn a_token_that_says_whose_it_is_goes_nowhere_else() {
    let server = Server::always(answer("202 Accepted", ACCEPTED));
    let agent = Agent::new(&server.url(""));
    let token = |grant: Grant| {
        let end = "2099-01-01T00:00:00Z".parse().unwrap();
        Key::new("0123456789abcdef0123456789abcdef")
            .sign(&Claims {
                grant,
                made: None,
                end,
                serial: "AAAAAAAA".into(),
            })
            .unwrap()
    };
    let of = |id: ClusterId| {
        Grant::Cluster(Enrolment {
            organisation: "acme".into(),
            name: "shop".into(),
            id,
        })
    };
    let write = |text: &str| std::fs::write(agent.folder.path().join("token"), text).unwrap();
    write(&token(of(id())));
    assert_eq!(agent.report().await, ReportOutcome::Sent);
    for (text, expected) in [
        (
            token(of(ClusterId::new("another").unwrap())),
            "has the token of cluster another, and this is 0f3a",
        ),
        (
            token(Grant::Reload),
            "has a token of role reload, not a cluster's",
        ),
        (
            token(of(id())).replace('.', ""),
            "has no token: it has no code",
        ),
    ] {
        write(&text);
        let told = why(agent.report().await);
        assert!(told.contains(expected) && !told.contains("tp2_"), "{told}");
    }
    assert_eq!(server.requests().len(), 1, "nobody else was asked");
}

#[tokio::test]
async fn a_report_for_another_cluster_than_the_token_is_never_sent_again() {
    let error = r#"{"kind":"not_as_bound","value":"the token is for another name"}"#;
    let server = Server::always(answer("403 Forbidden", error));
    let answered = Agent::new(&server.url("")).report().await;
    assert!(
        matches!(&answered, ReportOutcome::Refused { why } if why.contains("not_as_bound")),
        "{answered:?}"
    );
}

#[tokio::test]
async fn what_the_service_says_decides_what_becomes_of_a_report() {
    let error = r#"{"kind":"invalid_body","value":"the report has no version"}"#;
    for (status, is_final) in [
        ("400 Bad Request", true),
        ("413 Too Large", true),
        ("415 Unsupported", true),
        ("422 Unprocessable", true),
        ("401 Unauthorized", false),
        ("403 Forbidden", false),
        ("404 Not Found", false),
        ("408 Timeout", false),
        ("429 Too Many", false),
        ("500 Internal", false),
        ("503 Unavailable", false),
        ("599 Whatever", false),
    ] {
        match Agent::new(&Server::always(answer(status, error)).url(""))
            .report()
            .await
        {
            ReportOutcome::Refused { why } if is_final => {
                assert!(why.contains("the report has no version"), "{why}")
            }
            ReportOutcome::Later { why, after: None } if !is_final => {
                assert!(why.contains(&status[..3]), "{why}")
            }
            other => panic!("{status}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn how_long_to_wait_is_the_services_to_say() {
    for (status, header, expected) in [
        ("503 Unavailable", "7", Some(7)),
        ("429 Too Many", "7", Some(7)),
        ("503 Unavailable", "soon", None),
        ("503 Unavailable", "99999999999999999999", None),
    ] {
        let steps = vec![head(
            status,
            &format!("Retry-After: {header}\r\nContent-Length: 0\r\n"),
        )];
        let answered = Agent::new(&Server::always(steps).url("")).report().await;
        let ReportOutcome::Later { after, .. } = answered else {
            panic!("{answered:?}")
        };
        assert_eq!(after, expected.map(Duration::from_secs), "{header}");
    }
}

#[tokio::test]
async fn somebody_elses_yes_is_none() {
    for body in [
        "<html>Welcome to our hotel</html>",
        "{}",
        r#"{"kind":"paused"}"#,
    ] {
        let told = why(Agent::new(&Server::always(answer("200 OK", body)).url(""))
            .report()
            .await);
        assert!(told.contains("not that of a Towpath service"), "{told}");
    }
    let lost = vec![
        head("202 Accepted", "Content-Length: 38\r\n"),
        Step::Send(b"{\"kind\":\"acc".to_vec()),
    ];
    let told = why(Agent::new(&Server::always(lost).url("")).report().await);
    assert!(
        told.contains("cut short"),
        "sent again under the same id: {told}"
    );
}

#[tokio::test]
async fn nothing_hangs_and_nothing_grows() {
    let large = "x".repeat(1 << 20);
    for (what, steps, expected) in [
        ("no answer", vec![Step::Stall], "in time"),
        (
            "half a head",
            vec![Step::Send(b"HTTP/1.1 202".to_vec()), Step::Stall],
            "in time",
        ),
        (
            "half a body",
            vec![head("202 Accepted", "Content-Length: 9\r\n"), Step::Stall],
            "in time",
        ),
        ("nothing", vec![], "the service cannot be reached"),
        (
            "rubbish",
            vec![Step::Send(b"SSH-2.0-x\r\n\r\n".to_vec())],
            "",
        ),
        (
            "a head without end",
            vec![
                Step::Send(b"HTTP/1.1 202 x\r\n".to_vec()),
                Step::Endless(b"a: b\r\n".to_vec()),
            ],
            "",
        ),
        (
            "a body too large",
            answer("202 Accepted", &large),
            "larger than 16384 bytes",
        ),
        (
            "a body without end",
            vec![head("202 Accepted", ""), Step::Endless(vec![b' '; 4096])],
            "larger than 16384",
        ),
    ] {
        let agent = Agent::new(&Server::always(steps.clone()).url(""));
        let told = why(agent.report().await);
        // How a close without a word is told is not ours to say.
        assert!(
            told.contains(expected) || what == "nothing",
            "{what}: {told}"
        );
        assert!(
            !told.contains("127.0.0.1") && !told.contains(TOKEN),
            "{what}: {told}"
        );
        let error = agent.stamp().await.unwrap_err().to_string();
        assert!(
            !error.contains("nonce=") && !error.contains(TOKEN),
            "{what}: {error}"
        );
    }
}

#[tokio::test]
async fn a_token_goes_nowhere_else() {
    let elsewhere = Server::always(answer("202 Accepted", ACCEPTED));
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let to = format!("Location: {}/\r\nContent-Length: 0\r\n", elsewhere.url(""));
        let server = Server::always(vec![head(status, &to)]);
        let agent = Agent::new(&server.url(""));
        assert!(
            why(agent.report().await).contains("it redirects"),
            "{status}"
        );
        assert!(
            agent
                .stamp()
                .await
                .unwrap_err()
                .to_string()
                .contains("it redirects"),
            "{status}"
        );
    }
    assert_eq!(elsewhere.requests(), [""; 0]);
}

#[tokio::test]
async fn a_stamp_is_believed_if_the_service_made_it_for_this_question() {
    let good = stamp::write(TOKEN, &id(), &nonce(), &stamped());
    let server = Server::always(answer("200 OK", &good));
    assert_eq!(Agent::new(&server.url("")).stamp().await, Ok(stamped()));
    let asked = &server.requests()[0];
    assert!(
        asked.starts_with(
            "GET /api/v1/clusters/0f3a%2F%20x/stamp?nonce=0123456789-_abcd HTTP/1.1\r\n"
        ),
        "{asked}"
    );
    let of_another = stamp::write("tpc_other", &id(), &nonce(), &stamped());
    let old = stamp::write(TOKEN, &id(), &Nonce::of([1; 32]), &stamped());
    let large = format!("{good}{}", " ".repeat(4096));
    for (steps, expected) in [
        (answer("200 OK", &of_another), "not made for this cluster"),
        (answer("200 OK", &old), "another question"),
        (answer("200 OK", &large), "larger than 4096 bytes"),
        (answer("206 Partial", &good), "206"),
        (
            answer(
                "503 Unavailable",
                r#"{"kind":"unavailable","value":"there is no graph yet"}"#,
            ),
            "there is no graph yet",
        ),
        (answer("403 Forbidden", "<html>"), "403: no reason given"),
    ] {
        let error = Agent::new(&Server::always(steps).url(""))
            .stamp()
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error} / {expected}");
    }
}

#[tokio::test]
async fn nobody_there() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let told = why(Agent::new(&format!("http://127.0.0.1:{port}"))
        .report()
        .await);
    assert!(told.contains("the service cannot be reached"), "{told}");
}

#[test]
fn what_is_configured_wrongly_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |config: ServiceConfig| ServiceClient::new(config).unwrap_err().to_string();
    let good = config("https://127.0.0.1", folder.path());
    assert!(wrong(good.clone()).contains("the token file"));
    std::fs::write(folder.path().join("token"), TOKEN).unwrap();
    let ca = |text: &str| {
        std::fs::write(folder.path().join("ca.pem"), text).unwrap();
        ServiceConfig {
            ca_file: Some(folder.path().join("ca.pem")),
            ..good.clone()
        }
    };
    assert!(wrong(ca("no certificate")).contains("has no certificate in it"));
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    assert!(ServiceClient::new(ca(&key.cert.pem())).is_ok());
}

/// Orders are what the service sealed for this question. A service of before has none, and nobody else can give any.
#[tokio::test]
async fn orders_are_sealed_and_a_service_of_before_has_none() {
    let ordered = FleetOrders {
        update: Some(OrderedUpdate {
            to: "4.20.3".parse().unwrap(),
            channel: None,
            accepted: vec![AcceptedRisk::named("SlowStart".into())],
        }),
        preflight: None,
    };
    let sealed = |token: &str| orders::seal(token, &id(), &nonce(), &orders::write(&ordered));
    let asked = |answered: Vec<Step>| async {
        let server = Server::always(answered);
        let agent = Agent::new(&server.url(""));
        let orders = agent.client.orders(&id(), &nonce(), OrdersUse::Act).await;
        let request = server.requests().remove(0);
        let path = "GET /api/v1/clusters/0f3a%2F%20x/orders?nonce=0123456789-_abcd HTTP/1.1\r\n";
        assert!(request.starts_with(path), "{request}");
        orders
    };
    let ours = asked(answer("200 OK", sealed(TOKEN))).await;
    assert_eq!(ours.unwrap(), ordered);
    let older = answer("404 Not Found", r#"{"kind":"does_not_exist","value":""}"#);
    assert_eq!(asked(older).await.unwrap(), FleetOrders::default());
    for (status, body) in [
        ("200 OK", sealed("tpc_another")),
        ("200 OK", orders::write(&ordered)),
        ("200 OK", "<html>".to_owned()),
        ("503 Service Unavailable", sealed(TOKEN)),
    ] {
        assert!(asked(answer(status, &body)).await.is_err(), "{body}");
    }
}
