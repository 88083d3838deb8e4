//! Why an update is, or is not, offered: over HTTP, and from a shell that asks the service.

use std::process::Command;

use serde_json::json;

use towpath_testing_services::Towpath;

const NOON: &str = "2026-11-16T12:00:00Z";
const ASKED: &str = "/api/v1/explain?channel=stable-4.20&from=4.20.1";

fn towpath(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .output()
        .expect("it runs");
    let told = [output.stdout, output.stderr].concat();
    (
        output.status.code().expect("it ends"),
        String::from_utf8(told).expect("text"),
    )
}

#[test]
fn a_service_explains_to_machines_and_to_people() {
    let service = Towpath::serve(&["--now", NOON]);
    let told = service.get(&format!("{ASKED}&platform=AWS")).json();
    let candidate = |to: &str| {
        let all = told["candidates"].as_array().expect("candidates");
        all.iter()
            .find(|one| one["to"] == to)
            .unwrap_or_else(|| panic!("{to} in {told}"))
            .clone()
    };
    assert_eq!(
        (&told["standing"], &told["at"]),
        (&json!("inChannel"), &json!(NOON))
    );
    assert_eq!(candidate("4.20.2")["answer"], "no");
    assert_eq!(candidate("4.20.3")["reasons"][0]["code"], "PlatformBlocked");
    let place = &candidate("4.20.3")["reasons"][0]["place"];
    assert_eq!(*place, "blocked-edges/4.20.3-aws-load-balancer.yaml:1");
    let waits = candidate("4.20.4");
    assert_eq!(
        (&waits["answer"], &waits["offered"]),
        (&json!("wait"), &json!(false))
    );

    // At the time that it names, the graph has the edge.
    let from = waits["offeredFrom"].as_str().expect("a time");
    drop(service);
    let service = Towpath::serve(&["--now", NOON]);
    let then = service
        .get(&format!("{ASKED}&platform=AWS&to=4.20.4&now={from}"))
        .json();
    assert_eq!(then["candidates"][0]["offered"], true, "{then}");

    let text = service.get_with(
        &format!("{ASKED}&platform=AWS"),
        &[("Accept", "text/plain")],
    );
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    assert!(
        text.text()
            .contains("4.20.3  no\n    - blocked on AWS (blocked-edges/4.20.3-aws-load-balancer.yaml:1) [PlatformBlocked]\n"),
        "{}",
        text.text()
    );
    let head = service.request("HEAD", ASKED, &[]);
    assert_eq!(head.status, 200);
}

#[test]
fn a_service_tells_of_its_rollouts_as_the_command_line_does() {
    let demo = Towpath::demo();
    let service = Towpath::serve_folder(demo.path(), &["--now", NOON]);
    let told = service.get("/api/v1/rollouts");
    let files = Towpath::files(demo.path());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let asked = ["graph", "rollouts", "--now", NOON, "--output", "json"];
    let (code, printed) = towpath(&[&asked, &*files].concat());
    assert_eq!((code, told.status), (0, 200));
    assert_eq!(told.text(), printed);
    assert!(printed.contains("4.20.4"), "{printed}");
}

#[test]
fn the_metric_of_rollouts_has_the_share_of_each_edge_and_architecture() {
    let service = Towpath::serve(&["--now", NOON]);
    let metrics = service.get("/metrics");
    let metrics = metrics.text();
    let has = |line: &str| metrics.lines().any(|other| other == line);
    for (arch, from, to, share) in [
        ("amd64", "4.20.3", "4.20.4", "0.375"),
        ("arm64", "4.20.3", "4.20.4", "0.375"),
    ] {
        let labels = format!("channel=\"stable-4.20\",arch=\"{arch}\",from=\"{from}\",to=\"{to}\"");
        let line = format!("phased_update_rollout{{{labels}}} {share}");
        assert!(has(&line), "{line}\n{metrics}");
    }
    assert!(has("towpath_rollouts_left_out 0"), "{metrics}");
}

