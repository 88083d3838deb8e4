//! Sources that are elsewhere, fail, lie and grow old, while it serves.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use towpath_testing_services::{Response, Towpath, edges, example, git};

const CHANNEL: &str = "channel=fast-4.20&platform=GCP";
const EDGE: &str = "4.20.0 -> 4.20.1";
pub(crate) const BLOCK: &str = "to: 4.20.1\nfrom: .*\n";

/// The example's files, and what is needed to wake the service.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
    token: String,
}

impl Site {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        example(folder.path());
        fs::write(
            folder.path().join("keys"),
            "0123456789abcdef0123456789abcdef\n",
        )
        .expect("keys");
        let people = "of people: 0123456789abcdef0123456789abcdef\n";
        fs::write(folder.path().join("people-keys"), people).expect("keys");
        let mut site = Self {
            folder,
            token: String::new(),
        };
        site.token = site.token("--reload");
        assert!(site.token.starts_with("tp2_"));
        site
    }

    /// A token of that kind. A person's is ada's.
    pub(crate) fn token(&self, kind: &str) -> String {
        let mut token = Command::new(env!("CARGO_BIN_EXE_towpath"));
        let token = token
            .args(["fleet", "token", kind, "--keys"])
            .arg(self.path("keys"))
            .arg("--people-keys")
            .arg(self.path("people-keys"));
        let token = match kind {
            "--reload" => token.output(),
            _ => token.args(["--name", "ada"]).output(),
        };
        String::from_utf8(token.expect("towpath runs").stdout)
            .expect("text")
            .trim()
            .to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// Serves these sources; nothing is read but when it is asked for, or changes on disk.
    pub(crate) fn serve(&self, graph_data: &str, releases: &str, options: &[&str]) -> Towpath {
        let (keys, people) = (self.text("keys"), self.text("people-keys"));
        let own = [
            "--graph-data",
            graph_data,
            "--releases",
            releases,
            "--token-keys",
            &keys,
            "--people-keys",
            &people,
        ];
        let seldom = ["--refresh-every", "3600s", "--poll-every", "3600s"];
        let towpath = Towpath::serve(&[&own[..], &seldom, options].concat());
        towpath.until("it is ready", |t| t.get("/readyz").status == 200);
        towpath
    }

    pub(crate) fn reload(&self, towpath: &Towpath, body: &str) -> Response {
        self.reload_as(&self.token, towpath, body)
    }

    pub(crate) fn reload_as(&self, token: &str, towpath: &Towpath, body: &str) -> Response {
        let head = format!(
            "POST /api/v1/reload HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            token,
            body.len()
        );
        Response::read(&mut towpath.send(head.as_bytes()), false)
    }

    /// Wakes a source, and waits until it has been read so often with that result.
    pub(crate) fn read(&self, towpath: &Towpath, source: &str, result: &str) {
        let before = reads(towpath, source, result);
        let woken = self.reload(towpath, &format!("{{\"source\":\"{source}\"}}"));
        assert_eq!(
            (woken.status, woken.json()["woken"][0].as_str()),
            (202, Some(source))
        );
        towpath.until(&format!("{source} was read: {result}"), |t| {
            reads(t, source, result) > before
        });
    }

    /// Runs git at an hour.
    pub(crate) fn git(&self, hours: u64, arguments: &[&str]) {
        let date = format!("@{} +0000", 1_700_000_000 + hours * 3_600);
        git(&self.path("graph-data"), &date, arguments);
    }

    pub(crate) fn commit(&self, hours: u64) {
        self.git(hours, &["add", "-A"]);
        self.git(hours, &["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    pub(crate) fn repository(&self) -> String {
        self.git(0, &["init", "-q", "-b", "main"]);
        self.commit(0);
        format!("git+file://{}#main", self.text("graph-data"))
    }

    pub(crate) fn block(&self) -> PathBuf {
        self.path("graph-data/blocked-edges/4.20.1-new.yaml")
    }
}

pub(crate) fn reads(towpath: &Towpath, source: &str, result: &str) -> u64 {
    let metrics = towpath.get("/metrics").text();
    let name = format!("towpath_source_reads_total{{source=\"{source}\",result=\"{result}\"}} ");
    metrics
        .lines()
        .find_map(|line| line.strip_prefix(&name)?.parse().ok())
        .expect("every source is counted")
}

pub(crate) fn offers(towpath: &Towpath) -> bool {
    edges(&towpath.graph(CHANNEL)).contains(&EDGE.to_owned())
}

pub(crate) fn source(towpath: &Towpath, name: &str) -> serde_json::Value {
    let sources = towpath.get("/readyz").json()["sources"]
        .as_array()
        .expect("sources")
        .clone();
    sources
        .into_iter()
        .find(|source| source["name"] == name)
        .expect("the source is shown")
}

fn graph_body(towpath: &Towpath) -> Vec<u8> {
    towpath
        .get("/api/upgrades_info/graph?channel=fast-4.20")
        .body
}

#[test]
fn a_block_that_is_pushed_reaches_every_answer_within_an_interval_and_within_a_second_with_a_webhook()
 {
    let site = Site::new();
    let repository = site.repository();
    let own_interval = site.serve(
        &format!("{repository}&every=1s"),
        &site.text("releases.json"),
        &[],
    );
    let webhook = site.serve(&repository, &site.text("releases.json"), &[]);
    assert!(offers(&own_interval) && offers(&webhook));
    fs::write(site.block(), BLOCK).unwrap();
    site.commit(60);
    let pushed = Instant::now();
    assert_eq!(
        site.reload(&webhook, "{}").json()["woken"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    webhook.until("the block holds", |t| !offers(t));
    println!(
        "from the webhook to the first answer with the block: {} ms",
        pushed.elapsed().as_millis()
    );
    own_interval.until("the block holds", |t| !offers(t));
    println!(
        "with an interval of 1 s: {} ms",
        pushed.elapsed().as_millis()
    );
}

#[test]
fn an_emptied_or_shrunk_source_does_not_empty_the_graph() {
    let site = Site::new();
    let releases = site.text("releases.json");
    let towpath = site.serve(&site.text("graph-data"), &releases, &[]);
    let (before, whole) = (graph_body(&towpath), fs::read(&releases).unwrap());
    for (text, code) in [
        (r#"{"nodes":[],"edges":[]}"#, "turned-empty"),
        (
            r#"{"nodes":[{"version":"4.20.9","payload":"p"}],"edges":[]}"#,
            "turned-empty",
        ),
        ("{", "bad-json"),
    ] {
        fs::write(&releases, text).unwrap();
        let problem = |t: &Towpath| {
            source(t, "releases")["problem"]["kind"]
                .as_str()
                .map(str::to_owned)
        };
        towpath.until(&format!("{code} is told"), |t| {
            problem(t).as_deref() == Some(code)
        });
        assert_eq!(graph_body(&towpath), before);
        let readiness = towpath.get("/readyz");
        assert_eq!(
            (
                readiness.status,
                readiness.json()["lastReload"]["result"].as_str()
            ),
            (200, Some("failed"))
        );
    }
    fs::write(&releases, whole).unwrap();
    towpath.until("all is well again", |t| {
        t.get("/readyz").json()["status"] == "ready"
    });
}

#[test]
fn a_state_folder_that_cannot_be_written_to_prevents_no_start() {
    let site = Site::new();
    // Nobody, root neither, makes a folder there.
    let (data, releases) = (site.text("graph-data"), site.text("releases.json"));
    let towpath = site.serve(&data, &releases, &["--state", "/sys/towpath"]);
    assert!(offers(&towpath));
    assert_eq!(
        towpath.log_line("the copies cannot be written")["level"],
        "ERROR"
    );
    fs::write(site.block(), BLOCK).unwrap();
    towpath.until("the block holds", |t| !offers(t));
}

/// What a server does with every request.
#[derive(Clone)]
pub(crate) enum Behaviour {
    Send(Vec<u8>),
    /// It says that there is more than it sends.
    CutShort(Vec<u8>),
    Status(u16),
    RedirectForEver,
    HangUp,
}

/// A server that behaves as it is told.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl Server {
    pub(crate) fn start(first: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (address, behaviour) = (
            listener.local_addr().expect("an address"),
            Arc::new(Mutex::new(first)),
        );
        let shared = behaviour.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    match stream.read(&mut byte) {
                        Ok(1) => head.push(byte[0]),
                        _ => break,
                    }
                }
                let behaviour = shared.lock().expect("nobody panics with it").clone();
                // Whoever asked may have gone.
                let _ = stream.write_all(&answer(&behaviour));
            }
        });
        Self { address, behaviour }
    }

    pub(crate) fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().expect("nobody panics with it") = behaviour;
    }
}

