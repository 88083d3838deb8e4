//! The alerts, objectives and dashboards that ship, on the real tools: promtool says when an alert fires, and a real Prometheus that
//! scrapes the running binary says that every query has an answer.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use towpath_testing_services::Towpath;

use crate::audit_log::openssl;

const PATIENCE: Duration = Duration::from_secs(60);

fn of_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// What Prometheus reads of the object for its operator.
fn shipped() -> Value {
    let text = std::fs::read_to_string(of_repository("deploy/monitoring/prometheus-rule.yaml"));
    let object: Value = serde_saphyr::from_str(&text.expect("it is there")).expect("YAML");
    object["spec"].clone()
}

fn rules(shipped: &Value) -> impl Iterator<Item = &Value> {
    let groups = shipped["groups"].as_array().expect("groups").iter();
    groups.flat_map(|group| group["rules"].as_array().expect("rules"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn promtool(arguments: &[&str]) -> Output {
    let output = Command::new("promtool").args(arguments).output();
    output.expect("promtool runs; install prometheus")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// An alert, the series of a day, the time, and the severities that fire then.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);

const OK: &str = "towpath_graph_requests_total{status=\"200\"}";
const FAILED: &str = "towpath_graph_requests_total{status=\"503\"}";
const QUICK: &str = "towpath_graph_request_duration_seconds_bucket{le=\"0.1\"}";
const ALL: &str = "towpath_graph_request_duration_seconds_count";
const PATH_OK: &str = "towpath_requests_total{endpoint=\"path\",status=\"200\"}";
const PATH_BUSY: &str = "towpath_requests_total{endpoint=\"path\",status=\"503\"}";
const PATH_QUICK: &str = "towpath_request_duration_seconds_bucket{endpoint=\"path\",le=\"2.5\"}";
const PATH_ALL: &str = "towpath_request_duration_seconds_count{endpoint=\"path\"}";
const PLAN_OK: &str = "towpath_requests_total{endpoint=\"plan\",status=\"200\"}";
const PLAN_BUSY: &str = "towpath_requests_total{endpoint=\"plan\",status=\"503\"}";
const PLAN_QUICK: &str = "towpath_request_duration_seconds_bucket{endpoint=\"plan\",le=\"1.0\"}";
const PLAN_ALL: &str = "towpath_request_duration_seconds_count{endpoint=\"plan\"}";
const CLOSED: &str = "towpath_connections_closed_total{reason=\"too_many\"}";
const ACCEPTED: &str = "towpath_fleet_reports_total{result=\"accepted\"}";
const WRONG_TOKEN: &str = "towpath_fleet_reports_total{result=\"wrong_token\"}";

const CASES: &[Case<'_>] = &[
    // 0.1 % of requests may fail. Fourteen times that for an hour is urgent, six times that for six hours is not.
    (
        "TowpathGraphErrors",
        &[(OK, "0+100x600"), (FAILED, "0+10x600")],
        "8h",
        &["critical", "warning"],
    ),
    (
        "TowpathGraphErrors",
        &[(OK, "0+1000x600"), (FAILED, "0+8x600")],
        "8h",
        &["warning"],
    ),
    (
        "TowpathGraphErrors",
        &[(OK, "0+1000x600"), (FAILED, "0+5x600")],
        "8h",
        &[],
    ),
    ("TowpathGraphErrors", &[(OK, "0+1000x600")], "8h", &[]),
    (
        "TowpathGraphSlow",
        &[(QUICK, "0+80x600"), (ALL, "0+100x600")],
        "8h",
        &["critical", "warning"],
    ),
    (
        "TowpathGraphSlow",
        &[(QUICK, "0+92x600"), (ALL, "0+100x600")],
        "8h",
        &["warning"],
    ),
    (
        "TowpathGraphSlow",
        &[(QUICK, "0+95x600"), (ALL, "0+100x600")],
        "8h",
        &[],
    ),
    (
        "TowpathQuestionErrors",
        &[(PATH_OK, "0+90x600"), (PATH_BUSY, "0+10x600")],
        "8h",
        &["warning"],
    ),
    (
        "TowpathQuestionErrors",
        &[(PATH_OK, "0+95x600"), (PATH_BUSY, "0+5x600")],
        "8h",
        &[],
    ),
    (
        "TowpathQuestionsSlow",
        &[(PATH_QUICK, "0+60x600"), (PATH_ALL, "0+100x600")],
        "8h",
        &["warning"],
    ),
    (
        "TowpathQuestionsSlow",
        &[(PATH_QUICK, "0+80x600"), (PATH_ALL, "0+100x600")],
        "8h",
        &[],
    ),
    (
        "TowpathFleetErrors",
        &[(PLAN_OK, "0+90x600"), (PLAN_BUSY, "0+10x600")],
        "8h",
        &["warning"],
    ),
    (
        "TowpathFleetErrors",
        &[(PLAN_OK, "0+95x600"), (PLAN_BUSY, "0+5x600")],
        "8h",
        &[],
    ),
    (
        "TowpathFleetSlow",
        &[(PLAN_QUICK, "0+60x600"), (PLAN_ALL, "0+100x600")],
        "8h",
        &["warning"],
    ),
    (
        "TowpathFleetSlow",
        &[(PLAN_QUICK, "0+80x600"), (PLAN_ALL, "0+100x600")],
        "8h",
        &[],
    ),
    ("TowpathDown", &[], "4m", &[]),
    ("TowpathDown", &[], "6m", &["critical"]),
    (
        "TowpathDown",
        &[("towpath_build_info{pod=\"a\"}", "1x60")],
        "30m",
        &[],
    ),
    (
        "TowpathReloadFails",
        &[
            ("towpath_last_reload_success{pod=\"a\"}", "1x60"),
            ("towpath_last_reload_success{pod=\"b\"}", "0x60"),
        ],
        "20m",
        &["warning"],
    ),
    (
        "TowpathReloadFails",
        &[("towpath_last_reload_success{pod=\"a\"}", "0x10 1x60")],
        "20m",
        &[],
    ),
    (
        "TowpathSourcesDegraded",
        &[("towpath_sources_state{state=\"degraded\"}", "1x60")],
        "40m",
        &["warning"],
    ),
    (
        "TowpathSourcesDegraded",
        &[("towpath_sources_state{state=\"degraded\"}", "0x60")],
        "40m",
        &[],
    ),
    (
        "TowpathSourcesClosed",
        &[("towpath_sources_state{state=\"closed\"}", "1x60")],
        "10m",
        &["critical"],
    ),
    (
        "TowpathSourcesClosed",
        &[("towpath_sources_state{state=\"never read\"}", "1x60")],
        "10m",
        &["critical"],
    ),
    (
        "TowpathSourcesClosed",
        &[("towpath_sources_state{state=\"degraded\"}", "1x60")],
        "10m",
        &[],
    ),
    (
        "TowpathReplicasDisagree",
        &[
            ("towpath_graph_blocks{pod=\"a\"}", "3x60"),
            ("towpath_graph_blocks{pod=\"b\"}", "4x60"),
        ],
        "30m",
        &["warning"],
    ),
    (
        "TowpathReplicasDisagree",
        &[
            ("towpath_halts{pod=\"a\"}", "0x60"),
            ("towpath_halts{pod=\"b\"}", "1x60"),
        ],
        "30m",
        &["warning"],
    ),
    (
        "TowpathReplicasDisagree",
        &[
            ("towpath_graph_blocks{pod=\"a\"}", "4x60"),
            ("towpath_graph_blocks{pod=\"b\"}", "3x10 4x60"),
        ],
        "30m",
        &[],
    ),
    (
        "TowpathConnectionsRefused",
        &[(CLOSED, "0+1x60")],
        "20m",
        &["warning"],
    ),
    ("TowpathConnectionsRefused", &[(CLOSED, "7x60")], "20m", &[]),
    (
        "TowpathNobodySchedules",
        &[
            ("towpath_fleet_scheduler_lag_seconds{pod=\"a\"}", "0+60x60"),
            ("towpath_fleet_is_scheduler{pod=\"a\"}", "1x60"),
        ],
        "30m",
        &["critical"],
    ),
    (
        "TowpathNobodySchedules",
        &[
            ("towpath_fleet_is_scheduler{pod=\"a\"}", "0x60"),
            ("towpath_fleet_is_scheduler{pod=\"b\"}", "0x60"),
        ],
        "30m",
        &["critical"],
    ),
    (
        "TowpathNobodySchedules",
        &[
            ("towpath_fleet_is_scheduler{pod=\"a\"}", "0x60"),
            ("towpath_fleet_is_scheduler{pod=\"b\"}", "1x60"),
        ],
        "30m",
        &[],
    ),
    (
        "TowpathUpgradeOverdue",
        &[("towpath_fleet_overdue_upgrades", "1x60")],
        "40m",
        &["warning"],
    ),
    (
        "TowpathUpgradeOverdue",
        &[("towpath_fleet_overdue_upgrades", "0x60")],
        "40m",
        &[],
    ),
    (
        "TowpathUpgradesFail",
        &[("towpath_fleet_upgrades{state=\"failed\"}", "1x60")],
        "20m",
        &["warning"],
    ),
    (
        "TowpathUpgradesFail",
        &[("towpath_fleet_upgrades{state=\"started\"}", "1x60")],
        "20m",
        &[],
    ),
    (
        "TowpathPolicyProblem",
        &[("towpath_fleet_holds{rule=\"policy\"}", "2x60")],
        "20m",
        &["warning"],
    ),
    (
        "TowpathPolicyProblem",
        &[("towpath_fleet_holds{rule=\"soak\"}", "2x60")],
        "20m",
        &[],
    ),
    (
        "TowpathReportsRefused",
        &[(ACCEPTED, "0+80x90"), (WRONG_TOKEN, "0+20x90")],
        "60m",
        &["warning"],
    ),
    (
        "TowpathReportsRefused",
        &[(ACCEPTED, "0+95x90"), (WRONG_TOKEN, "0+5x90")],
        "60m",
        &[],
    ),
    (
        "TowpathWatchSaysHalt",
        &[("towpath_watch_releases{answer=\"halt\"}", "1x60")],
        "1m",
        &["critical"],
    ),
    (
        "TowpathWatchSaysHalt",
        &[("towpath_watch_releases{answer=\"go-on\"}", "3x60")],
        "1m",
        &[],
    ),
    (
        "TowpathWatchStopped",
        &[(
            "towpath_watch_last_pass_timestamp_seconds{pod=\"a\"}",
            "0x200",
        )],
        "75m",
        &["warning"],
    ),
    (
        "TowpathWatchStopped",
        &[(
            "towpath_watch_last_pass_timestamp_seconds{pod=\"a\"}",
            "0+60x200",
        )],
        "75m",
        &[],
    ),
    (
        "TowpathLogNotSigned",
        &[(
            "towpath_log_head_signed_timestamp_seconds{pod=\"a\"}",
            "0x60",
        )],
        "30m",
        &["warning"],
    ),
    (
        "TowpathLogNotSigned",
        &[("towpath_log_signing_works{pod=\"a\"}", "0x60")],
        "30m",
        &["warning"],
    ),
    (
        "TowpathLogNotSigned",
        &[
            (
                "towpath_log_head_signed_timestamp_seconds{pod=\"a\"}",
                "0+60x60",
            ),
            ("towpath_log_signing_works{pod=\"a\"}", "1x60"),
        ],
        "30m",
        &[],
    ),
];

#[test]
fn each_alert_of_the_service_fires_when_it_should_and_not_before() {
    let shipped = shipped();
    // Objectives look back for hours; looking every minute would take promtool minutes.
    for (about_objectives, every) in [(true, "5m"), (false, "1m")] {
        let is_about = |group: &Value| {
            text(group, "name").starts_with("towpath-objectives") == about_objectives
        };
        let groups = shipped["groups"].as_array().expect("groups").iter();
        let rules_of_it =
            json!({"groups": groups.filter(|group| is_about(group)).collect::<Vec<_>>()});
        let is_of_it =
            |(name, ..): &&Case<'_>| rules(&rules_of_it).any(|rule| text(rule, "alert") == *name);
        let tests: Vec<Value> = CASES
            .iter()
            .filter(is_of_it)
            .map(|case| unit_test(&shipped, case))
            .collect();
        assert!(tests.len() > 10);
        evaluate(
            &rules_of_it,
            &json!({"rule_files": ["rules.json"], "evaluation_interval": every, "tests": tests}),
        );
    }

    let alerts: BTreeSet<&str> = rules(&shipped)
        .map(|rule| text(rule, "alert"))
        .filter(|name| !name.is_empty())
        .collect();
    for fires in [true, false] {
        let cases = CASES
            .iter()
            .filter(|(.., severities)| severities.is_empty() != fires);
        let tested: BTreeSet<&str> = cases.map(|(name, ..)| *name).collect();
        assert_eq!(
            alerts, tested,
            "each alert has a case in which it fires ({fires})"
        );
    }
}

/// Has promtool check the rules, and run the tests.
fn evaluate(rules: &Value, tests: &Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, content.to_string()).expect("a file");
        path.display().to_string()
    };
    let checked = promtool(&["check", "rules", "--lint-fatal", &file("rules.json", rules)]);
    assert!(checked.status.success(), "{}", said(&checked));
    let tested = promtool(&["test", "rules", &file("tests.json", tests)]);
    assert!(tested.status.success(), "{}", said(&tested));
}

fn unit_test(shipped: &Value, (name, series, at, severities): &Case<'_>) -> Value {
    let expected: Vec<Value> = severities
        .iter()
        .map(|severity| {
            let is_meant = |rule: &&Value| {
                text(rule, "alert") == *name && rule["labels"]["severity"] == *severity
            };
            let rule = rules(shipped)
                .find(is_meant)
                .unwrap_or_else(|| panic!("no {severity} {name}"));
            json!({"exp_labels": rule["labels"], "exp_annotations": rule["annotations"]})
        })
        .collect();
    let series: Vec<Value> = series
        .iter()
        .map(|(name, values)| json!({"series": name, "values": values}))
        .collect();
    json!({
        "interval": "1m", "input_series": series,
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": expected}],
    })
}

#[test]
fn each_alert_has_a_page_and_each_page_an_alert() {
    let shipped = shipped();
    let alerts = || rules(&shipped).filter(|rule| rule["alert"].is_string());
    for alert in alerts() {
        let page = text(&alert["annotations"], "runbook");
        let content = std::fs::read_to_string(of_repository(page))
            .unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(
            content.contains(text(alert, "alert")),
            "{page} does not name {}",
            alert["alert"]
        );
    }
    let named: BTreeSet<&str> = alerts()
        .map(|alert| text(&alert["annotations"], "runbook"))
        .collect();
    let pages = std::fs::read_dir(of_repository("docs/runbooks")).expect("there are pages");
    for page in pages {
        let page = format!(
            "docs/runbooks/{}",
            page.expect("a page").file_name().to_string_lossy()
        );
        assert!(
            named.contains(page.as_str()) || page.ends_with("README.md"),
            "{page} belongs to no alert"
        );
    }
}

/// Endpoints that no objective is about: probes, what is answered at once, streams, and what waits for a person's issuer.
const WITHOUT_OBJECTIVE: [&str; 11] = [
    "livez",
    "readyz",
    "metrics",
    "openapi",
    "graphOpenapi",
    "session",
    "events",
    "reload",
    "stamp",
    "renewToken",
    "loginToken",
];

#[test]
fn each_endpoint_is_in_one_objective_or_in_none_for_a_reason() {
    let shipped = shipped();
    let endpoints = |group: &str| -> BTreeSet<String> {
        let name = format!("towpath:{group}_errors:ratio_rate5m");
        let rule = rules(&shipped)
            .find(|rule| text(rule, "record") == name)
            .expect("a rule");
        let (_, after) = text(rule, "expr")
            .split_once("endpoint=~\"")
            .expect("endpoints");
        let (names, _) = after.split_once('"').expect("an end");
        names.split('|').map(str::to_owned).collect()
    };
    let (questions, fleet) = (endpoints("questions"), endpoints("fleet"));
    assert!(questions.is_disjoint(&fleet));
    let of_graph = ["graph", "graphV1"].map(str::to_owned);
    let mut covered: BTreeSet<String> = questions.union(&fleet).cloned().collect();
    covered.extend(of_graph);
    covered.extend(WITHOUT_OBJECTIVE.map(str::to_owned));
    let described = Towpath::serve(&[]).get("/api/v1/openapi.json").json();
    let paths = described["paths"].as_object().expect("paths").values();
    // HEAD counts as GET.
    let operations = paths.flat_map(|path| ["get", "post"].map(|method| &path[method]));
    let known: BTreeSet<String> = operations
        .filter_map(|one| one["operationId"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(covered, known);
}

/// Debian's Prometheus, which scrapes an address every second.
struct Prometheus {
    child: Child,
    url: String,
    folder: tempfile::TempDir,
}

impl Prometheus {
    fn scraping(towpath: &Towpath, rules: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind("127.0.0.1:0")
            .expect("a port")
            .local_addr()
            .expect("an address");
        let config = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.json"],
            "scrape_configs": [{"job_name": "towpath", "static_configs": [{"targets": [towpath.address.to_string()]}]}],
        });
        for (name, content) in [("prometheus.json", &config), ("rules.json", rules)] {
            std::fs::write(folder.path().join(name), content.to_string()).expect("a file");
        }
        let path = |name: &str| folder.path().join(name).display().to_string();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path("prometheus.json")))
            .arg(format!("--storage.tsdb.path={}", path("data")))
            .arg(format!("--web.listen-address={free}"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(path("log")).expect("a file"))
            .spawn();
        Self {
            child: child.expect("prometheus runs; install it"),
            url: format!("http://{free}"),
            folder,
        }
    }

    /// Waits until a query has an answer.
    fn answers(&self, query: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let output = promtool(&["query", "instant", &self.url, query]);
            let answer = said(&output);
            if output.status.success() && !output.stdout.trim_ascii().is_empty() {
                return answer;
            }
            if Instant::now() > deadline {
                let log =
                    std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                panic!("{query} has no answer: {answer}\n{log}");
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The queries of a dashboard, with its variables as they are when somebody opens it.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let variables = dashboard["templating"]["list"]
        .as_array()
        .expect("variables");
    targets
        .map(|target| {
            let mut query = text(target, "expr").replace("$__rate_interval", "1m");
            for variable in variables {
                query = query.replace(
                    &format!("${}", text(variable, "name")),
                    text(variable, "allValue"),
                );
            }
            assert!(
                !query.contains('$'),
                "{query} has a variable that the dashboard does not have"
            );
            query
        })
        .collect()
}

#[test]
fn a_prometheus_that_scrapes_the_service_answers_every_query() {
    let folder = Towpath::demo();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(
        path("keys"),
        "0123456789abcdef0123456789abcdef0123456789abcdef\n",
    )
    .expect("a file");
    let (fleet, clusters, keys) = (path("fleet"), path("clusters.json"), path("keys"));
    let store = format!("sqlite:{}", path("towpath.db"));
    let log_key = path("log-key");
    openssl(&["genpkey", "-algorithm", "ed25519", "-out", &log_key]);
    let options = [
        "--fleet",
        &fleet,
        "--clusters",
        &clusters,
        "--store",
        &store,
        "--token-keys",
        &keys,
        "--log-key",
        &log_key,
        "--open-reads",
    ];
    let towpath = Towpath::serve_folder(folder.path(), &options);
    towpath.until("a pass was made", |it| {
        it.get("/api/v1/fleet/plan").status == 200
    });
    let ask = || {
        // Not HTTP: it is closed, and counted.
        let mut closed = towpath.send(b"nonsense\r\n\r\n");
        std::io::Read::read_to_end(&mut closed, &mut Vec::new()).expect("it is closed");
        towpath.graph("channel=stable-4.20");
        for (method, target, status) in [
            ("GET", "/api/v1/path?from=4.19.16&to=4.20.3", 200),
            (
                "GET",
                "/api/v1/explain?channel=stable-4.20&from=4.20.1",
                200,
            ),
            ("GET", "/api/v1/fleet/plan", 200),
            // Nobody's token: it is counted.
            ("POST", "/api/v1/clusters/shop-eu/report", 401),
        ] {
            let answer = towpath.request(method, target, &[("content-length", "0")]);
            assert_eq!(answer.status, status, "{target}: {answer:?}");
        }
    };
    ask();
    let shipped = shipped();
    let prometheus = Prometheus::scraping(&towpath, &shipped);
    prometheus.answers("up == 1");
    ask();
    prometheus.answers("sum(rate(towpath_requests_total{endpoint=\"path\"}[1m])) > 0");
    for dashboard in ["service", "rollouts", "fleet"] {
        let file = of_repository(&format!("deploy/monitoring/dashboards/{dashboard}.json"));
        let text = std::fs::read_to_string(file).expect("it is there");
        let queries = queries(&serde_json::from_str(&text).expect("JSON"));
        assert!(queries.len() >= 10, "{dashboard}");
        for query in queries {
            prometheus.answers(&query);
        }
    }
    for rule in rules(&shipped) {
        match rule["record"].as_str() {
            Some(name) => drop(prometheus.answers(name)),
            // An alert that does not fire has no series, but what it looks at has.
            None => metrics_in(text(rule, "expr"))
                .for_each(|name| drop(prometheus.answers(&format!("count({name})")))),
        }
    }
    let firing = promtool(&[
        "query",
        "instant",
        &prometheus.url,
        "ALERTS{alertstate=\"firing\"}",
    ]);
    assert!(
        firing.stdout.trim_ascii().is_empty(),
        "a healthy service alerts nobody: {}",
        said(&firing)
    );
}

/// The names of series in an expression.
fn metrics_in(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| word.starts_with("towpath"))
}
