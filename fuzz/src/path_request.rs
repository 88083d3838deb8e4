//! The question of `/api/v1/path`, and a list of what is mirrored already.

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::Graph;
use towpath_core::path::{Pace, Request, paths};
use towpath_formats::graph::{data, releases};
use towpath_formats::minors::built_in;
use towpath_formats::mirror;
use towpath_formats::path::{PathReport, ShapeIs, json, read, text};
use towpath_formats::room::Room;

const RELEASES: &str = r#"{"nodes": [{"version": "4.9.1", "payload": "r@sha256:1"}, {"version": "4.10.2", "payload": "r@sha256:2"}], "edges": [[0, 1]]}"#;
const CHANNEL: &str = "name: stable-4.10\nversions: [4.9.1, 4.10.2]\n";

pub fn fuzz(data: &[u8]) {
    let query = String::from_utf8_lossy(data);
    if let Err(findings) = mirror::read_have(&Place::file("have.txt"), &query) {
        assert!(
            findings.iter().any(Finding::is_error),
            "a refusal has a reason"
        );
    }
    let asked = match read(&query, &built_in(), Timestamp::UNIX_EPOCH) {
        Err(bad) => return assert!(!bad.kind().is_empty() && bad.value().len() < 1000),
        Ok(asked) => asked,
    };
    assert!(
        (1..=Request::MAX_WAYS).contains(&asked.request.ways)
            && asked.request.via.len() <= Request::MAX_VIA
    );
    let graph = graph();
    let pace = asked.shape.map_or_else(Pace::usual, |shape| Pace {
        shape,
        ..Pace::usual()
    });
    let answer = paths(&graph, &asked.request, &pace.lasts(&graph));
    let told = PathReport {
        graph: &graph,
        request: &asked.request,
        answer: &answer,
        pace: &pace,
        shape: ShapeIs::Given,
        cluster: None,
    };
    assert!(!text(&told, Room::default()).is_empty() && json(&told)["found"].is_boolean());
}

fn graph() -> Graph {
    let file = |path: &str, text: &str| towpath_formats::SourceFile {
        path: path.to_owned(),
        bytes: text.as_bytes().into(),
    };
    let (data, _) = data::read(&[
        file("version", "1.1.0\n"),
        file("channels/stable-4.10.yaml", CHANNEL),
    ])
    .expect("graph data");
    let (releases, _) =
        releases::read(&Place::file("releases.json"), RELEASES.as_bytes()).expect("releases");
    Graph::build(data, releases).0
}
