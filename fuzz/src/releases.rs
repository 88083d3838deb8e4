//! Releases: a Cincinnati graph file, and the graph that is built from it.

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Graph, GraphData};
use towpath_formats::graph::releases;

pub fn fuzz(data: &[u8]) {
    match releases::read(&Place::file("releases.json"), data) {
        Err(findings) => assert!(
            findings.iter().any(Finding::is_error),
            "a refusal has a reason"
        ),
        Ok((releases, findings)) => {
            assert!(
                !findings.iter().any(Finding::is_error),
                "what is taken has no error"
            );
            let (graph, _) = Graph::build(GraphData::default(), releases);
            assert!(
                graph
                    .edges()
                    .iter()
                    .all(|edge| graph.release(edge.from).arch == graph.release(edge.to).arch)
            );
        }
    }
}
