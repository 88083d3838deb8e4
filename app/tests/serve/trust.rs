//! Signatures of what is served, while keyrings and payloads change. Needs the command `gpg` (Debian: gnupg).

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use rustix::process::Signal;

use crate::sources::Site;
use towpath_testing_services::{Signer, Towpath, edges};

const CHANNEL: &str = "channel=stable-4.1";
const ALL: [&str; 3] = ["4.1.0 -> 4.1.1", "4.1.0 -> 4.1.2", "4.1.1 -> 4.1.2"];

fn digest(of: u8) -> String {
    format!("sha256:{of:064x}")
}

/// Three releases, with payloads by number.
fn releases(payloads: [u8; 3]) -> String {
    let nodes = payloads.iter().enumerate().map(|(patch, of)| {
        serde_json::json!({"version": format!("4.1.{patch}"), "payload": format!("q/r@{}", digest(*of)), "metadata": {}})
    });
    let nodes: Vec<serde_json::Value> = nodes.collect();
    serde_json::json!({"nodes": nodes, "edges": [[0, 1], [0, 2], [1, 2]]}).to_string()
}

/// A site whose three releases ann has signed.
pub(crate) struct Signed {
    pub(crate) site: Site,
    pub(crate) ann: Signer,
    pub(crate) bob: Signer,
}

impl Signed {
    pub(crate) fn new() -> Self {
        let site = Site::new();
        fs::remove_dir_all(site.path("graph-data")).expect("the example goes");
        fs::create_dir_all(site.path("graph-data/channels")).expect("graph data");
        let channel = "name: stable-4.1\nversions:\n- 4.1.0\n- 4.1.1\n- 4.1.2\n";
        fs::write(site.path("graph-data/channels/stable-4.1.yaml"), channel).expect("a channel");
        fs::write(site.path("graph-data/version"), "1.1.0\n").expect("a version");
        fs::write(site.path("releases.json"), releases([0, 1, 2])).expect("releases");
        let (ann, bob) = (
            Signer::new(&site.path("ann")),
            Signer::new(&site.path("bob")),
        );
        let signed = Self { site, ann, bob };
        (0..3).for_each(|of| {
            signed
                .ann
                .sign(Path::new(&signed.site.text("store")), &digest(of))
        });
        signed.keyring(&signed.ann.public_key());
        signed
    }

    pub(crate) fn keyring(&self, bytes: &[u8]) {
        fs::write(self.site.path("keys.asc"), bytes).expect("a keyring");
    }

    fn serve(&self, options: &[&str]) -> Towpath {
        let [data, releases, store, keyring] =
            ["graph-data", "releases.json", "store", "keys.asc"].map(|name| self.site.text(name));
        let own = ["--signatures", &store, "--keyring", &keyring];
        self.site
            .serve(&data, &releases, &[&own[..], options].concat())
    }
}

fn offered(towpath: &Towpath) -> Vec<String> {
    edges(&towpath.graph(CHANNEL))
}

#[test]
fn a_keyring_is_read_again_and_a_broken_one_keeps_the_old() {
    let signed = Signed::new();
    let towpath = signed.serve(&[]);
    assert_eq!(offered(&towpath), ALL);
    let keyring = |t: &Towpath| t.get("/readyz").json()["signatures"]["keyring"].clone();
    assert_eq!(
        (
            keyring(&towpath)["keys"].as_u64(),
            keyring(&towpath)["problem"].is_null()
        ),
        (Some(1), true)
    );

    signed.keyring(b"hello");
    towpath.signal(Signal::HUP);
    towpath.until("the broken keyring is told of", |t| {
        keyring(t)["problem"]["kind"] == "bad-keyring"
    });
    towpath.log_line("there is no armored block of public keys in it");
    assert!(
        towpath
            .get("/metrics")
            .text()
            .lines()
            .any(|line| line == "towpath_keyring_broken 1")
    );
    assert_eq!(
        (offered(&towpath), keyring(&towpath)["keys"].as_u64()),
        (ALL.map(String::from).to_vec(), Some(1))
    );

    // Ann's key is taken away: what only she signed goes, with the webhook too.
    signed.keyring(&signed.bob.public_key());
    assert_eq!(signed.site.reload(&towpath, "{}").status, 202);
    towpath.until("nothing of hers is offered", |t| offered(t).is_empty());
    assert!(keyring(&towpath)["problem"].is_null());

    signed.keyring(&[signed.bob.public_key(), signed.ann.public_key()].concat());
    towpath.signal(Signal::HUP);
    towpath.until("all of it is back", |t| offered(t) == ALL);
    let ready = towpath.get("/readyz").json();
    let store = &ready["signatures"]["stores"][0];
    assert_eq!(
        (store["name"].as_str(), store["problem"].is_null()),
        (Some("signatures"), true),
        "{ready:#}"
    );
    assert!(
        towpath
            .get("/metrics")
            .text()
            .contains("towpath_signature_store_age_seconds{store=\"signatures\"} ")
    );
}

