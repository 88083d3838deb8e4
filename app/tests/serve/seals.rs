//! Graph data that has to be signed: real commits and tags, archives and images, by real keys of GnuPG.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use towpath_testing_services::registry::docker::{DockerRegistry, Door};
use towpath_testing_services::registry::images::{Image, gzip, image, tar};
use towpath_testing_services::scripted::{Server, Step, answer};
use towpath_testing_services::{Signer, Towpath, gpg};

use crate::sources::{BLOCK, Site, archive, offers, reads, source};

const FLAG: &str = "--require-signed-graph-data";

/// The example's graph data in a repository, and people with keys.
struct SealedSite {
    site: Site,
}

impl SealedSite {
    /// Ann's key is in the keyring. Her first commit is signed.
    fn new() -> Self {
        let sealed = Self { site: Site::new() };
        sealed.person("ann");
        sealed.keyring(&["ann"]);
        sealed.site.git(0, &["init", "-q", "-b", "main"]);
        sealed.commit(0, Some("ann"));
        sealed
    }

    fn home(&self, name: &str) -> PathBuf {
        self.site.path(name)
    }

    /// Somebody with a key, and a program by which git signs with it.
    fn person(&self, name: &str) {
        let home = self.home(name);
        fs::create_dir(&home).expect("a home");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("a home of one's own");
        gpg(
            &home,
            &["--quick-generate-key", name, "ed25519", "sign", "never"],
        );
        let program = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' --batch --pinentry-mode loopback --passphrase '' \"$@\"\n",
            home.display()
        );
        let path = self.site.path(&format!("{name}-signs"));
        fs::write(&path, program).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }

    fn public_key(&self, name: &str) -> Vec<u8> {
        gpg(&self.home(name), &["--armor", "--export"])
    }

    fn keyring(&self, names: &[&str]) {
        let keys: Vec<u8> = names
            .iter()
            .flat_map(|name| self.public_key(name))
            .collect();
        self.replace_keyring(&keys);
    }

    /// At once, as a Secret is replaced.
    fn replace_keyring(&self, bytes: &[u8]) {
        let new = self.site.path("keys.asc.new");
        fs::write(&new, bytes).expect("a keyring");
        fs::rename(new, self.site.path("keys.asc")).expect("a keyring");
    }

    fn fingerprint(&self, name: &str) -> String {
        let keys = gpg(&self.home(name), &["--list-keys", "--with-colons"]);
        let keys = String::from_utf8(keys).expect("text");
        let line = keys.lines().find(|line| line.starts_with("fpr:"));
        let field = line.and_then(|line| line.split(':').nth(9));
        field.expect("a fingerprint").to_owned()
    }

    /// Runs git at an hour; what it signs, this person signs.
    fn git_as(&self, hours: u64, name: &str, arguments: &[&str]) {
        let program = format!("gpg.program={}-signs", self.site.text(name));
        let key = format!("user.signingkey={}", self.fingerprint(name));
        self.site.git(
            hours,
            &[&["-c", &program, "-c", &key][..], arguments].concat(),
        );
    }

    fn commit(&self, hours: u64, signer: Option<&str>) {
        self.site.git(hours, &["add", "-A"]);
        let arguments = ["commit", "-q", "--allow-empty", "-m", "x"];
        match signer {
            Some(name) => self.git_as(hours, name, &[&arguments[..], &["-S"]].concat()),
            None => self.site.git(hours, &arguments),
        }
    }

    /// What git says, for whoever makes objects by hand.
    fn said(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut git = Command::new("git");
        git.arg("-C").arg(self.site.path("graph-data"));
        let mut git = git
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git runs");
        git.stdin
            .take()
            .expect("an input")
            .write_all(input)
            .expect("git reads");
        let output = git.wait_with_output().expect("git ends");
        assert!(output.status.success(), "git {arguments:?}");
        output.stdout
    }

    fn object(&self, kind: &str, name: &str) -> String {
        String::from_utf8(self.said(&["cat-file", kind, name], b"")).expect("text")
    }

    /// Has the branch lead to this commit, which nobody made with git.
    fn put(&self, commit: &str) {
        let id = self.said(
            &["hash-object", "-t", "commit", "-w", "--stdin"],
            commit.as_bytes(),
        );
        let id = String::from_utf8(id).expect("text");
        self.site
            .git(0, &["update-ref", "refs/heads/main", id.trim()]);
    }

    fn address(&self, revision: &str) -> String {
        format!("git+file://{}#{revision}", self.site.text("graph-data"))
    }

    fn options(&self) -> [String; 3] {
        [
            FLAG.to_owned(),
            "--graph-data-keyring".to_owned(),
            self.site.text("keys.asc"),
        ]
    }

    fn serve(&self, graph_data: &str, options: &[&str]) -> Towpath {
        let own = self.options();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let towpath = self.site.serve(
            graph_data,
            &self.site.text("releases.json"),
            &[&own[..], options].concat(),
        );
        towpath.until("its seal counts", |t| seal(t)["state"] == "counts");
        towpath
    }

    fn refused(&self, towpath: &Towpath, kind: &str) {
        let before = reads(towpath, "graph-data", "refused");
        let woken = self.site.reload(towpath, r#"{"source":"graph-data"}"#);
        assert_eq!(woken.status, 202);
        towpath.until(&format!("it is refused: {kind}"), |t| {
            reads(t, "graph-data", "refused") > before
                && source(t, "graph-data")["problem"]["kind"] == kind
        });
    }

    /// A block is put into the files, and nothing is committed.
    fn block(&self) {
        fs::write(self.site.block(), BLOCK).expect("a block");
    }
}

