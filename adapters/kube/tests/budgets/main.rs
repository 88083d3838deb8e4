//! PodDisruptionBudgets come in the version that the API has. The answers are written in the form of API servers': `policy/v1beta1`
//! of Kubernetes 1.20, `policy/v1` of 1.25 and later, which have no other. The real server of the other tests has only the first
//! (decision 27).

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{DisruptionBudget, Pod};
use towpath_formats::cluster::objects;
use towpath_kube::{Access, Settings, look};

/// A version of the API's group, and what it lists.
type Version = (&'static str, &'static str);

const V1: Version = ("v1", include_str!("policy-v1.json"));
const V1BETA1: Version = ("v1beta1", include_str!("policy-v1beta1.json"));
/// What an API says about a kind or a version that it does not have.
const NOTHING: &str = "404 page not found\n";

/// Asks an API that has these versions. The budgets as `ready` understands them, and the paths of budgets that were asked for.
async fn read(versions: &'static [Version]) -> (Vec<DisruptionBudget>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let paths: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = paths.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(&stream, versions, &log);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: it\nclusters: [{{name: it, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
         users: [{{name: it, user: {{}}}}]\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n"
    );
    std::fs::write(&path, text).unwrap();
    let (path, context) = (Some(path), None);
    let access = Access::Kubeconfig { path, context };
    let looked = look(&access, &Settings::default()).await.unwrap();
    // It has nothing else, and for some kinds that is told.
    let unread: Vec<String> = looked.unread.keys().map(ToString::to_string).collect();
    assert!(
        !unread.contains(&"PodDisruptionBudget".to_owned()),
        "{unread:?}"
    );
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let (known, findings) = objects::read(&looked.files, now).unwrap();
    assert_eq!(findings, []);
    let budgets = known.facts.health.budgets.known().unwrap().clone();
    let paths = paths.lock().unwrap().clone();
    (budgets, paths)
}

/// Answers one request, and hangs up.
fn answer(mut stream: &TcpStream, versions: &[Version], log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    let of_version =
        |(version, _): &&Version| path == format!("/apis/policy/{version}/poddisruptionbudgets");
    let found = versions.iter().find(of_version);
    if path.ends_with("/poddisruptionbudgets") {
        log.lock().unwrap().push(path.to_owned());
    }
    let (status, body) = found.map_or(("404 Not Found", NOTHING), |(_, body)| ("200 OK", body));
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // A client that went away does not want the answer.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn told(budget: &DisruptionBudget) -> (&str, Fact<u64>, Fact<u64>) {
    let (allowed, expected) = (budget.allowed.clone(), budget.expected.clone());
    (&budget.name, allowed, expected)
}

#[tokio::test]
async fn a_new_api_has_only_v1() {
    let (budgets, paths) = read(&[V1]).await;
    let told: Vec<_> = budgets.iter().map(told).collect();
    let known = |name, allowed, expected| (name, Fact::Known(allowed), Fact::Known(expected));
    assert_eq!(told, [known("all", 0, 3), known("web", 2, 3)]);
    assert_eq!(paths, ["/apis/policy/v1/poddisruptionbudgets"]);
}

#[tokio::test]
async fn an_old_api_has_only_v1beta1() {
    let (budgets, paths) = read(&[V1BETA1]).await;
    assert_eq!(budgets.len(), 2);
    assert_eq!(told(&budgets[1]), ("web", Fact::Known(2), Fact::Known(3)));
    let asked =
        ["v1", "v1beta1"].map(|version| format!("/apis/policy/{version}/poddisruptionbudgets"));
    assert_eq!(paths, asked);
}

#[tokio::test]
async fn of_two_versions_the_newer_is_read() {
    let (_, paths) = read(&[V1, V1BETA1]).await;
    assert_eq!(paths, ["/apis/policy/v1/poddisruptionbudgets"]);
}

/// An empty selector is every pod of the namespace in v1, and none in v1beta1.
#[tokio::test]
async fn an_empty_selector_means_what_its_version_says() {
    let pod = Pod {
        namespace: "shop".into(),
        ..Pod::default()
    };
    let (new, _) = read(&[V1]).await;
    let (old, _) = read(&[V1BETA1]).await;
    assert_eq!((&*new[0].name, &*old[0].name), ("all", "all"));
    assert!(new[0].counts(&pod) && !old[0].counts(&pod));
}
