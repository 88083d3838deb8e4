//! From a report to bytes, as an agent sends them. Unknown facts are left out.

use serde::Serialize;
use serde_json::{Map, Value, json};
use towpath_core::fleet::{AgentUpdate, Health, NodePool, PreflightResult};
use towpath_core::version::{Arch, Version};

use super::{HistoryEntry, Report};
use crate::graph::explain::json::known;

/// The report, as it is sent.
pub fn write(report: &Report) -> Vec<u8> {
    let mut fields = ReportFields::default();
    fields.some("id", report.id.as_deref());
    fields.some("name", report.name.as_deref());
    fields.some("organisation", Some(&*report.organisation));
    fields.some("version", Some(report.version.to_string()));
    fields.some("desired", report.desired.as_ref().map(Version::to_string));
    if let Health::Unhealthy { why } = &report.health {
        fields.some("healthy", Some(false));
        fields.some("unhealthyReason", Some(&**why));
    }
    fields.list("history", report.history.iter().map(history));
    let conditions = Some(&report.conditions);
    fields.some("conditions", conditions.filter(|list| !list.is_empty()));
    fields.list("updates", report.updates.iter().map(update));
    fields.list("preflights", report.preflights.iter().map(preflight));
    fields.some(
        "platform",
        known(&report.platform).map(|platform| platform.as_str()),
    );
    fields.some(
        "channel",
        report.channel.as_ref().map(|channel| channel.as_str()),
    );
    fields.some(
        "arch",
        Some(report.arch.as_str()).filter(|arch| *arch != Arch::default().as_str()),
    );
    fields.some(
        "labels",
        Some(&report.labels).filter(|labels| !labels.is_empty()),
    );
    fields.some("nodes", report.nodes);
    fields.some(
        "nodePools",
        report
            .pools
            .as_ref()
            .map(|pools| pools.iter().map(pool).collect::<Vec<_>>()),
    );
    fields.some("sts", known(&report.sts));
    fields.some("wif", known(&report.wif));
    fields.some("at", report.at.map(|at| at.to_string()));
    Value::Object(fields.0).to_string().into_bytes()
}

#[derive(Default)]
struct ReportFields(Map<String, Value>);

impl ReportFields {
    fn some(&mut self, name: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), json!(value));
        }
    }

    fn list(&mut self, name: &str, entries: impl Iterator<Item = ReportFields>) {
        let entries: Vec<Value> = entries.map(|entry| Value::Object(entry.0)).collect();
        self.some(name, Some(entries).filter(|entries| !entries.is_empty()));
    }
}

fn history(entry: &HistoryEntry) -> ReportFields {
    let mut fields = ReportFields::default();
    fields.some("version", Some(entry.version.to_string()));
    fields.some(
        "state",
        Some(&entry.state).filter(|state| !state.is_empty()),
    );
    fields.some("startedTime", entry.started.map(|at| at.to_string()));
    fields.some("completionTime", entry.completed.map(|at| at.to_string()));
    fields
}

fn update(update: &AgentUpdate) -> ReportFields {
    let mut fields = ReportFields::default();
    fields.some("to", Some(update.to.to_string()));
    fields.some("outcome", Some(update.outcome.code()));
    fields.some("why", Some(&*update.why).filter(|why| !why.is_empty()));
    fields.some("startedAt", Some(update.started_at.to_string()));
    fields.some("tookSeconds", update.took.map(|took| took.as_secs().max(0)));
    fields.some("automatic", Some(true).filter(|_| update.is_automatic));
    fields
}

fn preflight(preflight: &PreflightResult) -> ReportFields {
    let mut fields = ReportFields::default();
    fields.some("id", Some(&*preflight.id));
    fields.some("version", Some(preflight.version.to_string()));
    fields.some("outcome", Some(preflight.state.code()));
    fields.some("why", Some(&*preflight.why).filter(|why| !why.is_empty()));
    let risks: Vec<&str> = preflight.risks.iter().map(|name| &**name).collect();
    fields.some("risks", Some(risks).filter(|risks| !risks.is_empty()));
    fields
}

fn pool(pool: &NodePool) -> Value {
    json!({"id": &*pool.id, "version": pool.version.to_string()})
}
