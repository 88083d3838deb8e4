//! `/api/v1/openapi.json`: paths, methods, tokens and common refusals come from the route table. Parameters, bodies, answers
//! and schemas are written by hand in `openapi.json`, by the routes' labels. Files of the page are left out: they are for browsers.

use std::sync::LazyLock;

use http::request::Parts;
use http::{Response, StatusCode};
use serde_json::{Map, Value, json};
use towpath_core::access::Role;
use towpath_core::fleet::RuleId;

use crate::Service;
use crate::body::{self, AnswerBody};
use crate::fleet::query;
use crate::refusal::OrRefusal;
use crate::routes::{Cost, Party, ROUTES, Route, Verb, Who};

static DESCRIPTION: LazyLock<String> = LazyLock::new(|| format!("{:#}\n", description()));

pub(crate) fn answer(_: &Service, head: &Parts, _: &str) -> OrRefusal<Response<AnswerBody>> {
    query::nothing(head)?;
    Ok(body::json(StatusCode::OK, DESCRIPTION.clone()))
}

/// The routes of the API.
fn described() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| !route.is_page())
}

fn description() -> Value {
    let mut description: Value =
        serde_json::from_str(include_str!("openapi.json")).expect("it is JSON");
    let operations = description["operations"].take();
    let path = |route: &Route| {
        let operation = operation(route, operations[route.label].clone());
        let mut methods = json!({ method(route): operation.clone() });
        if route.verb == Verb::Get {
            methods["head"] = without_bodies(route, operation);
        }
        (route.path.to_owned(), methods)
    };
    let paths: Map<String, Value> = described().map(path).collect();
    let members = description.as_object_mut().expect("it is an object");
    members.remove("operations");
    members.insert("paths".to_owned(), paths.into());
    let rules: Vec<&str> = RuleId::all().map(RuleId::name).collect();
    description["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    description["components"]["parameters"]["held-by"]["schema"]["enum"] = json!(rules);
    description
}

/// Merges the handwritten part with the table. Handwritten refusals take precedence.
fn operation(route: &Route, mut written: Value) -> Value {
    written["operationId"] = json!(route.label);
    written["summary"] = json!(route.summary);
    written["security"] = security(route);
    if let Some(roles) = roles(route) {
        written["x-roles"] = json!(roles);
    }
    if route.cost() == Cost::Fleet {
        add_forms(route, &mut written);
    }
    for (status, name) in refusals(route) {
        let response = &mut written["responses"][status];
        if response.is_null() {
            *response = json!({"$ref": format!("#/components/responses/{name}")});
        }
    }
    written
}

/// Every answer about the fleet can be text.
fn add_forms(route: &Route, written: &mut Value) {
    let mut parameters = written["parameters"].take();
    let parameters = parameters.as_array_mut().map(std::mem::take);
    let reference = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
    let output = match route.label {
        "history" => json!({
            "name": "format",
            "in": "query",
            "description": "Else the Accept header says it.",
            "schema": {"type": "string", "enum": ["json", "text", "markdown"]},
        }),
        _ => reference("format"),
    };
    let forms = [output, reference("width")];
    let parameters = parameters.unwrap_or_default().into_iter().chain(forms);
    written["parameters"] = parameters.collect();
    written["responses"]["200"]["content"]["text/plain"] = json!({"schema": {"type": "string"}});
}

/// The same question with HEAD: the status and headers of the answer, and no body.
fn without_bodies(route: &Route, mut operation: Value) -> Value {
    operation["operationId"] = json!(format!("{}Head", route.label));
    operation["summary"] = json!(format!("{}: only the head of the answer", route.summary));
    for response in operation["responses"].as_object_mut().into_iter().flatten() {
        if let Some(response) = response.1.as_object_mut() {
            response.remove("content");
        }
    }
    operation
}

fn method(route: &Route) -> &'static str {
    match route.verb {
        Verb::Get => "get",
        Verb::Post => "post",
    }
}