fn seal(towpath: &Towpath) -> Value {
    source(towpath, "graph-data")["seal"].clone()
}

#[test]
fn an_unsigned_commit_changes_nothing_and_blocks_nobody() {
    let sealed = SealedSite::new();
    let towpath = sealed.serve(&sealed.address("main"), &[]);
    assert!(offers(&towpath));
    let seal_of_first = seal(&towpath);
    assert_eq!(
        (
            &seal_of_first["state"],
            &seal_of_first["key"],
            &seal_of_first["user"]
        ),
        (
            &Value::from("counts"),
            &Value::from(sealed.fingerprint("ann")),
            &Value::from("ann")
        )
    );
    let metrics = towpath.get("/metrics").text();
    assert!(metrics.contains("towpath_source_signed{source=\"graph-data\"} 1\n"));

    // Somebody who can push, and has no key, wants to halt the fleet.
    sealed.block();
    sealed.commit(1, None);
    sealed.refused(&towpath, "unsigned-graph-data");
    assert!(offers(&towpath), "nothing of it counts, its block neither");
    assert_eq!(
        source(&towpath, "graph-data")["stricterParts"],
        serde_json::json!([])
    );
    towpath.log_line("is not signed");

    // The same files, signed.
    sealed.commit(2, Some("ann"));
    sealed.site.read(&towpath, "graph-data", "changed");
    towpath.until("the block holds, by the new seal", |t| {
        !offers(t)
            && source(t, "graph-data")["problem"].is_null()
            && seal(t)["what"] != seal_of_first["what"]
    });
}

#[test]
fn a_signature_counts_for_its_commit_and_its_signer_alone() {
    let sealed = SealedSite::new();
    sealed.person("eve");
    let towpath = sealed.serve(&sealed.address("main"), &[]);
    let first = sealed.object("commit", "main");

    // The files of another commit under the signature of the first.
    sealed.block();
    sealed.commit(1, None);
    let other = sealed.object("commit", "main");
    let (tree, _) = other.split_once('\n').expect("a tree");
    let (_, rest) = first.split_once('\n').expect("a tree");
    sealed.put(&format!("{tree}\n{rest}"));
    sealed.refused(&towpath, "bad-signature");

    // A second signature beside the right one.
    let (head, message) = first.split_once("\n\n").expect("a message");
    sealed.put(&format!("{head}\ngpgsig again\n\n{message}"));
    sealed.refused(&towpath, "bad-signed-object");

    let ssh = "gpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----";
    let (head, _) = other.split_once("\n\n").expect("a message");
    sealed.put(&format!("{head}\n{ssh}\n\nx\n"));
    sealed.refused(&towpath, "other-signature-scheme");
    towpath.log_line("only OpenPGP signatures count");

    sealed.commit(2, Some("eve"));
    sealed.refused(&towpath, "unknown-key");
    assert!(offers(&towpath));
}