fn answer(behaviour: &Behaviour) -> Vec<u8> {
    let head = |status: u16, more: &str, length: usize| {
        format!(
            "HTTP/1.1 {status} x\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n"
        )
        .into_bytes()
    };
    match behaviour {
        Behaviour::Send(body) => [head(200, "", body.len()), body.clone()].concat(),
        Behaviour::CutShort(body) => [head(200, "", body.len() + 1), body.clone()].concat(),
        Behaviour::Status(status) => head(*status, "", 0),
        Behaviour::RedirectForEver => head(302, "location: /again\r\n", 0),
        Behaviour::HangUp => Vec::new(),
    }
}

pub(crate) fn archive(folder: &Path) -> Vec<u8> {
    let done = Command::new("tar")
        .arg("-C")
        .arg(folder)
        .args(["-czf", "-", "graph-data"])
        .output()
        .expect("tar runs");
    assert!(done.status.success());
    done.stdout
}

#[test]
fn every_failure_of_a_server_keeps_what_is_served() {
    let site = Site::new();
    let good = archive(site.folder.path());
    let server = Server::start(Behaviour::Send(good.clone()));
    let url = format!("http://{}/graph-data.tar.gz", server.address);
    let towpath = site.serve(&url, &site.text("releases.json"), &[]);
    let before = graph_body(&towpath);
    let empty = {
        fs::create_dir_all(site.path("empty/graph-data")).unwrap();
        archive(&site.path("empty"))
    };
    for (behaviour, kind) in [
        (Behaviour::Status(500), "http"),
        (Behaviour::Status(404), "http"),
        (Behaviour::Status(401), "http"),
        (Behaviour::Status(429), "http"),
        (Behaviour::Status(304), "http"),
        (Behaviour::CutShort(good.clone()), "http"),
        (Behaviour::RedirectForEver, "http"),
        (Behaviour::HangUp, "http"),
        (
            Behaviour::Send(good[..good.len() / 2].to_vec()),
            "bad-archive",
        ),
        (
            Behaviour::Send(b"<html>sign in</html>".to_vec()),
            "bad-archive",
        ),
        (Behaviour::Send(empty), "unknown-schema"),
    ] {
        server.behave(behaviour);
        site.read(&towpath, "graph-data", "failed");
        let told = source(&towpath, "graph-data");
        assert_eq!(told["problem"]["kind"], kind, "{told}");
        assert_eq!(graph_body(&towpath), before);
    }
    fs::write(site.block(), BLOCK).unwrap();
    server.behave(Behaviour::Send(archive(site.folder.path())));
    site.read(&towpath, "graph-data", "changed");
    towpath.until("the block holds", |t| !offers(t));
    assert_eq!(
        source(&towpath, "graph-data")["problem"],
        serde_json::Value::Null
    );
}

