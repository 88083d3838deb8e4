//! A cluster's objects; what is read of them is judged.

use towpath_core::cluster::ready;
use towpath_core::cluster::rules::MaxSkew;
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects;
use towpath_formats::cluster::ready::{ReadyReport, json, text};
use towpath_formats::room::Room;

pub fn fuzz(data: &[u8]) {
    let now: jiff::Timestamp = "2026-05-12T10:00:00Z".parse().expect("a time");
    let files = [SourceFile {
        path: "objects.yaml".to_owned(),
        bytes: data.into(),
    }];
    let cluster = match objects::read(&files, now) {
        Err(findings) => {
            return assert!(
                findings.iter().any(Finding::is_error),
                "a refusal has a reason"
            );
        }
        Ok((cluster, _)) => cluster,
    };
    let from = cluster
        .facts
        .heads_for()
        .cloned()
        .unwrap_or_else(|| "4.14.3".parse().expect("a version"));
    let patch = Way::new(from.clone(), vec![Stop::Release(from.clone())]);
    if let Ok(way) = patch {
        assert!(
            ready(&way, &cluster.facts, MaxSkew::OpenShift).is_ready(),
            "a patch is never stopped"
        );
    }
    let way = Way::to_next_minor(from);
    let readiness = ready(&way, &cluster.facts, MaxSkew::OpenShift);
    let told = ReadyReport {
        cluster: &cluster,
        way: &way,
        now,
        readiness: &readiness,
    };
    assert!(!text(&told, Room::default()).is_empty() && json(&told).is_object());
}
