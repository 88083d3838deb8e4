//! Releases: a Cincinnati graph file, and the graph that is built from it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use towpath_core::graph::{Graph, GraphData};
use towpath_core::finding::{Finding, Place};
use towpath_formats::releases;

fuzz_target!(|data: &[u8]| {
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
});
