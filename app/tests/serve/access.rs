//! Who may do what, at the real binary: every cell of the table that `towpath access` prints, and tokens that end early.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use towpath_testing_services::{Response, Towpath};

use crate::fleet::{Fleet, PROD, STAGE, on, post, run, text};

const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000001";
const ROLES: [&str; 5] = [
    "viewer",
    "operator",
    "release-administrator",
    "second-signer",
    "fleet-administrator",
];

/// What somebody asks an endpoint for: always about organisation `demo` where it is about one.
struct Asked {
    path: String,
    body: Option<Value>,
    /// Whether a role in `demo` is enough.
    is_of_demo: bool,
}

fn table() -> Vec<Value> {
    let printed: Value =
        serde_json::from_str(&run(&["access", "-o", "json"])).expect("it prints JSON");
    let endpoints = printed["endpoints"].as_array().expect("a list");
    assert!(endpoints.len() > 40, "it lists every endpoint");
    endpoints.clone()
}

fn word<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// A whole request for each endpoint. One that is added needs a line here.
fn asked(endpoint: &Value) -> Asked {
    let operation = word(endpoint, "operation");
    let path = word(endpoint, "path")
        .replace("{cluster}", PROD)
        .replace("{halt}", "1")
        .replace("{decision}", "1");
    let body = match (word(endpoint, "method"), operation) {
        ("GET", _) => None,
        (_, "reload" | "renewToken" | "loginToken") => Some(json!({})),
        (_, "report") => Some(on("p1", "4.20.1")),
        (_, "pause") => Some(json!({"organisation": "demo", "why": "INC-1"})),
        (_, "resume") => Some(json!({"organisation": "demo"})),
        (_, "approve") => Some(json!({"organisation": "demo", "version": "4.20.3"})),
        (_, "acknowledge") => Some(json!({"gate": "g", "cluster": PROD})),
        (_, "preflight") => Some(json!({"organisation": "demo", "version": "4.20.3"})),
        (_, "withdraw") => Some(
            json!({"act": "approval", "organisation": "demo", "version": "4.20.3", "why": "INC-1"}),
        ),
        (_, "cancel") => Some(json!({"cluster": PROD, "why": "INC-1"})),
        (_, "forget") => Some(json!({"cluster": STAGE})),
        (_, "import") => Some(json!({"clusters": []})),
        (_, "haltRollout") => Some(json!({"release": "4.20.3", "why": "INC-1"})),
        (_, "undoHalt") => Some(json!({})),
        (_, "revoke") => Some(json!({"serial": "nobodysSerial123", "why": "a test"})),
        (_, other) => panic!("say what a request for {other} is"),
    };
    let is_of_everybody = matches!(
        operation,
        "halts"
            | "decisions"
            | "decision"
            | "auditLog"
            | "watch"
            | "import"
            | "haltRollout"
            | "undoHalt"
            | "revoke"
            | "revocations"
            | "reload"
    );
    Asked {
        path,
        body,
        is_of_demo: !is_of_everybody,
    }
}

fn send(towpath: &Towpath, endpoint: &Value, asked: &Asked, token: &str) -> Response {
    // With GET, a stream would not end.
    let method = match word(endpoint, "operation") {
        "events" => "HEAD",
        _ => word(endpoint, "method"),
    };
    let path = match word(endpoint, "operation") {
        "graph" | "graphV1" => format!("{}?channel=stable-4.20", asked.path),
        "status" | "plan" | "clusters" | "sectors" | "matrix" | "calendar" | "acts"
        | "upgrades" | "holds" | "history" | "forecast" | "preflights" => {
            format!("{}?org=demo", asked.path)
        }
        _ => asked.path.clone(),
    };
    let bearer = match token {
        "" => String::new(),
        token => format!("authorization: Bearer {token}\r\n"),
    };
    let body = asked
        .body
        .as_ref()
        .map(Value::to_string)
        .unwrap_or_default();
    let length = match asked.body {
        Some(_) => format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        ),
        None => String::new(),
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{bearer}{length}\r\n{body}"
    );
    Response::read(&mut towpath.send(request.as_bytes()), method == "HEAD")
}

