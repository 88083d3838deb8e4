//! The description at `/api/v1/openapi.json` is true: whatever the running service answers has a status, a content type and a shape
//! that stand there.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use towpath_testing_services::{Response, Towpath};

use crate::fleet::{Fleet, PROD, on, run};

/// A service with a fleet and keys, and its description.
struct Described {
    towpath: Towpath,
    description: Value,
    /// Paths that were asked.
    answered: BTreeSet<String>,
}

impl Described {
    /// Sends a request, and holds the answer against the description of its path.
    fn send(
        &mut self,
        method: &str,
        path: &str,
        target: &str,
        token: &str,
        body: &str,
    ) -> Response {
        let mut head =
            format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        if !token.is_empty() {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        if !body.is_empty() {
            head += &format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            );
        }
        let request = format!("{head}\r\n{body}");
        let mut stream = self.towpath.send(request.as_bytes());
        let response = Response::read(&mut stream, method == "HEAD");
        self.check(method, path, &response);
        self.answered.insert(path.to_owned());
        response
    }

    fn get(&mut self, path: &str, query: &str) -> Response {
        self.send("GET", path, &format!("{path}{query}"), "", "")
    }

    fn check(&self, method: &str, path: &str, response: &Response) {
        let operation = &self.description["paths"][path][method.to_lowercase()];
        let about = format!("{method} {path}: {}", response.status);
        let described = self.whole(&operation["responses"][response.status.to_string()]);
        assert!(
            described.is_object(),
            "{about} is not described: {response:?}"
        );
        if method == "HEAD" || response.status == 304 {
            assert!(response.body.is_empty(), "{about}");
            return;
        }
        let kind = response.header("content-type");
        let kind = kind.split(';').next().unwrap_or_default();
        let content = &described["content"][kind];
        assert!(content.is_object(), "{about}: {kind} is not described");
        if kind.ends_with("json") {
            self.fits(&content["schema"], &response.json(), &about);
        }
    }

    /// What a reference stands for.
    fn whole<'a>(&'a self, part: &'a Value) -> &'a Value {
        match part["$ref"].as_str() {
            Some(reference) => self
                .description
                .pointer(reference.trim_start_matches('#'))
                .unwrap_or_else(|| panic!("{reference} is not there")),
            None => part,
        }
    }

    /// Holds a value against a schema. A field that the schema does not have is as wrong as one that is missing.
    fn fits(&self, schema: &Value, value: &Value, at: &str) {
        let schema = self.whole(schema);
        if let Some(choices) = schema["oneOf"].as_array() {
            let is_null = |choice: &&Value| choice["type"] == "null";
            match value.is_null() {
                true => assert!(choices.iter().any(|one| is_null(&one)), "{at}: null"),
                false => {
                    let choice = choices.iter().find(|one| !is_null(one));
                    self.fits(choice.expect("there is another"), value, at);
                }
            }
            return;
        }
        let kinds = match &schema["type"] {
            Value::Array(kinds) => kinds.clone(),
            Value::Null => return,
            kind => vec![kind.clone()],
        };
        let is_kind = |kind: &Value| match kind.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("null") => value.is_null(),
            _ => false,
        };
        assert!(kinds.iter().any(is_kind), "{at}: {value} is not {kinds:?}");
        if let Some(choices) = schema["enum"].as_array()
            && !value.is_null()
        {
            assert!(
                choices.contains(value),
                "{at}: {value} is not in {choices:?}"
            );
        }
        if schema["format"] == "date-time"
            && let Some(text) = value.as_str()
        {
            assert!(text.parse::<jiff::Timestamp>().is_ok(), "{at}: {text}");
        }
        match value {
            Value::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    self.fits(&schema["items"], item, &format!("{at}[{number}]"));
                }
            }
            Value::Object(fields) => self.object_fits(schema, fields, at),
            _ => {}
        }
    }

    fn object_fits(&self, schema: &Value, fields: &serde_json::Map<String, Value>, at: &str) {
        for needed in schema["required"].as_array().into_iter().flatten() {
            let name = needed.as_str().expect("a name");
            assert!(fields.contains_key(name), "{at}: {name} is missing");
        }
        // An object of which nothing is said may have anything.
        let is_open = schema["properties"].is_null() && schema["additionalProperties"].is_null();
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Null | Value::Bool(false)) => {
                    assert!(is_open, "{at} is not described: {field}");
                }
                (Value::Null, Value::Bool(true)) => {}
                (Value::Null, others) => self.fits(others, field, &at),
                (known, _) => self.fits(known, field, &at),
            }
        }
    }
}