#[test]
fn an_older_signed_commit_is_refused_like_every_copy_that_goes_back() {
    let sealed = SealedSite::new();
    sealed.block();
    sealed.commit(10, Some("ann"));
    let towpath = sealed.serve(&sealed.address("main"), &[]);
    assert!(!offers(&towpath));
    sealed
        .site
        .git(0, &["update-ref", "refs/heads/main", "main~1"]);
    sealed.refused(&towpath, "back-in-time");
    assert!(!offers(&towpath), "the block stays");
}

#[test]
fn a_tag_counts_under_its_own_name_and_for_its_own_commit() {
    let sealed = SealedSite::new();
    let tag = |name: &str, hours| {
        sealed.git_as(hours, "ann", &["tag", "-f", "-s", "-m", "x", name]);
    };
    // The commits are not signed; the tag vouches for one of them.
    sealed.commit(1, None);
    tag("v1", 1);
    let towpath = sealed.serve(&sealed.address("v1"), &[]);
    assert!(offers(&towpath));
    let what = seal(&towpath)["what"].to_string();
    assert!(what.contains("tag v1 (commit "), "{what}");

    sealed.block();
    sealed.commit(2, None);
    let main = sealed.said(&["rev-parse", "main"], b"");
    let main = String::from_utf8(main).expect("text").trim().to_owned();
    // The tag is moved to a commit that nobody signed.
    sealed.site.git(2, &["tag", "-f", "v1", "main"]);
    sealed.refused(&towpath, "unsigned-graph-data");
    // An annotated tag, without a signature.
    sealed
        .site
        .git(2, &["tag", "-f", "-a", "-m", "x", "v1", "main"]);
    sealed.refused(&towpath, "unsigned-graph-data");
    // A signed tag of another name.
    tag("staging", 2);
    sealed
        .site
        .git(2, &["update-ref", "refs/tags/v1", "refs/tags/staging"]);
    sealed.refused(&towpath, "other-tag");
    // The signed tag's text, with another commit in it.
    let staging = sealed.object("tag", "staging");
    let text = staging.replacen("tag staging", "tag v1", 1);
    assert!(text.contains(&main));
    let id = sealed.said(
        &["hash-object", "-t", "tag", "-w", "--stdin"],
        text.as_bytes(),
    );
    let id = String::from_utf8(id).expect("text");
    sealed
        .site
        .git(2, &["update-ref", "refs/tags/v1", id.trim()]);
    sealed.refused(&towpath, "bad-signature");
    assert!(offers(&towpath));

    tag("v1", 3);
    sealed.site.read(&towpath, "graph-data", "changed");
    towpath.until("the block holds", |t| !offers(t));
}

