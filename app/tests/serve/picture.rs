//! Channels, and pictures of them, over HTTP.

use std::process::Command;

use serde_json::{Value, json};
use towpath_testing_services::Towpath;

const NOON: &str = "2026-11-16T12:00:00Z";
const ASKED: &str = "/api/v1/graph?channel=stable-4.20";

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

/// The answer of an edge.
fn answer<'a>(told: &'a Value, from: &str, to: &str) -> &'a Value {
    let releases = told["releases"].as_array().expect("releases");
    let index = |version: &str| {
        releases
            .iter()
            .position(|release| release["version"] == version)
    };
    let ends = [index(from), index(to)].map(|end| json!(end.expect("a release")));
    let mut edges = told["edges"].as_array().expect("edges").iter();
    let edge = edges.find(|edge| edge[0] == ends[0] && edge[1] == ends[1]);
    let number = edge.expect("an edge")[2].as_u64().expect("a number");
    &told["answers"][number as usize]
}

#[test]
fn a_service_draws_its_channels() {
    let service = Towpath::serve(&["--now", NOON]);
    let told = service
        .get(&format!("{ASKED}&platform=AWS&id=shop-eu"))
        .json();
    for (from, to, kind) in [
        ("4.20.1", "4.20.2", "blocked"),
        ("4.20.1", "4.20.3", "notForPlatform"),
        ("4.20.3", "4.20.4", "phasing"),
    ] {
        let drawn = answer(&told, from, to);
        assert_eq!(drawn["kind"], kind, "{from} {to}");
        let question = format!("channel=stable-4.20&from={from}&to={to}&platform=AWS&id=shop-eu");
        let explained = service.get(&format!("/api/v1/explain?{question}")).json();
        let candidate = &explained["candidates"][0];
        for field in ["kind", "answer", "offeredFrom", "share", "risks"] {
            assert_eq!(drawn[field], candidate[field], "{field} of {from} {to}");
        }
    }
    assert_eq!(answer(&told, "4.20.3", "4.20.4")["share"], 0.375);

    let text = service.get_with(ASKED, &[("Accept", "text/plain")]);
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
    assert!(
        text.text().starts_with("stable-4.20 (amd64)"),
        "{}",
        text.text()
    );
    assert_eq!(service.request("HEAD", ASKED, &[]).status, 200);

    let channels = service.get("/api/v1/channels?arch=arm64").json();
    let names = channels["channels"].as_array().expect("channels");
    assert!(
        names
            .iter()
            .any(|one| one["name"] == "stable-4.20" && one["newest"] == "4.20.4"),
        "{channels}"
    );
    let all = service.get("/api/v1/graph?channel=*").json();
    assert_eq!(
        all["channels"].as_array().expect("channels").len(),
        names.len()
    );
}

#[test]
fn a_picture_is_compressed_for_whoever_takes_that_and_is_the_same() {
    let service = Towpath::serve(&["--now", NOON]);
    let plain = service.get(ASKED);
    for _ in 0..2 {
        let packed = service.get_with(ASKED, &[("Accept-Encoding", "gzip")]);
        assert_eq!(
            (packed.header("content-encoding"), packed.json()),
            ("gzip", plain.json())
        );
        assert!(packed.body.len() < plain.body.len());
    }
    assert_eq!(
        service.get(&format!("{ASKED}&now={NOON}")).json(),
        plain.json()
    );
}

#[test]
fn what_cannot_be_drawn_says_why() {
    let service = Towpath::serve(&[]);
    let many = vec!["a"; 257].join(",");
    for (target, status, kind) in [
        ("/api/v1/graph", 400, "missing_params"),
        ("/api/v1/graph?channel=", 400, "missing_params"),
        ("/api/v1/graph?channel=Stable", 400, "invalid_params"),
        (
            &format!("/api/v1/graph?channel={many}"),
            400,
            "invalid_params",
        ),
        ("/api/v1/graph?channel=stable-9.9", 404, "does_not_exist"),
        (
            "/api/v1/graph?channel=stable-4.20,stable-9.9",
            404,
            "does_not_exist",
        ),
        ("/api/v1/graph?channel=*&arch=vax", 404, "does_not_exist"),
        ("/api/v1/graph?channel=*&chanel=a", 400, "invalid_params"),
        ("/api/v1/channels?arch=vax", 404, "does_not_exist"),
        ("/api/v1/channels?now=soon", 400, "invalid_params"),
    ] {
        let told = service.get(target);
        assert_eq!(
            (told.status, told.kind().as_str()),
            (status, kind),
            "{target}: {}",
            told.text()
        );
    }
    let told = service.get(&format!("{ASKED}&platform=Amazon")).json();
    assert!(
        told["warnings"][0]
            .as_str()
            .expect("a warning")
            .contains("Amazon"),
        "{told}"
    );
}

#[test]
fn the_command_line_draws_what_the_service_draws() {
    let demo = Towpath::demo();
    let service = Towpath::serve_folder(demo.path(), &["--now", NOON]);
    let server = format!("http://{}", service.address);
    let files = Towpath::files(demo.path());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let shown = [
        "graph",
        "show",
        "stable-4.20",
        "fast-4.20",
        "--platform",
        "AWS",
        "--id",
        "x",
    ];
    let path = ["path", "4.19.16", "4.20.3", "--platform", "GCP"];
    for (command, form) in [
        (&["graph", "show"][..], "text"),
        (&["graph", "show"], "json"),
        (&shown, "text"),
        (&shown, "json"),
        (&shown, "svg"),
        (&shown, "dot"),
        (&shown, "mermaid"),
        (&path, "svg"),
        (&path, "dot"),
        (&path, "mermaid"),
    ] {
        let form = ["--output", form];
        let local = towpath(&[command, &form, &["--now", NOON], &files].concat());
        assert_eq!(local.0, 0, "{command:?} {form:?}: {}", local.1);
        assert_eq!(
            towpath(&[command, &form, &["--server", &server]].concat()),
            local
        );
    }
    let drawn = service.get(&format!("{ASKED}&format=svg"));
    assert_eq!(drawn.header("content-type"), "image/svg+xml");
    assert!(
        drawn
            .header("content-security-policy")
            .contains("default-src 'none'")
    );
    let drawn = service.get("/api/v1/path?from=4.19.16&to=4.20.3&platform=GCP&format=svg");
    assert!(
        drawn.text().starts_with("<svg ")
            && drawn.header("content-security-policy").contains("sandbox")
    );
}

#[test]
fn what_the_command_line_cannot_draw_it_says() {
    for (arguments, expected) in [
        (
            &["graph", "show", "stable-9.9"][..],
            "there is no channel stable-9.9",
        ),
        (&["graph", "show", "Stable"], "cannot be a channel's name"),
        (
            &["graph", "show", "--output", "svg"],
            "name the channels to draw",
        ),
        (
            &["graph", "show", "--arch", "vax"],
            "there is no release for vax",
        ),
        (
            &["graph", "show", "*", "--arch", "vax"],
            "there is no release for vax",
        ),
    ] {
        let (code, told) = towpath(arguments);
        assert!(
            code == 2 && told.contains(expected),
            "{arguments:?}: {told}"
        );
    }
}
