//! The services that the page is tested on, and the browser.
//!
//! | service | |
//! |---|---|
//! | `example` | the built-in example, without a fleet |
//! | `fleet` | the example's fleet with a store; everybody may look, an administrator may act |
//! | `closed` | the same, and only who has a token may look |
//! | `watched` | the example's fleet: one release fails too often, another one is halted, and people have acted |
//! | `ringed` | the example with rings, stages, an edge that is held, and a halt in graph data |
//! | `hostile` | a fleet whose names are markup and script |

use std::path::Path;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use towpath_testing_services::{OidcProvider, Response, Towpath, binary};

use crate::browser::Browser;
use crate::{folder, hostile};

const KEYS: &str = "0123456789abcdef0123456789abcdef0123456789abcdef\n";

pub(crate) struct Site {
    browser: Browser,
    example: Towpath,
    fleet: Towpath,
    closed: Towpath,
    watched: Towpath,
    hostile: Towpath,
    ringed: Towpath,
    administrator: String,
    /// May undo halts, and not halt.
    signer: String,
    reader: String,
    /// An OIDC provider, and the service that people log in to with it.
    provider: OidcProvider,
    people: Towpath,
    /// Administrators with names.
    ada: String,
    bob: String,
    /// The release that fails too often, and the one that is halted.
    rollout: Value,
    halted: Value,
    /// What the services read and write; removed after they have ended.
    _data: [tempfile::TempDir; 4],
}

impl Site {
    pub(crate) fn start() -> Result<Self, String> {
        if !folder().join("node_modules/playwright-core").is_dir() {
            return Err("ui/node_modules is not there; run `cargo xtask page`".to_owned());
        }
        let browser = Browser::start()?;
        let demo = Towpath::demo();
        let keys = demo.path().join("keys");
        write(&keys, KEYS);
        let evil = Towpath::demo();
        write(&evil.path().join("keys"), KEYS);
        hostile::write_fleet(evil.path());
        let rolling = Towpath::demo();
        write(&rolling.path().join("keys"), KEYS);
        let named = |name: &str| token(&keys, &["--admin", "--name", name]);
        let (ada, bob) = (named("ada"), named("bob"));
        let [rollout, other] = rollouts(rolling.path());
        let watched = serve_watched(rolling.path(), &rollout);
        let provider = OidcProvider::start();
        let people = serve_people(demo.path(), &provider);
        let halted = halt(&watched, &ada, &other);
        people_acted(&watched, &ada, &bob);
        let staged = Towpath::demo();
        write_rings(staged.path());
        Ok(Self {
            browser,
            example: Towpath::serve(&[]),
            fleet: serve(demo.path(), "fleet.db", &["--open-reads"]),
            closed: serve(demo.path(), "closed.db", &[]),
            ringed: Towpath::serve_folder(staged.path(), &[]),
            hostile: serve(evil.path(), "fleet.db", &["--open-reads"]),
            watched,
            ada,
            bob,
            rollout,
            halted,
            provider,
            people,
            administrator: token(&keys, &["--admin", "--name", "ann"]),
            reader: token(&keys, &["--read", "--name", "rae"]),
            signer: token(&keys, &["--role", "second-signer", "--name", "sue"]),
            _data: [demo, evil, rolling, staged],
        })
    }

    /// What scripts are told.
    pub(crate) fn told(&self) -> Value {
        let url = |towpath: &Towpath| format!("http://{}", towpath.address);
        json!({
            "browser": self.browser.endpoint,
            "example": url(&self.example),
            "fleet": url(&self.fleet),
            "closed": url(&self.closed),
            "hostile": url(&self.hostile),
            "watched": url(&self.watched),
            "ringed": url(&self.ringed),
            "ada": self.ada,
            "bob": self.bob,
            "signer": self.signer,
            "rollout": self.rollout,
            "halted": self.halted,
            "people": url(&self.people),
            "issuer": self.provider.issuer(),
            "endedLogin": self.ended_login(),
            "administrator": self.administrator,
            "reader": self.reader,
            "plan": plan_of_nodes(),
        })
    }
}

