//! Stores that stall, and keyrings that change. Needs the command `gpg` (Debian: gnupg).
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the finding")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use towpath_testing_services::gpg;

use super::*;

/// Somebody with keys of their own, and a store of what they signed.
struct Site {
    folder: tempfile::TempDir,
}

impl Site {
    fn new() -> Self {
        // GnuPG's sockets are in there, and their paths must be short.
        let folder = tempfile::Builder::new()
            .prefix("gpg")
            .tempdir_in("/tmp")
            .unwrap();
        let site = Self { folder };
        for name in ["ann", "bob"] {
            site.gpg(&["--quick-generate-key", name, "ed25519", "sign", "never"]);
        }
        site
    }

    fn gpg(&self, args: &[&str]) -> Vec<u8> {
        gpg(self.folder.path(), args)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn keyring(&self, names: &[&str]) -> PathBuf {
        let keys: Vec<u8> = names
            .iter()
            .flat_map(|name| self.gpg(&["--armor", "--export", name]))
            .collect();
        std::fs::write(self.path("keys.asc"), keys).unwrap();
        self.path("keys.asc")
    }

    fn sign(&self, of: u8) {
        let folder = self.path(&format!("store/sha256={}", digest(of).hex()));
        std::fs::create_dir_all(&folder).unwrap();
        let statement = format!(
            r#"{{"critical":{{"image":{{"docker-manifest-digest":"{}"}},"type":"atomic container signature","identity":{{"docker-reference":"q/r"}}}},"optional":{{}}}}"#,
            digest(of)
        );
        let (text, signature) = (self.path("statement"), folder.join("signature-1"));
        std::fs::write(&text, statement).unwrap();
        let [text, signature] = [text, signature].map(|path| path.to_str().unwrap().to_owned());
        self.gpg(&[
            "--local-user",
            "ann",
            "--output",
            &signature,
            "--sign",
            &text,
        ]);
    }

    fn verifier(&self, stores: &[String]) -> Verifier {
        let access = StoreAccess {
            request_timeout: Duration::from_secs(300),
            ..StoreAccess::default()
        };
        Verifier::new(&[self.keyring(&["ann"])], stores, None, &access)
            .unwrap()
            .0
    }

    fn store(&self) -> String {
        self.path("store").to_str().unwrap().to_owned()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = Command::new("gpgconf")
            .arg("--homedir")
            .arg(self.folder.path())
            .args(["--kill", "all"])
            .output();
    }
}

/// A server that has no signature of some payloads, and never says anything of the others.
fn stalling(answers: fn(&str) -> bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(read @ 1..) => head.extend_from_slice(&buffer[..read]),
                    _ => break,
                }
            }
            if answers(&String::from_utf8_lossy(&head)) {
                let _ = stream.write_all(
                    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                );
            } else {
                held.push(stream);
            }
        }
    });
    format!("http://{address}")
}

fn digest(of: u8) -> PayloadDigest {
    PayloadDigest::parse(&format!("sha256:{of:064x}")).unwrap()
}

fn digests(all: impl IntoIterator<Item = u8>) -> BTreeSet<PayloadDigest> {
    all.into_iter().map(digest).collect()
}

fn now() -> Timestamp {
    Timestamp::now()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn codes(verdicts: &Verdicts) -> BTreeMap<&'static str, usize> {
    let mut codes = BTreeMap::new();
    verdicts
        .values()
        .for_each(|verdict| *codes.entry(verdict.code()).or_default() += 1);
    codes
}

#[test]
fn a_store_that_stalls_now_and_then_has_its_time_and_no_more() {
    let site = Site::new();
    // It answers every other one, so that it never fails five times in a row.
    let mut verifier = site.verifier(&[stalling(|head| {
        ["0/", "2/", "4/", "6/", "8/"]
            .iter()
            .any(|end| head.contains(&format!("{end}signature-1")))
    })]);
    verifier.patience.store = Duration::from_secs(1);
    let wanted = digests(0..=255);
    let (verdicts, _) = run(verifier.verdicts(&wanted, now(), &mut |_| Go::On));
    let codes = codes(&verdicts);
    assert_eq!(codes.values().sum::<usize>(), 256, "{codes:?}");
    assert!(
        codes["signature-not-known"] >= 16 && codes["no-signature"] >= 1,
        "{codes:?}"
    );
    let health = verifier.health();
    assert_eq!(
        health.stores[0].problem.as_ref().unwrap().findings[0].code,
        "signature-store-slow"
    );
}

