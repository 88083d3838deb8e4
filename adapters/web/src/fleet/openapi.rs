//! The description of all paths, kept by hand; the tests hold it to the paths and names that there are.

/// The description, as it is served.
pub(super) const TEXT: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use towpath_core::fleet::RuleId;

    use super::super::routes::{Access, ROUTES};
    use super::*;
    use crate::{AnswerBody, Service, explain, graph, graph_data, path, reload};

    /// The paths that are not the fleet's.
    const OTHERS: [&str; 10] = [
        graph::PATH,
        graph::PATH_V1,
        graph_data::PATH,
        explain::PATH,
        explain::ROLLOUTS,
        path::PATH,
        reload::PATH,
        "/livez",
        "/readyz",
        "/metrics",
    ];

    fn description() -> Value {
        serde_json::from_str(TEXT).expect("it is JSON")
    }

    #[test]
    fn every_path_is_described_and_every_described_path_exists() {
        let description = description();
        let described: BTreeSet<&str> = description["paths"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let existing: BTreeSet<&str> = ROUTES.iter().map(|(path, _)| *path).chain(OTHERS).collect();
        assert_eq!(described, existing);
        let clock: crate::Clock = std::sync::Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
        let service = Service::new(clock, "test");
        for path in OTHERS {
            let (request, ()) = http::Request::get(path).body(()).unwrap().into_parts();
            let not_found = |response: http::Response<AnswerBody>| response.status() == 404;
            assert!(!service.route(&request).is_ok_and(not_found), "{path}");
        }
    }

    #[test]
    fn every_route_is_described_with_its_method_and_token() {
        let description = description();
        for (path, route) in ROUTES {
            let operations = description["paths"][path].as_object().unwrap();
            let method = if route.is_write() { "post" } else { "get" };
            assert_eq!(operations.keys().collect::<Vec<_>>(), [method], "{path}");
            let operation = &operations[method];
            assert_eq!(
                operation["requestBody"].is_object(),
                route.is_write(),
                "{path}"
            );
            let expected = match route.access() {
                Access::Open => serde_json::json!([]),
                Access::Read => serde_json::json!([{}, {"adminToken": []}]),
                Access::Cluster => serde_json::json!([{"clusterToken": []}]),
                Access::Admin => serde_json::json!([{"adminToken": []}]),
            };
            assert_eq!(operation["security"], expected, "{path}");
        }
    }

    #[test]
    fn what_is_referred_to_is_there_and_is_used() {
        let description = description();
        let mut used = BTreeSet::new();
        references(&description, &mut used);
        for reference in &used {
            assert!(
                description.pointer(&reference[1..]).is_some(),
                "{reference}"
            );
        }
        for part in ["schemas", "parameters", "responses"] {
            for name in description["components"][part].as_object().unwrap().keys() {
                assert!(
                    used.contains(&format!("#/components/{part}/{name}")),
                    "{part} {name} is not used"
                );
            }
        }
    }

    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                found.extend(
                    members
                        .get("$ref")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                );
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn rules_are_those_that_there_are() {
        let description = description();
        let names: Vec<&str> = RuleId::all().map(RuleId::name).collect();
        let listed = &description["components"]["parameters"]["heldBy"]["schema"]["enum"];
        assert_eq!(*listed, serde_json::json!(names));
    }
}