#[test]
fn a_source_that_changes_its_digests_is_refused_and_one_beside_it_takes_nothing_away() {
    let signed = Signed::new();
    let other = signed.site.text("other.json");
    fs::write(&other, releases([0, 1, 2])).expect("releases");
    let towpath = signed.serve(&["--releases", &other]);
    assert_eq!(offered(&towpath), ALL);

    fs::write(signed.site.path("releases.json"), releases([7, 8, 9])).expect("releases");
    let kind = |t: &Towpath, at: usize| t.get("/readyz").json()["sources"][at]["problem"].clone();
    towpath.until("it is refused", |t| kind(t, 1)["kind"] == "payload-changed");
    // All that is left after verification would be nothing, which is told of too.
    assert!(
        kind(&towpath, 1)["more"]
            .to_string()
            .contains("no verified releases any more"),
        "{}",
        kind(&towpath, 1)
    );
    assert_eq!(offered(&towpath), ALL);
    drop(towpath);

    // At a start there is no copy before: what is signed overrules what is not.
    let towpath = signed.serve(&["--releases", &other]);
    assert_eq!(offered(&towpath), ALL);
    assert!(
        towpath
            .get("/readyz")
            .text()
            .contains("the signed one counts")
    );
}

#[test]
fn a_restart_waits_for_what_is_remembered_and_for_no_store_that_stalls() {
    let signed = Signed::new();
    let state = signed.site.text("state");
    assert_eq!(offered(&signed.serve(&["--state", &state])), ALL);

    // There is one release more, whose signature nobody can tell us of.
    let mut more: serde_json::Value = serde_json::from_str(&releases([0, 1, 2])).expect("JSON");
    let new = serde_json::json!({"version": "4.1.3", "payload": format!("q/r@{}", digest(3)), "metadata": {}});
    more["nodes"].as_array_mut().expect("nodes").push(new);
    fs::write(signed.site.path("releases.json"), more.to_string()).expect("releases");
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let store = format!("http://{}", silent.local_addr().expect("an address"));
    let [data, releases, keyring] =
        ["graph-data", "releases.json", "keys.asc"].map(|name| signed.site.text(name));
    let options = [
        "--state",
        &state,
        "--signatures",
        &store,
        "--keyring",
        &keyring,
    ];
    let towpath = signed.site.serve(&data, &releases, &options);
    assert_eq!(offered(&towpath), ALL);
    // The service asks a silent store three times before it gives up. It serves before that.
    silent.set_nonblocking(true).expect("a listener");
    let asked = std::iter::from_fn(|| silent.accept().ok()).count();
    assert!(
        asked < 3,
        "it has asked {asked} times, so it waited for the store"
    );
}

#[test]
fn after_a_restart_too_a_copy_that_nobody_has_signed_empties_nothing() {
    let signed = Signed::new();
    let state = signed.site.text("state");
    let towpath = signed.serve(&["--state", &state]);
    towpath.until("a copy is kept", |_| {
        signed.site.path("state").join("current").is_file()
    });
    drop(towpath);
    // As many releases as before, each of them new, and none of them signed.
    let others = releases([7, 8, 9]).replace("4.1.", "4.1.1");
    fs::write(signed.site.path("releases.json"), others).expect("releases");
    let towpath = signed.serve(&["--state", &state]);
    let problem = |t: &Towpath| t.get("/readyz").json()["sources"][1]["problem"].clone();
    towpath.until("it is refused", |t| problem(t)["kind"] == "turned-empty");
    assert!(
        problem(&towpath)
            .to_string()
            .contains("no verified releases any more"),
        "{}",
        problem(&towpath)
    );
    assert_eq!(offered(&towpath), ALL);

    // One that has a release more is taken, as soon as there is something to compare it with.
    drop(towpath);
    let mut more: serde_json::Value = serde_json::from_str(&releases([0, 1, 2])).expect("JSON");
    let new = serde_json::json!({"version": "4.1.3", "payload": format!("q/r@{}", digest(3)), "metadata": {}});
    more["nodes"].as_array_mut().expect("nodes").push(new);
    fs::write(signed.site.path("releases.json"), more.to_string()).expect("releases");
    let towpath = signed.serve(&["--state", &state]);
    towpath.until("it is taken", |t| {
        crate::sources::reads(t, "releases", "changed") == 1
    });
    assert_eq!(
        (offered(&towpath), problem(&towpath).is_null()),
        (ALL.map(String::from).to_vec(), true)
    );
}
