//! PodDisruptionBudgets come in the version that the API has. The answers are written in the form of API servers': `policy/v1beta1`
//! of Kubernetes 1.20, `policy/v1` of 1.25 and later, which have no other. The real server of the other tests has only the first
//! (decision 27).

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use towpath_core::cluster::Fact;
use towpath_core::cluster::health::{DisruptionBudget, Pod};
use towpath_formats::cluster::objects;
use towpath_kube::{Access, EvictOutcome, Reboots, Settings, look};

/// A version of the API's group, and what it lists.
type Version = (&'static str, &'static str);

const V1: Version = ("v1", include_str!("policy-v1.json"));
const V1BETA1: Version = ("v1beta1", include_str!("policy-v1beta1.json"));
/// What an API says about a kind or a version that it does not have.
const NOTHING: &str = "404 page not found\n";

/// An API that has these versions, and what it was asked about budgets and evictions: paths, and the bodies of evictions.
struct Api {
    folder: tempfile::TempDir,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Api {
    fn start(versions: &'static [Version]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(&stream, versions, &log);
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\nclusters: [{{name: it, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             users: [{{name: it, user: {{}}}}]\ncontexts: [{{name: it, context: {{cluster: it, user: it}}}}]\n"
        );
        std::fs::write(folder.path().join("kubeconfig"), text).unwrap();
        Self { folder, asked }
    }

    fn access(&self) -> Access {
        let path: Option<PathBuf> = Some(self.folder.path().join("kubeconfig"));
        let context = None;
        Access::Kubeconfig { path, context }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Asks an API that has these versions. The budgets as `ready` understands them, and the paths of budgets that were asked for.
async fn read(versions: &'static [Version]) -> (Vec<DisruptionBudget>, Vec<String>) {
    let api = Api::start(versions);
    let access = api.access();
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
    (budgets, api.asked())
}

/// Answers one request, and hangs up.
fn answer(mut stream: &TcpStream, versions: &[Version], log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    let _ = reader.read_line(&mut request);
    let mut length = 0;
    for line in reader.by_ref().lines().map_while(Result::ok) {
        if line.is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        let value = line.strip_prefix("content-length:");
        length = value.map_or(length, |value| value.trim().parse().unwrap());
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    if path.ends_with("/poddisruptionbudgets") {
        log.lock().unwrap().push(path.to_owned());
    }
    if path.ends_with("/eviction") {
        let body = String::from_utf8_lossy(&body).into_owned();
        log.lock().unwrap().push(body);
    }
    let of_version =
        |(version, _): &&Version| path == format!("/apis/policy/{version}/poddisruptionbudgets");
    let found = versions.iter().find(of_version);
    let (newest, _) = versions[0];
    let (status, body) = match (path, found) {
        (_, Some((_, body))) => ("200 OK", (*body).to_owned()),
        ("/api/v1", _) => ("200 OK", resources(newest)),
        ("/api/v1/nodes" | "/apis/machineconfiguration.openshift.io/v1/machineconfigpools", _) => {
            ("200 OK", NONE.to_owned())
        }
        ("/api/v1/namespaces/shop/pods/web-1/eviction", _) => ("201 Created", DONE.to_owned()),
        _ => ("404 Not Found", NOTHING.to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // A client that went away does not want the answer.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

const NONE: &str =
    r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}"#;
const DONE: &str =
    r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}"#;

/// What the API has in its group without a name: it says there in which version it takes evictions.
fn resources(policy: &str) -> String {
    format!(
        r#"{{"kind":"APIResourceList","groupVersion":"v1","resources":[{{"name":"pods","singularName":"","namespaced":true,"kind":"Pod","verbs":["list"]}},{{"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"{policy}","kind":"Eviction","verbs":["create"]}}]}}"#
    )
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

/// Who drains nodes reads budgets and evicts pods in the version that the API has.
#[tokio::test]
async fn drains_use_the_version_that_the_api_names() {
    for (versions, named) in [
        (&[V1] as &[Version], "policy/v1"),
        (&[V1BETA1], "policy/v1beta1"),
    ] {
        let api = Api::start(versions);
        let settings = Settings::default();
        let reboots = Reboots::connect(&api.access(), settings).await.unwrap();
        let budgets = reboots.look().await.unwrap().budgets;
        let said = |budget: &serde_json::Value| budget["apiVersion"] == named;
        assert!(
            budgets.len() == 2 && budgets.iter().all(said),
            "{budgets:?}"
        );
        let evicted = reboots.evict("shop", "web-1", "u-1", false).await;
        assert_eq!(evicted.unwrap(), EvictOutcome::Evicted);
        let body = api.asked().pop().unwrap();
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (&body["apiVersion"], &body["kind"]),
            (&named.into(), &"Eviction".into())
        );
        assert_eq!(body["deleteOptions"]["preconditions"]["uid"], "u-1");
    }
}
