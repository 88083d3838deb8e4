//! `/api/v1/events` over real connections: what is told, what was missed, who is turned away, and how a stream ends.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::{Value, json};
use towpath_testing_services::{Response, Towpath, example};

use crate::fleet::{Fleet, PROD};

const MOST_OF_ONE_ADDRESS: usize = 32;

/// One open stream, and what it has said.
struct Listener {
    stream: BufReader<TcpStream>,
    said: String,
}

impl Listener {
    fn new(towpath: &Towpath, headers: &str) -> Self {
        let mut listener = Self {
            stream: BufReader::new(ask(towpath, headers)),
            said: String::new(),
        };
        let head = listener.line();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        while listener.line() != "\r\n" {}
        listener.until("id: ");
        listener
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line
    }

    /// Reads one chunk; false at the end of the stream.
    fn read(&mut self) -> bool {
        let size = self.line();
        let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).expect("a chunk");
        self.said += std::str::from_utf8(&chunk[..size]).expect("UTF-8");
        size > 0
    }

    fn until(&mut self, told: &str) {
        while !self.said.contains(told) {
            assert!(self.read(), "it ended without {told:?}: {}", self.said);
        }
    }

    fn last_id(&self) -> u64 {
        let ids = self
            .said
            .lines()
            .filter_map(|line| line.strip_prefix("id: "));
        ids.map(|id| id.parse().expect("a number"))
            .max()
            .expect("an id")
    }
}

fn ask(towpath: &Towpath, headers: &str) -> TcpStream {
    let request = format!("GET /api/v1/events HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
    towpath.send(request.as_bytes())
}

fn turned_away(towpath: &Towpath) -> (u16, String) {
    let mut stream = ask(towpath, "connection: close\r\n");
    let answer = Response::read(&mut stream, false);
    (answer.status, answer.kind())
}

#[test]
fn changes_of_the_graph_are_told_and_what_was_missed_too() {
    let folder = tempfile::tempdir().expect("a folder");
    example(folder.path());
    let towpath = Towpath::serve_folder(folder.path(), &[]);
    let mut listener = Listener::new(&towpath, "");
    let before = listener.last_id();
    let block = folder
        .path()
        .join("graph-data/blocked-edges/4.20.1-new.yaml");
    fs::write(&block, "to: 4.20.1\nfrom: '('\n").expect("written");
    listener.until("event: reload\ndata: {\"at\":");
    listener.until("\"result\":\"failed\"");
    fs::write(&block, "to: 4.20.1\nfrom: .*\n").expect("written");
    listener.until("event: graph\n");
    let digest = towpath.get("/readyz").json()["graph"]["digest"].clone();
    listener.until(digest.as_str().expect("a digest"));
    listener.until("\"result\":\"changed\"");

    let mut back = Listener::new(&towpath, &format!("last-event-id: {before}\r\n"));
    back.until("event: graph\n");
    assert!(back.said.contains("event: reload\n"), "{}", back.said);
    assert!(!back.said.contains("event: reset\n"), "{}", back.said);
    for unknown in ["1", "x", "99999999999999999999"] {
        let mut lost = Listener::new(&towpath, &format!("last-event-id: {unknown}\r\n"));
        lost.until("event: reset\n");
    }
    drop((listener, back));
    towpath.until("closed streams are noticed", |t| {
        let metrics = t.get("/metrics").text();
        assert!(metrics.contains("towpath_events_total{kind=\"reload\"} 2"));
        metrics.contains("towpath_event_streams 0")
    });
}

#[test]
fn acts_of_people_are_told_without_names() {
    let fleet = Fleet::new();
    let towpath = fleet.serve_closed(&fleet.sqlite(), &[]);
    let admin = format!("authorization: Bearer {}\r\n", fleet.token(&["--admin"]));
    let mut listener = Listener::new(&towpath, "");
    let pause = |body: &str| {
        let length = body.len();
        let request = format!(
            "POST /api/v1/fleet/pause HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{admin}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Response::read(&mut towpath.send(request.as_bytes()), false).status
    };
    towpath.until("there is a graph", |t| t.get("/readyz").status == 200);
    assert_eq!(pause("{}"), 400);
    towpath.until("it is paused", |_| pause(r#"{"why": "INC-1"}"#) == 200);
    listener.until("event: act\n");
    for name in ["demo", "ann", "INC-1", PROD] {
        assert!(!listener.said.contains(name), "{}", listener.said);
    }
}

#[test]
fn streams_of_one_address_are_limited_and_a_closed_one_makes_room() {
    let towpath = Towpath::serve(&[]);
    let mut streams: Vec<Listener> = (0..MOST_OF_ONE_ADDRESS)
        .map(|_| Listener::new(&towpath, ""))
        .collect();
    assert_eq!(turned_away(&towpath), (429, "busy".to_owned()));
    let graph = towpath.get("/api/upgrades_info/graph?channel=stable-4.20");
    assert_eq!(graph.status, 200, "graphs are not in their way");
    drop(streams.pop());
    towpath.until("there is room again", |t| {
        let head = t.request("HEAD", "/api/v1/events", &[]);
        head.status == 200
    });
}

#[test]
fn streams_end_when_the_service_drains() {
    let mut towpath = Towpath::serve(&[]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    let mut listener = Listener::new(&towpath, "");
    towpath.signal(Signal::TERM);
    while listener.read() {}
    assert!(towpath.child.wait().expect("it ends").success());
}

#[test]
fn a_session_says_what_the_token_may() {
    let fleet = Fleet::new();
    let towpath = fleet.serve_closed(&fleet.sqlite(), &[]);
    let session = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers: &[(&str, &str)] = match token {
            "" => &[],
            _ => &[("authorization", &bearer)],
        };
        let answer = towpath.get_with("/api/v1/session", headers);
        assert_eq!(answer.status, 200);
        answer.json()
    };
    let (admin, reader) = (fleet.token(&["--admin"]), fleet.token(&["--read"]));
    let roles = |told: &Value| {
        let roles = told["roles"].as_array().expect("a list").iter();
        let names = roles.map(|role| role["role"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    let all = [
        "viewer",
        "operator",
        "release-administrator",
        "second-signer",
        "fleet-administrator",
    ];
    for (token, held, read_only, problem) in [
        ("", &[][..], true, None),
        (&*reader, &["viewer"], true, None),
        (&*admin, &all, false, None),
        ("nonsense", &[], true, Some("malformed_token")),
    ] {
        let told = session(token);
        assert_eq!(roles(&told), held, "{told}");
        assert_eq!(told["readOnly"], read_only, "{told}");
        let name = told["identity"]["name"].as_str();
        assert_eq!(name, (!held.is_empty()).then_some("ada"), "{told}");
        assert_eq!(told["tokenProblem"]["kind"].as_str(), problem, "{told}");
        assert_eq!(
            (&told["hasFleet"], &told["needsToken"]),
            (&true.into(), &true.into())
        );
    }
    let example = Towpath::serve(&[]).get("/api/v1/session").json();
    assert_eq!(
        (&example["example"], &example["hasFleet"]),
        (&true.into(), &false.into())
    );
    assert_eq!(example["permissions"], json!(["readFleet"]));
}