impl Site {
    /// A genuine token of Ada's that has ended.
    fn ended_login(&self) -> String {
        let name = "sre-ada@example.com";
        let end = Timestamp::now().as_second() - 600;
        self.provider.sign(&json!({
            "iss": self.provider.issuer(), "aud": "towpath", "sub": name, "email": name,
            "email_verified": true, "groups": ["sre"], "exp": end, "iat": end - 600,
        }))
    }
}

/// The example's fleet, for people whom the provider knows.
fn serve_people(folder: &Path, provider: &OidcProvider) -> Towpath {
    let access = folder.join("access.yaml");
    write(
        &access,
        "bindings:\n- {role: operator, everywhere: true, groups: [sre]}\n",
    );
    let people = [
        "--access",
        access.to_str().expect("UTF-8"),
        "--oidc-issuer",
        provider.issuer(),
        "--oidc-client-id",
        "towpath",
    ];
    let towpath = serve(folder, "people.db", &people);
    towpath.until("the issuer's keys were read", |t| {
        t.get("/readyz").json()["login"]["takesTokens"] == json!(true)
    });
    towpath
}

/// Serves a folder of `towpath example` with its fleet, and waits for the first pass.
fn serve(folder: &Path, store: &str, more: &[&str]) -> Towpath {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (fleet, clusters, keys) = (path("fleet"), path("clusters.json"), path("keys"));
    let store = format!("sqlite:{}", path(store));
    let options = [
        "--fleet",
        &fleet,
        "--clusters",
        &clusters,
        "--store",
        &store,
        "--people-keys",
        &keys,
        "--pass-every",
        "1s",
    ];
    let towpath = Towpath::serve_folder(folder, &[&options, more].concat());
    towpath.until("a pass was made", |t| {
        !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
    });
    towpath
}

/// Windows of graph data as schema 2.1.0 has them, in the place of the example's, and a halt.
const RINGS: &str = "  rings:
  - name: canaries
    sector: stage
  phasedRollouts:
  - fromVersion: patch
    duration: P4D
    after: P1D
    rings:
    - name: canaries
      duration: P2D
  - fromVersion: minor
    duration: P14D
    stages: [0.5%, 12%]
  - from: 4.20.3
    to: 4.20.5
    held: true
";

fn write_rings(folder: &Path) {
    let data = folder.join("graph-data");
    write(&data.join("version"), "2.1.0\n");
    let channels = data.join("channels/4.20.yaml");
    let text = std::fs::read_to_string(&channels).expect("the example has it");
    let (before, rest) = text
        .split_once("  phasedRollouts:")
        .expect("it has windows");
    let (_, after) = rest.split_once("versions:").expect("it has releases");
    write(&channels, &format!("{before}{RINGS}versions:{after}"));
    write(
        &data.join("blocked-edges/4.20.5-halted.yaml"),
        "to: 4.20.5\nfrom: \".*\"\nname: RolloutHalted\nmessage: Nodes stay NotReady.\nurl: https://issues.example.com/1\n\
         halt:\n  by: carol\n  at: \"2026-11-01T00:00:00Z\"\n",
    );
}

