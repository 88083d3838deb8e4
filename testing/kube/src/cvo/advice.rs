//! Turns a graph into update advice as the cluster-version operator does: its own node by semver equality, conditional edges
//! by exact text.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::{Value, json};

/// What a graph has for a version.
#[derive(Debug, PartialEq)]
pub(super) struct Advice {
    /// Nothing, rather than an empty list, if there is none.
    pub(super) available: Option<Vec<Value>>,
    pub(super) conditional: Vec<Value>,
}

type Problem = (&'static str, String);

pub(super) fn advice(
    graph: &Value,
    current: &str,
    queries: &BTreeMap<String, bool>,
) -> Result<Advice, Problem> {
    let invalid = |message: String| ("ResponseInvalid", message);
    let nodes = graph["nodes"]
        .as_array()
        .ok_or_else(|| invalid("the graph has no nodes".to_owned()))?;
    let same = |node: &Value| {
        let parse = |text: &str| Version::parse(text).ok();
        let (one, other) = (node["version"].as_str().and_then(parse), parse(current));
        matches!((one, other), (Some(one), Some(other)) if one.cmp_precedence(&other).is_eq())
    };
    let Some(own) = nodes.iter().position(same) else {
        return Err((
            "VersionNotFound",
            format!("currently reconciling cluster version {current} not found"),
        ));
    };
    let mut conditional = BTreeMap::new();
    for group in graph["conditionalEdges"].as_array().into_iter().flatten() {
        for edge in group["edges"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|edge| edge["from"] == current)
        {
            let to = edge["to"].as_str().unwrap_or_default();
            let Some(node) = nodes.iter().find(|node| node["version"] == to) else {
                return Err(invalid(format!("no node for conditional update {to}")));
            };
            let update = json!({
                "release": release(node),
                "risks": group["risks"],
                "conditions": [recommended(&group["risks"], queries)],
            });
            // A target in two groups is dropped altogether.
            conditional
                .entry(to.to_owned())
                .and_modify(|known| *known = None)
                .or_insert(Some(update));
        }
    }
    let mut available = Vec::new();
    for edge in graph["edges"].as_array().into_iter().flatten() {
        let end = |place: usize| {
            edge[place]
                .as_u64()
                .and_then(|index| usize::try_from(index).ok())
        };
        let (Some(from), Some(to)) = (end(0), end(1)) else {
            return Err(invalid("an edge without ends".to_owned()));
        };
        let Some(node) = nodes.get(to) else {
            return Err(invalid(format!("no node {to}")));
        };
        // The conditional one wins.
        let is_conditional = node["version"]
            .as_str()
            .is_some_and(|version| conditional.contains_key(version));
        if from == own && !is_conditional {
            available.push(release(node));
        }
    }
    available.sort_by_key(|release| std::cmp::Reverse(version(release)));
    let mut conditional: Vec<Value> = conditional.into_values().flatten().collect();
    conditional.sort_by_key(|update| std::cmp::Reverse(version(&update["release"])));
    Ok(Advice {
        available: (!available.is_empty()).then_some(available),
        conditional,
    })
}

fn version(release: &Value) -> Option<Version> {
    release["version"]
        .as_str()
        .and_then(|text| Version::parse(text).ok())
}

fn release(node: &Value) -> Value {
    let metadata = |name: &str| node["metadata"][name].as_str();
    let mut release = json!({"version": node["version"], "image": node["payload"]});
    if let Some(url) = metadata("url") {
        release["url"] = url.into();
    }
    if let Some(channels) = metadata("io.openshift.upgrades.graph.release.channels") {
        release["channels"] = channels.split(',').collect::<Vec<_>>().into();
    }
    release
}

/// A risk that applies makes an update not recommended. A risk that cannot be evaluated leaves it unknown.
fn recommended(risks: &Value, queries: &BTreeMap<String, bool>) -> Value {
    let (mut status, mut reasons, mut messages) = ("True", Vec::new(), Vec::new());
    for risk in risks.as_array().into_iter().flatten() {
        let text = |name: &str| risk[name].as_str().unwrap_or_default();
        match applies(&risk["matchingRules"], queries) {
            Some(false) => continue,
            Some(true) => {
                status = "False";
                reasons.push(text("name"));
            }
            None => {
                status = if status == "False" { status } else { "Unknown" };
                reasons.push("EvaluationFailed");
            }
        }
        messages.push(format!("{} {}", text("message"), text("url")));
    }
    let reason = match reasons.as_slice() {
        [] => "NotExposedToRisks",
        [one] => one,
        _ => "MultipleReasons",
    };
    json!({"type": "Recommended", "status": status, "reason": reason, "message": messages.join("\n\n")})
}

/// The first rule that can be evaluated decides.
fn applies(rules: &Value, queries: &BTreeMap<String, bool>) -> Option<bool> {
    rules
        .as_array()
        .into_iter()
        .flatten()
        .find_map(|rule| match rule["type"].as_str() {
            Some("Always") => Some(true),
            Some("PromQL") => queries.get(rule["promql"]["promql"].as_str()?).copied(),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Value {
        let risk = |rule: Value| json!([{"url": "https://r.example", "name": "Risky", "message": "It breaks.", "matchingRules": [rule]}]);
        json!({
            "nodes": [
                {"version": "4.9.1", "payload": "i@1"}, {"version": "4.9.2", "payload": "i@2", "metadata": {"url": "https://u.example"}},
                {"version": "4.9.10", "payload": "i@10"}, {"version": "4.9.3", "payload": "i@3"},
            ],
            "edges": [[0, 1], [0, 2], [0, 3], [1, 2]],
            "conditionalEdges": [{
                "edges": [{"from": "4.9.1", "to": "4.9.3"}],
                "risks": risk(json!({"type": "PromQL", "promql": {"promql": "q"}})),
            }],
        })
    }

    fn verdict(queries: &[(&str, bool)]) -> String {
        let queries = queries
            .iter()
            .map(|(query, value)| ((*query).to_owned(), *value))
            .collect();
        let found = advice(&graph(), "4.9.1", &queries).unwrap();
        assert_eq!(found.conditional.len(), 1);
        let condition = &found.conditional[0]["conditions"][0];
        format!(
            "{} {}",
            condition["status"].as_str().unwrap(),
            condition["reason"].as_str().unwrap()
        )
    }

    #[test]
    fn a_graph_is_read_as_openshift_reads_it() {
        let found = advice(&graph(), "4.9.1", &BTreeMap::new()).unwrap();
        let versions: Vec<_> = found
            .available
            .unwrap()
            .iter()
            .map(|one| one["version"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            versions,
            ["4.9.10", "4.9.2"],
            "by version, newest first, and without the conditional one"
        );
        assert_eq!(verdict(&[("q", true)]), "False Risky");
        assert_eq!(verdict(&[("q", false)]), "True NotExposedToRisks");
        assert_eq!(verdict(&[]), "Unknown EvaluationFailed");
    }

    #[test]
    fn a_version_that_is_not_there_and_a_broken_graph_are_told_apart() {
        let reason =
            |graph: Value, version: &str| advice(&graph, version, &BTreeMap::new()).unwrap_err().0;
        assert_eq!(reason(graph(), "4.8.1"), "VersionNotFound");
        assert_eq!(reason(json!({}), "4.9.1"), "ResponseInvalid");
        let mut broken = graph();
        broken["conditionalEdges"][0]["edges"][0]["to"] = "4.9.77".into();
        assert_eq!(reason(broken, "4.9.1"), "ResponseInvalid");
    }

    #[test]
    fn a_target_in_two_groups_is_dropped() {
        let mut twice = graph();
        let group = twice["conditionalEdges"][0].clone();
        twice["conditionalEdges"]
            .as_array_mut()
            .unwrap()
            .push(group);
        assert_eq!(
            advice(&twice, "4.9.1", &BTreeMap::new())
                .unwrap()
                .conditional,
            Vec::<Value>::new()
        );
    }
}