#[test]
fn what_cannot_be_answered_says_why() {
    let service = Towpath::serve(&[]);
    for (target, status, kind) in [
        ("/api/v1/explain", 400, "missing_params"),
        ("/api/v1/explain?channel=stable-4.20", 400, "missing_params"),
        (
            "/api/v1/explain?channel=stable-4.20&from=x",
            400,
            "invalid_params",
        ),
        (
            "/api/v1/explain?channel=stable-4.20&from=4.20.1&plattform=AWS",
            400,
            "invalid_params",
        ),
    ] {
        let answer = service.get(target);
        assert_eq!(
            (answer.status, answer.kind().as_str()),
            (status, kind),
            "{target}"
        );
    }
    assert_eq!(service.request("POST", ASKED, &[]).status, 405);
    // What does not exist is an answer, too.
    let nowhere = service
        .get("/api/v1/explain?channel=stable-9.9&from=4.20.1")
        .json();
    assert_eq!(nowhere["standing"], "noChannel");
}

#[test]
fn a_shell_asks_the_service_as_it_reads_files() {
    let demo = Towpath::demo();
    let service = Towpath::serve_folder(demo.path(), &["--now", NOON]);
    let server = format!("http://{}", service.address);
    let files = Towpath::files(demo.path());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let local = |more: &[&'static str]| [&["--now", NOON], &*files, more].concat();
    let ask = |more: &[&str]| {
        let all = [
            &[
                "explain",
                "--channel",
                "stable-4.20",
                "--from",
                "4.20.1",
                "--id",
                "x",
            ],
            more,
        ]
        .concat();
        towpath(&all)
    };
    assert_eq!(ask(&["--server", &server]), ask(&local(&[])));
    assert_eq!(
        ask(&["--server", &server, "--output", "json"]),
        ask(&local(&["--output", "json"]))
    );
    assert_eq!(ask(&["--server", &server, "--to", "4.20.2"]).0, 1);
    drop(service);
    let (code, told) = ask(&["--server", &server]);
    assert!(
        code == 2 && told.contains("check the address, and that the service is up"),
        "{told}"
    );
}

#[test]
fn what_a_server_of_another_kind_says_is_told() {
    let service = Towpath::serve(&[]);
    let (code, told) = towpath(&[
        "explain",
        "--channel",
        "c",
        "--from",
        "4.1.0",
        "--server",
        &format!("http://{}/x", service.address),
    ]);
    assert_eq!(code, 2);
    assert!(told.contains("the service answered 404"), "{told}");
}

#[test]
fn parameters_are_named_as_the_flags_are() {
    let service = Towpath::serve(&["--now", NOON]);
    let described = service.get("/api/v1/openapi.json").json();
    // What only a service has: pages, one cluster of many, how wide the terminal is, and what --metal says.
    let only_there = ["after", "cluster", "format", "width", "on"];
    let mut checked = 0;
    for (path, command) in [
        ("/api/v1/explain", &["explain"][..]),
        ("/api/v1/path", &["path"]),
        ("/api/v1/graph", &["graph", "show"]),
        ("/api/v1/channels", &["graph", "show"]),
        ("/api/v1/fleet/plan", &["fleet", "plan"]),
        ("/api/v1/fleet/status", &["fleet", "status"]),
        ("/api/v1/fleet/history", &["fleet", "history"]),
        ("/api/v1/fleet/forecast", &["fleet", "forecast"]),
    ] {
        let (_, help) = towpath(&[command, &["--help"]].concat());
        let parameters = &described["paths"][path]["get"]["parameters"];
        for parameter in parameters.as_array().expect("parameters") {
            let told = match parameter["$ref"].as_str() {
                Some(place) => described.pointer(place.trim_start_matches('#')),
                None => Some(parameter),
            };
            let name = told.and_then(|told| told["name"].as_str()).expect("a name");
            let place = name.to_uppercase();
            let is_positional =
                help.contains(&format!("<{place}>")) || help.contains(&format!("[{place}]"));
            let is_flag = help.contains(&format!("--{name} "));
            assert!(
                is_flag || is_positional || only_there.contains(&name),
                "{path}: {name}"
            );
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}
