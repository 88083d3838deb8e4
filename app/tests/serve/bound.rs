//! Clusters that only say whose they are: what they cannot do to others, and how they get bound.

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use towpath_testing_services::{Response, Towpath, edges, example};

const STAGE: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const PROD: &str = "aaaaaaaa-0000-4000-8000-000000000002";
const FOREIGN: &str = "ffffffff-0000-4000-8000-000000000001";
const KEY: &str = "0123456789abcdef0123456789abcdef0123456789abcdef";
const NOON: &str = "2026-11-16T12:00:00Z";
/// Tokens of the first version are taken while the tests run.
const ACCEPTING: [&str; 2] = ["--accept-unbound-tokens-until", "2026-11-17"];

/// A folder with the example's graph, keys, and two organisations: demo has a stage and a production cluster.
struct Fleet(tempfile::TempDir);

impl Fleet {
    fn new() -> Self {
        let fleet = Self(tempfile::tempdir().expect("a folder"));
        example(&fleet.path("data"));
        std::fs::create_dir(fleet.path("policy")).expect("a folder");
        let policy = |sector: &str, days: u32| {
            format!(
                "{{workloads: [web], schedule: \"* * * * *\", conditions: {{soakDays: {days}, sector: {sector}}}}}"
            )
        };
        let demo = format!(
            "name: demo\norgId: demo\nsectors: [{{name: stage}}, {{name: prod, dependencies: [{{name: stage}}]}}]\n\
             upgradePolicyClusters:\n- name: s1\n  upgradePolicy: {}\n- name: p1\n  upgradePolicy: {}\n",
            policy("stage", 30),
            policy("prod", 0),
        );
        fleet.write("policy/demo.yaml", &demo);
        fleet.write("policy/other.yaml", "name: other\norgId: other\n");
        fleet.write("keys", &format!("{KEY}\n"));
        fleet
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("it can be written");
    }

    fn serve(&self, now: &str, more: &[&str]) -> Towpath {
        let (policy, keys) = (self.path("policy"), self.path("keys"));
        let store = format!("sqlite:{}", self.path("fleet.db").display());
        let options = [
            "--fleet",
            text(&policy),
            "--store",
            &store,
            "--token-keys",
            text(&keys),
            "--pass-every",
            "1s",
        ];
        let more = &[&["--open-reads"], more].concat();
        let towpath = Towpath::serve_folder(
            &self.path("data"),
            &[&options[..], &["--now", now], more].concat(),
        );
        towpath.until("a pass was made", |t| {
            !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
        });
        towpath
    }

    /// Reports as the cluster that the token was made for.
    fn enrolled(&self, towpath: &Towpath, id: &str, report: &Value) -> Response {
        let [organisation, name] =
            ["organisation", "name"].map(|field| report[field].as_str().expect("a text"));
        post(
            towpath,
            id,
            &self.token(&["--cluster", id, "--org", organisation, "--name", name]),
            report,
        )
    }

    fn token(&self, arguments: &[&str]) -> String {
        let (command, keys) = (
            ["fleet", "token", "--now", NOON, "--keys"],
            self.path("keys"),
        );
        let done = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(command)
            .arg(keys)
            .args(arguments)
            .output();
        let done = done.expect("towpath runs");
        assert!(done.status.success(), "{done:?}");
        let told = String::from_utf8(done.stderr).expect("text");
        assert!(told.contains("Expires 2027-11-16 12:00Z"), "{told}");
        String::from_utf8(done.stdout)
            .expect("text")
            .trim()
            .to_owned()
    }
}

/// A token of the first version: an HMAC of the id.
fn first_version(id: &str) -> String {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        KEY.bytes()
            .zip(&mut block)
            .for_each(|(key, block)| *block ^= key);
        block
    };
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(format!("towpath/v1/cluster/{id}"))
        .finalize();
    let code = Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize();
    format!("tpc_{}", base64url(&code))
}

