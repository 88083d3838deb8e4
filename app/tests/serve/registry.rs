//! Releases and graph data from a real registry, and releases that nobody has signed.

use std::fs;
use std::path::Path;

use crate::guards::problem;
use crate::sources::{Site, reads, source};
use towpath_testing_services::{Signer, Towpath, edges};

use towpath_testing_services::registry::docker::{DockerRegistry, Door, PASSWORD, USER};
use towpath_testing_services::registry::images::{
    CONFIG, Image, descriptor, gzip, image, release, tar,
};

pub(crate) const CHANNEL: &str = "channel=stable-4.1";
const MEMBERS: &[u8] = b"name: stable-4.1\nversions:\n- 4.1.0\n- 4.1.1\n- 4.1.2\n";

/// A registry with three releases and a graph-data image.
pub(crate) struct Shelf {
    scheme: &'static str,
    pub(crate) registry: DockerRegistry,
    runtime: tokio::runtime::Runtime,
    releases: Vec<Image>,
}

impl Shelf {
    fn new() -> Self {
        Self::behind(Door::Plain)
    }

    pub(crate) fn behind(door: Door) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let registry = DockerRegistry::start(door);
        let scheme = if door == Door::Plain {
            "oci+http"
        } else {
            "oci"
        };
        let releases = [
            ("4.1.0+amd64", ""),
            ("4.1.1+amd64", "4.1.0"),
            ("4.1.2+amd64", "4.1.0 4.1.1"),
        ];
        let releases: Vec<Image> = releases
            .iter()
            .map(|(name, previous)| release(name, previous))
            .collect();
        let shelf = Self {
            scheme,
            registry,
            runtime,
            releases,
        };
        for (image, tag) in shelf.releases.iter().zip(["4.1.0", "4.1.1", "4.1.2"]) {
            shelf.push("release", tag, image);
        }
        shelf.push_graph_data(&[]);
        shelf
    }

    pub(crate) fn push(&self, path: &str, tag: &str, image: &Image) {
        self.runtime
            .block_on(self.registry.push(path, Some(tag), image));
    }

    pub(crate) fn push_graph_data(&self, more: &[(&str, u8, &[u8])]) {
        let own: [(&str, u8, &[u8]); 2] = [
            ("version", b'0', b"1.1.0\n"),
            ("channels/stable-4.1.yaml", b'0', MEMBERS),
        ];
        self.push(
            "graph-data",
            "latest",
            &image("amd64", &[gzip(&tar(&[&own[..], more].concat()))]),
        );
    }

    fn name(&self, path: &str) -> String {
        format!("{}://{}/{path}", self.scheme, self.registry.host)
    }

    fn serve(&self, site: &Site, options: &[&str]) -> Towpath {
        site.serve(
            &self.name("graph-data:latest"),
            &self.name("release"),
            options,
        )
    }
}

/// Graph data in an image that says when it was made.
pub(crate) fn dated(created: &str, more: &[(&str, u8, &[u8])]) -> Image {
    let own: [(&str, u8, &[u8]); 2] = [
        ("version", b'0', b"1.1.0\n"),
        ("channels/stable-4.1.yaml", b'0', MEMBERS),
    ];
    let config =
        serde_json::json!({"architecture": "amd64", "os": "linux", "created": created}).to_string();
    let mut image = image("amd64", &[gzip(&tar(&[&own[..], more].concat()))]);
    if let Some(last) = image.blobs.last_mut() {
        *last = config.clone().into_bytes();
    }
    image.changed(|manifest| manifest["config"] = descriptor(CONFIG, config.as_bytes()))
}

#[test]
fn what_a_service_has_withdrawn_is_not_brought_back_by_images_whose_edges_are_left_out() {
    let (shelf, site) = (Shelf::new(), Site::new());
    let node = |(number, image): (usize, &Image)| serde_json::json!({"version": format!("4.1.{number}"), "payload": format!("mirror/release@{}", image.digest())});
    let nodes: Vec<serde_json::Value> = shelf.releases.iter().enumerate().map(node).collect();
    let withdrawn = serde_json::json!({"nodes": nodes, "edges": [[0, 1], [1, 2]]});
    fs::write(site.path("service.json"), withdrawn.to_string()).expect("a file");
    let (graph_data, file) = (shelf.name("graph-data:latest"), site.text("service.json"));
    let serve = |releases: &str| site.serve(&graph_data, releases, &["--releases", &file]);
    let united = serve(&shelf.name("release"));
    assert_eq!(
        offered(&united),
        ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"],
        "whoever declares it"
    );
    drop(united);
    let left_out = serve(&shelf.name("release#edges=no"));
    assert_eq!(offered(&left_out), ["4.1.0 -> 4.1.1", "4.1.1 -> 4.1.2"]);
    let payload = left_out.graph(CHANNEL)["nodes"][0]["payload"]
        .as_str()
        .expect("a payload")
        .to_owned();
    assert!(
        payload.starts_with(&shelf.registry.host),
        "its payloads count: {payload}"
    );
}