/// Who asks, and what the table must say for an answer other than 401 and 403.
enum Party {
    Nobody,
    /// The cluster that paths name, …
    Cluster,
    /// … and another one.
    OtherCluster,
    Pipeline,
    Role(&'static str, Option<&'static str>),
}

impl Party {
    fn may(&self, endpoint: &Value, asked: &Asked) -> bool {
        let open = word(endpoint, "nobody") != "no";
        let needs_a_role = !endpoint["permission"].is_null();
        let has = |role: &str| word(&endpoint["roles"], role) != "no";
        match self {
            Self::Nobody => open,
            Self::Cluster => word(endpoint, "cluster") != "no",
            Self::OtherCluster => open,
            Self::Pipeline => has("pipeline"),
            Self::Role(role, None) => has(role),
            Self::Role(role, Some("demo")) => has(role) && (!needs_a_role || asked.is_of_demo),
            Self::Role(role, Some(_)) => has(role) && !needs_a_role,
        }
    }
}

#[test]
fn every_cell_of_roles_and_endpoints_is_what_happens() {
    let fleet = Fleet::new();
    let towpath = fleet.serve_closed(&fleet.sqlite(), &[]);
    for (id, name) in [(STAGE, "s1"), (PROD, "p1")] {
        assert_eq!(fleet.report(&towpath, id, &on(name, "4.20.1")).status, 202);
    }
    let admin = fleet.token(&["--admin"]);
    let bearer = format!("Bearer {admin}");
    towpath.until("both clusters are known", |t| {
        let known = t.get_with("/api/v1/fleet/clusters", &[("authorization", &bearer)]);
        known.json()["matching"] == 2
    });
    let of_role = |role: &str, organisation: Option<&str>| {
        let org = organisation.map(|org| ["--org", org]);
        let org: &[&str] = org.as_ref().map_or(&[], |org| org);
        fleet.token(&[&["--role", role], org].concat())
    };
    let mut parties = vec![
        (Party::Nobody, String::new()),
        (Party::OtherCluster, fleet.cluster_token(OTHER, "x1")),
        (Party::Cluster, fleet.cluster_token(PROD, "p1")),
        (Party::Pipeline, fleet.token(&["--reload"])),
    ];
    // In `demo` before everywhere: a cluster can be forgotten once.
    for organisation in [Some("other"), Some("demo"), None] {
        for role in ROLES {
            let token = of_role(role, organisation);
            parties.push((Party::Role(role, organisation), token));
        }
    }
    let mut told: BTreeMap<u16, usize> = BTreeMap::new();
    for endpoint in table() {
        let asked = asked(&endpoint);
        for (party, token) in &parties {
            let answer = send(&towpath, &endpoint, &asked, token);
            let who = match party {
                Party::Nobody => "nobody".to_owned(),
                Party::Cluster => "the cluster".to_owned(),
                Party::OtherCluster => "another cluster".to_owned(),
                Party::Pipeline => "a pipeline".to_owned(),
                Party::Role(role, organisation) => format!("{role} of {organisation:?}"),
            };
            let place = format!(
                "{} as {who}: {}",
                word(&endpoint, "operation"),
                answer.status
            );
            match (party.may(&endpoint, &asked), party) {
                (true, _) => assert!(![401, 403].contains(&answer.status), "{place}"),
                (false, Party::Nobody) => assert_eq!(answer.status, 401, "{place}"),
                (false, _) => assert_eq!(answer.status, 403, "{place}"),
            }
            *told.entry(answer.status).or_default() += 1;
        }
    }
    assert!(told[&200] > 300 && told[&403] > 300, "{told:?}");
}

