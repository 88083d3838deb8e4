//! The alerts that are shipped, as Prometheus itself evaluates them. Needs the command `promtool` (Debian: prometheus).

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use towpath_testing_kube::wait_for;

use crate::site::Site;

fn promtool(arguments: &[&str], folder: &Path) -> String {
    let done = Command::new("promtool")
        .args(arguments)
        .current_dir(folder)
        .output();
    let done = done.expect("promtool runs; install prometheus");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(
        done.status.success(),
        "promtool {}: {said}",
        arguments.join(" ")
    );
    said
}

fn shipped() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy/agent/monitoring/prometheus-rule.yaml");
    let object: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    object["spec"].clone()
}

/// At that time, with these series, the alert fires with these labels, or does not.
fn case(
    rules: &Value,
    series: &[(&str, &str)],
    at: &str,
    name: &str,
    fires: Option<&[(&str, &str)]>,
) -> Value {
    let rule = rules["groups"][0]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .find(|rule| rule["alert"] == name)
        .unwrap();
    let expected: Vec<Value> = fires
        .iter()
        .map(|labels| {
            let mut all = rule["labels"].clone();
            let mut said = rule["annotations"].clone();
            for (label, value) in *labels {
                all[*label] = (*value).into();
                for text in said.as_object_mut().unwrap().values_mut() {
                    *text = text
                        .as_str()
                        .unwrap()
                        .replace(&format!("{{{{ $labels.{label} }}}}"), value)
                        .into();
                }
            }
            json!({"exp_labels": all, "exp_annotations": said})
        })
        .collect();
    let series: Vec<Value> = series
        .iter()
        .map(|(name, values)| json!({"series": name, "values": values}))
        .collect();
    json!({
        "interval": "1m", "input_series": series,
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": expected}],
    })
}

#[test]
fn each_alert_fires_when_it_should_and_not_before() {
    let rules = shipped();
    let started = (
        "towpath_agent_update_started_timestamp_seconds{pod=\"a\"}",
        "1x600",
    );
    let idle = (
        "towpath_agent_update_started_timestamp_seconds{pod=\"a\"}",
        "0x600",
    );
    let slow = "TowpathUpdateDoesNotProgress";
    let failed = |times| ("towpath_agent_failed_attempts{pod=\"a\"}", times);
    let removed = |number| {
        (
            "towpath_agent_removed_apis_in_use{pod=\"a\",target=\"4.23\"}",
            number,
        )
    };
    let stopped = (
        "towpath_agent_holds{code=\"TooManyFailures\",pod=\"a\"}",
        "1x60",
    );
    // It looks every minute, and then no more.
    let silent = (
        "towpath_agent_last_pass_timestamp_seconds{pod=\"a\"}",
        "0+60x20 1200x100",
    );
    let none: &[(&str, &str)] = &[];
    let tests = [
        case(&rules, &[started], "6h5m", slow, None),
        case(&rules, &[started], "6h15m", slow, Some(none)),
        case(&rules, &[idle], "9h", slow, None),
        case(&rules, &[failed("0x60")], "1h", "TowpathUpdatesFail", None),
        // Many failures heal by themselves within minutes.
        case(&rules, &[failed("1x60")], "10m", "TowpathUpdatesFail", None),
        case(
            &rules,
            &[failed("1x60")],
            "20m",
            "TowpathUpdatesFail",
            Some(none),
        ),
        case(&rules, &[stopped], "1h", "TowpathUpdatesFail", Some(none)),
        case(
            &rules,
            &[removed("0x120")],
            "2h",
            "TowpathRemovedApisInUse",
            None,
        ),
        case(
            &rules,
            &[removed("3x120")],
            "2h",
            "TowpathRemovedApisInUse",
            Some(&[("target", "4.23")]),
        ),
        case(&rules, &[silent], "20m", "TowpathAgentNotReporting", None),
        case(
            &rules,
            &[silent],
            "50m",
            "TowpathAgentNotReporting",
            Some(none),
        ),
        case(&rules, &[], "10m", "TowpathAgentNotReporting", Some(none)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, value: &Value| {
        std::fs::write(folder.path().join(name), value.to_string()).unwrap()
    };
    write("rules.json", &rules);
    write(
        "tests.json",
        &json!({"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": tests}),
    );
    promtool(&["check", "rules", "rules.json"], folder.path());
    promtool(&["test", "rules", "tests.json"], folder.path());
}

#[tokio::test]
async fn the_metrics_are_those_that_the_alerts_ask_for_and_prometheus_reads_them() {
    let site = Site::new().await;
    site.policy("target: \"4.23\"\n");
    // Nobody has opted in: it is held for that.
    site.offer(&[("4.20.1", "4.20.2")]);
    site.step().await;
    let agent = site.agent(&[]);
    wait_for("a pass", || async {
        agent
            .metric("towpath_agent_offers")
            .filter(|offers| *offers > 0.0)
    })
    .await;
    let answer = agent.get("/metrics");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    for rule in shipped()["groups"][0]["rules"].as_array().unwrap() {
        let expression = rule["expr"].as_str().unwrap();
        let names = expression.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
        for name in names.filter(|name| name.starts_with("towpath_")) {
            assert!(
                body.lines().any(|line| line.starts_with(name)),
                "{name} is not measured:\n{body}"
            );
        }
    }
    let mut check = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool runs");
    std::io::Write::write_all(&mut check.stdin.take().unwrap(), body.as_bytes()).unwrap();
    let done = check.wait_with_output().unwrap();
    // It has opinions on names (exit 3), and must be able to read them (exit 1).
    assert_ne!(
        done.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}