#[test]
fn a_tag_that_is_moved_back_to_an_older_image_is_refused() {
    let (shelf, site) = (Shelf::new(), Site::new());
    let block: (&str, u8, &[u8]) = ("blocked-edges/4.1.1.yaml", b'0', b"to: 4.1.1\nfrom: .*\n");
    let (older, newer) = (
        dated("2026-01-01T00:00:00Z", &[]),
        dated("2026-01-02T00:00:00Z", &[block]),
    );
    shelf.push("graph-data", "latest", &newer);
    let towpath = shelf.serve(&site, &[]);
    assert_eq!(offered(&towpath), ["4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"]);
    shelf.push("graph-data", "latest", &older);
    site.read(&towpath, "graph-data", "refused");
    assert_eq!(
        offered(&towpath),
        ["4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"],
        "the block stays"
    );
    assert!(
        towpath
            .get("/readyz")
            .text()
            .contains("it was made at 2026-01-01 00:00Z")
    );
}

pub(crate) fn offered(towpath: &Towpath) -> Vec<String> {
    edges(&towpath.graph(CHANNEL))
}

#[test]
fn a_registry_is_served_changes_reach_clients_and_its_end_ends_nothing() {
    let (shelf, site) = (Shelf::new(), Site::new());
    let state = site.text("state");
    let (graph_data, releases) = (shelf.name("graph-data:latest"), shelf.name("release"));
    let towpath = shelf.serve(&site, &["--state", &state]);
    let all = ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"];
    assert_eq!(offered(&towpath), all);
    let digest = shelf.releases[1].digest();
    assert!(
        towpath.graph(CHANNEL).to_string().contains(digest.as_str()),
        "payloads are named by digest"
    );

    shelf.push_graph_data(&[("blocked-edges/4.1.1.yaml", b'0', b"to: 4.1.1\nfrom: .*\n")]);
    site.read(&towpath, "graph-data", "changed");
    towpath.until("the block is served", |t| offered(t) == all[1..]);

    drop(shelf);
    site.read(&towpath, "releases", "failed");
    assert_eq!(offered(&towpath), all[1..]);
    drop(towpath);
    let again = site.serve(&graph_data, &releases, &["--state", &state]);
    assert_eq!(offered(&again), all[1..]);
}

/// As `podman login` writes it.
pub(crate) fn auth_file(shelf: &Shelf, password: &str) -> String {
    serde_json::json!({"auths": {&shelf.registry.host: {"username": USER, "password": password}}})
        .to_string()
}

#[test]
fn a_registry_behind_tls_and_a_password_is_served_to_those_who_have_both() {
    let (shelf, site) = (Shelf::behind(Door::Guarded), Site::new());
    let (ca, auth) = (
        shelf.registry.directory.join("cert.pem"),
        site.text("auth.json"),
    );
    let ca = ca.to_str().expect("UTF-8").to_owned();
    fs::write(&auth, auth_file(&shelf, PASSWORD)).expect("an auth file");
    let both = [
        "--ca-file",
        ca.as_str(),
        "--registry-auth-file",
        auth.as_str(),
    ];
    let all = ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"];
    assert_eq!(offered(&shelf.serve(&site, &both)), all);

    let (graph_data, releases) = (shelf.name("graph-data:latest"), shelf.name("release"));
    let keys = site.text("keys");
    let start = |options: &[&str]| {
        let own = [
            "--graph-data",
            &graph_data,
            "--releases",
            &releases,
            "--token-keys",
            &keys,
        ];
        Towpath::serve(&[&own[..], options].concat())
    };
    let has_problems = |t: &Towpath| {
        ["graph-data", "releases"]
            .iter()
            .all(|name| !problem(t, name).is_empty())
    };
    // A stranger's certificate is not believed, whoever we say that we are.
    let without_ca = start(&both[2..]);
    without_ca.until("both are told of", has_problems);
    assert_eq!(without_ca.get("/readyz").status, 503);
    assert!(
        !["graph-data", "releases"]
            .iter()
            .any(|name| problem(&without_ca, name) == "unauthorised"),
        "nobody was asked"
    );
    let without_password = start(&both[..2]);
    without_password.until("both are told of", has_problems);
    assert_eq!(problem(&without_password, "releases"), "unauthorised");

    // A wrong password is told of, and never itself; the right one is taken while it runs.
    fs::write(&auth, auth_file(&shelf, "f4lsch")).expect("an auth file");
    let corrected = start(&both);
    corrected.until("it is refused", |t| {
        problem(t, "releases") == "unauthorised"
    });
    assert!(!corrected.get("/readyz").text().contains("f4lsch"));
    fs::write(&auth, auth_file(&shelf, PASSWORD)).expect("an auth file");
    assert_eq!(site.reload(&corrected, "").status, 202);
    corrected.until("it is let in", |t| t.get("/readyz").status == 200);
    assert_eq!(offered(&corrected), all);
    let logged = corrected.logged();
    assert!(
        [PASSWORD, "f4lsch"]
            .iter()
            .all(|password| !logged.contains(password)),
        "{logged}"
    );
}

