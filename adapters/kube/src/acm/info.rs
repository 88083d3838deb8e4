//! ManagedClusterInfo: what the hub tells of a cluster's updates. What it does not tell, or what cannot be read, holds the cluster.

use serde_json::Value;
use towpath_core::version::Version;

use super::{condition, items, text};

/// Whether the hub has copied it lately.
const SYNCED: &str = "ManagedClusterInfoSynced";

/// What is known of a cluster's updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Updates {
    /// Where it is on its way to.
    pub(super) going_to: Option<Version>,
    /// Why nobody knows, for people.
    pub(super) unknown: Option<String>,
}

impl Updates {
    fn unknown(why: &str) -> Self {
        Self {
            going_to: None,
            unknown: Some(why.to_owned()),
        }
    }
}

/// Of a cluster that runs this version.
pub(super) fn updates(info: &Value, version: &Version) -> Updates {
    if info.is_null() {
        return Updates::unknown("the hub has no ManagedClusterInfo of it");
    }
    if condition(info, SYNCED).is_some_and(|synced| synced["status"] != "True") {
        return Updates::unknown("its ManagedClusterInfo is not in sync");
    }
    let ocp = |field: &str| text(info, &format!("/status/distributionInfo/ocp/{field}"));
    let told = ocp("version").map(str::parse::<Version>);
    match told {
        Some(Ok(told)) if told == *version => {}
        Some(Ok(told)) => {
            return Updates::unknown(&format!(
                "its claim says that it runs {version}, and its ManagedClusterInfo says {told}"
            ));
        }
        _ => return Updates::unknown("its ManagedClusterInfo does not tell its version"),
    }
    let Some(Ok(desired)) = ocp("desiredVersion").map(str::parse::<Version>) else {
        return Updates::unknown("its ManagedClusterInfo does not tell where it is on its way to");
    };
    let newest = items(info, "/status/distributionInfo/ocp/versionHistory").first();
    let partial = newest.filter(|entry| entry["state"] == "Partial");
    let partial = partial.map(|entry| text(entry, "/version").map(str::parse::<Version>));
    match partial {
        None => Updates {
            going_to: Some(desired).filter(|to| to != version),
            unknown: None,
        },
        Some(Some(Ok(to))) if to != *version => Updates {
            going_to: Some(to),
            unknown: None,
        },
        Some(_) => Updates::unknown("an update of it is not complete, and nobody knows to what"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn told(info: &Value) -> String {
        let updates = updates(info, &"4.20.2".parse().unwrap());
        match (updates.unknown, updates.going_to) {
            (Some(why), _) => format!("unknown: {why}"),
            (None, Some(to)) => format!("to {to}"),
            (None, None) => "at rest".to_owned(),
        }
    }

    fn info(ocp: Value) -> Value {
        json!({"status": {"distributionInfo": {"ocp": ocp}}})
    }

    #[test]
    fn only_what_is_told_is_at_rest() {
        let history = |state: &str, version: &str| json!([{"state": state, "version": version, "image": "i"}]);
        let ocp = |desired: &str, history: Value| json!({"version": "4.20.2", "desiredVersion": desired, "versionHistory": history});
        for (info, expected) in [
            (info(ocp("4.20.2", Value::Null)), "at rest"),
            (
                info(ocp("4.20.2", history("Completed", "4.20.2"))),
                "at rest",
            ),
            (info(ocp("4.20.3", Value::Null)), "to 4.20.3"),
            // It is taken back.
            (
                info(ocp("4.20.1", history("Partial", "4.20.1"))),
                "to 4.20.1",
            ),
            (
                info(ocp("4.20.2", history("Partial", "4.20.3"))),
                "to 4.20.3",
            ),
            (
                info(ocp("4.20.2", history("Partial", "4.20.2"))),
                "unknown: an update of it is not complete, and nobody knows to what",
            ),
            (
                info(ocp("newest", Value::Null)),
                "unknown: its ManagedClusterInfo does not tell where it is on its way to",
            ),
            (
                info(json!({"version": "4.20.2"})),
                "unknown: its ManagedClusterInfo does not tell where it is on its way to",
            ),
            (
                info(json!({"version": "4.20.1", "desiredVersion": "4.20.1"})),
                "unknown: its claim says that it runs 4.20.2, and its ManagedClusterInfo says 4.20.1",
            ),
            (
                info(json!({})),
                "unknown: its ManagedClusterInfo does not tell its version",
            ),
            (
                Value::Null,
                "unknown: the hub has no ManagedClusterInfo of it",
            ),
        ] {
            assert_eq!(told(&info), expected, "{info}");
        }
        let mut behind = info(ocp("4.20.2", Value::Null));
        behind["status"]["conditions"] = json!([{"type": SYNCED, "status": "Unknown"}]);
        assert_eq!(
            told(&behind),
            "unknown: its ManagedClusterInfo is not in sync"
        );
    }
}
