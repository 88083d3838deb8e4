//! A large fleet: its answers come in pages, and passes go on beside them. And who may look at a fleet.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::{Fleet, PROD, on, text};
use towpath_testing_services::{Response, Towpath};

const CLUSTERS: usize = 2_500;
const CLIENTS: usize = 16;

/// A fleet with a list of many clusters, each of which may take one version and needs to soak.
fn large() -> Fleet {
    let fleet = Fleet::new();
    let cluster = |number: usize| {
        json!({
            "id": format!("many-{number:05}"), "name": format!("c{number}"), "organisation": "demo", "version": "4.20.1",
            "availableUpgrades": ["4.20.2"], "labels": {"tier": "many"},
        })
    };
    fleet.write(
        "clusters.json",
        &json!((0..CLUSTERS).map(cluster).collect::<Vec<Value>>()).to_string(),
    );
    fleet.write(
        "policy/org.yaml",
        r#"
name: demo
orgId: demo
sectors: [{name: all}]
upgradePolicyDefaults:
- name: many
  matchLabels: {tier: many}
  upgradePolicy: {workloads: [web], schedule: "* * * * *", conditions: {soakDays: 3, sector: all}}
"#,
    );
    fleet
}

fn serve(fleet: &Fleet) -> Towpath {
    let list = fleet.path("clusters.json");
    let towpath = fleet.serve(&fleet.sqlite(), &["--clusters", text(&list)]);
    towpath.until("all are known", |t| {
        clusters(&t.get("/api/v1/fleet/plan?limit=1").json()).len() == 1
    });
    towpath
}

fn clusters(page: &Value) -> Vec<String> {
    let lists =
        ["starts", "waiting"].map(|list| page[list].as_array().cloned().unwrap_or_default());
    lists
        .iter()
        .flatten()
        .filter_map(|one| one["cluster"].as_str())
        .map(str::to_owned)
        .collect()
}

/// As the harness asks, from another thread.
fn get(address: SocketAddr, target: &str) -> Response {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(120)))
        .expect("a timeout");
    write!(
        stream,
        "GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )
    .expect("it reads");
    Response::read(&mut stream, false)
}

fn passes(towpath: &Towpath) -> u64 {
    let metrics = towpath.get("/metrics").text();
    assert!(
        !metrics.contains("\naus_"),
        "AUS's names are there only if somebody wants them"
    );
    let count = metrics
        .lines()
        .find_map(|line| line.strip_prefix("towpath_fleet_decisions_total "));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[test]
fn its_plan_comes_in_pages_and_passes_go_on_beside_many_who_read_it() {
    let fleet = large();
    let towpath = serve(&fleet);
    let (is_over, walked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let address = towpath.address;
    let walk = || {
        while !is_over.load(Ordering::Relaxed) {
            let mut seen = BTreeSet::new();
            let mut target = "/api/v1/fleet/plan?limit=500".to_owned();
            loop {
                let answer = get(address, &target);
                if answer.status == 503 {
                    assert_eq!(answer.header("retry-after"), "5");
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                }
                let page = answer.json();
                let new = clusters(&page);
                assert!((1..=500).contains(&new.len()), "{}", new.len());
                assert!(
                    new.into_iter().all(|id| seen.insert(id)),
                    "no cluster is on two pages"
                );
                match page["next"].as_str() {
                    Some(next) => target = format!("/api/v1/fleet/plan?limit=500&after={next}"),
                    None => break,
                }
            }
            assert_eq!(seen.len(), CLUSTERS);
            walked.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        (0..CLIENTS).for_each(|_| drop(scope.spawn(walk)));
        let before = passes(&towpath);
        let deadline = Instant::now() + Duration::from_secs(300);
        let so_far = || {
            (
                passes(&towpath) >= before + 2,
                walked.load(Ordering::Relaxed) >= 2,
            )
        };
        while so_far() != (true, true) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(200));
        }
        let reached = so_far();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(reached, (true, true), "two passes, and two who read it all");
    });
    let one = towpath.get("/api/v1/fleet/plan").json();
    assert_eq!(clusters(&one).len(), 200, "without a limit");
    assert_eq!(towpath.get("/api/v1/fleet/plan?limit=1001").status, 400);
}

