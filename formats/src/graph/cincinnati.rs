//! The Cincinnati answer: its JSON, and the few parts of it that we also read.
//!
//! [`write`] is the plain form, straight from [`recommend`](towpath_core::graph::recommend). The
//! sheets are made of the same parts.

use std::collections::BTreeMap;
use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::graph::{
    ChannelName, Graph, MatchingRule, Release, ReleaseId, Risk, RiskId, View, channels_entered,
};
use towpath_core::verdict::Answer;

use crate::graph::promql::CheckedQueries;

/// Where a node lists every channel that holds it; clusters learn of other channels from it.
pub const CHANNELS_KEY: &str = "io.openshift.upgrades.graph.release.channels";

/// Writes what a client sees as a whole answer.
pub fn write(graph: &Graph, view: &View, now: Timestamp) -> String {
    let index: BTreeMap<ReleaseId, usize> = view
        .releases
        .iter()
        .enumerate()
        .map(|(at, id)| (*id, at))
        .collect();
    let mut nodes = String::new();
    view.releases
        .iter()
        .for_each(|id| item(&mut nodes, &node(graph.release(*id), now)));
    let mut edges = String::new();
    let mut groups: BTreeMap<Vec<RiskId>, String> = BTreeMap::new();
    for (edge, verdict) in view.offered() {
        match &verdict.answer {
            Answer::RecommendUnless(risks) => {
                let group = groups.entry(risks.iter().copied().collect()).or_default();
                item(
                    group,
                    &conditional_edge(graph.release(edge.from), graph.release(edge.to)),
                );
            }
            _ => item(
                &mut edges,
                &format!("[{},{}]", index[&edge.from], index[&edge.to]),
            ),
        }
    }
    let mut conditional = String::new();
    for (set, members) in &groups {
        item(
            &mut conditional,
            &format!(
                "{{\"edges\":[{members}],\"risks\":[{}]}}",
                risks(graph, set)
            ),
        );
    }
    format!(
        "{{\"version\":1,\"nodes\":[{nodes}],\"edges\":[{edges}],\"conditionalEdges\":[{conditional}]}}"
    )
}

/// Adds an item to a list that is being written.
pub(crate) fn item(list: &mut String, item: &str) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(item);
}

/// A release as a node, with the channels that hold it now.
pub(crate) fn node(release: &Release, now: Timestamp) -> String {
    let mut held: Vec<&str> = channels_entered(release, now)
        .map(ChannelName::as_str)
        .collect();
    held.sort_by_key(|name| served_order(name));
    let channels = held.join(",");
    let mut metadata: BTreeMap<&str, &str> = release
        .metadata
        .iter()
        .map(|(key, value)| (&**key, &**value))
        .collect();
    metadata.insert(CHANNELS_KEY, &channels);
    let mut text = String::with_capacity(512);
    write_parts(
        &mut text,
        format_args!(
            "{{\"version\":{},\"payload\":{},\"metadata\":{{",
            quoted(&release.version.to_string()),
            quoted(&release.payload)
        ),
    );
    for (at, (key, value)) in metadata.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write_parts(
            &mut text,
            format_args!("{comma}{}:{}", quoted(key), quoted(value)),
        );
    }
    text.push_str("}}");
    text
}

/// The order in which production lists channels: by the version in their names as text (4.10 before 4.8), then by name.
fn served_order(channel: &str) -> (&str, &str) {
    let version = channel.rsplit_once('-').map_or("", |(_, version)| version);
    (version, channel)
}

/// An edge among `conditionalEdges`.
fn conditional_edge(from: &Release, to: &Release) -> String {
    format!(
        "{{\"from\":{},\"to\":{}}}",
        quoted(&from.version.to_string()),
        quoted(&to.version.to_string())
    )
}

/// The risks of a group, as a list without its brackets. Sorted by name, since risks are numbered so.
pub(crate) fn risks(graph: &Graph, set: &[RiskId]) -> String {
    let mut list = String::new();
    for id in set {
        item(&mut list, &risk(graph.risk(*id)).to_string());
    }
    list
}

/// A risk as clients read it.
pub(crate) fn risk(risk: &Risk) -> Value {
    let rules: Vec<Value> = risk.matching_rules.iter().map(matching_rule).collect();
    json!({"url": risk.url, "name": risk.name, "message": risk.message, "matchingRules": rules})
}

fn matching_rule(rule: &MatchingRule) -> Value {
    match rule {
        MatchingRule::Always => json!({"type": "Always"}),
        MatchingRule::PromQl(query) | MatchingRule::Unparsable(query) => {
            json!({"type": "PromQL", "promql": {"promql": query}})
        }
        MatchingRule::Other(text) => serde_json::from_str(text).unwrap_or(Value::Null),
    }
}

/// Reads a matching rule. A type that we do not know is carried on as it is: clients skip it.
pub(crate) fn read_matching_rule(
    rule: &Value,
    queries: &mut CheckedQueries,
) -> Result<MatchingRule, &'static str> {
    match rule.get("type").and_then(Value::as_str) {
        Some("Always") => Ok(MatchingRule::Always),
        Some("PromQL") => match rule.pointer("/promql/promql").and_then(Value::as_str) {
            Some(query) => Ok(queries.rule(query)),
            None => Err("a PromQL rule needs `promql: {promql: <query>}`"),
        },
        Some(_) => Ok(MatchingRule::Other(rule.to_string())),
        None => Err("a matching rule needs a `type`"),
    }
}

fn write_parts(text: &mut String, parts: std::fmt::Arguments<'_>) {
    text.write_fmt(parts)
        .expect("writing to a string does not fail");
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
