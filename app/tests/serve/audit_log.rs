//! Who did what, at the real binary: through every door, signed, and verified with the public key alone.

use std::process::{Command, Output};

use rustix::process::Signal;
use serde_json::{Value, json};
use towpath_store::Backend;
use towpath_testing_postgres::Postgres;
use towpath_testing_services::{Response, Towpath};
use towpath_testing_store::Place;

use super::fleet::{Fleet, STAGE, on, post, run, text};

/// A key pair, as docs/audit-log.md makes it.
fn keys(fleet: &Fleet, name: &str) -> [String; 2] {
    let [private, public] =
        [".pem", ".pub"].map(|end| text(&fleet.path(&format!("{name}{end}"))).to_owned());
    openssl(&["genpkey", "-algorithm", "ed25519", "-out", &private]);
    openssl(&["pkey", "-in", &private, "-pubout", "-out", &public]);
    [private, public]
}

pub(crate) fn openssl(arguments: &[&str]) {
    let done = Command::new("openssl").args(arguments).output();
    let done = done.expect("openssl runs");
    assert!(done.status.success(), "{done:?}");
}

/// Runs the command, and returns whether all is well and what it says.
fn replay(store: &str, more: &[&str]) -> (bool, String) {
    said(&[&["fleet", "replay", "--store", store], more].concat())
}

fn said(arguments: &[&str]) -> (bool, String) {
    let done: Output = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .output()
        .expect("towpath runs");
    let all = [done.stdout, done.stderr].concat();
    let words = String::from_utf8(all).expect("text");
    assert_ne!(done.status.code(), Some(2), "{words}");
    (done.status.success(), words)
}

