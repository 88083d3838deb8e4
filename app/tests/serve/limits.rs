//! What strangers may take up: each limit has an answer or a close, never a stall.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;
use towpath_testing_services::{Response, Towpath, example, with_descriptors};

const REQUEST: &[u8] = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n";
const GRAPH: &[u8] =
    b"GET /api/upgrades_info/graph?channel=stable-4.20 HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[test]
fn a_long_address_is_refused_with_an_answer() {
    let towpath = Towpath::serve(&[]);
    let refused = towpath.get(&format!(
        "/api/upgrades_info/graph?channel={}",
        "a".repeat(9000)
    ));
    assert_eq!(
        (refused.status, refused.kind().as_str()),
        (414, "uri_too_long")
    );
}

#[test]
fn a_large_head_is_refused_with_an_answer() {
    let towpath = Towpath::serve(&[]);
    let large = "a".repeat(20_000);
    assert_eq!(
        towpath.get_with("/livez", &[("x-large", &large)]).status,
        431
    );
    let names: Vec<String> = (0..100).map(|n| format!("x-{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    assert_eq!(towpath.get_with("/livez", &many).status, 431);
}

#[test]
fn what_is_not_http_is_refused_with_an_answer() {
    let towpath = Towpath::serve(&[]);
    assert_eq!(
        Response::read(&mut towpath.send(b"nonsense\r\n\r\n"), false).status,
        400
    );
}

#[test]
fn a_body_is_ignored() {
    let towpath = Towpath::serve(&[]);
    let request = b"GET /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
    assert_eq!(
        Response::read(&mut towpath.send(request), false).status,
        200
    );
    let huge =
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\nhello";
    assert_eq!(
        Response::read(&mut towpath.send(huge), false).status,
        200,
        "without waiting for it"
    );
}

#[test]
fn a_client_that_does_not_finish_its_head_is_closed() {
    let towpath = Towpath::serve(&["--client-timeout", "1s"]);
    for begun in [&b""[..], b"GET /livez HTTP/1.1\r\nhost: "] {
        let mut rest = Vec::new();
        towpath
            .send(begun)
            .read_to_end(&mut rest)
            .expect("closed, and not left to wait");
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
}

#[test]
fn a_client_that_does_not_read_is_closed() {
    let towpath = Towpath::serve(&["--client-timeout", "1s"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    // More answers than any socket buffer holds, none of which is read.
    let mut stream = towpath.send(b"");
    let asked = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(64);
    let mut refused = false;
    for _ in 0..10_000 {
        refused = refused || stream.write_all(&asked).is_err();
        if refused {
            break;
        }
    }
    assert!(refused, "the connection was not closed");
    // The client learns of it first.
    let counted = "towpath_connections_closed_total{reason=";
    towpath.until("it is counted", |t| {
        t.get("/metrics").text().contains(counted)
    });
}

/// A connection with a full place: it stays open after its answer.
fn hold(towpath: &Towpath) -> TcpStream {
    loop {
        let mut stream = towpath.send(REQUEST);
        let response = Response::read(&mut stream, false);
        assert_eq!(response.status, 200);
        if response.header("connection") != "close" {
            return stream;
        }
    }
}

#[test]
fn one_connection_too_many_is_told_to_come_back() {
    let towpath = Towpath::serve(&[
        "--max-connections",
        "2",
        "--max-connections-per-address",
        "0",
    ]);
    let held = [hold(&towpath), hold(&towpath)];
    for _ in 0..20 {
        let mut stream = towpath.send(GRAPH);
        let refused = Response::read(&mut stream, false);
        assert_eq!(
            (refused.status, refused.kind().as_str()),
            (503, "too_many_connections")
        );
        assert_eq!(
            (refused.header("retry-after"), refused.header("connection")),
            ("5", "close")
        );
        assert_eq!(stream.read(&mut [0]).expect("closed in order"), 0);
    }
    let mut rest = Vec::new();
    towpath
        .send(b"")
        .read_to_end(&mut rest)
        .expect("one that asks nothing is closed");
    drop(held);
    towpath.until("there is room again", |t| {
        Response::read(&mut t.send(GRAPH), false).header("connection") != "close"
    });
}

#[test]
fn with_all_places_taken_it_is_still_alive_and_ready_and_measured() {
    let towpath = Towpath::serve(&[
        "--max-connections",
        "2",
        "--max-connections-per-address",
        "0",
    ]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let _held = [hold(&towpath), hold(&towpath)];
    let all_answer = || {
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(towpath.get(path).status, 200, "{path}");
        }
    };
    all_answer();
    assert!(
        towpath
            .get("/metrics")
            .text()
            .contains("towpath_connections 3\n"),
        "two, and the one that asks"
    );
    // Somebody who takes every place of the reserve and says nothing does not keep probes out.
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.extend((0..20).map(|_| towpath.send(b"")));
        all_answer();
    }
}

#[test]
fn one_address_gets_half_of_all_places() {
    let towpath = Towpath::serve(&["--max-connections", "4"]);
    let _held = [hold(&towpath), hold(&towpath)];
    let refused = Response::read(&mut towpath.send(GRAPH), false);
    assert_eq!(
        (refused.status, refused.kind().as_str()),
        (503, "too_many_connections")
    );
    assert!(
        refused
            .text()
            .contains("this address has too many connections"),
        "{}",
        refused.text()
    );
    assert!(
        towpath
            .get("/metrics")
            .text()
            .contains("closed_total{reason=\"too_many_of_address\"} 1\n")
    );
}

#[test]
fn behind_a_trusted_proxy_the_forwarded_address_counts() {
    let towpath = Towpath::serve(&["--max-connections", "6", "--trusted-proxies", "127.0.0.0/8"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let ask = |stream: &mut TcpStream, address: &str| {
        let request = format!(
            "GET /livez HTTP/1.1\r\nhost: localhost\r\nx-forwarded-for: 1.1.1.1, {address}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        Response::read(stream, false).status
    };
    let mut held: Vec<TcpStream> = (0..5).map(|_| hold(&towpath)).collect();
    let statuses: Vec<u16> = held
        .iter_mut()
        .take(4)
        .map(|stream| ask(stream, "192.0.2.1"))
        .collect();
    assert_eq!(
        statuses,
        [200, 200, 200, 503],
        "three of six for one address, and the proxy's own has no limit"
    );
    assert_eq!(
        ask(&mut held[4], "192.0.2.2"),
        200,
        "another address has its own"
    );
    assert_eq!(ask(&mut held[0], "192.0.2.2"), 200);
    assert_eq!(
        ask(&mut held[4], "192.0.2.1"),
        200,
        "a connection counts for whom it asked last"
    );
}

#[test]
fn idle_connections_leave_descriptors_for_files() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (data, releases) = (at("graph-data"), at("releases.json"));
    let options = [
        "--graph-data",
        &data,
        "--releases",
        &releases,
        "--poll-every",
        "1s",
    ];
    let towpath = Towpath::serve_with_descriptors(
        300,
        &[&options[..], &["--max-connections-per-address", "0"]].concat(),
    );
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let blocks = |towpath: &Towpath| {
        towpath.get("/readyz").json()["graph"]["blocks"]
            .as_u64()
            .expect("a number")
    };
    let before = blocks(&towpath);
    let idle: Vec<TcpStream> = (0..400).map(|_| towpath.send(b"")).collect();
    let block = "to: 4.20.1\nfrom: .*\nname: New\nurl: https://example.com\nmessage: m\nmatchingRules: [{type: Always}]\n";
    std::fs::write(
        folder.path().join("graph-data/blocked-edges/new.yaml"),
        block,
    )
    .expect("a block");
    towpath.until("the new block is read", |t| blocks(t) == before + 1);
    drop(idle);
}

#[test]
fn what_there_are_no_descriptors_for_is_told_at_the_start() {
    let towpath = Towpath::serve_with_descriptors(300, &["--max-connections", "5000"]);
    towpath.log_line("connections at once instead of 5000: the limit of open files is 300");
    let refused = with_descriptors(64, &[]).output().expect("it ends");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && told.contains("the limit of open files is 64"),
        "{told}"
    );
}

#[test]
fn it_stops_quietly() {
    let mut towpath = Towpath::serve(&["--drain-for", "0s"]);
    let mut idle = towpath.send(REQUEST);
    assert_eq!(Response::read(&mut idle, false).status, 200);
    towpath.signal(Signal::TERM);
    assert!(towpath.child.wait().expect("it ends").success());
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest)
        .expect("the idle connection was closed");
    towpath.log_line("stopped");
}

#[test]
fn a_client_that_asks_too_often_is_told_when_to_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    std::fs::write(&keys, "0123456789abcdef0123456789abcdef\n").expect("keys");
    let keys = keys.to_str().expect("UTF-8");
    let made = std::process::Command::new(towpath_testing_services::binary())
        .args([
            "fleet",
            "token",
            "--admin",
            "--name",
            "ada",
            "--people-keys",
            keys,
        ])
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{made:?}");
    let genuine = format!("Bearer {}", String::from_utf8_lossy(&made.stdout).trim());
    let options = [
        "--requests-per-minute",
        "3",
        "--trusted-proxies",
        "127.0.0.0/8",
        "--people-keys",
        keys,
    ];
    let towpath = Towpath::serve(&options);
    let ask = |target: &str, address: &str, token: Option<&str>| {
        let token = token.map(|token| ("authorization", token));
        let headers: Vec<(&str, &str)> = [("x-forwarded-for", address)]
            .into_iter()
            .chain(token)
            .collect();
        towpath.get_with(target, &headers)
    };
    let session =
        |address: &str, token: Option<&str>| ask("/api/v1/session", address, token).status;
    for _ in 0..3 {
        assert_eq!(session("192.0.2.1", None), 200);
    }
    let refused = ask("/api/v1/session", "192.0.2.1", None);
    assert_eq!(
        (refused.status, refused.kind().as_str()),
        (429, "too_many_requests")
    );
    let wait: u32 = refused.header("retry-after").parse().expect("seconds");
    assert!((1..=20).contains(&wait), "{wait}");
    assert_eq!(
        ask("/nothing", "192.0.2.1", None).status,
        429,
        "whatever it asks for"
    );
    // Graphs and probes do not count, and others have their own limit.
    for target in ["/livez", "/api/upgrades_info/graph?channel=stable-4.20"] {
        assert_ne!(ask(target, "192.0.2.1", None).status, 429, "{target}");
    }
    assert_eq!(session("192.0.2.2", None), 200);
    // A token counts for itself, wherever it is; one that nobody made counts as none.
    for address in ["192.0.2.1", "192.0.2.2", "192.0.2.3"] {
        assert_eq!(session(address, Some(&genuine)), 200);
    }
    assert_eq!(session("192.0.2.4", Some(&genuine)), 429);
    let changed = format!("{genuine}x");
    assert_eq!(session("192.0.2.1", Some(&changed)), 429);
    // A host with IPv6 has a whole network.
    for address in ["2001:db8::1", "2001:db8::2", "2001:db8::3"] {
        assert_eq!(session(address, None), 200);
    }
    assert_eq!(session("2001:db8::4", None), 429);
    assert_eq!(session("2001:db8:0:1::1", None), 200);
    // A proxy that names nobody is not limited.
    for _ in 0..5 {
        assert_eq!(towpath.get("/api/v1/session").status, 200);
    }
    let metrics = towpath.get("/metrics").text();
    for line in [
        "towpath_requests_limited_total{by=\"address\"} 4",
        "towpath_requests_limited_total{by=\"token\"} 1",
    ] {
        assert!(
            metrics.lines().any(|one| one == line),
            "{line} is not in {metrics}"
        );
    }
}
