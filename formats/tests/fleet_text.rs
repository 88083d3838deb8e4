//! Answers about a fleet as text: however large the fleet is, a line can be read.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use towpath_core::fleet::{HistoryRow, Name};
use towpath_formats::fleet::{json, text};

#[test]
fn a_history_of_ten_thousand_clusters_names_the_first_few() {
    let clusters = (0..10_000).map(|number| Name::from(format!("c{number}")));
    let row = HistoryRow {
        organisation: Name::from("acme".to_owned()),
        version: "4.20.3".parse().unwrap(),
        workload: Name::from("web".to_owned()),
        seconds: 864_000_000,
        clusters: clusters.collect(),
    };
    let rows = [row];
    let shown = "c0, c1, c2, c3, c4, c5 and 9994 more";
    for text in [text::history(&rows, None), text::history_markdown(&rows)] {
        assert!(text.contains(shown), "{text}");
        assert!(text.lines().all(|line| line.len() < 110), "{text}");
    }
    let all = &json::history(&rows)[0]["clusters"];
    assert_eq!(all.as_array().unwrap().len(), 10_000, "JSON names all");
}
