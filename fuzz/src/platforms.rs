//! The lookup from cluster ids to platforms.

use towpath_core::cluster::ClusterId;
use towpath_core::finding::{Finding, Place};
use towpath_formats::graph::platforms;

pub fn fuzz(data: &[u8]) {
    match platforms::read(&Place::file("platforms.csv"), data) {
        Err(findings) => assert!(
            findings.iter().any(Finding::is_error),
            "a refusal has a reason"
        ),
        Ok((platforms, _)) => assert!(platforms.keys().all(|id| ClusterId::new(id).is_some())),
    }
}
