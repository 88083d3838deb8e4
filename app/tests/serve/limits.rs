//! What strangers may take up: each limit has an answer or a close, never a stall.

use std::io::{Read, Write};

use crate::harness::{Response, Towpath};
use rustix::process::Signal;

const REQUEST: &[u8] = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn a_long_address_is_refused_with_an_answer() {
    let towpath = Towpath::serve(&[]);
    let refused = towpath.get(&format!("/api/upgrades_info/graph?channel={}", "a".repeat(9000)));
    assert_eq!((refused.status, refused.kind().as_str()), (414, "uri_too_long"));
}

#[test]
fn a_large_head_is_refused_with_an_answer() {
    let towpath = Towpath::serve(&[]);
    let large = "a".repeat(20_000);
    assert_eq!(towpath.get_with("/livez", &[("x-large", &large)]).status, 431);
    let names: Vec<String> = (0..100).map(|n| format!("x-{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    assert_eq!(towpath.get_with("/livez", &many).status, 431);
}

#[test]
fn what_is_not_http_is_refused_with_an_answer() {
    let towpath = Towpath::serve(&[]);
    assert_eq!(Response::read(&mut towpath.send(b"nonsense\r\n\r\n"), false).status, 400);
}

#[test]
fn a_body_is_ignored() {
    let towpath = Towpath::serve(&[]);
    let request = b"GET /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
    assert_eq!(Response::read(&mut towpath.send(request), false).status, 200);
    let huge = b"GET /livez HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\nhello";
    assert_eq!(Response::read(&mut towpath.send(huge), false).status, 200, "without waiting for it");
}

#[test]
fn a_client_that_does_not_finish_its_head_is_closed() {
    let towpath = Towpath::serve(&["--client-timeout-seconds", "1"]);
    for begun in [&b""[..], b"GET /livez HTTP/1.1\r\nhost: "] {
        let mut rest = Vec::new();
        towpath.send(begun).read_to_end(&mut rest).expect("closed, and not left to wait");
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
}

#[test]
fn a_client_that_does_not_read_is_closed() {
    let towpath = Towpath::serve(&["--client-timeout-seconds", "1"]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    // More answers than any socket buffer holds, none of which is read.
    let mut stream = towpath.send(b"");
    let asked = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n".repeat(64);
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
    towpath.until("it is counted", |t| t.get("/metrics").text().contains(counted));
}

#[test]
fn one_connection_too_many_is_told_to_come_back() {
    let towpath = Towpath::serve(&["--max-connections", "2"]);
    let held: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = towpath.send(REQUEST);
            assert_eq!(Response::read(&mut stream, false).status, 200);
            stream
        })
        .collect();
    // Whether or not the request has been sent when the answer comes: it is an answer, never a reset.
    for _ in 0..20 {
        let mut stream = towpath.send(REQUEST);
        assert_eq!(Response::read(&mut stream, false).status, 503);
        assert_eq!(stream.read(&mut [0]).expect("closed in order"), 0);
    }
    let refused = Response::read(&mut towpath.send(b""), false);
    assert_eq!(
        (refused.status, refused.kind().as_str(), refused.header("retry-after")),
        (503, "too_many_connections", "5")
    );
    drop(held);
    towpath.until("there is room again", |t| Response::read(&mut t.send(REQUEST), false).status == 200);
}

#[test]
fn it_stops_quietly() {
    let mut towpath = Towpath::serve(&[]);
    let mut idle = towpath.send(REQUEST);
    assert_eq!(Response::read(&mut idle, false).status, 200);
    towpath.signal(Signal::TERM);
    assert!(towpath.child.wait().expect("it ends").success());
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).expect("the idle connection was closed");
    towpath.log_line("stopped");
}