#[test]
fn a_key_that_is_revoked_ends_the_copy_that_it_signed_and_a_new_signature_brings_it_back() {
    let sealed = SealedSite::new();
    sealed.person("bob");
    sealed.keyring(&["ann", "bob"]);
    let state = sealed.site.text("state");
    let towpath = sealed.serve(&sealed.address("main"), &["--state", &state]);
    assert!(offers(&towpath));

    // A broken keyring changes nothing. Nobody sends a signal.
    sealed.replace_keyring(b"hello");
    towpath.until("the broken keyring is told of", |t| {
        seal(t)["keyringProblem"]["kind"] == "bad-keyring"
    });
    assert!(offers(&towpath));

    // GnuPG made a revocation with the key. It has a colon before it, until somebody means it.
    let revocations = sealed.home("ann").join("openpgp-revocs.d");
    let file = revocations.join(format!("{}.rev", sealed.fingerprint("ann")));
    let revocation = fs::read_to_string(file).expect("a revocation");
    let revocation = revocation.replace(":-----BEGIN", "-----BEGIN");
    let keys = ["ann", "bob"].map(|name| sealed.public_key(name)).concat();
    let keyring = [&keys[..], revocation.as_bytes()].concat();
    sealed.replace_keyring(&keyring);
    towpath.until("nothing is offered, and the seal has ended", |t| {
        !offers(t) && seal(t)["state"] == "ended" && source(t, "graph-data")["state"] == "closed"
    });
    let ready = source(&towpath, "graph-data");
    assert_eq!(
        (&ready["state"], &ready["problem"]["kind"]),
        (&Value::from("closed"), &Value::from("key-revoked"))
    );
    let why = towpath.get("/api/v1/explain?channel=fast-4.20&from=4.20.0&platform=GCP&arch=amd64");
    assert!(why.text().contains("SourceNotSigned"), "{}", why.text());
    towpath.until("the metrics say so", |t| {
        let metrics = t.get("/metrics").text();
        metrics.contains("towpath_source_signed{source=\"graph-data\"} 0\n")
    });

    // The same files, signed by a key that counts.
    sealed.commit(1, Some("bob"));
    assert_eq!(sealed.site.reload(&towpath, "{}").status, 202);
    towpath.until("it is offered again, by bob's signature", |t| {
        offers(t) && seal(t)["state"] == "counts" && seal(t)["user"] == "bob"
    });
}

#[test]
fn a_kept_copy_is_served_after_a_restart_only_while_its_key_counts() {
    let sealed = SealedSite::new();
    sealed.person("bob");
    let state = sealed.site.text("state");
    let towpath = sealed.serve(&sealed.address("main"), &["--state", &state]);
    towpath.until("a copy is kept", |_| {
        sealed.site.path("state/current").is_file()
    });
    drop(towpath);
    // The repository is away.
    fs::rename(
        sealed.site.path("graph-data/.git"),
        sealed.site.path("away"),
    )
    .expect("it goes away");
    let towpath = sealed.serve(&sealed.address("main"), &["--state", &state]);
    assert!(offers(&towpath));
    assert_eq!(seal(&towpath)["user"], "ann");
    drop(towpath);

    sealed.keyring(&["bob"]);
    let own = sealed.options();
    let (graph_data, releases) = (sealed.address("main"), sealed.site.text("releases.json"));
    let mut options = vec![
        "--graph-data",
        &graph_data,
        "--releases",
        &releases,
        "--state",
        &state,
    ];
    options.extend(own.iter().map(String::as_str));
    let towpath = Towpath::serve(&options);
    towpath.until("the source was read", |t| {
        reads(t, "graph-data", "failed") > 0
    });
    assert_eq!(towpath.get("/readyz").status, 503);
    assert_eq!(seal(&towpath)["state"], "none");
    let told = towpath.logged();
    assert!(told.contains("unknown-key"), "{told}");
}

#[test]
fn a_kept_copy_that_nobody_signed_is_not_served_once_signatures_are_asked_for() {
    let sealed = SealedSite::new();
    sealed.commit(1, None);
    let state = sealed.site.text("state");
    let address = sealed.address("main");
    let releases = sealed.site.text("releases.json");
    let towpath = sealed.site.serve(&address, &releases, &["--state", &state]);
    towpath.until("a copy is kept", |_| {
        sealed.site.path("state/current").is_file()
    });
    drop(towpath);
    let own = sealed.options();
    let mut options = vec![
        "--graph-data",
        &address,
        "--releases",
        &releases,
        "--state",
        &state,
    ];
    options.extend(own.iter().map(String::as_str));
    let towpath = Towpath::serve(&options);
    towpath.until("the source was read", |t| {
        reads(t, "graph-data", "refused") > 0
    });
    assert_eq!(towpath.get("/readyz").status, 503);
}