fn tamper(store: &str, statement: &str) {
    let backend = match store.starts_with("sqlite:") {
        true => Backend::Sqlite,
        false => Backend::Postgres,
    };
    let place = Place {
        url: store.to_owned(),
        backend,
        directory: tempfile::tempdir().expect("a folder"),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(place.tamper(statement));
}

fn lines(text: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(read).collect()
}

fn acts(store: &str) -> Vec<Value> {
    lines(&run(&["fleet", "audit-log", "--store", store]))
}

/// The value of a series without labels.
fn metric(towpath: &Towpath, token: &str, name: &str) -> Option<f64> {
    let bearer = format!("Bearer {token}");
    let text = towpath
        .get_with("/metrics", &[("authorization", &bearer)])
        .text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")))?;
    line.parse().ok()
}

fn asked(towpath: &Towpath, token: &str, query: &str) -> Response {
    let bearer = format!("Bearer {token}");
    let target = format!("/api/v1/fleet/audit-log{query}");
    towpath.get_with(&target, &[("authorization", &bearer)])
}

#[test]
fn what_is_done_through_any_door_is_told_with_who_how_and_from_where() {
    let fleet = Fleet::new();
    let store = fleet.sqlite();
    let towpath = fleet.serve(&store, &["--trusted-proxies", "127.0.0.1"]);
    let reported = fleet.report(&towpath, STAGE, &on("s1", "4.20.1"));
    assert_eq!(reported.status, 202);
    towpath.until("the cluster is known", |t| {
        t.get("/api/v1/clusters/s1/why").status == 200
    });
    let ada = fleet.token(&["--admin", "--name", "ada"]);
    let viewer = fleet.token(&["--read", "--name", "vic"]);

    // Whoever may not do it writes nothing, however often.
    let pause = json!({"organisation": "demo", "why": "INC-1"});
    for token in ["", &viewer, "tp2_nonsense.nonsense"] {
        for _ in 0..20 {
            let refused = post(&towpath, "/api/v1/fleet/pause", token, &pause);
            assert!([401, 403].contains(&refused.status), "{refused:?}");
        }
    }
    assert_eq!(acts(&store), [Value::Null; 0]);
    let metrics = towpath
        .get_with("/metrics", &[("authorization", &format!("Bearer {ada}"))])
        .text();
    for series in [
        "towpath_access_refused_total{kind=\"no_role\"} 20",
        "towpath_access_refused_total{kind=\"no_token\"} 20",
    ] {
        assert!(metrics.contains(series), "{series}");
    }

    let body = pause.to_string();
    let request = format!(
        "POST /api/v1/fleet/pause HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {ada}\r\n\
         x-forwarded-for: 2001:db8:1:2:3:4:5:6\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let paused = Response::read(&mut towpath.send(request.as_bytes()), false);
    assert_eq!(paused.status, 200, "{paused:?}");
    let revoke = json!({"serial": "nobodysSerial123", "why": "lost"});
    assert_eq!(
        post(&towpath, "/api/v1/access/revoke", &ada, &revoke).status,
        200
    );
    let list = json!({"clusters": [], "soak": []});
    assert_eq!(
        post(&towpath, "/api/v1/fleet/import", &ada, &list).status,
        200
    );
    run(&[
        "fleet", "resume", "--org", "demo", "--why", "over", "--store", &store,
    ]);
    let (keys, log) = (fleet.path("keys"), ["--log-store", &store]);
    let token = ["fleet", "token", "--keys", text(&keys), "--reload"];
    run(&[&token[..], &log].concat());

    let told = acts(&store);
    let words: Vec<String> = told
        .iter()
        .map(|act| format!("{} {} {}", act["act"], act["by"], act["from"]).replace('"', ""))
        .collect();
    let local = told[3]["by"].as_str().expect("a name").to_owned();
    assert!(local.starts_with("local:"), "{local}");
    assert_eq!(
        words,
        [
            "pause ada 2001:db8:1:2:3:4:5:6".to_owned(),
            "revoke ada 127.0.0.1".to_owned(),
            "import ada 127.0.0.1".to_owned(),
            format!("resume {local} local"),
            format!("make-token {local} local"),
        ]
    );
    assert!(
        told[0]["knownBy"]
            .as_str()
            .is_some_and(|how| how.starts_with("token ")),
        "{told:?}"
    );
    assert_eq!(
        (&told[0]["before"], &told[0]["after"]["why"]),
        (&Value::Null, &json!("INC-1"))
    );
    assert_eq!(
        (&told[3]["before"]["by"], &told[3]["why"]),
        (&json!("ada"), &json!("over"))
    );

    // The same over HTTP, for those who may; in pages.
    assert_eq!(asked(&towpath, "", "").status, 401, "also with open reads");
    assert_eq!(asked(&towpath, &viewer, "").status, 403);
    let second = fleet.token(&["--role", "second-signer", "--name", "sam"]);
    let page = asked(&towpath, &second, "?limit=2").json();
    assert_eq!(page["acts"], json!(told[..2]));
    let next = page["next"].as_i64().expect("a next page");
    let rest = asked(&towpath, &second, &format!("?after-entry={next}")).json();
    assert_eq!(
        (&rest["acts"], &rest["next"]),
        (&json!(told[2..]), &Value::Null)
    );
    assert_eq!(rest["head"], Value::Null, "nobody signs here");
    for wrong in [
        "?before=1",
        "?since=yesterday",
        "?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
    ] {
        assert_eq!(asked(&towpath, &second, wrong).status, 400, "{wrong}");
    }
    fleet.write("sam", &second);
    let server = format!("http://{}", towpath.address);
    let file = fleet.path("sam");
    let remote = run(&[
        "fleet",
        "audit-log",
        "--server",
        &server,
        "--token-file",
        text(&file),
    ]);
    assert_eq!(lines(&remote), told);
    let until = told[2]["at"].as_str().expect("a time");
    let early = run(&["fleet", "audit-log", "--store", &store, "--until", until]);
    assert_eq!(lines(&early), told[..2]);
    assert_eq!(
        run(&["fleet", "check", "--store", &store]),
        "The store is in order.\n"
    );
}

/// An act, a kill, a restart; then everything that somebody may do to the log.
fn signed(store: &str, backup: impl Fn(&Fleet) -> String) {
    let fleet = Fleet::new();
    let ([private, public], [other, other_public]) = (keys(&fleet, "ours"), keys(&fleet, "other"));
    let ada = fleet.token(&["--admin", "--name", "ada"]);
    let pause = |towpath: &Towpath, why: &str| {
        let body = json!({"why": why});
        assert_eq!(
            post(towpath, "/api/v1/fleet/pause", &ada, &body).status,
            200
        );
    };
    // Only the first signature of a process comes at once.
    let rarely = ["--log-key", &private, "--log-sign-every", "24h"];
    let towpath = fleet.serve(store, &rarely);
    towpath.until("the head is signed", |t| {
        metric(t, &ada, "towpath_log_head").is_some()
    });
    let signed_before = metric(&towpath, &ada, "towpath_log_head").expect("a head");
    pause(&towpath, "before the kill");
    let newest = acts(store)[0]["sequence"].as_f64().expect("a number");
    assert!(newest > signed_before, "the act came after the signature");
    towpath.signal(Signal::KILL);
    drop(towpath);
    assert_eq!(acts(store).len(), 1, "what was acknowledged is there");
    let proof = ["--public-key", &*public];
    let (good, words) = replay(store, &proof);
    assert!(good && words.contains("none yet"), "{words}");

    // Two replicas, of which one signs; and a last signature when it stops.
    let towpath = fleet.serve(store, &rarely);
    towpath.until("what was done before the kill is signed", |t| {
        metric(t, &ada, "towpath_log_head").is_some_and(|head| head >= newest)
    });
    let second = fleet.serve(store, &rarely);
    second.until(
        "the other replica tells of the head, and signs nothing",
        |t| {
            metric(t, &ada, "towpath_log_head").is_some_and(|head| head >= newest)
                && metric(t, &ada, "towpath_log_signing_works").is_none()
        },
    );
    drop(second);
    pause(&towpath, "before the stop");
    towpath.signal(Signal::TERM);
    towpath.until("it stops", |t| {
        std::net::TcpStream::connect(t.address).is_err()
    });
    let last = || acts(store).last().expect("an act")["sequence"].clone();
    let is_signed = || {
        let (good, head) = said(&["fleet", "audit-log", "--head", "--store", store]);
        assert!(good, "{head}");
        lines(&head)[0]["sequence"].as_i64() >= last().as_i64()
    };
    towpath.until("the last act is signed", |_| is_signed());
    drop(towpath);
    let head = run(&["fleet", "audit-log", "--head", "--store", store]);
    fleet.write("heads.jsonl", &head);
    let kept = fleet.path("heads.jsonl");
    let kept = ["--public-key", &public, "--heads", text(&kept)];
    let (good, words) = replay(store, &kept);
    assert!(
        good && words.contains("right, the newest of entry"),
        "{words}"
    );
    let (good, words) = replay(store, &["--public-key", &other_public]);
    assert!(
        !good && words.contains("which is none of the public keys"),
        "{words}"
    );

    // An export and a backup verify with the public key alone.
    let export = fleet.path("log.jsonl");
    let whole = run(&["fleet", "audit-log", "--whole", "--store", store]);
    std::fs::write(&export, &whole).expect("a file");
    let exported = [
        "fleet",
        "replay",
        "--public-key",
        &public,
        "--export",
        text(&export),
    ];
    let (good, words) = said(&exported);
    assert!(good && words.contains("is intact"), "{words}");
    std::fs::write(&export, whole.replace("before the stop", "after the stop")).expect("a file");
    let (good, words) = said(&exported);
    assert!(
        !good && words.contains("was changed: its hash does not match"),
        "{words}"
    );

    // Another key goes on, and the old one has an end.
    let towpath = fleet.serve(store, &["--log-key", &other, "--log-sign-every", "1s"]);
    pause(&towpath, "with another key");
    let newest = last().as_f64().expect("a number");
    towpath.until("the new key signs", |t| {
        metric(t, &ada, "towpath_log_head").is_some_and(|head| head >= newest)
    });
    drop(towpath);
    let read = |path: &str| std::fs::read_to_string(path).expect("a key");
    let (old, new) = (read(&public), read(&other_public));
    fleet.write("both", &format!("Until: 2100-01-01T00:00:00Z\n{old}{new}"));
    fleet.write("ended", &format!("Until: 2026-01-01T00:00:00Z\n{old}{new}"));
    let (both, ended) = (fleet.path("both"), fleet.path("ended"));
    let (good, words) = replay(store, &["--public-key", text(&both)]);
    assert!(good, "{words}");
    let (good, words) = replay(store, &["--public-key", text(&ended)]);
    assert!(!good && words.contains("which ended at"), "{words}");

    // Each on a copy of its own.
    for (statement, expected) in [
        ("DELETE FROM log_heads", "no head of this log is signed"),
        (
            "UPDATE log_heads SET at = at + 1",
            "is wrong: it was changed, or forged",
        ),
        (
            "DELETE FROM decisions WHERE seq >= (SELECT MAX(seq) FROM log_heads)",
            "was cut off",
        ),
        (
            "UPDATE decisions SET hash = prev WHERE seq = (SELECT MAX(seq) FROM log_heads)",
            "that part of the log was replaced",
        ),
    ] {
        let copy = backup(&fleet);
        tamper(&copy, statement);
        let (good, words) = replay(&copy, &["--public-key", text(&both)]);
        assert!(!good && words.contains(expected), "{statement}: {words}");
    }

    // Whoever cuts the log off finds nobody who signs what is left.
    tamper(
        store,
        "DELETE FROM decisions WHERE seq >= (SELECT MAX(seq) FROM log_heads)",
    );
    tamper(
        store,
        "UPDATE counters SET value = (SELECT MAX(seq) FROM decisions) WHERE name = 'decisions'",
    );
    let towpath = fleet.serve(store, &["--log-key", &other, "--log-sign-every", "1s"]);
    towpath.until("it does not sign", |t| {
        metric(t, &ada, "towpath_log_signing_works") == Some(0.0)
    });
    // A pass may have written another entry in the place of the one that is missing.
    let logged = towpath.logged();
    let is_told = [
        "was signed, and is missing",
        "is another one than the one that was signed",
    ];
    assert!(
        is_told.iter().any(|words| logged.contains(words)),
        "{logged}"
    );
}

#[test]
fn the_log_of_sqlite_is_signed_and_verified() {
    let fleet = Fleet::new();
    let store = fleet.sqlite();
    let copies = std::cell::Cell::new(0);
    signed(&store, |place| {
        copies.set(copies.get() + 1);
        let file = place.path(&format!("copy-{}.db", copies.get()));
        run(&["fleet", "backup", text(&file), "--store", &store]);
        format!("sqlite:{}", file.display())
    });
}

#[test]
fn the_log_of_postgresql_is_signed_and_verified() {
    let store = Postgres::shared().database();
    let copies = std::cell::Cell::new(0);
    signed(&store, |place| {
        copies.set(copies.get() + 1);
        let file = place.path(&format!("copy-{}.db", copies.get()));
        run(&["fleet", "backup", text(&file), "--store", &store]);
        let copy = Postgres::shared().database();
        run(&["fleet", "restore", text(&file), "--store", &copy]);
        copy
    });
}

#[test]
fn a_key_that_cannot_be_used_ends_the_start() {
    let fleet = Fleet::new();
    fleet.write("no-key", "nonsense\n");
    let (policy, key, store) = (fleet.path("policy"), fleet.path("no-key"), fleet.sqlite());
    for (arguments, expected) in [
        (
            vec![
                "serve",
                "--fleet",
                text(&policy),
                "--store",
                &store,
                "--log-key",
                text(&key),
            ],
            "it is neither a key in PEM",
        ),
        (
            vec!["serve", "--log-key", text(&key)],
            "add --fleet DIR, or remove it",
        ),
        (
            vec!["serve", "--fleet", text(&policy), "--log-sign-every", "1m"],
            "add --log-key FILE",
        ),
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(&arguments)
            .output();
        let done = done.expect("towpath runs");
        let words = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{words}");
        assert!(words.contains(expected), "{words}");
    }
}