#[test]
fn a_version_that_is_moved_to_another_image_is_noticed_within_four_reads_and_refused() {
    let (shelf, site) = (Shelf::new(), Site::new());
    let towpath = shelf.serve(&site, &[]);
    shelf.push("release", "4.1.2", &release("4.1.2+amd64", "4.1.0"));
    let total = |t: &Towpath| {
        ["unchanged", "refused"]
            .map(|result| reads(t, "releases", result))
            .iter()
            .sum::<u64>()
    };
    for _ in 0..4 {
        let before = total(&towpath);
        assert_eq!(
            site.reload(&towpath, r#"{"source":"releases"}"#).status,
            202
        );
        towpath.until("it was read", |t| total(t) > before);
    }
    let problem = source(&towpath, "releases")["problem"].clone();
    assert_eq!(problem["kind"], "payload-changed", "{problem}");
    assert_eq!(
        offered(&towpath),
        ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"]
    );
}

#[test]
fn what_is_left_out_is_told_again_when_nothing_has_changed() {
    let (shelf, site) = (Shelf::new(), Site::new());
    shelf.push("release", "rubbish", &image("amd64", &[gzip(&tar(&[]))]));
    let state = site.text("state");
    let is_told = |towpath: &Towpath| towpath.get("/readyz").text().contains("release:rubbish");
    let towpath = shelf.serve(&site, &["--state", &state]);
    towpath.until("the rubbish is told of", is_told);
    towpath.until("a copy is kept", |_| {
        site.path("state").join("current").is_file()
    });
    drop(towpath);
    // What was kept is served at once; the first read finds the very same, and tells the same of it.
    let again = shelf.serve(&site, &["--state", &state]);
    again.until("the rubbish is told of after a restart", is_told);
    // Other rubbish changes nothing that is served, and is told all the same.
    shelf.push(
        "release",
        "more-rubbish",
        &image("amd64", &[gzip(&tar(&[("x", b'0', b"")]))]),
    );
    site.read(&again, "releases", "unchanged");
    again.until("more rubbish is told of", |towpath| {
        towpath
            .get("/readyz")
            .text()
            .contains("release:more-rubbish")
    });
}

#[test]
fn releases_that_nobody_has_signed_are_left_out_or_told_of() {
    let (shelf, site) = (Shelf::new(), Site::new());
    let [state, store, keyring] = ["state", "signatures", "keys.asc"].map(|name| site.text(name));
    let signer = Signer::new(&site.path("gpg"));
    fs::write(&keyring, signer.public_key()).expect("a keyring");
    for image in &shelf.releases[..2] {
        signer.sign(Path::new(&store), image.digest().as_str());
    }
    let options = [
        "--state",
        &state,
        "--signatures",
        &store,
        "--keyring",
        &keyring,
    ];
    let towpath = shelf.serve(&site, &options);
    assert_eq!(offered(&towpath), ["4.1.0 -> 4.1.1"]);
    let ready = towpath.get("/readyz").text();
    assert!(
        ready.contains("4.1.2 of amd64 is left out") && ready.contains("no-signature"),
        "{ready}"
    );

    // It is signed later, and somebody says so.
    signer.sign(Path::new(&store), shelf.releases[2].digest().as_str());
    site.reload(&towpath, "");
    let all = ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"];
    towpath.until("the release appears", |t| offered(t) == all);

    // Neither the registry nor the store is needed for a restart.
    let (graph_data, releases) = (shelf.name("graph-data:latest"), shelf.name("release"));
    drop((towpath, shelf));
    fs::remove_dir_all(&store).expect("the store goes");
    let again = site.serve(&graph_data, &releases, &options);
    assert_eq!(offered(&again), all);
    drop(again);

    // Another's key says nothing; whoever only warns keeps what is there.
    let stranger = Signer::new(&site.path("gpg2"));
    fs::write(&keyring, stranger.public_key()).expect("a keyring");
    let warned = site.serve(
        &graph_data,
        &releases,
        &[&options[..], &["--signature-policy", "warn"]].concat(),
    );
    assert_eq!(offered(&warned), all);
    assert!(warned.get("/readyz").text().contains("is not verified"));
}