/// The plan of the example's nodes, as a file has it.
fn plan_of_nodes() -> String {
    let plan = ["nodes", "plan", "--seed", "1", "--output", "json"];
    let done = Command::new(binary()).args(plan).output();
    let done = done.expect("towpath runs");
    // 1: something stands in its way.
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

/// Two releases of the folder's data, the first of which is being rolled out: where, and from which release.
fn rollouts(folder: &Path) -> [Value; 2] {
    let files = Towpath::files(folder);
    let done = Command::new(binary())
        .args(["rollouts", "list", "--output", "json"])
        .args(&files)
        .output()
        .expect("towpath runs");
    let told: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let rows = told["rollouts"].as_array().expect("rows").iter();
    let rows: Vec<&Value> = rows.collect();
    let open = |row: &&&Value| row["state"] == "running" && row["start"] != row["end"];
    let first = rows.iter().find(open).expect("a rollout is open");
    let other = rows.iter().find(|row| row["to"] != first["to"]);
    let other = other.expect("another release is to come");
    let brief =
        |row: &Value| json!({"to": row["to"], "channel": row["channel"], "from": row["from"][0]});
    [brief(first), brief(other)]
}

/// The example's fleet, in which three of ten updates to a release fail, in every organisation.
fn serve_watched(folder: &Path, rollout: &Value) -> Towpath {
    let now = Timestamp::now();
    let attempt = |number: i64| {
        let started = now - SignedDuration::from_hours(9) + SignedDuration::from_mins(number);
        let ended = started + SignedDuration::from_mins(70);
        let end = if number % 10 < 3 {
            "failedAt"
        } else {
            "completedAt"
        };
        let platform = ["AWS", "GCP", "VSphere"][(number % 3) as usize];
        let line = json!({
            "cluster": format!("silent-{number}"), "organisation": format!("org{}", number % 4),
            "from": rollout["from"], "to": rollout["to"], "platform": platform,
            "startedAt": started.to_string(), end: ended.to_string(),
        });
        format!("{line}\n")
    };
    let file = folder.join("outcomes.jsonl");
    write(&file, &(0..120).map(attempt).collect::<String>());
    let path = file.to_str().expect("UTF-8");
    let towpath = serve(folder, "fleet.db", &["--open-reads", "--outcomes", path]);
    let to = rollout["to"].as_str().expect("a release");
    towpath.until("the watch says halt", |t| {
        let told = t.get(&format!("/api/v1/fleet/watch?version={to}"));
        told.status == 200 && told.json()["releases"][0]["answer"] == "halt"
    });
    towpath
}

/// Halts a release at once, and tells by which number.
fn halt(towpath: &Towpath, token: &str, rollout: &Value) -> Value {
    let body = json!({"release": rollout["to"], "why": "INC-1: nodes stay NotReady"});
    let told = act(towpath, token, "rollouts/halt", &body);
    let mut halted = rollout.clone();
    halted["halt"] = told["halt"]["id"].clone();
    halted
}

/// What two people have done: an act of each kind that ends, and one that stands.
fn people_acted(towpath: &Towpath, ada: &str, bob: &str) {
    let bank = |why: &str| json!({"organisation": "acme", "cluster": "bank", "version": "4.20.3", "why": why});
    act(towpath, ada, "fleet/approve", &bank("tested on stage"));
    let mut withdrawn = bank("INC-4: payments fail there");
    withdrawn["act"] = json!("approval");
    act(towpath, bob, "fleet/withdraw", &withdrawn);
    let stage = |why: &str| json!({"organisation": "acme", "sector": "stage", "why": why});
    act(
        towpath,
        bob,
        "fleet/pause",
        &stage("INC-5: the network is slow"),
    );
    act(towpath, ada, "fleet/resume", &stage("INC-5 is over"));
    act(towpath, bob, "fleet/approve", &bank("INC-4 is over"));
}

/// Asks for an act of a person, and tells what the service says.
fn act(towpath: &Towpath, token: &str, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let request = format!(
        "POST /api/v1/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = Response::read(&mut towpath.send(request.as_bytes()), false);
    let told = answer.json();
    assert_eq!(answer.status, 200, "{path}: {told}");
    told
}

fn token(keys: &Path, arguments: &[&str]) -> String {
    let done = Command::new(binary())
        .args(["fleet", "token", "--people-keys"])
        .arg(keys)
        .args(arguments)
        .output()
        .expect("towpath runs");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("it can be written");
}