#[test]
fn the_round_has_an_end_however_many_stores_there_are() {
    let site = Site::new();
    let stores: Vec<String> = (0..4).map(|_| stalling(|_| false)).collect();
    let mut verifier = site.verifier(&stores);
    verifier.patience = RoundLimits {
        store: Duration::from_secs(300),
        round: Duration::from_secs(1),
        ..verifier.patience
    };
    let (verdicts, _) = run(verifier.verdicts(&digests(0..40), now(), &mut |_| Go::On));
    assert_eq!(codes(&verdicts), [("signature-not-known", 40)].into());
    assert!(
        verifier
            .health()
            .stores
            .iter()
            .all(|store| store.last_success.is_none() && store.problem.is_some())
    );
}

#[test]
fn what_is_verified_is_handed_over_while_others_are_looked_for() {
    let site = Site::new();
    (0..3).for_each(|of| site.sign(of));
    let mut verifier = site.verifier(&[site.store(), stalling(|_| false)]);
    verifier.patience = RoundLimits {
        store: Duration::from_secs(300),
        round: Duration::from_secs(300),
        part: Duration::from_millis(50),
    };
    let mut parts = Vec::new();
    let (verdicts, _) = run(verifier.verdicts(&digests(0..9), now(), &mut |part| {
        parts.extend(part.cloned());
        // Somebody wants something else, once there is something.
        if parts.is_empty() { Go::On } else { Go::Stop }
    }));
    assert_eq!(parts.len(), 1);
    assert_eq!(
        codes(&parts[0]),
        [("verified", 3)].into(),
        "of the others nothing is known yet"
    );
    assert_eq!(
        (codes(&verdicts), verifier.known().len()),
        ([("verified", 3)].into(), 3)
    );
}

#[test]
fn what_nobody_could_say_anything_about_comes_first_in_the_next_round() {
    let site = Site::new();
    let verifier = site.verifier(&[site.store()]);
    let last = [
        (digest(1), SignatureVerdict::Missing),
        (digest(2), SignatureVerdict::NotKnown("slow".into())),
    ]
    .into();
    assert_eq!(
        verifier.missing(&digests(1..=3), &last),
        [digest(2), digest(3), digest(1)]
    );
}

#[test]
fn a_new_keyring_judges_what_is_known_and_a_broken_one_changes_nothing() {
    let site = Site::new();
    (0..2).for_each(|of| site.sign(of));
    let mut verifier = site.verifier(&[site.store()]);
    let wanted = digests(0..2);
    let verified = |verifier: &Verifier| {
        codes(&verifier.known())
            .get("verified")
            .copied()
            .unwrap_or(0)
    };
    run(verifier.verdicts(&wanted, now(), &mut |_| Go::On));
    assert_eq!(
        (verified(&verifier), verifier.health().keyring.keys),
        (2, 1)
    );
    // From here on there is no store to be asked.
    std::fs::remove_dir_all(site.path("store")).unwrap();

    std::fs::write(site.path("keys.asc"), "hello").unwrap();
    assert_eq!(verifier.read_keyring_again(now())[0].code, "bad-keyring");
    let told = verifier.health().keyring;
    assert_eq!(
        (
            told.keys,
            told.problem.unwrap().findings[0].code,
            verified(&verifier)
        ),
        (1, "bad-keyring", 2)
    );
    std::fs::remove_file(site.path("keys.asc")).unwrap();
    assert!(!verifier.read_keyring_again(now()).is_empty());

    site.keyring(&["bob", "ann"]);
    assert!(verifier.read_keyring_again(now()).is_empty());
    let told = verifier.health().keyring;
    assert_eq!(
        (told.keys, told.problem.is_none(), verified(&verifier)),
        (2, true, 2)
    );

    site.keyring(&["bob"]);
    verifier.read_keyring_again(now());
    assert_eq!(verified(&verifier), 0, "ann's signatures count no more");
    assert!(run(verifier.remembered(&wanted, now())).is_empty());
}

#[test]
fn a_store_that_answers_again_is_well_again() {
    let site = Site::new();
    let mut verifier = site.verifier(&[site.store()]);
    let look = |verifier: &mut Verifier| {
        run(verifier.verdicts(&digests(0..1), now(), &mut |_| Go::On));
        verifier.health().stores.remove(0)
    };
    let away = look(&mut verifier);
    assert_eq!(away.problem.unwrap().findings[0].code, "no-signature-store");
    assert_eq!((&*away.name, away.last_success), ("signatures", None));
    std::fs::create_dir(site.path("store")).unwrap();
    let there = look(&mut verifier);
    assert!(there.problem.is_none() && there.last_success.is_some());
}