/// Nobody changes anything without saying who they are: with open reads, without keys, and with tokens that nobody made.
#[test]
fn no_write_succeeds_without_an_identity() {
    let fleet = Fleet::new();
    let (policy, store, data) = (fleet.path("policy"), fleet.sqlite(), fleet.path("data"));
    let bare = ["--fleet", text(&policy), "--store", &store];
    let own = fleet.cluster_token(PROD, "p1");
    let admin = fleet.token(&["--admin"]);
    let forged = format!("{}AAAA", &admin[..admin.len() - 4]);
    for (options, known) in [
        (&[][..], false),
        (&["--open-reads"], false),
        (&["--token-keys", text(&fleet.path("keys"))], false),
        (
            &[
                "--open-reads",
                "--people-keys",
                text(&fleet.path("people-keys")),
            ],
            true,
        ),
    ] {
        let towpath = Towpath::serve_folder(&data, &[&bare[..], options].concat());
        towpath.until("a pass was made", |t| {
            !t.get("/readyz").json()["fleet"]["lastPass"].is_null()
        });
        let mut strangers = vec![
            "",
            "nonsense",
            &forged,
            "tpa_rmimqpTqXgaEcd5_iWRkVCz39JuXZ5NKFTuKSUXKi-c",
        ];
        if !known {
            strangers.push(&admin);
        }
        for endpoint in table() {
            let changes = endpoint["changes"] == true;
            if !changes || word(&endpoint, "cluster") == "yes" {
                continue;
            }
            let asked = asked(&endpoint);
            for token in strangers.iter().chain([&&*own]) {
                let status = send(&towpath, &endpoint, &asked, token).status;
                assert!(
                    [401, 403].contains(&status),
                    "{} with {options:?} and {token:?}: {status}",
                    asked.path
                );
            }
        }
        let acts = towpath.get("/api/v1/fleet/acts");
        if acts.status == 200 {
            assert_eq!(acts.json()["acts"], json!([]), "nothing was changed");
        }
    }
}

fn status(towpath: &Towpath, token: &str) -> u16 {
    let bearer = format!("Bearer {token}");
    let answer = towpath.get_with("/api/v1/fleet/status", &[("authorization", &bearer)]);
    if answer.status == 401 {
        assert_eq!(answer.kind(), "revoked_token", "{}", answer.text());
    }
    answer.status
}

fn serial(token: &str) -> String {
    let token = towpath_formats::fleet::token::Token::parse(token).expect("a token");
    token.claims().serial.clone()
}

#[test]
fn one_token_is_revoked_and_every_replica_knows_it() {
    let fleet = Fleet::new();
    let store = fleet.sqlite();
    let replicas = [(); 2].map(|()| fleet.serve_closed(&store, &[]));
    let (lost, kept) = (
        fleet.token(&["--read", "--name", "ada"]),
        fleet.token(&["--read", "--name", "ada"]),
    );
    let bob = fleet.token(&["--read", "--name", "bob"]);
    let admin = fleet.token(&["--admin", "--name", "eve"]);
    for towpath in &replicas {
        for token in [&lost, &kept, &bob] {
            assert_eq!(status(towpath, token), 200);
        }
    }
    let revoke = ["access", "revoke", "--store", &store];
    let done = run(&[&revoke[..], &["--serial", &serial(&lost), "--why", "lost"]].concat());
    assert!(done.contains("is revoked"), "{done}");
    for towpath in &replicas {
        towpath.until("the token is refused", |t| status(t, &lost) == 401);
        assert_eq!(status(towpath, &kept), 200);
    }
    let body = json!({"person": "ada", "why": "has left"});
    let refused = post(&replicas[0], "/api/v1/access/revoke", &bob, &body);
    assert_eq!((refused.status, &*refused.kind()), (403, "no_role"));
    let done = post(&replicas[0], "/api/v1/access/revoke", &admin, &body);
    assert_eq!(done.status, 200, "{}", done.text());
    for towpath in &replicas {
        towpath.until("her other token is refused", |t| status(t, &kept) == 401);
        assert_eq!(status(towpath, &bob), 200);
    }
    let again = fleet.token(&["--read", "--name", "ada"]);
    assert_eq!(
        status(&replicas[1], &again),
        200,
        "one that is made later counts"
    );
    let listed = run(&["access", "tokens", "--store", &store]);
    for part in [&*serial(&lost), "person ada", "eve", "has left"] {
        assert!(listed.contains(part), "{listed}");
    }
}

