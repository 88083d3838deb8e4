//! What a cluster says of itself.

use towpath_core::cluster::ClusterId;
use towpath_formats::fleet::report;

pub fn fuzz(data: &[u8]) {
    let now: jiff::Timestamp = "2026-05-12T10:00:00Z".parse().expect("a time");
    match report::read(data) {
        Err(problem) => assert!(!problem.is_empty(), "a refusal has a reason"),
        Ok(report) => {
            let state = report.state(ClusterId::new("c").expect("an id"), now);
            assert!(
                state.last_seen <= now && state.version_since <= state.last_seen,
                "nobody comes from the future"
            );
        }
    }
}
