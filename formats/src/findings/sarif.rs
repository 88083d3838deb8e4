//! Findings as SARIF 2.1.0, which code scanning services read.

use serde_json::{Value, json};
use towpath_core::finding::{Finding, Place};
use towpath_core::lint::catalogue::{CATALOGUE, FindingKind, Level};

use super::{level, path};

/// One run of `towpath`, with all rules and these results. `root` is the folder of the data, from the root of the repository.
pub fn sarif(findings: &[Finding], root: &str) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "towpath",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": CATALOGUE.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": findings.iter().map(|finding| result(finding, root)).collect::<Vec<_>>(),
        }],
    })
}

fn rule(kind: &FindingKind) -> Value {
    let level = match kind.level {
        Level::Error | Level::ErrorInLint | Level::ErrorIn2 => "error",
        Level::Warning => "warning",
    };
    json!({
        "id": kind.code,
        "shortDescription": {"text": kind.meaning},
        "help": {"text": format!("{} {}", kind.meaning, kind.remedy)},
        "defaultConfiguration": {"level": level},
    })
}

fn result(finding: &Finding, root: &str) -> Value {
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding),
        "message": {"text": format!("{}; {}", finding.problem, finding.remedy)},
        "locations": [{"physicalLocation": location(&finding.place, root)}],
    });
    // A rule that is not in the catalogue has no place in the list, and its name says enough.
    if let Some(at) = CATALOGUE.iter().position(|kind| kind.code == finding.code) {
        result["ruleIndex"] = json!(at);
    }
    result
}

fn location(place: &Place, root: &str) -> Value {
    let path = path(root, &place.file);
    let artifact = match path.starts_with('/') {
        true => json!({"uri": format!("file://{}", uri(&path))}),
        false => json!({"uri": uri(&path), "uriBaseId": "%SRCROOT%"}),
    };
    match (place.line, place.column) {
        (0, _) => json!({"artifactLocation": artifact}),
        (line, 0) => json!({"artifactLocation": artifact, "region": {"startLine": line}}),
        (line, column) => {
            json!({"artifactLocation": artifact, "region": {"startLine": line, "startColumn": column}})
        }
    }
}

/// A path as a URI has it.
fn uri(path: &str) -> String {
    let byte = |b: u8| match b {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => {
            char::from(b).to_string()
        }
        other => format!("%{other:02X}"),
    };
    path.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn findings() -> Vec<Finding> {
        vec![
            Finding::error(
                "bad-promql",
                Place::file("blocked-edges/4.9.1 ä.yaml").at(3, 5),
                "it is wrong",
                "correct it",
            ),
            Finding::warning(
                "versions-out-of-order",
                Place::file("channels/c.yaml").at(3, 0),
                "no order",
                "sort it",
            ),
            Finding::error(
                "no-channels",
                Place::file("channels"),
                "there are none",
                "add one",
            ),
            Finding::warning("not-in-the-catalogue", Place::file("x"), "p", "r"),
        ]
    }

    #[test]
    fn results_have_their_rule_level_and_place() {
        let mut report = sarif(&findings(), ".");
        let results = report["runs"][0]["results"].as_array_mut().unwrap();
        // The next test looks at it; here it would change with every new code.
        results
            .iter_mut()
            .for_each(|result| drop(result.as_object_mut().unwrap().remove("ruleIndex")));
        let lines: String = results.iter().map(|result| format!("{result}\n")).collect();
        expect![[r#"
            {"level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":"blocked-edges/4.9.1%20%C3%A4.yaml","uriBaseId":"%SRCROOT%"},"region":{"startColumn":5,"startLine":3}}}],"message":{"text":"it is wrong; correct it"},"ruleId":"bad-promql"}
            {"level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"channels/c.yaml","uriBaseId":"%SRCROOT%"},"region":{"startLine":3}}}],"message":{"text":"no order; sort it"},"ruleId":"versions-out-of-order"}
            {"level":"error","locations":[{"physicalLocation":{"artifactLocation":{"uri":"channels","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"there are none; add one"},"ruleId":"no-channels"}
            {"level":"warning","locations":[{"physicalLocation":{"artifactLocation":{"uri":"x","uriBaseId":"%SRCROOT%"}}}],"message":{"text":"p; r"},"ruleId":"not-in-the-catalogue"}
        "#]].assert_eq(&lines);
        let absolute = sarif(&findings()[..1], "/data");
        let uri = &absolute["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
        assert_eq!(
            uri.to_string(),
            r#"{"uri":"file:///data/blocked-edges/4.9.1%20%C3%A4.yaml"}"#
        );
    }

    /// What the schema of SARIF 2.1.0 requires, of the parts that we write.
    #[test]
    fn the_report_has_what_the_schema_requires() {
        let report = sarif(&findings(), "data");
        assert_eq!(report["version"], "2.1.0");
        let [run] = report["runs"].as_array().unwrap().as_slice() else {
            panic!("one run")
        };
        let driver = &run["tool"]["driver"];
        assert_eq!(driver["name"], "towpath");
        let rules = driver["rules"].as_array().unwrap();
        for rule in rules {
            assert!(rule["id"].is_string());
            for text in ["shortDescription", "help"] {
                assert!(
                    rule[text]["text"]
                        .as_str()
                        .is_some_and(|text| !text.is_empty()),
                    "{rule}"
                );
            }
            assert!(is_level(&rule["defaultConfiguration"]["level"]));
        }
        for result in run["results"].as_array().unwrap() {
            assert!(
                result["message"]["text"]
                    .as_str()
                    .is_some_and(|text| !text.is_empty())
            );
            assert!(is_level(&result["level"]));
            if let Some(at) = result["ruleIndex"].as_u64() {
                assert_eq!(rules[at as usize]["id"], result["ruleId"]);
            }
            for location in result["locations"].as_array().unwrap() {
                let physical = &location["physicalLocation"];
                let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
                assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
                let region = physical["region"].as_object();
                let numbers = region.into_iter().flat_map(|region| region.values());
                assert!(
                    numbers
                        .clone()
                        .all(|number| number.as_u64().is_some_and(|number| number >= 1))
                );
            }
        }
    }

    fn is_level(level: &Value) -> bool {
        ["none", "note", "warning", "error"]
            .iter()
            .any(|known| level == known)
    }
}