#[test]
fn forgetting_a_cluster_ends_its_tokens() {
    let fleet = Fleet::new();
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    let own = fleet.cluster_token(PROD, "p1");
    let path = format!("/api/v1/clusters/{PROD}/report");
    let report = on("p1", "4.20.1");
    assert_eq!(post(&towpath, &path, &own, &report).status, 202);
    let admin = fleet.token(&["--admin"]);
    let body = json!({"cluster": PROD});
    let forgotten = post(&towpath, "/api/v1/fleet/forget", &admin, &body);
    assert_eq!(forgotten.status, 200, "{}", forgotten.text());
    let refused = post(&towpath, &path, &own, &report);
    assert_eq!((refused.status, &*refused.kind()), (401, "revoked_token"));
    let new = fleet.cluster_token(PROD, "p1");
    assert_eq!(post(&towpath, &path, &new, &report).status, 202);
}

/// A service without a store has a file, and keeps what was in force while the file is broken.
#[test]
fn a_file_of_revoked_tokens_is_read_again_when_it_changes() {
    let fleet = Fleet::new();
    let file = fleet.path("revoked.yaml");
    fleet.write("revoked.yaml", "revoked: []\n");
    let keys = fleet.path("keys");
    let options = ["--token-keys", text(&keys), "--revoked-tokens", text(&file)];
    let towpath = Towpath::serve_folder(&fleet.path("data"), &options);
    let pipeline = fleet.token(&["--reload"]);
    let reload = || post(&towpath, "/api/v1/reload", &pipeline, &json!({})).status;
    assert_eq!(reload(), 202);
    let revoked = format!("revoked:\n- serial: {}\n  why: lost\n", serial(&pipeline));
    fleet.write("revoked.yaml", &revoked);
    towpath.until("it is refused", |_| reload() == 401);
    fleet.write("revoked.yaml", "revoked: [{serials: x}]\n");
    towpath.until("it is told", |t| {
        let setup = t.get("/readyz").json()["setup"].clone();
        setup[0]["code"] == "revoked-tokens-not-used"
    });
    let metrics = towpath.get("/metrics").text();
    assert!(metrics.contains("towpath_revoked_tokens_file_in_use 0\n"));
    assert_eq!(reload(), 401, "what was revoked stays revoked");
    fleet.write("revoked.yaml", "revoked: []\n");
    towpath.until("it is taken again", |_| reload() == 202);
}