/// An empty list where no token is needed. Which roles a person's token needs, the route's description says.
fn security(route: &Route) -> Value {
    let scheme = |party: &Party| match party {
        Party::Nobody => json!({}),
        Party::Cluster => json!({"clusterToken": []}),
        Party::Role(Role::Pipeline) => json!({"reloadToken": []}),
        Party::Role(_) => json!({"personToken": []}),
    };
    let mut schemes: Vec<Value> = Vec::new();
    for party in route.who.parties() {
        let scheme = scheme(&party);
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    match route.who {
        Who::Anyone => json!([]),
        _ => schemes.into(),
    }
}

/// The roles of people that a route takes.
fn roles(route: &Route) -> Option<Vec<&'static str>> {
    let Who::May(permission) = route.who else {
        return None;
    };
    Some(permission.roles().iter().map(|role| role.name()).collect())
}

/// The possible refusals of a route, by status and name of the description.
fn refusals(route: &Route) -> impl Iterator<Item = (&'static str, &'static str)> {
    let asks_the_fleet = matches!(route.cost(), Cost::Fleet | Cost::Report);
    let refusals = [
        (true, "400", "BadRequest"),
        (route.who.refuses(), "401", "NoToken"),
        // A cluster may also need a certificate.
        (
            route.who.refuses() || route.who.knows_clusters(),
            "403",
            "Forbidden",
        ),
        (asks_the_fleet, "404", "NotFound"),
        (true, "405", "MethodNotAllowed"),
        (route.verb == Verb::Post, "408", "TooSlow"),
        (route.verb == Verb::Post, "413", "TooLarge"),
        (true, "414", "TooLong"),
        (route.verb == Verb::Post, "415", "NotJson"),
        (true, "421", "OtherHost"),
        (asks_the_fleet, "422", "Refused"),
        (route.cost() == Cost::Report, "429", "TooOften"),
        (route.cost() == Cost::Stream, "429", "TooManyStreams"),
        (
            !matches!(route.cost(), Cost::Graph | Cost::Probe),
            "429",
            "TooManyRequests",
        ),
        (true, "431", "HeadTooLarge"),
        (true, "503", "Unavailable"),
    ];
    let applying = refusals.into_iter().filter(|(applies, ..)| *applies);
    applying.map(|(_, status, name)| (status, name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_written_about_and_nothing_else_is() {
        let written: Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        let written = written["operations"].as_object().unwrap();
        let labels: BTreeSet<&str> = described().map(|route| route.label).collect();
        assert_eq!(
            written.keys().map(String::as_str).collect::<BTreeSet<_>>(),
            labels
        );
        for route in described() {
            let operation = &description()["paths"][route.path][method(route)];
            assert_eq!(operation["operationId"], route.label, "a path stands once");
            assert_eq!(
                operation["requestBody"].is_object(),
                route.verb == Verb::Post,
                "{}",
                route.path
            );
            let parameters = operation["parameters"].as_array();
            let mut parameters = parameters.into_iter().flatten();
            assert_eq!(
                parameters.any(|parameter| parameter["in"] == "path"),
                route.path.contains('{'),
                "{}",
                route.path
            );
        }
    }

    #[test]
    fn refusals_are_those_that_apply() {
        let description = description();
        let refusals = |path: &str, method: &str| -> String {
            let responses = &description["paths"][path][method]["responses"];
            let statuses = responses.as_object().unwrap().keys();
            statuses.map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            refusals("/api/upgrades_info/graph", "get"),
            "200 304 400 405 406 414 421 431 503"
        );
        assert_eq!(
            refusals("/api/v1/reload", "post"),
            "202 400 401 403 404 405 408 413 414 415 421 429 431 503"
        );
        assert_eq!(
            refusals("/api/v1/clusters/{cluster}/report", "post"),
            "202 400 401 403 404 405 408 413 414 415 421 422 429 431 503"
        );
        assert_eq!(refusals("/livez", "get"), "200 400 405 414 421 431 503");
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
        let text = description["paths"].to_string();
        for scheme in description["components"]["securitySchemes"]
            .as_object()
            .unwrap()
            .keys()
        {
            assert!(text.contains(&format!("{{\"{scheme}\":[]}}")), "{scheme}");
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
        let listed = &description["components"]["parameters"]["held-by"]["schema"]["enum"];
        assert_eq!(*listed, serde_json::json!(names));
    }
}