fn base64url(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1))
        .collect();
    let sign = |six: &[u8]| {
        let number = six
            .iter()
            .chain(&[0; 6])
            .take(6)
            .fold(0, |number, bit| number << 1 | usize::from(*bit));
        char::from(SIGNS[number])
    };
    bits.chunks(6).map(sign).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn post(towpath: &Towpath, id: &str, token: &str, body: &Value) -> Response {
    let body = body.to_string();
    let request = format!(
        "POST /api/v1/clusters/{id}/report HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Response::read(&mut towpath.send(request.as_bytes()), false)
}

fn on(organisation: &str, name: &str, version: &str) -> Value {
    json!({"name": name, "organisation": organisation, "version": version, "channel": "stable-4.20", "platform": "GCP"})
}

fn told(response: &Response) -> (u16, String) {
    (response.status, response.kind())
}

fn planned(towpath: &Towpath) -> Vec<(String, String)> {
    let upgrades = towpath.get("/api/v1/fleet/upgrades").json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    upgrades["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (text(&one["name"]), text(&one["state"])))
        .collect()
}

fn metric(towpath: &Towpath, name: &str) -> f64 {
    let metrics = towpath.get("/metrics").text();
    let value = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(-1.0)
}

/// Waits until so many more passes were made.
fn passes(towpath: &Towpath, more: f64) {
    let before = metric(towpath, "towpath_fleet_decisions_total");
    towpath.until("more passes were made", |t| {
        metric(t, "towpath_fleet_decisions_total") >= before + more
    });
}

#[test]
fn a_foreign_cluster_calls_off_nothing() {
    let fleet = Fleet::new();
    let towpath = fleet.serve(NOON, &ACCEPTING);
    assert_eq!(
        fleet
            .enrolled(&towpath, STAGE, &on("demo", "s1", "4.20.3"))
            .status,
        202
    );
    assert_eq!(
        fleet
            .enrolled(&towpath, PROD, &on("demo", "p1", "4.20.1"))
            .status,
        202
    );
    let expected = [("p1".to_owned(), "planned".to_owned())];
    towpath.until("production is planned", |t| planned(t) == expected);

    // With a token of another organisation nothing is taken; with one of the first version everything is, and nothing follows from it.
    let claim = on("demo", "s1", "4.19.0");
    let other = fleet.token(&["--cluster", FOREIGN, "--org", "other", "--name", "x1"]);
    assert_eq!(
        told(&post(&towpath, FOREIGN, &other, &claim)),
        (403, "not_as_bound".to_owned())
    );
    assert_eq!(
        towpath
            .get(&format!("/api/v1/clusters/{FOREIGN}/why"))
            .status,
        404,
        "nothing was changed"
    );
    for (name, at) in [
        ("s1", "2026-11-16T11:58:00Z"),
        ("p1", "2026-11-16T11:59:00Z"),
    ] {
        let mut claim = on("demo", name, "4.19.0");
        claim["at"] = json!(at);
        assert_eq!(
            post(&towpath, FOREIGN, &first_version(FOREIGN), &claim).status,
            202
        );
        towpath.until("it is known", |t| {
            t.get(&format!("/api/v1/clusters/{FOREIGN}/why")).json()["name"] == name
        });
        passes(&towpath, 2.0);
        assert_eq!(
            planned(&towpath),
            expected,
            "somebody who only says that it is {name}"
        );
        assert_eq!(
            edges(&towpath.graph(&format!("channel=stable-4.20&id={FOREIGN}"))),
            [""; 0],
            "it is held"
        );
        let why = towpath
            .get(&format!("/api/v1/clusters/{FOREIGN}/why"))
            .json()
            .to_string();
        assert!(why.contains("NameTaken"), "{why}");
        assert_eq!(
            towpath.get(&format!("/api/v1/clusters/{name}/why")).status,
            200,
            "the name is the bound one's"
        );
    }
    assert_eq!(metric(&towpath, "towpath_fleet_unbound_clusters"), 1.0);
    assert_eq!(metric(&towpath, "towpath_fleet_name_clashes"), 1.0);

    // An administrator enrols it under the name of another: now nobody can tell which is meant.
    let enrolled = fleet.token(&["--cluster", FOREIGN, "--org", "demo", "--name", "p1"]);
    assert_eq!(
        post(&towpath, FOREIGN, &enrolled, &on("demo", "p1", "4.20.1")).status,
        202
    );
    towpath.until("the plan is called off", |t| {
        planned(t) == [("p1".to_owned(), "cancelled".to_owned())]
    });
    let why = towpath
        .get(&format!("/api/v1/clusters/{PROD}/why"))
        .json()
        .to_string();
    assert!(why.contains("NameDisputed"), "{why}");
    // It is bound now: the same token version as before, for another organisation, is refused by what is known.
    let moved = fleet.token(&["--cluster", FOREIGN, "--org", "other", "--name", "x1"]);
    assert_eq!(
        told(&post(
            &towpath,
            FOREIGN,
            &moved,
            &on("other", "x1", "4.20.1")
        )),
        (403, "not_as_bound".to_owned())
    );
}

#[test]
fn a_hundred_foreign_tokens_make_no_soak() {
    let fleet = Fleet::new();
    let labelled = "name: demo\norgId: demo\nupgradePolicyDefaults:\n- name: all\n  matchLabels: {tier: dev}\n  upgradePolicy: {workloads: [web], schedule: \"* * * * *\", conditions: {soakDays: 1}}\n";
    fleet.write("policy/demo.yaml", labelled);
    let towpath = fleet.serve(NOON, &ACCEPTING);
    let noon: Timestamp = NOON.parse().expect("a time");
    let at = |minutes: i64, name: &str| {
        let mut report = on("demo", name, "4.20.1");
        report["at"] = json!((noon - SignedDuration::from_mins(minutes)).to_string());
        report["labels"] = json!({"tier": "dev"});
        report
    };
    for number in 0..100 {
        let id = format!("ffffffff-0000-4000-8000-{number:012}");
        for minutes in [50, 0] {
            let report = at(minutes, &format!("x{number}"));
            assert_eq!(
                post(&towpath, &id, &first_version(&id), &report).status,
                202
            );
        }
    }
    let soaked = |t: &Towpath| {
        let history = t.get("/api/v1/fleet/history").json();
        let rows = history["entries"].as_array().expect("a list");
        rows.iter()
            .filter_map(|row| row["soakSeconds"].as_i64())
            .sum::<i64>()
    };
    towpath.until("all are known", |t| {
        metric(t, "towpath_fleet_unbound_clusters") >= 100.0
    });
    assert_eq!(soaked(&towpath), 0);
    // One that is enrolled soaks: fifty minutes.
    for minutes in [50, 0] {
        assert_eq!(
            fleet.enrolled(&towpath, STAGE, &at(minutes, "s1")).status,
            202
        );
    }
    towpath.until("its time counts", |t| soaked(t) == 3_000);
}

#[test]
fn tokens_of_the_first_version_are_refused_without_the_flag_and_after_its_day() {
    let fleet = Fleet::new();
    for (now, more) in [(NOON, &[][..]), ("2026-11-17T00:00:00Z", &ACCEPTING)] {
        let towpath = fleet.serve(now, more);
        let refused = post(
            &towpath,
            STAGE,
            &first_version(STAGE),
            &on("demo", "s1", "4.20.1"),
        );
        assert_eq!(told(&refused), (403, "unbound_token".to_owned()));
        assert!(
            refused.text().contains("--accept-unbound-tokens-until"),
            "{}",
            refused.text()
        );
    }
    let towpath = fleet.serve("2027-11-16T12:00:00Z", &[]);
    let ended = fleet.enrolled(&towpath, STAGE, &on("demo", "s1", "4.20.1"));
    assert_eq!(
        told(&ended),
        (401, "ended_token".to_owned()),
        "a year later"
    );
}

#[test]
fn a_cluster_that_is_listed_is_bound_and_what_it_called_itself_is_forgotten() {
    let fleet = Fleet::new();
    let towpath = fleet.serve(NOON, &ACCEPTING);
    assert_eq!(
        post(
            &towpath,
            STAGE,
            &first_version(STAGE),
            &on("demo", "p1", "4.20.1")
        )
        .status,
        202
    );
    towpath.until("it is known", |t| {
        metric(t, "towpath_fleet_unbound_clusters") == 1.0
    });
    drop(towpath);
    let list = json!({"clusters": [{"id": STAGE, "organisation": "demo", "name": "s1", "version": "4.20.1"}]});
    fleet.write("clusters.json", &list.to_string());
    let clusters = fleet.path("clusters.json");
    let towpath = fleet.serve(
        "2026-11-16T12:01:00Z",
        &[&ACCEPTING[..], &["--clusters", text(&clusters)]].concat(),
    );
    towpath.until("it is bound", |t| {
        metric(t, "towpath_fleet_unbound_clusters") == 0.0
    });
    // The list is written down by whoever holds the lease, which may take until the one that was killed has lost it.
    towpath.until("another name is refused", |t| {
        let refused = post(t, STAGE, &first_version(STAGE), &on("demo", "p1", "4.20.1"));
        told(&refused) == (403, "not_as_bound".to_owned())
    });
    assert_eq!(towpath.get("/api/v1/clusters/s1/why").status, 200);
}