fn described(fleet: &Fleet) -> Described {
    let gate = json!({"id": "g", "versionPrefix": "4.21", "label": "api.openshift.com/gate-ocp"});
    let list = json!({"clusters": [], "upgrades": [], "versionGates": [gate]});
    fleet.write("list.json", &list.to_string());
    let list = fleet.path("list.json");
    let list = ["--clusters", list.to_str().expect("UTF-8")];
    let towpath = fleet.serve_closed(&fleet.sqlite(), &list);
    let description = towpath.get("/api/v1/openapi.json").json();
    Described {
        towpath,
        description,
        answered: BTreeSet::new(),
    }
}

#[test]
fn every_answer_is_as_it_is_described() {
    let fleet = Fleet::new();
    let mut it = described(&fleet);
    let (admin, reload) = (fleet.token(&["--admin"]), fleet.token(&["--reload"]));
    let own = fleet.cluster_token(PROD, "p1");

    // A cluster that the fleet knows makes the answers full.
    let report = format!("/api/v1/clusters/{PROD}/report");
    let report_path = "/api/v1/clusters/{cluster}/report";
    let body = on("p1", "4.20.1").to_string();
    assert_eq!(
        it.send("POST", report_path, &report, &own, &body).status,
        202
    );
    assert_eq!(it.send("POST", report_path, &report, "", &body).status, 401);
    assert_eq!(it.send("POST", report_path, &report, &own, "{").status, 400);
    let query = "/api/v1/fleet/plan?limit=1000";
    it.towpath.until("the fleet knows it", |t| {
        let plan = t.get_with(query, &[("authorization", &format!("Bearer {admin}"))]);
        plan.text().contains(PROD)
    });

    let own_id = format!("?channel=stable-4.20&from=4.20.1&id={PROD}");
    for (path, query, status) in [
        (
            "/api/upgrades_info/graph",
            "?channel=stable-4.20&version=4.20.1",
            200,
        ),
        ("/api/upgrades_info/graph", "", 400),
        (
            "/api/upgrades_info/graph",
            "?channel=stable-4.20&arch=x86_64",
            400,
        ),
        ("/api/upgrades_info/v1/graph", "?channel=stable-4.20", 200),
        ("/api/upgrades_info/graph-data", "", 200),
        ("/api/upgrades_info/openapi", "", 200),
        ("/livez", "", 200),
        ("/readyz", "", 200),
        ("/metrics", "", 200),
        ("/api/v1/openapi.json", "", 200),
        ("/api/v1/explain", "?channel=stable-4.20&from=4.20.1", 200),
        (
            "/api/v1/explain",
            "?channel=stable-4.20&from=4.20.1&platform=AWS",
            200,
        ),
        ("/api/v1/explain", "?channel=stable-4.20&from=4.20", 400),
        ("/api/v1/explain", own_id.as_str(), 401),
        ("/api/v1/channels", "", 200),
        ("/api/v1/channels", "?arch=vax", 404),
        ("/api/v1/graph", "?channel=stable-4.20&platform=AWS", 200),
        ("/api/v1/graph", "?channel=*", 200),
        ("/api/v1/graph", "?channel=stable-9.9", 404),
        ("/api/v1/rollouts", "", 200),
        ("/api/v1/session", "", 200),
        ("/api/v1/lint", "", 200),
        ("/api/v1/audit", "?channel=stable-4.20&arch=amd64", 200),
        ("/api/v1/audit", "?channel=nope", 404),
        ("/api/v1/rollouts/change", "?to=4.20.4&action=halt", 200),
        (
            "/api/v1/rollouts/change",
            "?to=4.20.4&action=slow&channel=stable-4.20",
            200,
        ),
        ("/api/v1/rollouts/change", "?to=4.20.4&action=resume", 422),
        ("/api/v1/rollouts/change", "?to=4.20.4", 400),
        ("/api/v1/path", "?from=4.19.16&to=4.20.3&platform=GCP", 200),
        ("/api/v1/path", "?from=4.19.16&to=4.20.3", 200),
        ("/api/v1/path", "?from=4.19.16&to=4.21", 200),
        (
            "/api/v1/mirror",
            "?from=4.19.16&to=4.20.3&platform=GCP",
            200,
        ),
        ("/api/v1/mirror", "?from=4.19.16", 400),
        ("/api/v1/mirror", "?from=4.19.16&to=4.20.3&via=nope", 422),
        ("/api/v1/fleet/status", "", 401),
    ] {
        assert_eq!(it.get(path, query).status, status, "{path}{query}");
        let head = it.send("HEAD", path, &format!("{path}{query}"), "", "");
        assert_eq!(head.status, status, "HEAD {path}{query}");
    }
    let long = format!("?channel={}", "x".repeat(9000));
    assert_eq!(it.get("/api/upgrades_info/graph", &long).status, 414);

    // With GET, it would not end.
    let events = "/api/v1/events";
    assert_eq!(it.send("HEAD", events, events, "", "").status, 200);

    let stamp = format!("/api/v1/clusters/{PROD}/stamp?nonce=0123456789abcdef");
    let stamp_path = "/api/v1/clusters/{cluster}/stamp";
    assert_eq!(it.send("GET", stamp_path, &stamp, &own, "").status, 200);
    let renew = format!("/api/v1/clusters/{PROD}/token");
    let renew_path = "/api/v1/clusters/{cluster}/token";
    let whose = ["--cluster", PROD, "--org", "demo", "--name", "p1"];
    let ending = fleet.token(&[&whose[..], &["--now", "-300d"]].concat());
    for (token, status) in [(&own, 422), (&ending, 200), (&admin, 403)] {
        let answer = it.send("POST", renew_path, &renew, token, "{}");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let orders = format!("/api/v1/clusters/{PROD}/orders?nonce=0123456789abcdef");
    let orders_path = "/api/v1/clusters/{cluster}/orders";
    it.send("GET", orders_path, &orders, &own, "");
    let why_path = "/api/v1/clusters/{cluster}/why";
    for (name, status) in [(PROD, 200), ("p1", 200), ("nope", 404)] {
        let why = format!("/api/v1/clusters/{name}/why");
        assert_eq!(it.send("GET", why_path, &why, &admin, "").status, status);
    }
    let cluster_path = "/api/v1/clusters/{cluster}";
    for (name, status) in [(PROD, 200), ("p1", 200), ("nope", 404)] {
        let whole = format!("/api/v1/clusters/{name}");
        let answer = it.send("GET", cluster_path, &whole, &admin, "");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let fleets: Vec<String> = it.description["paths"]
        .as_object()
        .expect("paths")
        .iter()
        .filter(|(path, methods)| {
            path.starts_with("/api/v1/fleet/") && !path.contains('{') && methods["get"].is_object()
        })
        .map(|(path, _)| path.clone())
        .collect();
    for path in &fleets {
        assert_eq!(it.send("GET", path, path, &admin, "").status, 200, "{path}");
        let parameters = it.description["paths"][path]["get"]["parameters"].to_string();
        if !parameters.contains("/parameters/org\"") {
            continue;
        }
        for (query, status) in [("org=nope", 404), ("org=", 400), ("organisation=demo", 400)] {
            let target = format!("{path}?{query}");
            let answer = it.send("GET", path, &target, &admin, "");
            assert_eq!(answer.status, status, "{target}: {}", answer.text());
        }
    }

    // Stage waits for nobody, so it starts, and that is written down.
    let stage = "aaaaaaaa-0000-4000-8000-000000000001";
    let reported = fleet.report(&it.towpath, stage, &on("s1", "4.20.1"));
    assert_eq!(reported.status, 202);
    let bearer = format!("Bearer {admin}");
    it.towpath.until("a decision is in the log", |t| {
        let log = t.get_with("/api/v1/fleet/decisions", &[("authorization", &bearer)]);
        log.json()["decisions"][0]["starts"] == 1
    });
    let (log, acts) = ("/api/v1/fleet/decisions", "/api/v1/fleet/acts");
    for path in [log, acts] {
        assert_eq!(it.send("GET", path, path, &admin, "").status, 200);
    }
    let decision = "/api/v1/fleet/decisions/{decision}";
    for (number, status) in [
        ("1", 200),
        ("1?cluster=s1", 200),
        ("1?cluster=nobody", 404),
        ("999", 404),
        ("one", 400),
        ("0", 400),
    ] {
        let target = format!("/api/v1/fleet/decisions/{number}");
        let answer = it.send("GET", decision, &target, &admin, "");
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        if status == 200 {
            assert_eq!(answer.json()["replay"]["same"], true, "{}", answer.text());
            assert_eq!(answer.json()["why"].is_object(), number.contains("s1"));
        }
    }
    for (query, status) in [
        ("matrix?by=cluster", 200),
        ("matrix?by=workload", 200),
        ("matrix?by=nothing", 400),
        (
            "calendar?from=2026-11-18T00:00:00Z&until=2026-11-17T00:00:00Z",
            422,
        ),
        ("calendar?from=soon", 400),
        ("forecast?now=2020-01-01T00:00:00Z", 422),
        ("sectors?held-by=nothing", 422),
    ] {
        let path = format!(
            "/api/v1/fleet/{}",
            query.split('?').next().unwrap_or_default()
        );
        let target = format!("/api/v1/fleet/{query}");
        let answer = it.send("GET", &path, &target, &admin, "");
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
    }

    for (path, body, status) in [
        (
            "/api/v1/fleet/pause",
            json!({"organisation": "demo", "why": "INC-1"}),
            200,
        ),
        (
            "/api/v1/fleet/pause",
            json!({"organisation": "nope", "why": "INC-1"}),
            404,
        ),
        ("/api/v1/fleet/resume", json!({"organisation": "demo"}), 200),
        (
            "/api/v1/fleet/approve",
            json!({"organisation": "demo", "version": "4.20.3"}),
            200,
        ),
        (
            "/api/v1/fleet/approve",
            json!({"organisation": "demo", "version": "4.20"}),
            400,
        ),
        (
            "/api/v1/fleet/acknowledge",
            json!({"gate": "g", "cluster": PROD}),
            200,
        ),
        (
            "/api/v1/fleet/withdraw",
            json!({"act": "approval", "organisation": "demo", "version": "4.20.3", "why": "INC-1"}),
            200,
        ),
        (
            "/api/v1/fleet/withdraw",
            json!({"act": "approval", "organisation": "demo", "version": "4.20.3", "why": "INC-1"}),
            404,
        ),
        (
            "/api/v1/fleet/cancel",
            json!({"cluster": PROD, "why": "INC-1"}),
            404,
        ),
        (
            "/api/v1/fleet/cancel",
            json!({"cluster": PROD, "upgrade": 1, "why": "INC-1"}),
            400,
        ),
        ("/api/v1/fleet/import", json!({"clusters": []}), 200),
        ("/api/v1/fleet/forget", json!({"cluster": PROD}), 200),
        ("/api/v1/fleet/forget", json!({"cluster": PROD}), 404),
        ("/api/v1/reload", json!({}), 202),
        ("/api/v1/reload", json!({"source": "nope"}), 404),
        ("/api/v1/reload", json!({"sources": []}), 400),
    ] {
        let answer = it.send("POST", path, path, &admin, &body.to_string());
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
    }
    let (halt, halts) = ("/api/v1/rollouts/halt", "/api/v1/rollouts/halts");
    let named = fleet.token(&["--admin", "--name", "ada"]);
    for (token, body, status) in [
        (&reload, json!({"release": "4.20.4", "why": "INC-1"}), 403),
        (&named, json!({"release": "4.20", "why": "INC-1"}), 400),
        (&named, json!({"release": "4.99.9", "why": "INC-1"}), 404),
        (
            &named,
            json!({"release": "4.20.4", "why": "INC-1", "scope": {"platform": "AWS"}}),
            200,
        ),
    ] {
        let answer = it.send("POST", halt, halt, token, &body.to_string());
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    let listed = it.send("GET", halts, halts, &admin, "");
    let id = listed.json()["halts"][0]["id"].clone();
    let undo_path = "/api/v1/rollouts/halts/{halt}/undo";
    let eve = fleet.token(&["--admin", "--name", "eve"]);
    for (token, status) in [(&named, 202), (&eve, 200), (&eve, 200)] {
        let undo = format!("{halts}/{id}/undo");
        let answer = it.send("POST", undo_path, &undo, token, "{}");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    let (revoke, revocations) = ("/api/v1/access/revoke", "/api/v1/access/revocations");
    for (body, status) in [
        (json!({"serial": "AAAAAAAAAAAAAAAA", "why": "lost"}), 200),
        (json!({"person": "bob", "why": "has left"}), 200),
        (json!({"person": "bob"}), 400),
        (json!({"why": "lost"}), 400),
    ] {
        let answer = it.send("POST", revoke, revoke, &admin, &body.to_string());
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
    let listed = it.send("GET", revocations, revocations, &admin, "");
    assert_eq!(listed.status, 200, "{}", listed.text());
    let preflight = "/api/v1/fleet/preflight";
    it.send(
        "POST",
        preflight,
        preflight,
        &admin,
        r#"{"version": "4.20.3"}"#,
    );
    assert_eq!(
        it.send("POST", "/api/v1/reload", "/api/v1/reload", "", "{}")
            .status,
        401
    );
    let login = "/api/v1/login/token";
    assert_eq!(it.send("POST", login, login, &reload, "{}").status, 404);
    let pause = "/api/v1/fleet/pause";
    assert_eq!(it.send("POST", pause, pause, &reload, "{}").status, 403);
    let text = format!(
        "POST /api/v1/reload HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {reload}\r\n\
         content-type: text/plain\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    let answer = Response::read(&mut it.towpath.send(text.as_bytes()), false);
    assert_eq!(answer.status, 415);
    it.check("POST", "/api/v1/reload", &answer);

    let all = it.description["paths"].as_object().expect("paths");
    let silent: Vec<&String> = all
        .keys()
        .filter(|path| !it.answered.contains(*path))
        .collect();
    assert!(silent.is_empty(), "nobody asked {silent:?}");
}

/// Clients of the graph send more than we read; everywhere else a misspelt parameter would be an answer to another question.
#[test]
fn what_is_misspelt_is_refused_everywhere_but_in_the_graph() {
    let fleet = Fleet::new();
    let mut it = described(&fleet);
    let (admin, own) = (fleet.token(&["--admin"]), fleet.cluster_token(PROD, "p1"));
    let paths = it.description["paths"].as_object().expect("paths").clone();
    for (path, methods) in paths {
        let filled = path.replace("{cluster}", PROD).replace("{decision}", "1");
        let target = format!("{filled}?nonsense=1");
        let is_its_own = !path.ends_with("/why") && !path.ends_with("{cluster}");
        let token = if path.contains("{cluster}") && is_its_own {
            &own
        } else {
            &admin
        };
        let expected = match path.starts_with("/api/upgrades_info/") && path.ends_with("/graph") {
            // Without a channel it says that, not what it does not know.
            true => "mandatory client parameters missing",
            false => "nonsense",
        };
        for method in ["GET", "HEAD", "POST"] {
            if !methods[method.to_lowercase()].is_object() {
                continue;
            }
            let body = if method == "POST" { "{}" } else { "" };
            let answer = it.send(method, &path, &target, token, body);
            assert_eq!(answer.status, 400, "{method} {target}: {answer:?}");
            let text = answer.text();
            let is_told = text.contains(expected) || text.contains("takes no query parameters");
            assert!(is_told || method == "HEAD", "{method} {target}: {text}");
        }
    }
}

#[test]
fn the_description_names_the_version_of_the_service() {
    let fleet = Fleet::new();
    let it = described(&fleet);
    let printed = run(&["--version"]);
    let version = it.description["info"]["version"]
        .as_str()
        .expect("a version");
    assert!(printed.contains(version), "{printed} {version}");
}
