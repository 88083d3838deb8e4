//! What images declare, as a release file has it, and the edges that are signed by it.

use towpath_core::finding::Place;
use towpath_core::graph::{Declares, End, Graph, GraphData, Provenance};
use towpath_core::intake::Supply;
use towpath_core::signatures::{
    SignaturePolicy, SignatureVerdict, Signer, leave_out, mark, wanted,
};
use towpath_formats::graph::releases;

const FILE: &str = r#"{"nodes": [
    {"version": "4.9.1+amd64", "payload": "q/r@sha256:1111111111111111111111111111111111111111111111111111111111111111"},
    {"version": "4.9.2+amd64", "payload": "q/r@sha256:2222222222222222222222222222222222222222222222222222222222222222",
     "declared": {"previous": ["4.9.1", "4.9.0-rc.1", "", "4.9"]}},
    {"version": "4.9.3+amd64", "payload": "q/r@sha256:3333333333333333333333333333333333333333333333333333333333333333",
     "declared": {}}
], "edges": [[0, 1], [0, 2], [1, 2]]}"#;

#[test]
fn what_images_declare_is_read() {
    let (read, findings) = releases::read(&Place::file("r.json"), FILE.as_bytes()).unwrap();
    let versions = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let declares = read
        .releases
        .iter()
        .map(|release| release.declares.clone())
        .collect::<Vec<_>>();
    let second = Declares {
        previous: versions(&["4.9.1", "4.9.0-rc.1"]),
        next: versions(&[]),
    };
    assert_eq!(declares, [None, Some(second), Some(Declares::default())]);
    let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let expected = "r.json: 2 declared names are not versions; such updates count as unsigned; \
                    write the graph again from its source";
    assert_eq!(told, [expected]);
}

#[test]
fn only_what_a_verified_image_declares_is_signed() {
    let (read, _) = releases::read(&Place::file("r.json"), FILE.as_bytes()).unwrap();
    let signer = Signer {
        fingerprint: "F".into(),
        user_id: "ann".into(),
        signed_at: jiff::Timestamp::UNIX_EPOCH,
        until: None,
    };
    let verdicts = wanted(SignaturePolicy::Require, &read).into_iter();
    let verdicts = verdicts
        .map(|digest| (digest, SignatureVerdict::Verified(signer.clone())))
        .collect();
    let mut supplies = [Supply {
        source: "releases".into(),
        releases: read,
    }];
    let findings = mark(SignaturePolicy::Require, &mut supplies, &verdicts);
    let [Supply { releases: read, .. }] = supplies;
    let read = leave_out(SignaturePolicy::Require, read);
    assert_eq!((read.releases.len(), findings.len()), (3, 0));
    let (graph, _) = Graph::build(GraphData::default(), read);
    let told: Vec<Provenance> = graph
        .edges()
        .iter()
        .map(|edge| graph.provenance(*edge))
        .collect();
    assert_eq!(
        told,
        [
            Provenance::Signed(End::Target),
            Provenance::Claimed,
            Provenance::Claimed
        ]
    );
}
