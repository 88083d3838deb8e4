//! A list of clusters, JSON or YAML; what is read of it is decided about.

use towpath_core::finding::Place;
use towpath_core::fleet::{FleetInput, dispatch};
use towpath_formats::fleet::{cluster_list, input};

pub fn fuzz(data: &[u8]) {
    let now: jiff::Timestamp = "2026-05-12T10:00:00Z".parse().expect("a time");
    let (list, _) = cluster_list::read(&Place::file("clusters.json"), data, now);
    let input = FleetInput {
        clusters: list.clusters,
        upgrades: list.upgrades,
        ..FleetInput::default()
    };
    let written = input::write(&input);
    let read = input::read(&written).expect("what was written can be read");
    assert_eq!(input::write(&read), written, "and is the same");
    let (_, decision) = dispatch(input, now);
    assert!(decision.starts.is_empty(), "nobody starts without a policy");
}
