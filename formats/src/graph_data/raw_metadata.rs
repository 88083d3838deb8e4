//! `raw/metadata.json`: further metadata of single releases, by name.

use std::collections::BTreeMap;

use towpath_core::domain::ReleaseName;
use towpath_core::finding::{Finding, Place};

pub(super) fn read(
    place: &Place,
    bytes: &[u8],
    findings: &mut Vec<Finding>,
) -> Vec<(ReleaseName, BTreeMap<String, String>)> {
    let by_text: BTreeMap<String, BTreeMap<String, String>> = match serde_json::from_slice(bytes) {
        Ok(metadata) => metadata,
        Err(error) => {
            findings.push(crate::releases::json_finding(place, &error));
            return Vec::new();
        }
    };
    let mut metadata = Vec::new();
    for (text, entries) in by_text {
        match ReleaseName::parse(&text) {
            Ok(name) => metadata.push((name, entries)),
            Err(error) => findings.push(Finding::error(
                "bad-version",
                place.clone(),
                error.to_string(),
                "write it as in 4.9.7 or 4.9.7+amd64",
            )),
        }
    }
    metadata
}
