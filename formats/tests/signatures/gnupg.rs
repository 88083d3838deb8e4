//! A second opinion: what GnuPG signs, we verify, and what we forge, GnuPG understands.
//!
//! Needs the command `gpg` (Debian: gnupg), and files to hand to it.
#![allow(clippy::disallowed_methods)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use towpath_core::signatures::Refusal;
use towpath_formats::signatures::{Keyring, verify};

use crate::forge::*;

/// A GnuPG with a home of its own.
pub(crate) struct Gnupg {
    pub(crate) home: tempfile::TempDir,
}

impl Gnupg {
    pub(crate) fn new() -> Self {
        // Its sockets are in there, and their paths must be short.
        let home = tempfile::Builder::new()
            .prefix("gpg")
            .tempdir_in("/tmp")
            .unwrap();
        Self { home }
    }

    /// Runs it at a time.
    fn run(&self, time: &str, args: &[&str], input: Option<&Path>) -> std::process::Output {
        let mut command = Command::new("gpg");
        command.args([
            "--batch",
            "--quiet",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            "",
            "--homedir",
        ]);
        command
            .arg(self.home.path())
            .args(["--faked-system-time", time])
            .args(args)
            .args(input);
        command
            .output()
            .unwrap_or_else(|error| panic!("gpg is needed, install gnupg: {error}"))
    }

    pub(crate) fn output(&self, time: &str, args: &[&str], input: Option<&Path>) -> Vec<u8> {
        let output = self.run(time, args, input);
        assert!(
            output.status.success(),
            "gpg {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    /// Lets it ask questions, and answers them.
    pub(crate) fn answering(&self, time: &str, args: &[&str], answers: &str) -> Vec<u8> {
        let mut command = Command::new("gpg");
        command.args([
            "--no-tty",
            "--quiet",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            "",
            "--homedir",
        ]);
        command
            .arg(self.home.path())
            .args(["--faked-system-time", time, "--command-fd", "0"])
            .args(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut running = command
            .spawn()
            .unwrap_or_else(|error| panic!("gpg is needed, install gnupg: {error}"));
        running
            .stdin
            .take()
            .unwrap()
            .write_all(answers.as_bytes())
            .unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "gpg {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    fn keyring(&self) -> Keyring {
        let keys = self.output("20240201T000000", &["--armor", "--export"], None);
        Keyring::read(&[file("gpg.asc", keys)]).unwrap().0
    }

    pub(crate) fn statement(&self) -> std::path::PathBuf {
        let path = self.home.path().join("statement.json");
        std::fs::write(&path, statement(DIGEST)).unwrap();
        path
    }
}

impl Drop for Gnupg {
    fn drop(&mut self) {
        let _ = Command::new("gpgconf")
            .arg("--homedir")
            .arg(self.home.path())
            .args(["--kill", "all"])
            .output();
    }
}

#[test]
fn what_gnupg_signs_counts() {
    for algorithm in ["rsa2048", "ed25519", "nistp256"] {
        let gpg = Gnupg::new();
        let ann = [
            "--quick-generate-key",
            "ann <ann@example.org>",
            algorithm,
            "sign",
            "60d",
        ];
        gpg.output("20240101T000000", &ann, None);
        let (ring, body) = (gpg.keyring(), gpg.statement());
        let signed = |time: &str, args: &[&str]| {
            verify(
                &gpg.output(time, args, Some(&body)),
                &ring,
                digest(),
                at(NOW),
            )
            .map(|signer| signer.user_id)
        };
        let code = |signed: Result<String, Refusal>| signed.map_err(|refusal| refusal.code());
        let soon = "20240131T000000";
        for args in [
            &["--sign"][..],
            &["--sign", "--armor"],
            &["--sign", "--compress-algo", "none"],
            &["--sign", "--compress-algo", "zip"],
            &["--sign", "--compress-algo", "zlib"],
            &["--sign", "--digest-algo", "SHA512"],
        ] {
            let told = signed(soon, [args, &["--output", "-"]].concat().as_slice());
            assert_eq!(
                told.as_deref(),
                Ok("ann <ann@example.org>"),
                "{algorithm} {args:?}"
            );
        }
        for (args, expected) in [
            (&["--sign", "--textmode"][..], "not-of-data"),
            (
                &["--sign", "--default-sig-expire", "10d"],
                "signature-expired",
            ),
            (&["--detach-sign"], "not-openpgp"),
            (&["--clear-sign"], "not-openpgp"),
            (&["--store"], "not-openpgp"),
        ] {
            let told = code(signed(soon, [args, &["--output", "-"]].concat().as_slice()));
            assert_eq!(told, Err(expected), "{algorithm} {args:?}");
        }
    }
}

#[test]
fn a_weak_hash_of_gnupg() {
    let gpg = Gnupg::new();
    gpg.output(
        "20240101T000000",
        &["--quick-generate-key", "ann", "rsa2048", "sign", "60d"],
        None,
    );
    let args = ["--sign", "--digest-algo", "SHA1", "--output", "-"];
    let bytes = gpg.output("20240131T000000", &args, Some(&gpg.statement()));
    let told = verify(&bytes, &gpg.keyring(), digest(), at(NOW));
    assert_eq!(
        told,
        Err(Refusal::WeakHash {
            hash: "SHA1".to_owned()
        })
    );
}

#[test]
fn a_short_key_of_gnupg() {
    let gpg = Gnupg::new();
    gpg.output(
        "20240101T000000",
        &["--quick-generate-key", "ann", "rsa1024", "sign", "60d"],
        None,
    );
    let keys = gpg.output("20240201T000000", &["--armor", "--export"], None);
    let findings = Keyring::read(&[file("gpg.asc", keys)]).unwrap_err();
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["no-keys", "key-cannot-sign"]);
}

#[test]
fn gnupg_agrees_with_our_forge() {
    let gpg = Gnupg::new();
    let mut expired = key("old");
    say(&mut expired, BIRTH, true, Some(DAY));
    let ann = key("ann");
    let keys = gpg.home.path().join("keys.asc");
    std::fs::write(&keys, armored(&[&ann, &expired])).unwrap();
    gpg.output("20240101T000000", &["--import"], Some(&keys));
    let ring = keyring(&[&ann, &expired]);
    for (bytes, status, ours) in [
        (
            Signing::by(&ann.primary_key).binary(),
            "GOODSIG",
            "verified",
        ),
        (
            Signing::by(&ann.primary_key).armored(),
            "GOODSIG",
            "verified",
        ),
        (signature_first(&ann.primary_key), "GOODSIG", "verified"),
        (
            Signing::by(&expired.primary_key).binary(),
            "EXPKEYSIG",
            "key-expired",
        ),
        (
            Signing::by(&key("eve").primary_key).binary(),
            "NO_PUBKEY",
            "unknown-key",
        ),
    ] {
        let path = gpg.home.path().join("signature-1");
        std::fs::write(&path, &bytes).unwrap();
        let output = gpg.run(
            "20241001T000000",
            &["--status-fd", "1", "--verify"],
            Some(&path),
        );
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            told.contains(status),
            "{ours}: {told}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let code = verify(&bytes, &ring, digest(), at(NOW))
            .map_or_else(|refusal| refusal.code(), |_| "verified");
        assert_eq!(code, ours);
    }
}