#[test]
fn a_signature_by_a_key_that_had_expired_does_not_count_and_one_from_before_does() {
    let sealed = SealedSite::new();
    let home = sealed.home("old");
    fs::create_dir(&home).expect("a home");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("a home of one's own");
    gpg(
        &home,
        &[
            "--faked-system-time",
            "20260101T000000",
            "--quick-generate-key",
            "old",
            "ed25519",
            "sign",
            "10d",
        ],
    );
    let program = |at: &str| {
        let text = format!(
            "#!/bin/sh\nexec gpg --homedir '{}' --faked-system-time {at} --batch --pinentry-mode loopback --passphrase '' \"$@\"\n",
            home.display()
        );
        let path = sealed.site.path("old-signs");
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    };
    // It signs while it is valid: that counts for ever.
    program("20260105T000000");
    sealed.commit(1, Some("old"));
    let while_valid = sealed.public_key("old");
    sealed.replace_keyring(&while_valid);
    let towpath = sealed.serve(&sealed.address("main"), &[]);
    assert!(offers(&towpath));
    assert_eq!(seal(&towpath)["signedAt"], "2026-01-05T00:00:00Z");

    // It is made to last longer, signs, and its owner's new word never reaches us.
    gpg(
        &home,
        &[
            "--faked-system-time",
            "20260106T000000",
            "--quick-set-expire",
            &sealed.fingerprint("old"),
            "60d",
        ],
    );
    program("20260120T000000");
    sealed.block();
    sealed.commit(2, Some("old"));
    sealed.refused(&towpath, "key-expired");
    assert!(offers(&towpath));
}

/// A server whose files a test changes.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<std::collections::BTreeMap<String, Vec<u8>>>>);

impl Files {
    fn put(&self, path: &str, bytes: Vec<u8>) {
        self.0.lock().expect("files").insert(path.to_owned(), bytes);
    }

    fn serve(&self) -> Server {
        let files = self.clone();
        Server::by_path(move |path, _| -> Vec<Step> {
            match files.0.lock().expect("files").get(path) {
                Some(bytes) => answer("200 OK", bytes),
                None => answer("404 Not Found", ""),
            }
        })
    }
}

#[test]
fn an_archive_counts_with_the_signature_beside_it() {
    let sealed = SealedSite::new();
    let (files, data) = (Files::default(), sealed.site.path(""));
    let server = files.serve();
    let address = server.url("/graph-data.tar.gz");
    let sign = |bytes: &[u8], at: &str, form: &str| {
        let path = sealed.site.path("to-sign");
        fs::write(&path, bytes).expect("a file");
        let path = path.to_str().expect("UTF-8");
        let time = format!("{at}!");
        let arguments = [
            "--faked-system-time",
            &time,
            "--output",
            "-",
            form,
            "--detach-sign",
            path,
        ];
        gpg(&sealed.home("ann"), &arguments)
    };
    // She signs from tomorrow on: her key is of today. The service's clock is a week ahead, and tokens last longer.
    let day = |days: i64| {
        let now = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        jiff::Timestamp::from_second(now.as_second()).expect("a time")
    };
    let gpg_time = |at: jiff::Timestamp| at.strftime("%Y%m%dT%H%M%S").to_string();
    let (tomorrow, later, week) = (day(1), day(2), day(7));
    let first = archive(&data);
    files.put("/graph-data.tar.gz", first.clone());
    files.put(
        "/graph-data.tar.gz.asc",
        sign(&first, &gpg_time(tomorrow), "--armor"),
    );
    let now = week.to_string();
    let towpath = sealed.serve(&address, &["--now", &now]);
    assert!(
        seal(&towpath)["what"]
            .to_string()
            .contains("archive sha256:")
    );
    assert_eq!(seal(&towpath)["signedAt"], tomorrow.to_string());

    // Another archive beside the same signature, then one without any.
    sealed.block();
    let second = archive(&data);
    files.put("/graph-data.tar.gz", second.clone());
    sealed.refused(&towpath, "bad-signature");
    files
        .0
        .lock()
        .expect("files")
        .remove("/graph-data.tar.gz.asc");
    sealed.refused(&towpath, "unsigned-graph-data");
    files.put(
        "/graph-data.tar.gz.sig",
        sign(&second, &gpg_time(later), "--no-armor"),
    );
    sealed.site.read(&towpath, "graph-data", "changed");
    assert!(!offers(&towpath));

    // The first again, under its own good signature. The server may say that it is new; the signature does not.
    files.put("/graph-data.tar.gz", first.clone());
    files.put(
        "/graph-data.tar.gz.sig",
        sign(&first, &gpg_time(tomorrow), "--no-armor"),
    );
    sealed.refused(&towpath, "back-in-time");
    assert!(!offers(&towpath));
}