#[test]
fn a_file_of_roles_that_is_broken_keeps_the_one_before() {
    let fleet = Fleet::new();
    let file = fleet.path("access.yaml");
    let binding = |role: &str, organisation: &str| {
        format!("bindings:\n- {{role: {role}, organisation: {organisation}, groups: [sre]}}\n")
    };
    fleet.write("access.yaml", &binding("viewer", "nowhere"));
    let towpath = fleet.serve(&fleet.sqlite(), &["--access", text(&file)]);
    let setup = |t: &Towpath| t.get("/readyz").json()["setup"].clone();
    towpath.until("an unknown organisation is told", |t| {
        setup(t)[0]["code"] == "access-unknown-organisation"
    });
    fleet.write("access.yaml", &binding("root", "demo"));
    towpath.until("an unknown role is told", |t| {
        setup(t)[0]["code"] == "access-not-used"
    });
    assert!(
        setup(&towpath)[0].to_string().contains("no role"),
        "{}",
        setup(&towpath)
    );
    let metrics = towpath.get("/metrics").text();
    assert!(metrics.contains("towpath_access_file_in_use 0\n"));
    fleet.write("access.yaml", &binding("operator", "demo"));
    towpath.until("all is well", |t| setup(t) == json!([]));
    let wrong = fleet.path("wrong.yaml");
    fleet.write("wrong.yaml", "bindings: nobody\n");
    let started = std::process::Command::new(towpath_testing_services::binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--access", text(&wrong)])
        .output()
        .expect("it runs");
    assert_eq!(started.status.code(), Some(2), "{started:?}");
}

#[test]
fn a_clusters_token_is_renewed_in_its_last_third() {
    let fleet = Fleet::new();
    let towpath = fleet.serve(&fleet.sqlite(), &[]);
    let token = |now: &str| {
        let whose = ["--cluster", PROD, "--org", "demo", "--name", "p1"];
        fleet.token(&[&whose[..], &["--now", now, "--days", "300"]].concat())
    };
    let path = format!("/api/v1/clusters/{PROD}/token");
    let early = post(&towpath, &path, &token("-199d"), &json!({}));
    assert_eq!((early.status, &*early.kind()), (422, "too_early"));
    let old = token("-201d");
    let renewed = post(&towpath, &path, &old, &json!({}));
    assert_eq!(renewed.status, 200, "{}", renewed.text());
    let renewed = renewed.json();
    let new = word(&renewed, "token");
    assert_eq!(
        serial(new),
        serial(&old),
        "whoever revokes the one revokes the other"
    );
    let report = |token: &str| {
        let path = format!("/api/v1/clusters/{PROD}/report");
        post(&towpath, &path, token, &on("p1", "4.20.1")).status
    };
    assert_eq!((report(new), report(&old)), (202, 202));
    let ended = post(&towpath, &path, &token("-301d"), &json!({}));
    assert_eq!((ended.status, &*ended.kind()), (401, "ended_token"));
    let store = fleet.sqlite();
    let revoke = ["access", "revoke", "--store", &store, "--why", "stolen"];
    run(&[&revoke[..], &["--serial", &serial(&old)]].concat());
    towpath.until("both are refused", |_| {
        (report(new), report(&old)) == (401, 401)
    });
}

#[test]
fn people_and_clusters_have_keys_of_their_own() {
    let fleet = Fleet::new();
    let (keys, people) = (fleet.path("keys"), fleet.path("people-keys"));
    let refused = |arguments: &[&str]| {
        let done = std::process::Command::new(towpath_testing_services::binary())
            .args(arguments)
            .output()
            .expect("it runs");
        assert_eq!(done.status.code(), Some(2), "{done:?}");
        String::from_utf8(done.stderr).expect("text")
    };
    let said = refused(&[
        "fleet",
        "token",
        "--admin",
        "--name",
        "ada",
        "--keys",
        text(&keys),
    ]);
    assert!(said.contains("add --people-keys FILE"), "{said}");
    let said = refused(&["fleet", "token", "--reload", "--people-keys", text(&people)]);
    assert!(said.contains("--keys FILE"), "{said}");
    let said = refused(&["fleet", "token", "--admin", "--people-keys", text(&people)]);
    assert!(said.contains("add --name NAME"), "{said}");
    let both = ["--token-keys", text(&keys), "--people-keys", text(&keys)];
    let said = refused(&[&["serve", "--listen", "127.0.0.1:0"], &both[..]].concat());
    assert!(said.contains("among those of people"), "{said}");
    // Whoever has the keys of clusters makes a person's token with them: the service does not take it.
    let towpath = fleet.serve_closed(&fleet.sqlite(), &[]);
    let forged = run(&[
        "fleet",
        "token",
        "--admin",
        "--name",
        "ada",
        "--people-keys",
        text(&keys),
    ]);
    let bearer = format!("Bearer {}", forged.trim());
    let answer = towpath.get_with("/api/v1/fleet/status", &[("authorization", &bearer)]);
    assert_eq!((answer.status, &*answer.kind()), (401, "unknown_key"));
}