/// A laptop asks a service that keeps its fleet to itself.
#[test]
fn explain_and_path_show_the_service_a_token() {
    let fleet = Fleet::new();
    let towpath = fleet.serve_closed(&fleet.sqlite(), &[]);
    let (keys, token_file, server) = (
        fleet.path("people-keys"),
        fleet.path("token"),
        format!("http://{}", towpath.address),
    );
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(arguments)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let person = ["fleet", "token", "--name", "bob", "--read", "--people-keys"];
    let made = run(&[&person[..], &[text(&keys)]].concat());
    std::fs::write(&token_file, &made.1).unwrap();
    assert_eq!(
        fleet.report(&towpath, PROD, &on("p1", "4.20.1")).status,
        202
    );
    let admin = format!("Bearer {}", fleet.token(&["--admin"]));
    towpath.until("the cluster is managed", |t| {
        let metrics = t.get_with("/metrics", &[("authorization", &admin)]).text();
        metrics.contains("towpath_fleet_clusters{organisation=\"demo\"")
    });
    let about = ["--id", PROD, "--output", "json", "--server", &server];
    let explain = [
        &["explain", "--channel", "stable-4.20", "--from", "4.20.1"],
        &about[..],
    ]
    .concat();
    let path = [&["path", "4.20.1", "4.20.3"], &about[..]].concat();
    let with_token =
        |question: &[&str], file: &str| run(&[question, &["--token-file", file]].concat());
    let (code, _, error) = run(&explain);
    assert!(
        code == Some(2) && error.contains("401") && error.contains("--token-file"),
        "{error}"
    );
    assert!(
        run(&path).1.contains("\"platform\": null"),
        "what nobody may know is unknown"
    );
    for question in [explain.as_slice(), &path] {
        let (code, answer, error) = with_token(question, text(&token_file));
        assert!(
            matches!(code, Some(0 | 1)) && answer.contains("\"platform\": \"GCP\""),
            "{answer}{error}"
        );
        assert_eq!(with_token(question, "/nowhere").0, Some(2));
    }
    let away = [
        "--server",
        "http://updates.example",
        "--token-file",
        text(&token_file),
    ];
    let (code, _, error) = run(&[&explain[..5], &away].concat());
    assert!(code == Some(2) && error.contains("plain HTTP"), "{error}");
}

#[test]
fn who_may_not_read_the_fleet_learns_no_names_and_no_platform() {
    let fleet = Fleet::new();
    let towpath = fleet.serve_closed(&fleet.sqlite(), &["--aus-metrics"]);
    assert_eq!(
        fleet.report(&towpath, PROD, &on("p1", "4.20.1")).status,
        202
    );
    let own = [fleet.token(&["--admin"]), fleet.cluster_token(PROD, "p1")]
        .map(|token| format!("Bearer {token}"));
    let [admin, cluster] = own
        .each_ref()
        .map(|token| [("authorization", token.as_str())]);
    let others = format!("Bearer {}", fleet.cluster_token("another", "x1"));
    let other = [("authorization", others.as_str())];
    towpath.until("the cluster is managed", |t| {
        t.get_with("/metrics", &admin)
            .text()
            .contains("towpath_fleet_clusters{organisation=\"demo\"")
    });
    let whole = towpath.get_with("/metrics", &admin).text();
    assert!(whole.contains("towpath_fleet_metrics_hidden 0\n"));
    let of_aus = format!(
        "aus_cluster_upgrade_policy_info{{integration=\"towpath\",ocm_env=\"\",cluster_uuid=\"{PROD}\",org_id=\"demo\""
    );
    assert!(whole.contains(&of_aus), "{whole}");
    for headers in [&[][..], &cluster, &other] {
        let metrics = towpath.get_with("/metrics", headers).text();
        assert!(
            metrics.contains("towpath_fleet_metrics_hidden 1\n")
                && metrics.contains("towpath_fleet_holds{")
        );
        assert!(
            !metrics.contains("demo") && !metrics.contains("p1"),
            "{metrics}"
        );
        assert_eq!(
            towpath.get_with("/api/v1/fleet/plan", headers).status,
            if headers.is_empty() { 401 } else { 403 }
        );
    }
    assert_eq!(towpath.get_with("/api/v1/fleet/plan", &admin).status, 200);

    let path = format!("/api/v1/path?from=4.20.1&to=4.20.3&id={PROD}");
    let explain = format!("/api/v1/explain?channel=stable-4.20&from=4.20.1&id={PROD}");
    for (headers, platform, status) in [
        (&admin[..], json!("GCP"), 200),
        (&cluster, json!("GCP"), 200),
        (&other, Value::Null, 403),
        (&[], Value::Null, 401),
    ] {
        assert_eq!(
            towpath.get_with(&path, headers).json()["platform"],
            platform,
            "{headers:?}"
        );
        assert_eq!(
            towpath.get_with(&explain, headers).status,
            status,
            "{headers:?}"
        );
        let given = towpath
            .get_with(&format!("{path}&platform=AWS"), headers)
            .json();
        assert_eq!(given["platform"], "AWS", "what the question says counts");
    }
}