fn graph_data_image(more: &[(&str, u8, &[u8])]) -> Image {
    let channel = b"name: stable-4.1\nversions:\n- 4.1.0\n- 4.1.1\n";
    let own: [(&str, u8, &[u8]); 2] = [
        ("version", b'0', b"1.1.0\n"),
        ("channels/stable-4.1.yaml", b'0', channel),
    ];
    image("amd64", &[gzip(&tar(&[&own[..], more].concat()))])
}

#[test]
fn an_image_counts_with_the_signature_of_its_digest_in_a_store() {
    let site = Site::new();
    let ann = Signer::new(&site.path("ann"));
    fs::write(site.path("keys.asc"), ann.public_key()).expect("a keyring");
    let store = site.path("store");
    fs::create_dir(&store).expect("a store");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let registry = DockerRegistry::start(Door::Plain);
    let push = |image: &Image| runtime.block_on(registry.push("graph-data", Some("latest"), image));
    let first = graph_data_image(&[]);
    push(&first);
    ann.sign(&store, first.digest().as_str());
    let releases = serde_json::json!({"nodes": [
        {"version": "4.1.0", "payload": format!("q/r@sha256:{:064x}", 0), "metadata": {}},
        {"version": "4.1.1", "payload": format!("q/r@sha256:{:064x}", 1), "metadata": {}}], "edges": [[0, 1]]});
    fs::write(site.path("releases.json"), releases.to_string()).expect("releases");
    let (keys, store_name) = (site.text("keys.asc"), site.text("store"));
    let options = [
        FLAG,
        "--keyring",
        &keys,
        "--signatures",
        &store_name,
        "--signature-policy",
        "off",
    ];
    let address = format!("oci+http://{}/graph-data:latest", registry.host);
    let towpath = site.serve(&address, &site.text("releases.json"), &options);
    assert!(
        seal(&towpath)["what"]
            .to_string()
            .contains(first.digest().as_str())
    );
    let refused = |kind: &str| {
        let before = reads(&towpath, "graph-data", "refused");
        site.reload(&towpath, r#"{"source":"graph-data"}"#);
        towpath.until(kind, |t| {
            reads(t, "graph-data", "refused") > before
                && source(t, "graph-data")["problem"]["kind"] == kind
        });
    };

    let block: (&str, u8, &[u8]) = ("blocked-edges/a.yaml", b'0', b"to: 4.1.1\nfrom: .*\n");
    let second = graph_data_image(&[block]);
    push(&second);
    refused("unsigned-graph-data");
    // The signature of the first image, under the name of the second.
    let folder = |image: &Image| store.join(image.digest().as_str().replace(':', "="));
    fs::create_dir(folder(&second)).expect("a folder");
    fs::copy(
        folder(&first).join("signature-1"),
        folder(&second).join("signature-1"),
    )
    .expect("a copy");
    refused("other-digest");
    fs::remove_dir_all(folder(&second)).expect("it goes");
    ann.sign(&store, second.digest().as_str());
    site.read(&towpath, "graph-data", "changed");
    let graph = towpath.graph("channel=stable-4.1");
    assert_eq!(graph["edges"].as_array().map(Vec::len), Some(0), "{graph}");
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_towpath"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("TOWPATH_GRAPH_DATA")
        .output()
        .expect("towpath runs")
}

#[test]
fn what_cannot_be_signed_ends_the_start_and_says_what_to_do() {
    let sealed = SealedSite::new();
    let folder = sealed.site.path("");
    let git = sealed.address("main");
    let own = ["--releases", "releases.json", FLAG];
    let keyring = ["--keyring", "keys.asc", "--signature-policy", "off"];
    let cases: [(&[&str], &str); 7] = [
        (&["--graph-data", &git], "no keyring"),
        (
            &[
                "--graph-data",
                "graph-data",
                "--graph-data-keyring",
                "keys.asc",
            ],
            "a directory is not taken",
        ),
        (
            &[
                "--graph-data",
                &git,
                "--overlay",
                "graph-data",
                "--graph-data-keyring",
                "keys.asc",
            ],
            "--overlay graph-data",
        ),
        (
            &[
                "--graph-data",
                "oci://registry.example/graph-data",
                "--graph-data-keyring",
                "keys.asc",
            ],
            "add --signatures STORE",
        ),
        (
            &[
                "--graph-data",
                &git,
                "--graph-data-keyring",
                "keys.asc",
                "--releases",
                "https://h.example/graph#channels=a",
            ],
            "a Cincinnati service",
        ),
        (
            &["--graph-data", &git, "--graph-data-keyring", "none.asc"],
            "none.asc",
        ),
        (
            &[
                "--graph-data",
                &git,
                "--graph-data-keyring",
                "releases.json",
            ],
            "releases.json",
        ),
    ];
    for (options, told) in cases {
        for command in [&["serve"][..], &["graph", "show", "fast-4.20"]] {
            let arguments = [command, &own, options].concat();
            let output = run(&folder, &arguments);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.contains(told), "{arguments:?}: {said}");
        }
    }
    let without = run(&folder, &["serve", "--graph-data-keyring", "keys.asc"]);
    let said = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(said.contains("needs --require-signed-graph-data"), "{said}");
    let config = [&["config", "--graph-data", &git][..], &own, &keyring].concat();
    let output = run(&folder, &config);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("requireSignedGraphData: true"), "{said}");
    assert!(said.contains("keyring: [\"keys.asc\"]"), "{said}");
}

