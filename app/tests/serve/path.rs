//! The way there: over HTTP, and from a shell that asks the service.

use std::process::Command;

use serde_json::json;

use towpath_testing_services::Towpath;

const NOON: &str = "2026-11-16T12:00:00Z";
const ASKED: &str = "/api/v1/path?from=4.19.16&to=4.20.3&platform=GCP";

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
fn every_hop_is_in_the_graph_that_is_served_then() {
    let demo = Towpath::demo();
    let told = Towpath::serve_folder(demo.path(), &[])
        .get(&format!("{ASKED}&id=x"))
        .json();
    assert_eq!(
        (&told["found"], &told["noPath"]),
        (&json!(true), &json!(null)),
        "{told}"
    );
    for hop in told["paths"][0]["hops"].as_array().expect("hops") {
        let field = |name: &str| {
            hop[name]
                .as_str()
                .unwrap_or_else(|| panic!("{name} in {hop}"))
                .to_owned()
        };
        let then = Towpath::serve_folder(demo.path(), &["--now", &field("taken")]);
        let query = format!("channel={}&id=x&platform=GCP", field("channel"));
        let graph = then
            .get(&format!("/api/upgrades_info/graph?{query}"))
            .json();
        let nodes = graph["nodes"].as_array().expect("nodes");
        let version = |index: &serde_json::Value| {
            nodes[index.as_u64().expect("an index") as usize]["version"].clone()
        };
        let mut edges = graph["edges"].as_array().expect("edges").iter();
        assert!(
            edges.any(|edge| version(&edge[0]) == hop["from"] && version(&edge[1]) == hop["to"]),
            "{hop}"
        );
    }
}

#[test]
fn what_cannot_be_answered_says_why() {
    let service = Towpath::serve(&["--now", NOON]);
    for (target, status, kind) in [
        ("/api/v1/path", 400, "missing_params"),
        ("/api/v1/path?from=4.19.16", 400, "missing_params"),
        ("/api/v1/path?from=4.19.16&to=latest", 400, "invalid_params"),
        (
            "/api/v1/path?from=4.19.16&to=4.20&alternatives=100",
            400,
            "invalid_params",
        ),
        (
            "/api/v1/path?from=4.19.16&to=4.20&plattform=AWS",
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
    // That there is no way is an answer, too.
    let nowhere = service
        .get("/api/v1/path?from=4.19.16&to=4.20&via=nope")
        .json();
    assert_eq!(
        (&nowhere["found"], &nowhere["noPath"]["code"]),
        (&json!(false), &json!("NoChannel"))
    );
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
        towpath(
            &[
                &[
                    "path",
                    "4.19.16",
                    "4.20.3",
                    "--id",
                    "x",
                    "--platform",
                    "GCP",
                ],
                more,
            ]
            .concat(),
        )
    };
    let (code, told) = ask(&["--server", &server]);
    assert_eq!((code, &told), (0, &ask(&local(&[])).1));
    assert_eq!(
        ask(&["--server", &server, "--output", "json"]),
        ask(&local(&["--output", "json"]))
    );
    assert_eq!(ask(&["--server", &server, "--via", "nope"]).0, 1);
    let text = service.get_with(&format!("{ASKED}&id=x"), &[("Accept", "text/plain")]);
    assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
}

/// Rows of --minors count for the answers of a service. A file that is wrong is told before it serves.
#[test]
fn a_service_takes_rows_of_minor_versions_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("minors.yaml");
    let write = |text: &str| std::fs::write(&path, text).expect("a file");
    let file = path.to_str().expect("a path");
    let unverified = |options: &[&str]| {
        let told = Towpath::serve(&[&["--now", NOON], options].concat())
            .get(ASKED)
            .json();
        told["paths"][0]["unverifiedMinors"].clone()
    };
    write(
        "minors: [{minor: '4.20', next: ['4.21'], kubernetes: '1.33', unverified: [kubernetes]}]\n",
    );
    assert_eq!(unverified(&[]), json!([]));
    assert_eq!(unverified(&["--minors", file]), json!(["4.20"]));
    write("minors: [{minor: '4.20', next: ['4.19']}]\n");
    let (code, told) = towpath(&["serve", "--listen", "127.0.0.1:0", "--minors", file]);
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("minors.yaml:1:33: 4.19 does not come after 4.20"),
        "{told}"
    );
}
