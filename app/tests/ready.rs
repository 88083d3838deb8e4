//! `towpath ready` from the outside: where it reads from, what it accepts, and how it exits.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const VERSION: &str = "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nstatus:\n  conditions: [{type: Failing, status: 'False'}]\n  history: [{state: Completed, version: 4.20.1}]\n";

fn towpath(folder: &Path, arguments: &str, input: Option<&str>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may end before it has read anything.
    let _ = stdin.write_all(input.unwrap_or_default().as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn codes(answer: &Value) -> Vec<String> {
    let reasons = answer["hops"][0]["reasons"].as_array().unwrap();
    let codes = reasons.iter().filter(|reason| reason["note"] == false);
    codes
        .map(|reason| {
            let object = reason["object"].as_str().unwrap_or_default();
            format!("{}/{object}", reason["code"].as_str().unwrap())
        })
        .collect()
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_file_and_standard_input_are_read_like_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let objects = folder.path().join("objects");
    std::fs::create_dir(&objects).unwrap();
    std::fs::write(objects.join("cv.yaml"), VERSION).unwrap();
    let now = "--now 2026-11-18T20:00Z -o json";
    let told: Vec<Value> = [
        (format!("ready objects {now}"), None),
        (format!("ready objects/cv.yaml {now}"), None),
        (format!("ready - {now}"), Some(VERSION)),
    ]
    .into_iter()
    .map(|(arguments, input)| {
        let output = towpath(folder.path(), &arguments, input);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        answer(&output)
    })
    .collect();
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
    // Whatever is missing is accepted one by one, and then it is ready.
    let unjudged = told[0]["unjudged"].as_array().unwrap().iter();
    let accept: String = unjudged
        .filter(|one| one["code"] == "ObjectsNotGiven")
        .map(|one| one["what"].as_str().unwrap())
        .filter(|what| !what.contains(' '))
        .map(|what| format!(" --accept ObjectsNotGiven/{what}"))
        .collect();
    let one_less = towpath(folder.path(), &format!("ready objects{accept}"), None);
    assert_eq!(one_less.status.code(), Some(1), "{one_less:?}");
    let all = towpath(
        folder.path(),
        "ready objects --accept ObjectsNotGiven",
        None,
    );
    assert_eq!(all.status.code(), Some(0), "{all:?}");
}

#[test]
fn an_accepted_reason_stays_visible_and_a_misspelt_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cv.yaml"), VERSION).unwrap();
    let ready = |more: &str| towpath(folder.path(), &format!("ready cv.yaml {more}"), None);
    let told = ready("-o json --accept ObjectsNotGiven --accept NodeNotReady/w7");
    let told = answer(&told);
    assert_eq!(told["ready"], true);
    assert_eq!(told["acceptedInVain"], json!(["NodeNotReady/w7"]));
    let accepted = told["hops"][0]["accepted"].as_array().unwrap();
    assert!(accepted.iter().any(|reason| reason["object"] == "Pods"));
    let text = error(&ready("--accept ObjectNotGiven"));
    assert!(
        text.contains("--accept: no reason of `ready` has the code \"ObjectNotGiven\""),
        "{text}"
    );
    assert!(error(&ready("--accept LifecyclesNotGiven")).contains("is a note"));
}

#[test]
fn alerts_come_from_a_file_or_from_prometheus() {
    let folder = tempfile::tempdir().unwrap();
    let alerts = json!({"status": "success", "data": {"alerts": [
        {"state": "firing", "labels": {"alertname": "VolumeFull", "severity": "critical"}, "annotations": {}},
    ]}});
    std::fs::write(folder.path().join("cv.yaml"), VERSION).unwrap();
    std::fs::write(folder.path().join("alerts.json"), alerts.to_string()).unwrap();
    std::fs::write(folder.path().join("token"), "secret-token\n").unwrap();
    let ready = |more: &str| {
        let arguments = format!("ready cv.yaml -o json --accept ObjectsNotGiven {more}");
        towpath(folder.path(), &arguments, None)
    };
    let told = answer(&ready("--alerts alerts.json"));
    assert_eq!(codes(&told), ["CriticalAlert/VolumeFull"]);

    let (address, request) = prometheus("200 OK", alerts.to_string());
    let told = answer(&ready(&format!(
        "--alerts {address}/prefix --alerts-token-file token"
    )));
    assert_eq!(codes(&told), ["CriticalAlert/VolumeFull"]);
    let request = request.join().unwrap();
    assert!(
        request.starts_with("GET /prefix/api/v1/alerts HTTP/1.1"),
        "{request}"
    );
    assert!(request.contains("Bearer secret-token"), "{request}");

    let (address, _) = prometheus("403 Forbidden", String::new());
    assert!(error(&ready(&format!("--alerts {address}"))).contains("it answers 403 Forbidden"));
    for (more, problem) in [
        ("--alerts cv.yaml", "given twice"),
        ("--alerts missing.json", "missing.json"),
        ("--alerts http://prometheus.example", "--alerts"),
        (
            "--alerts alerts.json --alerts-token-file token",
            "for an address",
        ),
        ("--alerts-token-file token", "--alerts"),
        (
            "--lifecycles alerts.json",
            "io.openshift.operators.lifecycles",
        ),
    ] {
        let text = error(&ready(more));
        assert!(text.contains(problem), "{more}: {text}");
    }
}

/// Answers one request, and tells what it was.
fn prometheus(status: &'static str, body: String) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let request = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            let read = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..read]);
        }
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        stream.write_all((head + &body).as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    (address, request)
}

#[test]
fn an_audit_log_stands_in_for_what_the_cluster_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cv.yaml"), VERSION).unwrap();
    let event = |user: &str, resource: &str, group: &str, version: &str| {
        json!({
            "stage": "ResponseComplete", "verb": "list", "user": {"username": user},
            "objectRef": {"resource": resource, "apiGroup": group, "apiVersion": version},
        })
        .to_string()
    };
    let policies = "validatingadmissionpolicies";
    let of_ada = event("ada", policies, "admissionregistration.k8s.io", "v1beta1");
    let of_the_platform = of_ada.replace("ada", "system:kube-controller-manager");
    let log = folder.path().join("audit.log");
    let ready = |more: &str, input: Option<&str>| {
        let arguments = format!("ready cv.yaml -o json --accept ObjectsNotGiven {more}");
        towpath(folder.path(), &arguments, input)
    };
    std::fs::write(&log, format!("{of_the_platform}\n")).unwrap();
    assert_eq!(
        codes(&answer(&ready("--audit-log audit.log", None))),
        [""; 0]
    );
    std::fs::write(&log, format!("{of_the_platform}\n{of_ada}\ncut o")).unwrap();
    let told = ready("--audit-log audit.log", None);
    let removed = format!("ApiRemoved/{policies}.v1beta1.admissionregistration.k8s.io");
    assert_eq!(codes(&answer(&told)), [&*removed]);
    let warning = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(warning.contains("1 lines are no audit events"), "{warning}");
    let told = ready("--audit-log -", Some(&of_ada));
    assert_eq!(codes(&answer(&told)), [&*removed]);
    assert!(error(&ready("--audit-log -", Some("{}"))).contains("no audit event"));

    let widgets = event("ada", "widgets", "example.com", "v1");
    let table = r#"[{"group": "example.com", "version": "v1", "resource": "widgets", "removed": "4.21", "replacement": "example.com/v2"}]"#;
    std::fs::write(folder.path().join("removals.json"), table).unwrap();
    let told = ready("--audit-log - --removals removals.json", Some(&widgets));
    assert_eq!(codes(&answer(&told)), ["ApiRemoved/widgets.v1.example.com"]);
    let both = towpath(folder.path(), "ready - --audit-log -", Some(&widgets));
    assert!(error(&both).contains("only one file can be -"));
}
