//! An `UpdateService` object of the cincinnati-operator as configuration, with a real registry behind TLS and a password.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use towpath_testing_services::Towpath;
use towpath_testing_services::registry::docker::{Door, PASSWORD};

use crate::registry::{Shelf, auth_file, dated, offered};
use crate::sources::{Site, source};

const ALL: [&str; 3] = ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"];
const BLOCK: (&str, u8, &[u8]) = ("blocked-edges/4.1.1.yaml", b'0', b"to: 4.1.1\nfrom: .*\n");

/// As `oc get updateservice service -o yaml` prints it.
fn object(shelf: &Shelf, tag: &str) -> String {
    let host = &shelf.registry.host;
    format!(
        "apiVersion: updateservice.operator.openshift.io/v1
kind: UpdateService
metadata:
  creationTimestamp: \"2026-01-05T09:12:44Z\"
  generation: 1
  name: service
  namespace: openshift-update-service
  resourceVersion: \"48213\"
  uid: 0b0f0f3e-7c2d-4a53-9f4e-3f2f6f6f8f11
spec:
  graphDataImage: {host}/graph-data:{tag}
  releases: {host}/release
  replicas: 2
status:
  conditions:
  - lastHeartbeatTime: \"2026-01-05T09:13:02Z\"
    status: \"True\"
    type: ReconcileCompleted
  policyEngineURI: https://service-openshift-update-service.apps.example.com
"
    )
}

/// Writes a file as Kubernetes swaps a mounted ConfigMap: a new one takes the place of the old.
fn swap(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).expect("a file");
    fs::rename(&beside, path).expect("it takes the old one's place");
}

/// Nobody says that there is something new: the default interval is half a minute, and a busy machine may take longer.
fn served_in_time(towpath: &Towpath, wanted: &[&str]) {
    let end = Instant::now() + Duration::from_secs(180);
    while offered(towpath) != wanted {
        assert!(Instant::now() < end, "{:?} is served", offered(towpath));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn an_update_service_is_served_and_a_new_graph_data_image_reaches_clients_without_a_restart() {
    let (shelf, site) = (Shelf::behind(Door::Guarded), Site::new());
    let ca = shelf.registry.directory.join("cert.pem");
    let (ca, auth) = (ca.to_str().expect("UTF-8"), site.text("auth.json"));
    fs::write(&auth, auth_file(&shelf, PASSWORD)).expect("an auth file");
    let file = site.path("update-service.yaml");
    fs::write(&file, object(&shelf, "latest")).expect("an object");
    // All intervals are the defaults: nobody wakes it.
    let towpath = Towpath::serve(&[
        "--update-service",
        file.to_str().expect("UTF-8"),
        "--ca-file",
        ca,
        "--registry-auth-file",
        &auth,
    ]);
    towpath.until("it is ready", |t| t.get("/readyz").status == 200);
    assert_eq!(offered(&towpath), ALL);
    let unused = "spec.replicas (2) of the UpdateService is not used";
    assert!(towpath.logged().contains(unused), "{}", towpath.logged());

    // The tag moves at the registry.
    shelf.push_graph_data(&[BLOCK]);
    served_in_time(&towpath, &ALL[1..]);

    // The object names another tag.
    let other_block = (
        "blocked-edges/4.1.2.yaml",
        b'0',
        &b"to: 4.1.2\nfrom: .*\n"[..],
    );
    shelf.push(
        "graph-data",
        "newer",
        &dated("2026-01-02T00:00:00Z", &[other_block]),
    );
    swap(&file, &object(&shelf, "newer"));
    towpath.until("the other image is served", |t| offered(t) == ALL[..1]);

    // An image that is older lifts no block: the guards hold for what the object names as for any copy.
    shelf.push("graph-data", "older", &dated("2025-01-01T00:00:00Z", &[]));
    swap(&file, &object(&shelf, "older"));
    towpath.until("it is refused", |t| {
        source(t, "graph-data")["problem"]["kind"] == "back-in-time"
    });
    assert_eq!(offered(&towpath), ALL[..1]);

    // An object that cannot be understood changes nothing but what /readyz says.
    let before = fs::read_to_string(&file).expect("the object");
    swap(
        &file,
        &before.replace("kind: UpdateService", "kind: UpdateServise"),
    );
    let is_told = |t: &Towpath| {
        ["graph-data", "releases"]
            .iter()
            .all(|name| source(t, name)["problem"]["kind"] == "not-an-update-service")
    };
    towpath.until("both sources say so", is_told);
    assert_eq!(offered(&towpath), ALL[..1]);
    assert_eq!(towpath.get("/readyz").status, 200);
    shelf.push("graph-data", "newest", &dated("2026-01-03T00:00:00Z", &[]));
    swap(&file, &object(&shelf, "newest"));
    towpath.until("the corrected object is served", |t| {
        offered(t) == ALL && source(t, "releases")["problem"].is_null()
    });
}

#[test]
fn an_update_service_that_cannot_be_meant_ends_the_start() {
    let site = Site::new();
    let file = site.path("update-service.yaml");
    let object = "apiVersion: updateservice.operator.openshift.io/v1\nkind: UpdateService\nspec:\n  replicas: 1\n  \
                  releases: r.example.com/a\n  graphDataImage: r.example.com/b\n";
    fs::write(&file, object).expect("an object");
    let start = |command: &[&str], options: &[&str]| {
        let towpath = Command::new(env!("CARGO_BIN_EXE_towpath"))
            .args(command)
            .arg("--update-service")
            .arg(&file)
            .args(options)
            .output()
            .expect("towpath runs");
        let told = String::from_utf8(towpath.stderr).expect("text");
        (towpath.status.code(), told)
    };
    let graph_data = site.text("graph-data");
    let (code, told) = start(&["serve"], &["--graph-data", &graph_data]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("leave out --graph-data"), "{told}");
    let (code, told) = start(&["path", "4.1.0", "4.1.1"], &["--releases", "x.json"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("leave out --releases"), "{told}");
    fs::write(&file, object.replace("releases", "release")).expect("an object");
    let (code, told) = start(&["serve"], &[]);
    assert_eq!(code, Some(2), "{told}");
    assert!(
        told.contains("update-service.yaml:5:3") && told.contains("has no field \"release\""),
        "{told}"
    );
    fs::remove_file(&file).expect("it goes");
    let (code, told) = start(&["serve"], &[]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("update-service.yaml"), "{told}");
}