#[test]
fn a_command_that_reads_once_takes_what_the_service_takes() {
    let sealed = SealedSite::new();
    let (folder, git) = (sealed.site.path(""), sealed.address("main"));
    let own = [
        "--graph-data",
        &git,
        "--releases",
        "releases.json",
        FLAG,
        "--graph-data-keyring",
        "keys.asc",
    ];
    let commands: [&[&str]; 3] = [
        &["graph", "show", "fast-4.20"],
        &["graph", "lint"],
        &["graph", "audit"],
    ];
    for command in commands {
        let output = run(&folder, &[command, &own].concat());
        assert_ne!(output.status.code(), Some(2), "{command:?}: {output:?}");
    }
    sealed.commit(1, None);
    for command in commands {
        let output = run(&folder, &[command, &own].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
        assert!(said.contains("is not signed"), "{command:?}: {said}");
    }
    // The side that a change is compared with has to be signed too.
    let first = String::from_utf8(sealed.said(&["rev-parse", "main~1"], b"")).expect("text");
    let (old, new) = (sealed.address(first.trim()), sealed.address("main"));
    let compared = run(
        &folder,
        &[
            "graph",
            "diff",
            &old,
            &new,
            "--releases",
            "releases.json",
            FLAG,
            "--graph-data-keyring",
            "keys.asc",
        ],
    );
    let said = String::from_utf8_lossy(&compared.stderr).into_owned();
    assert_eq!(compared.status.code(), Some(2), "{said}");
    assert!(said.contains("is not signed"), "{said}");
}
