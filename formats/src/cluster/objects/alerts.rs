//! Alerts as Prometheus answers them: `/api/v1/alerts`, or `/api/v1/rules` as a must-gather keeps it.

use std::sync::Arc;

use towpath_core::cluster::health::Alert;

use super::cluster_version::text;
use super::items;
use crate::read::{Node, Reader, shown};

/// What helps against an answer that is none.
const AGAIN: &str = "ask Prometheus again, at /api/v1/alerts";

/// Whether a document is such an answer.
pub(super) fn is_answer(node: &Node) -> bool {
    let has = |name: &str| node.get("data").and_then(|data| data.get(name)).is_some();
    node.get("kind").is_none() && node.get("status").is_some() && (has("alerts") || has("groups"))
        || is_error(node)
}

fn is_error(node: &Node) -> bool {
    text(node, "status") == "error" && node.get("errorType").is_some()
}

/// The alerts that fire. One that is only pending does not yet.
pub(super) fn read(reader: &mut Reader, node: &Node) -> Vec<Alert> {
    if text(node, "status") != "success" {
        let problem = format!(
            "Prometheus did not answer with alerts: {:?}",
            shown(text(node, "error"))
        );
        reader.error("no-alerts", node, problem, AGAIN);
        return Vec::new();
    }
    let data = node.get("data");
    let mut alerts: Vec<Alert> = items(reader, data, "alerts")
        .iter()
        .filter_map(alert)
        .collect();
    for group in items(reader, data, "groups") {
        for rule in items(reader, Some(group), "rules") {
            alerts.extend(items(reader, Some(rule), "alerts").iter().filter_map(alert));
        }
    }
    alerts
}

fn alert(node: &Node) -> Option<Alert> {
    let label = |name: &str| node.get("labels").map_or("", |labels| text(labels, name));
    let note = |name: &str| {
        let notes = node.get("annotations");
        notes
            .map(|notes| text(notes, name))
            .filter(|text| !text.is_empty())
    };
    let is_firing = text(node, "state") != "pending" && text(node, "state") != "inactive";
    let name = label("alertname");
    let summary = note("summary").or(note("description")).or(note("message"));
    (is_firing && !name.is_empty()).then(|| Alert {
        name: name.into(),
        is_critical: label("severity") == "critical",
        is_precheck: label("openShiftUpdatePrecheck") == "true",
        namespace: Some(label("namespace"))
            .filter(|name| !name.is_empty())
            .map(Arc::from),
        summary: summary.unwrap_or("it does not say what is wrong").into(),
        runbook: note("runbook_url").map(Arc::from),
    })
}
