//! A cluster's objects; what is read of them is judged.

use towpath_core::cluster::ready;
use towpath_core::cluster::way::{Stop, Way};
use towpath_core::finding::Finding;
use towpath_formats::SourceFile;
use towpath_formats::cluster::objects;
use towpath_formats::cluster::ready::{ReadyReport, UnreadKinds, json, text};
use towpath_formats::minors::built_in;
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
    let minors = built_in();
    let patch = Way::new(from.clone(), vec![Stop::Release(from.clone())], &minors);
    if let Ok(way) = patch {
        assert!(
            ready(&way, &cluster.facts).is_ready(),
            "a patch is never stopped"
        );
    }
    let Ok(way) = Way::to_next_minor(from, &minors) else {
        return;
    };
    let readiness = ready(&way, &cluster.facts);
    let told = ReadyReport {
        cluster: &cluster,
        way: &way,
        now,
        readiness: &readiness,
        unread: &UnreadKinds::new(),
    };
    assert!(!text(&told, Room::default()).is_empty() && json(&told).is_object());
}