#[test]
fn a_restart_with_every_source_down_serves_at_once_what_was_served() {
    let site = Site::new();
    let (data, releases, state) = (
        site.text("graph-data"),
        site.text("releases.json"),
        site.text("state"),
    );
    let start = jiff::Timestamp::now();
    let started = start.to_string();
    let options = ["--state", &state, "--now", &started];
    let first = site.serve(&data, &releases, &options);
    let before = graph_body(&first);
    first.until("it was kept", |_| site.path("state/current").exists());
    drop(first);
    for name in ["graph-data", "releases.json"] {
        fs::rename(site.path(name), site.path(&format!("away-{name}"))).unwrap();
    }
    let second = site.serve(&data, &releases, &options);
    assert_eq!(graph_body(&second), before);
    second.log_line("serving the saved copies");
    second.until("it says what is wrong", |t| {
        source(t, "releases")["problem"]["kind"] == "unreadable"
    });
    assert_eq!(
        second.get("/readyz").json()["status"],
        "ready, serving the last good graph"
    );
    drop(second);
    let at = |now: &str| site.serve(&data, &releases, &["--state", &state, "--now", now]);
    for (seconds, state, has_edges) in [
        (899, "fresh", true),
        (900, "degraded", true),
        (86_399, "degraded", true),
        (86_400, "closed", false),
    ] {
        let now = (start + jiff::SignedDuration::from_secs(seconds)).to_string();
        let towpath = at(&now);
        assert_eq!(source(&towpath, "graph-data")["state"], state, "{now}");
        let graph = towpath.graph(CHANNEL);
        assert_eq!(
            (
                edges(&graph).is_empty(),
                graph["nodes"].as_array().unwrap().is_empty()
            ),
            (!has_edges, false),
            "{now}"
        );
        let status = towpath.get("/readyz").json()["status"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            state == "fresh" || status.starts_with(&format!("ready, {state}: ")),
            "{now}: {status}"
        );
        let explained = towpath
            .get("/api/v1/explain?channel=fast-4.20&from=4.20.0&platform=GCP")
            .text();
        assert_eq!(
            explained.contains("SourceStale"),
            state == "closed",
            "{now}: {explained}"
        );
        assert!(
            towpath
                .get("/metrics")
                .text()
                .contains(&format!("towpath_sources_state{{state=\"{state}\"}} 2"))
        );
        let passed_on = towpath.get("/api/upgrades_info/graph-data");
        match state {
            "closed" => assert_eq!(
                (passed_on.status, passed_on.kind().as_str()),
                (503, "source_stale"),
                "{now}"
            ),
            _ => assert_eq!(passed_on.status, 200, "{now}"),
        }
    }
    let copy = fs::read_dir(site.path("state/copies"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(copy, "damaged").unwrap();
    let keys = site.text("keys");
    let damaged = Towpath::serve(&[
        "--graph-data",
        &data,
        "--releases",
        &releases,
        "--token-keys",
        &keys,
        "--state",
        &state,
    ]);
    damaged.log_line("is damaged and was left out");
    assert_eq!(
        damaged.get("/readyz").status,
        503,
        "half of the sources is no graph"
    );
}

#[test]
fn a_service_can_be_the_source_of_another() {
    let site = Site::new();
    let now = jiff::Timestamp::now().to_string();
    let now = ["--now", now.as_str()];
    let first = site.serve(&site.text("graph-data"), &site.text("releases.json"), &now);
    let archive = format!("http://{}/api/upgrades_info/graph-data", first.address);
    let second = site.serve(&archive, &site.text("releases.json"), &now);
    for channel in ["fast-4.20", "stable-4.20", "candidate-4.20"] {
        let graph = |t: &Towpath| {
            t.get(&format!("/api/upgrades_info/graph?channel={channel}&id=a"))
                .body
        };
        assert_eq!(graph(&first), graph(&second), "{channel}");
    }
    let (one, other) = (
        first.get("/api/upgrades_info/graph-data"),
        second.get("/api/upgrades_info/graph-data"),
    );
    assert_eq!(
        (one.status, one.body == other.body),
        (200, true),
        "the same bytes, however often they are passed on"
    );
    let again = first.get_with(
        "/api/upgrades_info/graph-data",
        &[("if-none-match", one.header("etag"))],
    );
    assert_eq!((again.status, again.body.len()), (304, 0));
    let modified = one.header("last-modified").to_owned();
    assert!(modified.ends_with(" GMT"), "{modified}");
    for (headers, status) in [
        // Two copies can be of one second, so no date tells which of them a client has.
        (vec![("if-modified-since", modified.as_str())], 200),
        (
            vec![("if-modified-since", "Tue, 01 Jan 2019 00:00:00 GMT")],
            200,
        ),
        (
            vec![("if-modified-since", "Thu, 01 Jan 2099 00:00:00 GMT")],
            200,
        ),
        (vec![("if-modified-since", "yesterday")], 200),
        // A tag is exact, whatever the date.
        (
            vec![
                ("if-modified-since", "Tue, 01 Jan 2019 00:00:00 GMT"),
                ("if-none-match", one.header("etag")),
            ],
            304,
        ),
        (
            vec![
                ("if-modified-since", modified.as_str()),
                ("if-none-match", "\"another\""),
            ],
            200,
        ),
    ] {
        assert_eq!(
            first
                .get_with("/api/upgrades_info/graph-data", &headers)
                .status,
            status,
            "{headers:?}"
        );
    }
    site.read(&second, "graph-data", "unchanged");
}

#[test]
fn a_local_policy_stands_in_front_of_another_service() {
    let site = Site::new();
    let upstream = site.serve(&site.text("graph-data"), &site.text("releases.json"), &[]);
    let url = format!(
        "http://{}/api/upgrades_info/graph#channels=fast-4.20",
        upstream.address
    );
    for file in [
        "channels/4.20.yaml",
        "blocked-edges/4.20.2-etcd-data-loss.yaml",
    ] {
        fs::remove_file(site.path("graph-data").join(file)).unwrap();
    }
    upstream.until("its own data is wrong", |t| {
        t.get("/readyz").json()["lastReload"]["result"] == "failed"
    });
    let plain = |t: &Towpath| t.graph("channel=fast-4.20");
    let bare = Towpath::serve(&["--releases", &url]);
    bare.until("it is ready", |t| t.get("/readyz").status == 200);
    let sorted = |graph: &serde_json::Value| {
        let mut all = edges(graph);
        all.sort();
        all
    };
    assert_eq!(sorted(&plain(&bare)), sorted(&plain(&upstream)));
    assert_eq!(
        plain(&bare)["conditionalEdges"],
        plain(&upstream)["conditionalEdges"]
    );
    assert!(edges(&plain(&bare)).contains(&EDGE.to_owned()));
    assert_eq!(bare.get("/api/upgrades_info/graph-data").status, 404);
    // In the stable channel some of them are still rolled out: then the stricter of both channels counts.
    let both = Towpath::serve(&["--releases", &format!("{url},stable-4.20")]);
    both.until("it is ready", |t| t.get("/readyz").status == 200);
    assert_eq!(
        sorted(&both.graph("channel=stable-4.20")),
        sorted(&upstream.graph("channel=stable-4.20"))
    );
    let is_offered = |edge: &String| edges(&plain(&upstream)).contains(edge);
    assert!(
        edges(&plain(&both)).iter().all(is_offered),
        "nothing that the other service does not offer"
    );
    fs::write(site.block(), BLOCK).unwrap();
    let guarded = site.serve(&site.text("graph-data"), &url, &[]);
    assert!(
        !edges(&plain(&guarded)).contains(&EDGE.to_owned()),
        "the local block holds"
    );
    assert!(!edges(&plain(&guarded)).is_empty());
}

#[test]
fn nobody_is_led_to_a_release_whose_payload_is_disputed() {
    let site = Site::new();
    let text = fs::read_to_string(site.path("releases.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let is_it = |node: &&serde_json::Value| {
        node["version"]
            .as_str()
            .unwrap()
            .starts_with("4.20.1+amd64")
            || node["version"] == "4.20.1"
    };
    let payload = file["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(is_it)
        .unwrap()["payload"]
        .as_str()
        .unwrap()
        .to_owned();
    fs::write(
        site.path("mirror.json"),
        text.replace(&payload, "mirror/release@sha256:0bad"),
    )
    .unwrap();
    let mirror = site.text("mirror.json");
    let towpath = site.serve(
        &site.text("graph-data"),
        &site.text("releases.json"),
        &["--releases", &mirror],
    );
    assert!(!offers(&towpath));
    let readiness = towpath.get("/readyz").json();
    assert_eq!(
        readiness["lastReload"]["findings"][0]["code"],
        "payload-disputed"
    );
    let explained = towpath
        .get("/api/v1/explain?channel=fast-4.20&from=4.20.0&to=4.20.1&platform=GCP")
        .text();
    assert!(
        explained.contains("releases and releases-2 name different payloads for it"),
        "{explained}"
    );
}

#[test]
fn only_who_may_wakes_the_readers() {
    let site = Site::new();
    let towpath = site.serve(&site.text("graph-data"), &site.text("releases.json"), &[]);
    let kind = |response: &Response| (response.status, response.kind());
    let without = towpath.request("POST", "/api/v1/reload", &[]);
    assert_eq!(kind(&without), (401, "no_token".to_owned()));
    let asked = |token: &str| {
        towpath.request(
            "POST",
            "/api/v1/reload",
            &[("authorization", &format!("Bearer {token}"))],
        )
    };
    assert_eq!(
        kind(&asked(&site.token("--read"))),
        (403, "no_role".to_owned())
    );
    assert_eq!(
        kind(&asked(&format!("tpr_{}", "A".repeat(43)))),
        (403, "unbound_token".to_owned())
    );
    assert_eq!(towpath.get("/api/v1/reload").status, 405);
    assert_eq!(
        kind(&site.reload(&towpath, r#"{"source":"nope"}"#)),
        (404, "not_found".to_owned())
    );
    assert_eq!(
        kind(&site.reload(&towpath, r#"{"allow":["shrink"]}"#)),
        (400, "invalid_body".to_owned())
    );
    let bare = towpath.request(
        "POST",
        "/api/v1/reload",
        &[("authorization", &format!("Bearer {}", site.token))],
    );
    assert_eq!(bare.status, 202, "a body is not needed");
    let keyless = Towpath::serve(&[]);
    let refused = keyless.request(
        "POST",
        "/api/v1/reload",
        &[("authorization", &format!("Bearer {}", site.token))],
    );
    assert_eq!(kind(&refused), (403, "no_token_key".to_owned()));
}

/// Only what is on this machine has to be there at the start.
#[test]
fn a_remote_that_does_not_answer_keeps_nobody_from_starting() {
    let folder = Towpath::demo();
    let releases = folder.path().join("releases.json");
    let towpath = Towpath::serve(&[
        "--graph-data",
        "http://127.0.0.1:1/graph-data.tar.gz",
        "--releases",
        releases.to_str().expect("UTF-8"),
    ]);
    towpath.until("the source's problem is told", |t| {
        t.get("/readyz").text().contains("cannot be reached")
    });
    let ready = towpath.get("/readyz");
    assert_eq!(ready.status, 503);
    assert_eq!(
        ready.json()["status"],
        "not ready: no graph could be loaded"
    );
    assert_eq!(towpath.get("/livez").status, 200);
}
